"""What of a question is given to qmd, whose keyword search wants every word of a line and knows operators."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from backends.relevance import Statistics
from backends.text.tokens import MAX_QUERY_CHARS, content_words, fold, is_dense, normalize, pieces

#: The server takes ten searches in one call.
MAX_WORDS = 10
# Each word costs the resident some 4 ms over a thousand notes: common ones are left out where rarer ones are there.
_MOST_CHOSEN = 6
_LEAST_CHOSEN = 2
_COMMON_SHARE = 0.15
_MAX_SENTENCE_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Terms:
    """`words`: content words as qmd finds them, most telling first; `sentence`: the question on one line.

    `frequency` is that of the most common of the words, in passages; None when nobody counted.
    """

    words: tuple[str, ...]
    sentence: str
    frequency: int | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.words


def terms_of(text: str, statistics: Statistics | None) -> Terms:
    """Split a question. Runs of unspaced scripts become pairs of characters: qmd indexes those by character."""
    words = list(dict.fromkeys(chain.from_iterable(_searchable(word) for word in content_words(text))))
    words.sort(key=lambda word: _commonness(word, statistics))
    chosen = words[:MAX_WORDS] if statistics is None else _telling(words, statistics)
    frequency = None if statistics is None else max((statistics.frequency(fold(word)) for word in chosen), default=0)
    # A leading dash negates a line for qmd, also inside `vec`; quotes must be balanced.
    sentence = " ".join(text.replace('"', " ").split()).lstrip("-– ")
    spelled = _spellings(text)
    written = dict.fromkeys(form for word in chosen for form in _forms(word, spelled))
    return Terms(tuple(islice(written, MAX_WORDS)), sentence[:_MAX_SENTENCE_CHARS].replace(" -", " "), frequency)


def _spellings(text: str) -> Mapping[str, str]:
    """Words as they were typed, by what they are when normalised."""
    typed = unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS]).lower()
    return {normalize(word): word for word in pieces(typed)}


def _forms(word: str, spelled: Mapping[str, str]) -> Iterator[str]:
    """A normalised word in the spellings that qmd may have indexed.

    It drops the accent of a Latin letter that has one; every other accented letter (`й`, `ή`, `ệ`) is one of its own.
    """
    typed = spelled.get(word, word)
    if "".join(map(_without_accent, typed)) != word:
        yield _phrase(typed)
    yield _phrase(word)


def _without_accent(character: str) -> str:
    apart = unicodedata.normalize("NFD", character)
    return apart[0] if len(apart) == 2 and apart[0].isascii() else character


def _phrase(word: str) -> str:
    """A word of a script with vowel signs: qmd cuts notes at the signs, but only takes them out of what it is asked."""
    parts = "".join(" " if _is_sign(character) else character for character in word).split()
    return f'"{" ".join(parts)}"' if len(parts) > 1 else word


def _is_sign(character: str) -> bool:
    return unicodedata.category(character).startswith("M") and not "\u0300" <= character <= "\u036f"


def _searchable(word: str) -> list[str]:
    if not is_dense(word[0]) or len(word) <= 2:
        return [word]
    return [word[at : at + 2] for at in range(len(word) - 1)]


def _telling(words: Sequence[str], statistics: Statistics) -> list[str]:
    """The rarest few of words that come rarest first; common ones only as far as rarer ones are missing."""
    common = _COMMON_SHARE * statistics.documents
    rare = sum(0 < statistics.frequency(fold(word)) <= common for word in words)
    wanted = max(_LEAST_CHOSEN, min(rare, _MOST_CHOSEN))
    return [*words[:wanted], *_unheard(words[wanted:], statistics, _MOST_CHOSEN - wanted)]


def _unheard(words: Sequence[str], statistics: Statistics, room: int) -> list[str]:
    """Words that stand nowhere: qmd may have seen them first, or know words that begin so. They cost nothing."""
    return [word for word in words if not statistics.frequency(fold(word))][: max(0, room)]


def _commonness(word: str, statistics: Statistics | None) -> tuple[int, int]:
    """Rare words first; of equally rare ones, the longer. A word that stands nowhere finds nothing: last."""
    frequency = statistics.frequency(fold(word)) if statistics is not None else 1
    return (frequency or 2**31, -len(word))
