"""The look-alike of qmd as a whole process, against the real `qmd search` and against a Python that does nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from sidecar import shim
from tests.bench.asking import COLLECTION, spawned
from tests.bench.conversation import corpus
from tests.bench.daemons import config, warmed_up
from tests.bench.timing import Timed, Way, at_most, in_turn, verdict
from tests.running import QMD, real_qmd_path, running

NOTES, TIMES = 1000, 40
OURS, REAL, BARE = "look-alike", "qmd search, spawned", "python that does nothing"
FASTER = 4
#: Some 60 ms where Python starts in 10.
AGAINST_BARE = 6


def measure(folder: Path, *, notes: int, times: int) -> Mapping[str, Timed]:
    """Spawn each in turn for one word after the other. Without the real qmd the built-in engine answers ours."""
    asked = corpus(notes)
    asked.write(folder / "main")
    engine, path = ("qmd", real_qmd_path()) if QMD.exists() else ("builtin", None)
    with ExitStack() as stack:
        daemon = stack.enter_context(running(folder / "daemon", config(folder / "main", backend=engine), path=path))
        daemon.sync("main")
        stack.enter_context(warmed_up(daemon, engine, asked.questions[0]))
        file = shim.install(folder / "bin", sys.executable, [daemon.client.path])
        words = ["search", "--json", "-n", "6", "-c", COLLECTION, "--"]
        ways = [Way(OURS, lambda word: _spawn(str(file), *words, word)), Way(BARE, lambda _: _spawn(*_BARE))]
        real = [Way(REAL, lambda word: spawned(daemon, word))] if QMD.exists() else []
        return in_turn([*ways, *real], asked.words[:times])


_BARE = (sys.executable, shim.OPTIONS, "-c", "pass")


def _spawn(*command: str) -> None:
    # No qmd on this PATH: what cannot be answered fails, and is not measured as something else.
    subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, check=True, timeout=60)


def report(times: Mapping[str, Timed]) -> bool:
    """Print the table and say whether the targets were met."""
    print(f"shim: whole processes, one word, {NOTES:,} notes")
    for way in times.values():
        print(way.row())
    own = times[OURS].p50
    met = at_most("against the bare start of Python", own / times[BARE].p50, AGAINST_BARE, "times as long")
    if REAL in times:
        faster = times[REAL].p50 / own
        met = verdict(f"against the real qmd: {faster:.1f} times faster", f"{FASTER}", faster >= FASTER) and met
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print; whether all targets were met."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return report(measure(Path(folder), notes=NOTES, times=TIMES))
