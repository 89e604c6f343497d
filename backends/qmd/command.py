"""The command line of qmd: which arguments for which verb, on which version. The query always follows `--`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from backends.base import Mode
from backends.qmd.install import Install
from backends.qmd.terms import MAX_WORDS, Terms

#: Rows are files, and each is read for its passages. Over 200 files of conversation, 12 rows find 0.66 of the evidence,
#: 24 find 0.69, and 40 no more than that, since qmd takes the best 20 files of each word.
ROW_LIMIT = 24


def searches(
    install: Install, terms: Terms, mode: Mode, collections: Sequence[str], scope: str = ""
) -> list[list[str]]:
    """The command lines that together answer a search; their rows are to be joined.

    qmd's keyword search wants every word. One word is a plain `search`. More words are one `query` with
    a `lex:` line each (any word may match) where the version takes that. Older ones search for all words,
    and for each of the two most telling ones alone.
    """
    program = str(install.binary.path)
    if mode is not Mode.SEARCH or (len(terms.words) > 1 and install.able.typed):
        lines = "\n".join(f"{kind}: {text}" for kind, text in typed(terms, mode, scope))
        fixed = [program, "query", "--json", "--no-rerank", "-C", str(ROW_LIMIT), "-n", str(ROW_LIMIT)]
        return [[*fixed, *names, "--", lines] for names in _scopes(install, collections)]
    fixed = [program, "search", "--json", "-n", str(ROW_LIMIT)]
    texts = [f"{text}{scope}" for text in fewer(terms.words)]
    return [[*fixed, *names, "--", text] for names in _scopes(install, collections) for text in texts]


def typed(terms: Terms, mode: Mode, scope: str = "") -> list[tuple[str, str]]:
    """The typed searches of a mode: a `lex` for each word, a `vec` for the meaning."""
    words = [("lex", f"{word}{scope}") for word in terms.words]
    meaning = [("vec", terms.sentence)] if terms.sentence else []
    if mode is Mode.SEARCH:
        return words
    # The server takes ten searches at most; the first counts twice.
    return meaning if mode is Mode.VSEARCH else [*meaning, *words[: MAX_WORDS - 1]]


def scope_of(collection: str) -> str:
    """What, behind a word, keeps qmd to the files of one collection before it cuts its list of candidates.

    That list holds the best 200 of the whole index; with the same word in 700 sessions, a note is not among them. But
    qmd indexes `collection/path` of every file as text, too, and a phrase must stand somewhere in the file. Only ASCII
    names: how others are split into words is not ours to guess.
    """
    name = " ".join(re.findall(r"[A-Za-z0-9]+", collection))
    return f' "{name}"' if name and collection.isascii() else ""


def fewer(words: Sequence[str]) -> list[str]:
    """All words at once, then the two most telling ones by themselves (words come most telling first)."""
    return list(dict.fromkeys([" ".join(words), *words[:2]]))


def update(install: Install) -> list[str]:
    """Index what changed on disk."""
    return [str(install.binary.path), "update"]


def embed(install: Install) -> list[str]:
    """Compute the vectors that are missing."""
    return [str(install.binary.path), "embed"]


def cleanup(install: Install) -> list[str]:
    """Remove what no file stands for any more, and make the database anew from the rest."""
    return [str(install.binary.path), "cleanup"]


def resident(install: Install) -> list[str]:
    """Stay, and answer over stdio."""
    return [str(install.binary.path), "mcp"]


def add(install: Install, name: str, path: str, pattern: str) -> list[str]:
    """Make a collection, for a qmd that does not take it from index.yml; `--glob` would be ignored silently."""
    return [str(install.binary.path), "collection", "add", path, "--name", name, "--mask", pattern]


def remove(install: Install, collection: str) -> list[str]:
    """Forget a collection and its documents."""
    return [str(install.binary.path), "collection", "remove", collection]


def _scopes(install: Install, collections: Sequence[str]) -> list[list[str]]:
    flags = [["-c", name] for name in collections]
    if install.able.many_collections:
        return [[word for flag in flags for word in flag]]
    return flags
