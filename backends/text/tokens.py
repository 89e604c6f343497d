"""One idea of a word for indexing, queries and scoring, so that what one of them finds the others find too.

Text is normalised (compatibility forms, case, Latin accents), words of spaced scripts are folded to a stem, runs
of unspaced scripts become single characters and pairs. An identifier such as `PIO-1384`, `v2026.4.10`,
`apply_secrets`, `/etc/foo.conf` or `a@b.org` is indexed by its parts and looked for as typed.

Text comes from anywhere: all work on it is linear, and what is made of a query is bounded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise

from backends.text.stemming import stem
from backends.text.stopwords import PARTICLES, STOP_WORDS, WEAK_PAIRS, WEAK_WORDS, language_of, stop_words_of

#: Part of an index's identity: raise it when the same text would give other terms.
TOKENS_VERSION = 2
MAX_WORD_CHARS = 64
MAX_QUERY_TERMS = 48
#: What a word that asks more than it says counts of its information.
WEAK_WEIGHT = 0.5
#: Of a query longer than that, normalised, the beginning is looked for.
MAX_QUERY_CHARS = 4_000
#: A longer chain of joined words is pasted text (a base64 block, a URL with its query), and no name of anything.
MAX_IDENTIFIER_PARTS = 16

# Scripts written without spaces, and Hangul, whose particles stick to the noun.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3130-\u318f\u31f0-\u31ff"
_DENSE += "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
# Indic vowel signs are marks, not letters, and still part of the word.
_LETTER = rf"(?:[^\W_{_DENSE}]|[\u0900-\u0dff\u064b-\u065f])"
_PIECE = re.compile(rf"[{_DENSE}]+|{_LETTER}+")
# Possessive, and begun at word borders only: no character is looked at again when a long word is joined to nothing.
_JOINED = re.compile(rf"(?<!{_LETTER}){_LETTER}++(?:[-_./@:+#\\]++{_LETTER}++)+")
_REST = re.compile(f"{_LETTER}*")
_LATIN_MARKS = re.compile("[\u0300-\u036f]+")
_PLAIN_COMPOUND = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)+")
#: No letter of any script carries so many marks; decomposing sorts each run of them, in quadratic time.
_MOST_MARKS = 32
#: Where marks beyond the basic plane stand.
_RARE_SCRIPTS = re.compile("[\U000101fd-\U0001d244\U0001e000-\U0001e94a]")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that a query asks for.

    `keys` are the index terms to look up; `text` is what stands in normalised text; a `bounded` term must begin
    and end at a word border; an `identifier` has several keys and is satisfied fully only as typed.
    """

    text: str
    keys: tuple[str, ...]
    bounded: bool = True
    identifier: bool = False
    weight: float = 1.0


def normalize(text: str) -> str:
    """Lower-case, compose and drop Latin accents. Line breaks stay where they are."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", _with_short_mark_runs(text.casefold()))
    return unicodedata.normalize("NFC", _LATIN_MARKS.sub("", decomposed))


def _with_short_mark_runs(text: str) -> str:
    text = _mark_runs(0x300, 0x10000).sub(_shortened, text)
    # `re` is ten times slower with a set of such high characters, and emoji are not among them.
    return _mark_runs(0x10000, 0x1F000).sub(_shortened, text) if _RARE_SCRIPTS.search(text) else text


@cache
def _mark_runs(first: int, end: int) -> re.Pattern[str]:
    """Runs of too many combining marks of a range. Four are made of others, and are not called combining themselves."""
    marks = [*filter(unicodedata.combining, map(chr, range(first, end))), "\u0344", "\u0f73", "\u0f75", "\u0f81"]
    return re.compile(f"[{''.join(marks)}]{{{_MOST_MARKS + 1},}}")


def _shortened(run: re.Match[str]) -> str:
    return run.group()[:_MOST_MARKS]


def is_dense(character: str) -> bool:
    """Whether a character belongs to a script that is cut into pairs instead of words."""
    return character > "\u0dff" and _is_dense(character)


def is_word_character(character: str) -> bool:
    """Whether a character of normalised text continues a word of a spaced script."""
    if character.isascii():
        return character.isalnum()
    marked = "\u0900" <= character <= "\u0dff" or "\u064b" <= character <= "\u065f"
    return marked or (character.isalnum() and not is_dense(character))


def word_end(text: str, at: int) -> int:
    """Where the word of a spaced script that runs through `at` ends."""
    rest = _REST.match(text, at)
    return rest.end() if rest else at


@lru_cache(maxsize=4096)
def _is_dense(character: str) -> bool:
    return re.match(f"[{_DENSE}]", character) is not None


def fold(word: str) -> str:
    """The index term of a normalised word: English and Russian endings go."""
    return _folded_word(word) if len(word) <= MAX_WORD_CHARS else word[:MAX_WORD_CHARS]


@lru_cache(maxsize=65536)
def _folded_word(word: str) -> str:
    return stem(word) if word.isalpha() else word


def index_terms(text: str) -> list[str]:
    """Every index term of a text in order, repeated as often as it stands there."""
    return [key for piece in pieces(normalize(text)) for key in _keys(piece)]


def pieces(normalized: str) -> Iterator[str]:
    """Words and unspaced runs of normalised text in order."""
    return (match.group() for match in _PIECE.finditer(normalized))


def _keys(piece: str) -> Iterator[str]:
    if not is_dense(piece[0]):
        yield fold(piece)
        return
    yield from piece
    yield from (piece[at : at + 2] for at in range(len(piece) - 1))


@lru_cache(maxsize=64)
def query_terms(text: str) -> tuple[Term, ...]:
    """What a query asks for: content words, identifiers as typed, and character pairs, each once, in order.

    Words of grammar go unless nothing else is there. Operators, quotes and dashes are text like any other.
    """
    normalized = _normalized_query(text)
    language = language_of(pieces(normalized)) or ""
    every = _all_terms(normalized)
    content = [term for term in every if not _is_grammar(term, _folded(STOP_WORDS.get(language, frozenset())))]
    weak = _folded(WEAK_WORDS.get(language, frozenset()))
    return tuple(_weighted(term, weak) for term in dict.fromkeys(content or every))[:MAX_QUERY_TERMS]


def content_words(text: str) -> list[str]:
    """The words of a query that carry its subject, normalised and as typed, each once, in order."""
    words = list(dict.fromkeys(pieces(_normalized_query(text))))
    stop = stop_words_of(words)
    return [word for word in words if word not in stop] or words


def subject_of(text: str) -> Iterator[str]:
    """What a statement speaks of: its content words as typed, unspaced runs as pairs of characters."""
    for word in content_words(text):
        if is_dense(word[0]) and len(word) > 1:
            yield from map("".join, pairwise(word))
        else:
            yield word


def _normalized_query(text: str) -> str:
    # Cut twice: one character can stand for eighteen.
    return normalize(text[:MAX_QUERY_CHARS])[:MAX_QUERY_CHARS]


def _all_terms(normalized: str) -> list[Term]:
    terms: list[Term] = []
    at = 0
    for match in _JOINED.finditer(normalized):
        terms += _plain_terms(normalized[at : match.start()])
        terms += _joined_terms(match.group())
        at = match.end()
    return terms + _plain_terms(normalized[at:])


def _joined_terms(compound: str) -> list[Term]:
    keys = tuple(key for piece in pieces(compound) for key in _keys(piece))
    if len(keys) > MAX_IDENTIFIER_PARTS or _PLAIN_COMPOUND.fullmatch(compound):
        return _plain_terms(compound)
    return [Term(compound, keys, identifier=True)]


def _plain_terms(text: str) -> list[Term]:
    terms: list[Term] = []
    for piece in pieces(text):
        if not is_dense(piece[0]):
            terms.append(Term(fold(piece), (fold(piece),)))
        elif len(piece) == 1:
            terms.append(Term(piece, (piece,), bounded=False))
        else:
            terms += (Term(pair, (pair,), bounded=False) for pair in map("".join, pairwise(piece)))
    return terms


def _is_grammar(term: Term, stop: frozenset[str]) -> bool:
    if term.identifier:
        return False
    return term.text in stop if term.bounded else PARTICLES.issuperset(term.text)


def _weighted(term: Term, weak: frozenset[str]) -> Term:
    if term.identifier or term.text not in (weak if term.bounded else WEAK_PAIRS):
        return term
    return replace(term, weight=WEAK_WEIGHT)


@lru_cache(maxsize=32)
def _folded(stop: frozenset[str]) -> frozenset[str]:
    return frozenset(fold(word) for word in stop)
