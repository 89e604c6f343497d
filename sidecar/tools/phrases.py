"""Whether a message speaks of what a phrase names, in any script, by words alone.

Words of spaced scripts are compared by their stems and as whole words; a run of an unspaced script is found wherever
it stands. Dates, versions and other identifiers are found as typed, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import NamedTuple

from backends.text.graphemes import is_boundary, word_before
from backends.text.stopwords import PARTICLES, STOP_WORDS, stop_words_of
from backends.text.tokens import (
    MAX_QUERY_CHARS,
    Term,
    fold,
    index_terms,
    is_dense,
    normalize,
    pieces,
    query_terms,
    subject_of,
)

#: Nobody types a longer one.
MAX_PHRASE_CHARS = 200
WHOLE = 1.0
SINGLE_WORD = 0.85


class Unit(NamedTuple):
    """A word, an identifier or an unspaced run, as it stands in a `Message`, which has `key` among its keys then."""

    spelled: str
    key: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase: `text` as its author typed it, `spelled` as it stands in a `Message`, and how many words that is.

    `units` carry its subject. A phrase that is not `loose` has none of weight, such as "how long": it is meant as it
    stands.
    """

    text: str
    spelled: str
    words: int
    units: tuple[Unit, ...]
    loose: bool


def phrase_of(text: str) -> Phrase | None:
    """A phrase that messages can be compared with; None for one that says nothing, or too much."""
    if len(text) > MAX_PHRASE_CHARS:
        return None
    words = list(pieces(normalize(text)))
    if not words or (len(words) == 1 and len(words[0]) <= 2 and PARTICLES.issuperset(words[0])):
        return None
    grammar = _grammar(words)
    terms = [term for term in query_terms(text) if term.bounded]
    # The last term of a run is its longest: a pair of characters rather than one.
    runs = [Unit(word, index_terms(word)[-1]) for word in words if is_dense(word[0])]
    units = dict.fromkeys([*map(_unit, terms), *runs])
    loose = bool(runs) or any(term.weight == 1.0 and term.text not in grammar for term in terms)
    return Phrase(text, _spelled(words), len(words), tuple(units), loose)


def _unit(term: Term) -> Unit:
    return Unit(_spelled(list(pieces(term.text))) if term.identifier else f" {term.text} ", term.keys[-1])


class Message:
    """What somebody said, as phrases are compared with it; of more than `MAX_QUERY_CHARS` the beginning.

    `keys` are its index terms, `subject` the words that carry its subject.
    """

    def __init__(self, text: str) -> None:
        text = text[: word_before(text, MAX_QUERY_CHARS)]
        words = list(pieces(normalize(text)))
        joined = _joined(words)
        runs = (word for word in words if is_dense(word[0]))
        self.keys = frozenset(chain(joined.split(" "), chain.from_iterable(map(index_terms, runs))))
        self.subject = subject(text)
        self._words = frozenset(words)
        self._line = f" {joined} "

    def holds(self, spelled: str) -> bool:
        """Whether words stand in the message, and no character of it is torn to find them."""
        at = self._line.find(spelled)
        while at >= 0:
            if is_boundary(self._line, at) and is_boundary(self._line, at + len(spelled)):
                return True
            at = self._line.find(spelled, at + 1)
        return False

    def is_grammar(self, stem: str) -> bool:
        """Whether a word is a function word of the language that the other words are of."""
        return stem in _function_words() and stem in _grammar(word for word in self._words if fold(word) != stem)


def subject(text: str) -> frozenset[str]:
    """The words that carry the subject of a text, as stems; pairs of characters where no spaces part words."""
    return frozenset(map(fold, subject_of(text)))


class PhraseIndex:
    """Phrases by the words that they need: a message is compared with those only that share a word with it."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self.phrases = tuple(phrases)
        units: dict[Unit, list[int]] = {}
        for number, phrase in enumerate(self.phrases):
            for unit in phrase.units:
                units.setdefault(unit, []).append(number)
        self._by_key: dict[str, list[tuple[str, list[int]]]] = {}
        for unit, numbers in units.items():
            self._by_key.setdefault(unit.key, []).append((unit.spelled, numbers))

    def strengths(self, message: Message) -> Mapping[int, float]:
        """How strongly a message speaks of a phrase, in 0..1, by the number of the phrase; 0 is left out."""
        counts: Counter[int] = Counter()
        for key in self._by_key.keys() & message.keys:
            for spelled, numbers in self._by_key[key]:
                if message.holds(spelled):
                    counts.update(numbers)
        strengths = {number: _strength(self.phrases[number], found, message) for number, found in counts.items()}
        return {number: strength for number, strength in strengths.items() if strength}


def _strength(phrase: Phrase, found: int, message: Message) -> float:
    if phrase.words == 1:
        return 0.0 if message.is_grammar(phrase.spelled.strip()) else SINGLE_WORD
    if found == len(phrase.units) and message.holds(phrase.spelled):
        return WHOLE
    if not phrase.loose:
        return 0.0
    if len(phrase.units) == 1:
        return SINGLE_WORD
    return found / len(phrase.units) * 0.8 + min(1.0, found / 2) * 0.2


@cache
def _function_words() -> frozenset[str]:
    """Those of every language: few words are any, and for the others no language is looked for."""
    return frozenset(map(fold, chain.from_iterable(STOP_WORDS.values())))


def _grammar(words: Iterable[str]) -> frozenset[str]:
    return frozenset(map(fold, stop_words_of(words)))


def _joined(words: Sequence[str]) -> str:
    return " ".join(word if is_dense(word[0]) else fold(word) for word in words)


def _spelled(words: Sequence[str]) -> str:
    """Words one after another, with a border where a word of a spaced script begins or ends them."""
    before, after = ("" if is_dense(word[0]) else " " for word in (words[0], words[-1]))
    return f"{before}{_joined(words)}{after}"
