"""What of a question is given to qmd, whose keyword search wants every word of a line and knows operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from backends.relevance import Statistics
from backends.tokens import content_words, fold, is_dense

#: The server takes ten searches in one call.
MAX_WORDS = 10
# Each word costs the resident some 4 ms over a thousand notes: common ones are left out where rarer ones are there.
_MOST_CHOSEN = 6
_LEAST_CHOSEN = 2
_COMMON_SHARE = 0.15
_MAX_SENTENCE_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Terms:
    """`words`: content words, most telling first, free of operators; `sentence`: the question on one line.

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
    return Terms(tuple(chosen), sentence[:_MAX_SENTENCE_CHARS].replace(" -", " "), frequency)


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
