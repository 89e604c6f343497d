"""What a sync costs that finds nothing changed, and whether it opens a note to find that out."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.conversation import Corpus, corpus
from tests.bench.daemons import config, place
from tests.bench.timing import Timed, at_most, timed, verdict
from tests.running import Running, running

NOTES = 10_000
TOOK_S = 0.3
TIMES = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """The syncs as the caller sees them and in the worker's own report; `opened` are notes that were read again."""

    asked: Timed
    inside: Timed
    unchanged: int
    opened: int


def measure(notes: int = NOTES) -> Unchanged:
    """Index, then sync again and again."""
    written = corpus(notes, questions=1)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        place(written, folder / "main")
        with running(folder, config(folder / "main")) as daemon:
            daemon.client.timeout_s = 900
            daemon.sync("main")
            _rewrite(written, folder / "main")
            return _again(daemon)


def _rewrite(written: Corpus, workspace: Path) -> None:
    """Put another text of the same size and time into every note: whoever opens one will find it changed."""
    for name, text in written.notes:
        path = workspace / name
        info = path.stat()
        path.write_text(text.swapcase(), encoding="utf-8")
        os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def _again(daemon: Running) -> Unchanged:
    asked, inside = Timed("sync through the socket"), Timed("  of which in the worker")
    reports: list[dict[str, Any]] = []
    for _ in range(TIMES):
        asked.took_ms.append(timed(lambda: reports.extend(daemon.sync("main")["reports"])))
    inside.took_ms.extend(report["tookMs"] for report in reports)
    return Unchanged(
        asked=asked,
        inside=inside,
        unchanged=min(report["unchanged"] for report in reports),
        opened=sum(report["changed"] for report in reports),
    )


def report(notes: int, found: Unchanged) -> bool:
    """Print the figures and say whether the targets were met."""
    print(f"unchanged: a sync over {notes:,} notes")
    print(found.asked.row())
    print(found.inside.row())
    met = verdict(f"{found.unchanged:,} notes looked at", "all", found.unchanged == notes)
    met = verdict(f"{found.opened:,} notes opened", "none", found.opened == 0) and met
    met = at_most("median sync", found.asked.p50 / 1000, TOOK_S, "s") and met
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print."""
    return report(NOTES, measure())
