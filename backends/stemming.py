"""Porter's stemmer, so that "painting", "painted" and "paints" are one word in English notes."""

from __future__ import annotations

import threading

import snowballstemmer


class _Stemmers(threading.local):
    """A stemmer keeps the word it works on, so each thread has its own."""

    def __init__(self) -> None:
        self.porter = snowballstemmer.stemmer("porter")


_stemmers = _Stemmers()


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word of at least three letters; shorter words stay."""
    return str(_stemmers.porter.stemWord(word)) if len(word) > 2 else word
