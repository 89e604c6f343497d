"""The command line of qmd: which arguments for which verb, on which version. The query always follows `--`."""

from __future__ import annotations

from collections.abc import Sequence

from backends.base import Mode
from backends.qmd.install import MANY_COLLECTIONS, NO_RERANK, Install
from backends.qmd.terms import Terms

#: Rows are files and passages are cut by us, so many rows cost little and a large collection starves no other.
ROW_LIMIT = 24


def searches(install: Install, terms: Terms, mode: Mode, collections: Sequence[str]) -> list[list[str]]:
    """The command lines that together answer a search; their rows are to be joined.

    qmd's keyword search wants every word. One word is a plain `search`. More words are one `query` with
    a `lex:` line each (any word may match) where the version takes that. Older ones search for all words,
    and for each of the two most telling ones alone.
    """
    program = str(install.binary.path)
    if mode is not Mode.SEARCH or (len(terms.words) > 1 and install.version >= NO_RERANK):
        lines = "\n".join(f"{kind}: {text}" for kind, text in typed(terms, mode))
        fixed = [program, "query", "--json", "--no-rerank", "-C", str(ROW_LIMIT), "-n", str(ROW_LIMIT)]
        return [[*fixed, *names, "--", lines] for names in _scopes(install, collections)]
    fixed = [program, "search", "--json", "-n", str(ROW_LIMIT)]
    return [[*fixed, *names, "--", text] for names in _scopes(install, collections) for text in fewer(terms.words)]


def typed(terms: Terms, mode: Mode) -> list[tuple[str, str]]:
    """The typed searches of a mode: a `lex` for each word, a `vec` for the meaning."""
    words = [("lex", word) for word in terms.words]
    meaning = [("vec", terms.sentence)] if terms.sentence else []
    if mode is Mode.SEARCH:
        return words
    # The server takes ten searches at most; the first counts twice.
    return meaning if mode is Mode.VSEARCH else [*meaning, *words[:9]]


def fewer(words: Sequence[str]) -> list[str]:
    """All words at once, then the two most telling ones by themselves (words come most telling first)."""
    return list(dict.fromkeys([" ".join(words), *words[:2]]))


def update(install: Install) -> list[str]:
    """Index what changed on disk."""
    return [str(install.binary.path), "update"]


def embed(install: Install) -> list[str]:
    """Compute the vectors that are missing."""
    return [str(install.binary.path), "embed"]


def resident(install: Install) -> list[str]:
    """Stay, and answer over stdio."""
    return [str(install.binary.path), "mcp"]


def _scopes(install: Install, collections: Sequence[str]) -> list[list[str]]:
    flags = [["-c", name] for name in collections]
    if install.version >= MANY_COLLECTIONS:
        return [[word for flag in flags for word in flag]]
    return flags
