"""What a search costs beside few conversations and beside many, of which its session sees one."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.asking import Session
from tests.bench.conversation import Corpus, corpus
from tests.bench.daemons import config, place
from tests.bench.timing import Timed, Way, at_most, in_turn
from tests.bench.transcripts import SEED, WORDS
from tests.exporter.conftest import said
from tests.running import Running, running

NOTES = 1000
FEW, MANY = 20, 2000
QUESTIONS = 200
TURNS = 12
#: The index is larger by what was said; the conversations that are not seen cost no more than that.
RATIO = 1.5


def measure(*, notes: int = NOTES, few: int = FEW, many: int = MANY, questions: int = QUESTIONS) -> Mapping[str, Timed]:
    """Searches of one session in two daemons with the same notes, in turn."""
    written = corpus(notes, questions=questions)
    with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as stack:
        counts = (few, many)
        daemons = [stack.enter_context(_remembering(Path(name) / str(count), written, count)) for count in counts]
        # Only then: a connection on which nothing is said is closed.
        sessions = [stack.enter_context(Session(daemon.client.path)) for daemon in daemons]
        for session in sessions:
            session.search(written.questions[0])
        names = (f"beside {count:,} conversations" for count in counts)
        return in_turn(
            [Way(*way) for way in zip(names, (each.search for each in sessions), strict=True)], written.questions
        )


@contextmanager
def _remembering(folder: Path, notes: Corpus, conversations: int) -> Iterator[Running]:
    """A daemon that has indexed notes and conversations, each of a session of its own."""
    place(notes, folder / "main")
    _write(folder / "transcripts", conversations)
    wanted = config(folder / "main")
    wanted["memory"]["qmd"]["sessions"] = {"enabled": True, "retentionDays": 0}
    wanted["sidecar"] = {"transcripts": str(folder / "transcripts")}
    with running(folder, wanted) as daemon:
        daemon.client.timeout_s = 900
        daemon.sync("main")
        yield daemon


def _write(folder: Path, conversations: int) -> None:
    folder.mkdir(parents=True)
    draw = random.Random(SEED)
    store = {}
    for number in range(conversations):
        # The first one is that of the session that asks.
        key = "agent:main:telegram:direct:{number}" if number else "agent:main:main"
        store[key.format(number=number)] = {"sessionId": f"s{number:05}"}
        turns = (said("user", " ".join(draw.choices(WORDS, k=20))) for _ in range(TURNS))
        (folder / f"s{number:05}.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    (folder / "sessions.json").write_text(json.dumps(store))


def report(times: Mapping[str, Timed]) -> bool:
    """Print the table, and judge how much slower the second way is."""
    print(f"conversations: {NOTES:,} notes, one conversation visible, {TURNS} turns each")
    few, many = times.values()
    for way in (few, many):
        print(way.row())
    met = at_most("search beside many against few, p50", many.p50 / few.p50, RATIO, "times")
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print."""
    return report(measure())
