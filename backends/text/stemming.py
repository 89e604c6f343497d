"""Stems by script: "painting", "painted" and "paints" are one word in English notes, as are Russian cases."""

from __future__ import annotations

import re
import threading

import snowballstemmer

_SHORT_I = re.compile("(?<=[аеиоуыэюя])и")
_CYRILLIC = re.compile("[\u0400-\u045f]+")


class _Stemmers(threading.local):
    """A stemmer keeps the word it works on, so each thread has its own."""

    def __init__(self) -> None:
        self.porter = snowballstemmer.stemmer("porter")
        self.russian = snowballstemmer.stemmer("russian")


_stemmers = _Stemmers()


def stem(word: str) -> str:
    """The stem of a lower-case word of ASCII or Cyrillic letters, which it begins with; other words stay."""
    if len(word) < 3:
        return word
    if word.isascii():
        return str(_stemmers.porter.stemWord(word))
    return _russian(word) if _CYRILLIC.fullmatch(word) else word


def _russian(word: str) -> str:
    # Normalising took the breve from й, by which the stemmer knows half of the endings.
    return str(_stemmers.russian.stemWord(_SHORT_I.sub("й", word))).replace("й", "и")
