"""How soon an edited note is counted as pending, and how soon a search finds what was written."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.bench.asking import Session
from tests.bench.conversation import corpus
from tests.bench.daemons import config, place
from tests.bench.timing import Timed, at_most, timed
from tests.running import running, until

NOTES = 1000
EDITS = 5
FOUND_S = 2.0
#: Beside one search, which may have begun just before the edit was seen.
COUNTED_MS = 100.0
GIVE_UP_S = 30.0
PAUSE_S = 0.005


@dataclass(frozen=True, slots=True)
class Fresh:
    """From the end of a write until a search said `pending`, until one found the text; and a search by itself."""

    counted: Timed
    found: Timed
    search: Timed


def measure(*, notes: int = NOTES, edits: int = EDITS) -> Fresh:
    """Edit one note after the other, each time a new word, with the settings that everybody has."""
    written = corpus(notes, questions=50)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        place(written, folder / "main")
        with running(folder, config(folder / "main", sync={})) as daemon:
            daemon.client.timeout_s = 900
            daemon.sync("main")
            search = Timed("one search")
            with Session(daemon.client.path) as session:
                search.took_ms.extend(timed(partial(session.search, word)) for word in written.words)
            fresh = Fresh(Timed("edit to `pending`"), Timed("edit to found"), search)
            for number in range(edits):
                with Session(daemon.client.path) as session:
                    _edit(session, folder / "main" / written.notes[number][0], f"quuxword{number}", fresh)
    return fresh


def _edit(session: Session, note: Path, word: str, fresh: Fresh) -> None:
    # What is still counted of the edit before would be taken for this one.
    until(lambda: "pending" not in session.search(word), what="a search without anything pending")
    with note.open("a", encoding="utf-8") as stream:
        stream.write(f"- Maya: The {word} is in the cellar.\n")
    written_at = time.perf_counter()
    counted_ms = found_ms = 0.0
    while not found_ms:
        reply = session.search(word)
        now_ms = (time.perf_counter() - written_at) * 1000
        assert now_ms < GIVE_UP_S * 1000, "the edit was never found"
        if "pending" in reply:
            counted_ms = counted_ms or now_ms
        if any(word in result["snippet"] for result in reply["results"]):
            found_ms = now_ms
        time.sleep(PAUSE_S)
    # Found before it was ever counted: then nobody could miss the count.
    fresh.counted.took_ms.append(counted_ms or found_ms)
    fresh.found.took_ms.append(found_ms)


def report(fresh: Fresh) -> bool:
    """Print the figures and say whether the targets were met."""
    print("freshness: one note edited, the rest as it was")
    for timed_ in (fresh.search, fresh.counted, fresh.found):
        print(timed_.row())
    met = at_most("edit to `pending`", fresh.counted.p50, COUNTED_MS + fresh.search.p50, "ms")
    met = at_most("edit to found", fresh.found.p50 / 1000, FOUND_S, "s") and met
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print."""
    return report(measure())
