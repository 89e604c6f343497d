"""What has to be embedded, counted before anybody is asked for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import apsw

from backends.base import Notice
from backends.builtin.embedding_cache import EmbeddingCache
from backends.text.costs import token_cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Texts for a provider: `chunks` of `files`, of about `tokens` tokens together.

    `cached` more get their vectors without it: from the cache, or since the same text is sent for another chunk.
    """

    files: int = 0
    chunks: int = 0
    tokens: int = 0
    cached: int = 0


def started(told: Mapping[str, Any]) -> Notice:
    """What operators are told while a large need is met: the fields of `Need`, `provider` and `model`."""
    amount = f"{told['chunks']:,} chunks of {told['files']:,} files, about {told['tokens']:,} tokens by estimate"
    return Notice(
        "embedding_started",
        f"{amount}, are being embedded by {told['provider']} {told['model']}.",
        "Answers go on meanwhile; `qmd-sidecar status` shows how far it is.",
    )


class Tally:
    """Counts chunks without vectors, by the SHA-256 of their texts."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[int, str]] = {}
        self._chunks = 0

    def add(self, path: str, digest: str, text: str) -> None:
        """Count one chunk of the file at `path`."""
        self._chunks += 1
        if digest not in self._texts:
            self._texts[digest] = token_cost(text), path

    def need(self, held: Callable[[Iterable[str]], set[str]]) -> Need:
        """What is left once those are taken that `held` finds among the digests."""
        known = held(self._texts)
        left = [text for digest, text in self._texts.items() if digest not in known]
        return Need(
            files=len({path for _, path in left}),
            chunks=len(left),
            tokens=sum(tokens for tokens, _ in left),
            cached=self._chunks - len(left),
        )


def missing(connection: apsw.Connection, cache: EmbeddingCache) -> Need:
    """What the chunks of an index lack."""
    tally = Tally()
    for path, digest, text in connection.execute("SELECT path, hash, text FROM chunks WHERE stamp = 0"):
        tally.add(path, digest, text)
    return tally.need(cache.held)
