"""A second embedding provider for when the first fails, with an index of its own: vectors of two are never mixed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from backends.base import (
    Answer,
    BackendError,
    BackendStatus,
    Failure,
    Fallback,
    Notice,
    Query,
    SyncReport,
    SyncRequest,
)
from backends.builtin.backend import BuiltinBackend
from backends.builtin.options import Estimate
from backends.embedding import EmbeddingSpec
from backends.relevance import Statistics

#: How often a question tries the first provider again while it is down.
RETRY_S = 30.0
#: A provider that only questions found down is given so long before all notes are embedded by the second.
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class _Down:
    """Why the first provider is not used, since when (Unix seconds), and what a caller should do about it."""

    since: float
    reason: str
    message: str = ""
    action: str = ""


class SecondProvider:
    """Two built-in indexes over the same notes, seen as one: the second is made when the first's provider fails.

    Once the first provider answers again it is used again; both keep their vectors. `first` must require its provider,
    so that a question that cannot be embedded is an error here, and not an answer without vectors.
    """

    def __init__(
        self,
        first: BuiltinBackend,
        second: BuiltinBackend,
        *,
        provider: str,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._first = first
        self._second = second
        self._provider = provider
        self._wall = wall
        self._down: _Down | None = None
        self._retry_at = 0.0

    @property
    def name(self) -> str:
        """`builtin`: the engine is the same."""
        return self._first.name

    @property
    def providers(self) -> tuple[EmbeddingSpec, ...]:
        """The first choice, then the second."""
        return (*self._first.providers, *self._second.providers)

    def statistics(self) -> Statistics | None:
        """Word frequencies for another engine over the same notes."""
        return self._first.statistics()

    async def search(self, query: Query) -> Answer:
        """Answer by the first provider, else by the second, else by words, and say which. Raises `BackendError`."""
        if self._down is None or self._wall() >= self._retry_at:
            try:
                answer = await self._first.search(query)
            except BackendError as error:
                if error.failure is not Failure.EMBEDDING:
                    raise
                self._failed(error.code, error.message, error.hint)
            else:
                if answer.provider is not None:
                    self._down = None
                if self._down is None:
                    return answer
        assert self._down is not None
        return await self._instead(query, self._down)

    async def _instead(self, query: Query, down: _Down) -> Answer:
        fallback = Fallback(origin=self._provider, reason=down.reason, since=down.since)
        if self._second.has_vectors:
            return replace(await self._second.search(query), embedding_fallback=fallback)
        answer = await self._first.search_words(query)
        notices = (Notice(down.reason, down.message, down.action), *answer.notices, *self._second.status().notices)
        return replace(answer, notices=tuple({notice.code: notice for notice in reversed(notices)}.values())[::-1])

    def _failed(self, code: str, message: str = "", action: str = "") -> None:
        now = self._wall()
        self._retry_at = now + RETRY_S
        self._down = _Down(self._down.since if self._down else now, code, message, action)

    async def sync(self, request: SyncRequest) -> SyncReport:
        """Bring the first index up to date, and the second as long as it has to answer. Raises `BackendError`."""
        report = await self._first.sync(request)
        if report.embedding_failure:
            self._failed(report.embedding_failure, *self._told(report.embedding_failure))
        elif report.embedded:
            self._down = None
        wanted = self._down is not None and (
            bool(report.embedding_failure) or self._wall() >= self._down.since + PATIENCE_S
        )
        if not (wanted or self._second.has_index):
            return report
        # One that was made once knows the words of every note, for the moment in which it has to answer.
        second = await self._second.sync(replace(request, embed=request.embed and wanted))
        told = "embedded by the second provider" if second.embedded else second.embedding_failure
        return replace(
            report,
            ran=report.ran or second.ran,
            embedded=report.embedded + second.embedded,
            cached=report.cached + second.cached,
            detail="; ".join(part for part in (report.detail, told) if part),
        )

    async def estimate(self) -> Estimate:
        """What a sync would have to embed by the first provider. Raises `BackendError`."""
        return await self._first.estimate()

    def _told(self, code: str) -> tuple[str, str]:
        """What the first index says about a failure: message and action."""
        notices = (notice for notice in self._first.status().notices if notice.code == code)
        return next(((notice.message, notice.action) for notice in notices), ("", ""))

    def status(self) -> BackendStatus:
        """The first index's, with the second's facts beside them once it is there."""
        status = self._first.status()
        detail = {**status.detail}
        if self._second.has_vectors:
            detail["secondProvider"] = dict(self._second.status().detail)
        if self._down:
            detail["embeddingFallback"] = {
                "from": self._provider,
                "reason": self._down.reason,
                "since": self._down.since,
            }
        return replace(status, detail=detail)

    async def close(self) -> None:
        """Close both. Safe to call twice."""
        await self._first.close()
        await self._second.close()
