"""One download as a stream of bytes; the only part of `local` that asks for a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from backends.embedding.remote.wire import RefusedError

_SILENCE_S = 60.0


class FetchError(Exception):
    """The connection could not be made, or broke. The text names the kind of error alone."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A reply whose body is still to come; the names of its headers are lower-case."""

    status: int
    headers: Mapping[str, str]
    chunks: Iterator[bytes]


Fetch: TypeAlias = Callable[[str, Mapping[str, str]], AbstractContextManager[Stream]]


@contextmanager
def fetch(url: str, headers: Mapping[str, str]) -> Iterator[Stream]:
    """Ask for an address, over redirects. Raises `FetchError`, also while the chunks are read."""
    # A model that is on this machine already must not load an HTTP client.
    from backends.embedding.remote.transport import streamed

    try:
        with streamed(url, headers, silence_s=_SILENCE_S) as (status, told, chunks):
            yield Stream(status, told, chunks)
    except RefusedError as refused:
        raise FetchError(refused.detail) from None
