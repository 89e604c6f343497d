"""Conversation-like notes and whole questions about them, from a fixed seed.

Word frequencies follow Zipf's law over a vocabulary whose head are the words that English speakers use most, so
that a common word of a question stands in most notes, as it does in real conversations.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path

COMMON = (
    "the be to of and a in that have i it for not on with he as you do at this but his by from they we say her she or "
    "an will my one all would there their what so up out if about who get which go me when make can like time no just "
    "him know take people into year your good some could them see other than then now look only come its over think "
    "also back after use two how our work first well way even new want because any these give day most us is was are "
    "been has had were said did having may should am being really great sounds glad love feel family friend home week"
).split()
ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl qu r s sh sl st t tr v w z".split()
VOWELS = "a e i o u ai ea oo".split()
CODAS = "n r l s t m nd rt sk ck ".split(" ")
VOCABULARY = 12_000
SPEAKERS = ("Maya", "Tom", "Ines", "Ravi")
ASKED = ("when did", "what did", "why does", "how was", "who told", "where is")


@cache
def vocabulary(size: int = VOCABULARY) -> list[str]:
    """The common words, then pronounceable ones that no dictionary holds, most frequent first."""
    syllables = ["".join(parts) for parts in itertools.product(ONSETS, VOWELS, CODAS)]
    words = (first + second for first, second in itertools.product(syllables, syllables))
    rare = list(itertools.islice(words, size * 40))
    random.Random(1).shuffle(rare)
    return [*COMMON, *rare[: size - len(COMMON)]]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Notes as (relative path, text), questions whose answer stands in one of them, and single words of notes."""

    notes: list[tuple[str, str]]
    questions: list[str]
    words: list[str]

    def write(self, workspace: Path) -> None:
        """Write the notes below `workspace`."""
        for name, text in self.notes:
            path = workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def corpus(notes: int, *, talks: int = 1, questions: int = 200, seed: int = 7) -> Corpus:
    """`notes` files and `questions` questions. A talk is 6 to 10 turns, about 1,100 characters, less than a chunk."""
    draw = random.Random(seed)
    words = vocabulary()
    weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    files = [_note(number, _turns(draw, words, weights, talks)) for number in range(notes)]
    asked = [_question(draw, files) for _ in range(questions)]
    return Corpus(files, asked, [_word(draw, files) for _ in range(questions)])


def _word(draw: random.Random, files: list[tuple[str, str]]) -> str:
    """A word that a person would look up: the longest of a turn."""
    _, text = draw.choice(files)
    return max(re.findall(r"\w+", draw.choice(text.splitlines()[2:])), key=len)


def _turns(draw: random.Random, words: list[str], weights: list[float], talks: int) -> Iterator[str]:
    for _ in range(sum(draw.randint(6, 10) for _ in range(talks))):
        spoken = draw.choices(words, cum_weights=weights, k=draw.randint(12, 28))
        yield f"- {draw.choice(SPEAKERS)}: {' '.join(spoken).capitalize()}."


def _note(number: int, turns: Iterator[str]) -> tuple[str, str]:
    day = date(2020, 1, 1) + timedelta(days=number % 1500)
    name = f"memory/{day:%Y}/{day:%m}/{day:%d}-{number}.md"
    return name, f"# {day.isoformat()}\n\n" + "\n".join(turns) + "\n"


def _question(draw: random.Random, files: list[tuple[str, str]]) -> str:
    """A whole question: two to four words of one turn, wrapped in the words that every question has."""
    _, text = draw.choice(files)
    turn = draw.choice(text.splitlines()[2:])
    speaker, _, spoken = turn[2:].partition(": ")
    about = draw.sample(spoken.rstrip(".").split(), k=draw.randint(4, 7))
    return f"{draw.choice(ASKED)} {speaker} say about the {' '.join(about)} with you?"
