"""How an embedding API is spoken: values and protocols without any input or output.

A `Wire` turns texts into a request and a reply into vectors; `Credentials` add who asks. Neither opens a connection,
so each is tested with bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from backends.embedding.base import Side, Vectors


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. Headers and body are kept out of its repr: they hold keys and memory text."""

    url: str
    body: bytes = field(repr=False, default=b"")
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP reply; the names of its headers are lower-case."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)


#: Sends one request and waits for its reply, whatever its status. Raises `RefusedError` when none comes.
Send: TypeAlias = Callable[[Request], Reply]

#: The same within so many seconds, from the first byte sent to the last one read.
SendWithin: TypeAlias = Callable[[Request, float], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request may hold, as the provider documents it: texts, estimated tokens of all, and of each text."""

    texts: int
    tokens: int
    text_tokens: int = 8192


class Trouble(StrEnum):
    """Every way in which a provider can fail a request."""

    SIZE = "size"  # the request is too large as a whole
    TEXT = "text"  # one of its texts cannot be embedded
    RATE = "rate"
    QUOTA = "quota"
    KEY = "key"
    MODEL = "model"
    SERVER = "server"
    NETWORK = "network"
    TIMEOUT = "timeout"
    REPLY = "reply"  # what came back is not what the protocol says
    REQUEST = "request"  # refused for a reason that no retry and no other text changes


class RefusedError(Exception):
    """A request that brought no vectors. `detail` names a status or a code, and never quotes a reply.

    `retry_after_s` is what the provider asked to wait.
    """

    def __init__(self, trouble: Trouble, detail: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(f"{trouble}: {detail}")
        self.trouble = trouble
        self.detail = detail
        self.retry_after_s = retry_after_s


class Wire(Protocol):
    """One API for one model."""

    @property
    def limits(self) -> Limits:
        """What one request may hold."""
        ...

    def request(self, texts: Sequence[str], side: Side) -> Request:
        """The request for the vectors of texts, without credentials."""
        ...

    def vectors(self, reply: Reply, count: int) -> Vectors:
        """The rows of a successful reply in the order of the texts, shape (count, dims), as the provider gave them.

        Raises `RefusedError(REPLY)` when it does not hold `count` rows of one length.
        """
        ...


@runtime_checkable
class MediaWire(Wire, Protocol):
    """An API that may take images and recordings, too, in the space of texts."""

    @property
    def reads_media(self) -> bool:
        """Whether this model does."""
        ...

    def media_request(self, mime: str, data: bytes) -> Request:
        """The request for the vector of one image or recording; `vectors(reply, 1)` reads its reply.

        Raises `RefusedError` for what the model does not take.
        """
        ...


class Credentials(Protocol):
    """Who asks."""

    def signed(self, request: Request, send: Send) -> Request:
        """The request with what proves it; `send` serves an exchange of tokens. Raises `RefusedError`."""
        ...

    def renewed(self) -> bool:
        """Whether a refused key was a token that `signed` will exchange again: then one more try makes sense."""
        ...
