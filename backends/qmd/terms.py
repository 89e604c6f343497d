"""What of a question is given to qmd, whose keyword search wants every word of a line and knows operators."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from backends.relevance import Statistics
from backends.tokens import content_words, fold, is_dense

#: The server takes ten searches in one call.
MAX_WORDS = 10
_MAX_SENTENCE_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class Terms:
    """`words`: content words, most telling first, free of operators; `sentence`: the question on one line."""

    words: tuple[str, ...]
    sentence: str

    @property
    def empty(self) -> bool:
        """Whether there is nothing to look for."""
        return not self.words


def terms_of(text: str, statistics: Statistics | None) -> Terms:
    """Split a question. Runs of unspaced scripts become pairs of characters: qmd indexes those by character."""
    words = list(dict.fromkeys(chain.from_iterable(_searchable(word) for word in content_words(text))))
    words.sort(key=lambda word: _commonness(word, statistics))
    # A leading dash negates a line for qmd, also inside `vec`; quotes must be balanced.
    sentence = " ".join(text.replace('"', " ").split()).lstrip("-– ")
    return Terms(tuple(words[:MAX_WORDS]), sentence[:_MAX_SENTENCE_CHARS].replace(" -", " "))


def _searchable(word: str) -> list[str]:
    if not is_dense(word[0]) or len(word) <= 2:
        return [word]
    return [word[at : at + 2] for at in range(len(word) - 1)]


def _commonness(word: str, statistics: Statistics | None) -> tuple[int, int]:
    """Rare words first; of equally rare ones, the longer. A word that stands nowhere finds nothing: last."""
    frequency = statistics.frequency(fold(word)) if statistics is not None else 1
    return (frequency or 2**31, -len(word))
