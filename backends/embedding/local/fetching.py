"""One download as a stream of bytes; the only part of `local` that opens a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

_CONNECT_TIMEOUT_S = 15.0
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
    import httpx

    timeout = httpx.Timeout(_SILENCE_S, connect=_CONNECT_TIMEOUT_S)
    # Ranges count bytes of the file itself, so it must not come compressed.
    plain = {**headers, "accept-encoding": "identity"}
    try:
        with httpx.stream("GET", url, headers=plain, timeout=timeout, follow_redirects=True) as reply:
            yield Stream(reply.status_code, dict(reply.headers), reply.iter_raw())
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # What httpx says may quote an address with a password in it.
        raise FetchError(type(error).__name__) from None
