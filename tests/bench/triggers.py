"""What it takes to compare a message with every phrase of the curated notes, and to read these for the first time."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from backends.corpus import Corpus, Kind, Root
from sidecar.tools.triggers import MAX_ANNOTATED, recalled_by
from tests.bench.conversation import corpus, vocabulary
from tests.bench.daemons import config
from tests.bench.timing import Timed, at_most, timed, verdict
from tests.running import Running, running

TIMES = 50
TOOK_MS = 5.0
#: Words of one phrase each: four phrases an entry.
WORDS = (1, 2, 2, 3)
#: Characters of what stands before the phrase: a sentence, and a pasted page that is as long as it may be.
LENGTHS = (60, 3_900)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Milliseconds of the first message and of later ones by their lengths, inside; and of a short one over the socket.

    `recalled` is how many of the short messages brought something to mind.
    """

    first_ms: float
    inside: dict[int, Timed]
    asked: Timed
    recalled: int


def notes(annotated: int, seed: int = 5) -> tuple[str, list[str]]:
    """A curated file with so many annotated entries, and a phrase of each."""
    source = random.Random(seed)
    words = vocabulary()
    entries, phrases = [], []
    for _ in range(annotated):
        said = [" ".join(source.choices(words, k=count)) for count in WORDS]
        entries.append(f"- {' '.join(source.choices(words, k=12))} <!-- trigger: {', '.join(said)} -->\n")
        phrases.append(said[-1])
    return "".join(entries), phrases


def messages(phrases: list[str], length: int, times: int, seed: int = 6) -> list[str]:
    """What people say, cut to so many characters, each with one of the phrases at its end."""
    source = random.Random(seed)
    talks = [text[:length] for _, text in corpus(times, talks=5, questions=1).notes]
    return [f"{talk} {source.choice(phrases)}" for talk in talks]


def measure(annotated: int = MAX_ANNOTATED, times: int = TIMES) -> Compared:
    """Write a curated file, then bring entries to mind again and again."""
    text, phrases = notes(annotated)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        workspace = Path(name) / "main"
        workspace.mkdir()
        (workspace / "MEMORY.md").write_text(text, encoding="utf-8")
        root = Root(name="memory-root", kind=Kind.CURATED, path=workspace, patterns=("MEMORY.md",), shown="")
        compare = partial(recalled_by, corpus=Corpus("main", workspace, (root,)))
        first_ms = timed(lambda: compare("hello"))
        inside = {length: Timed(f"{length:,} characters compared") for length in LENGTHS}
        for length, took in inside.items():
            took.took_ms.extend(timed(partial(compare, said)) for said in messages(phrases, length, times))
        with running(Path(name), config(workspace)) as daemon:
            asked, recalled = _over_the_socket(daemon, messages(phrases, LENGTHS[0], times))
    return Compared(first_ms=first_ms, inside=inside, asked=asked, recalled=recalled)


def _over_the_socket(daemon: Running, said: list[str]) -> tuple[Timed, int]:
    asked, replies = Timed("a short one through the socket"), list[dict[str, Any]]()
    for message in said:
        body = {"message": message, "sessionKey": "agent:main:main"}
        call = partial(daemon.call, "POST", "/v1/agents/main/triggers", body)
        asked.took_ms.append(timed(lambda call=call: replies.append(call())))
    return asked, sum(bool(reply["entries"]) for reply in replies)


def report(annotated: int, found: Compared, times: int = TIMES) -> bool:
    """Print the figures and say whether the targets were met."""
    print(f"triggers: a message against {annotated:,} entries with {annotated * len(WORDS):,} phrases")
    print(f"  the first one, for which the file is read   {found.first_ms:8.2f} ms")
    for took in (*found.inside.values(), found.asked):
        print(took.row())
    met = verdict(f"{found.recalled} of {times} messages brought something to mind", "all", found.recalled == times)
    for length, took in found.inside.items():
        met = at_most(f"median at {length:,} characters", took.p50, TOOK_MS, "ms") and met
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print."""
    return report(MAX_ANNOTATED, measure())
