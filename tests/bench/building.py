"""How fast notes become searchable: many large chunks in one go, and many small notes while searches go on."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from tests.bench.asking import Session
from tests.bench.conversation import Corpus, corpus
from tests.bench.daemons import config, place
from tests.bench.indexed import TALKS
from tests.bench.timing import Timed, at_least, at_most, timed, verdict
from tests.running import Running, running

CHUNKS_A_SECOND = 500.0
BY_WORDS_S, BY_MEANING_S = 1.5, 3.5
LONG_NOTES, SMALL_NOTES = 500, 2000
GIVE_UP_S = 300.0
PAUSE_S = 0.01


@dataclass(frozen=True, slots=True)
class Throughput:
    """One sync: the chunks that it made, the characters of one on average, and the seconds it took."""

    chunks: int
    chars: float
    took_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Seconds from the beginning of a sync until words found every note, and vectors; and the searches meanwhile."""

    by_words_s: float
    by_meaning_s: float
    searches: Timed
    found: bool


@contextmanager
def _daemon(asked: Corpus) -> Iterator[Running]:
    """A daemon that knows nothing yet of the notes that lie before it."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        (folder / "main").mkdir()
        with running(folder, config(folder / "main")) as daemon:
            daemon.client.timeout_s = GIVE_UP_S
            daemon.sync("main")
            place(asked, folder / "main")
            yield daemon


def throughput(notes: int = LONG_NOTES) -> Throughput:
    """Sync long notes, whose chunks are as large as chunks become."""
    asked = corpus(notes, talks=TALKS)
    with _daemon(asked) as daemon:
        took_ms = timed(lambda: daemon.sync("main"))
        with closing(apsw.Connection(str(daemon.state / "memory" / "main.sqlite"))) as index:
            ((chunks, chars),) = index.execute("SELECT count(*), avg(length(text)) FROM chunks WHERE stamp > 0")
    return Throughput(chunks, chars, took_ms / 1000)


def arrival(notes: int = SMALL_NOTES) -> Arrival:
    """Sync small notes, and search all the while."""
    asked = corpus(notes)
    with _daemon(asked) as daemon, Session(daemon.client.path) as session:
        return _watched(daemon, session, asked)


def _watched(daemon: Running, session: Session, asked: Corpus) -> Arrival:
    searches = Timed("searches meanwhile")
    session.search(asked.words[0])
    syncing = threading.Thread(target=lambda: daemon.sync("main"))
    started = time.perf_counter()
    syncing.start()
    by_words_s = by_meaning_s = 0.0
    while not by_meaning_s:
        question = asked.questions[len(searches.took_ms) % len(asked.questions)]
        searches.took_ms.append(timed(partial(session.search, question)))
        # The status tells what the search before it saw.
        facts = daemon.call("GET", "/v1/agents/main/status")["engines"]["builtin"]
        now_s = time.perf_counter() - started
        assert now_s < GIVE_UP_S, "the notes were never all found"
        if facts["documents"] == len(asked.notes):
            by_words_s = by_words_s or now_s
            by_meaning_s = now_s if facts["vectors"] == facts["chunks"] else 0.0
        time.sleep(PAUSE_S)
    syncing.join()
    return Arrival(by_words_s=by_words_s, by_meaning_s=by_meaning_s, searches=searches, found=_finds(session, asked))


def _finds(session: Session, asked: Corpus) -> bool:
    """Whether the first and the last note are found by a line of their own."""
    ends = (asked.notes[0], asked.notes[-1])
    return all(
        name in {result["path"] for result in session.search(text.splitlines()[2])["results"]} for name, text in ends
    )


def report_throughput(made: Throughput) -> bool:
    """Print the figures and say whether the target was met."""
    print(f"indexing: {made.chunks:,} chunks of {made.chars:,.0f} characters in {made.took_s:.1f} s")
    met = at_least("indexing", made.chunks / made.took_s, CHUNKS_A_SECOND, "chunks a second")
    print(flush=True)
    return met


def report_arrival(notes: int, arrived: Arrival) -> bool:
    """Print the figures and say whether the targets were met."""
    print(f"indexing: {notes:,} small notes while searches go on")
    print(arrived.searches.row())
    met = verdict("the first and the last note are found", "both", arrived.found)
    met = at_most("all found by words after", arrived.by_words_s, BY_WORDS_S, "s") and met
    met = at_most("and by meaning after", arrived.by_meaning_s, BY_MEANING_S, "s") and met
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print both."""
    met = report_throughput(throughput())
    return report_arrival(SMALL_NOTES, arrival()) and met
