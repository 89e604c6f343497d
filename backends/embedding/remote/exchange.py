"""One request to a service and its reply: signed, tried again where that may help, judged and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from backends.embedding.base import Media, Side, Vectors
from backends.embedding.remote.refusals import judge
from backends.embedding.remote.retrying import Patience
from backends.embedding.remote.wire import (
    Credentials,
    MediaWire,
    RefusedError,
    Reply,
    Request,
    SendWithin,
    Trouble,
    Wire,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long a question and one request for documents may take, in seconds; a question with all its attempts."""

    query_s: float = 60.0
    documents_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A model and how it is reached. `headers` are added to every request, before it is signed."""

    wire: Wire
    credentials: Credentials
    send: SendWithin = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeouts: Timeouts = field(default_factory=Timeouts)
    patience: Patience = field(default_factory=Patience)

    def ask(self, texts: Sequence[str], side: Side) -> Vectors:
        """The rows of texts as the provider gives them, shape (len(texts), dims). Raises `RefusedError`."""
        timeout_s, patience = self.timeouts.documents_s, self.patience
        if side is Side.QUERY:
            timeout_s = self.timeouts.query_s
            patience = replace(patience, budget_s=timeout_s)
        return self._persist(patience, lambda: self.wire.request(texts, side), len(texts), timeout_s)

    def ask_medium(self, medium: Media) -> Vectors:
        """The row of one image or recording, shape (1, dims). Raises `RefusedError`: MODEL for a model of texts."""
        wire = self.wire
        if not isinstance(wire, MediaWire):
            raise RefusedError(Trouble.MODEL, "a model for texts only")
        asked = partial(wire.media_request, medium.mime, medium.data)
        return self._persist(self.patience, asked, 1, self.timeouts.documents_s)

    def _persist(self, patience: Patience, asked: Callable[[], Request], count: int, timeout_s: float) -> Vectors:
        return patience.persist(lambda: self._renewing(lambda: self._attempt(asked, count, timeout_s)))

    def _renewing(self, attempt: Callable[[], Vectors]) -> Vectors:
        """The result of an attempt, or of one more with a new token where the old one was refused."""
        try:
            return attempt()
        except RefusedError as refused:
            if refused.trouble is not Trouble.KEY or not self.credentials.renewed():
                raise
        return attempt()

    def _attempt(self, asked: Callable[[], Request], count: int, timeout_s: float) -> Vectors:
        def send(request: Request) -> Reply:
            return self.send(request, timeout_s)

        request = asked()
        request = replace(request, headers={**request.headers, **self.headers})
        reply = send(self.credentials.signed(request, send))
        if not 200 <= reply.status < 300:
            raise judge(reply)
        return self.wire.vectors(reply, count)
