"""Whether an embedding provider really answers: one real embedding, for whoever asks at the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from backends.base import BackendError, Failure, Notice
from backends.builtin import NO_MODEL, EmbeddingSpec, QueryVector, Writer
from backends.embedding import resolve

#: A provider that takes longer is of no use to a search either.
DEADLINE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What came of it: `vector` after `took_s` seconds, or `error`; neither where nothing is embedded on purpose.

    The seconds are those that a search would have waited, with the start of the worker where it was not running.
    """

    provider: str
    vector: QueryVector | None = None
    took_s: float = 0.0
    error: Notice | None = None


class Prober:
    """Probes providers through the worker. One provider is asked once at a time, and all who wait hear the answer."""

    def __init__(self, writer: Writer, *, deadline_s: float = DEADLINE_S) -> None:
        self._writer = writer
        self._deadline_s = deadline_s
        self._running: dict[EmbeddingSpec, asyncio.Task[Probe]] = {}

    async def probe(self, specs: Sequence[EmbeddingSpec]) -> list[Probe]:
        """One answer for each, all within the deadline."""
        return list(await asyncio.gather(*(asyncio.shield(self._started(spec)) for spec in specs)))

    def _started(self, spec: EmbeddingSpec) -> asyncio.Task[Probe]:
        running = self._running.get(spec)
        if running is None:
            running = self._running[spec] = asyncio.create_task(self._probe(spec))
            running.add_done_callback(lambda _: self._running.pop(spec))
        return running

    async def _probe(self, spec: EmbeddingSpec) -> Probe:
        if spec.provider == "none":
            return Probe(provider="none")
        provider, started = resolve(spec), time.perf_counter()
        try:
            async with asyncio.timeout(self._deadline_s):
                vector = await self._writer.probe(spec)
        except TimeoutError:
            return Probe(provider=provider, error=self._late(provider))
        except BackendError as error:
            return Probe(provider=provider, error=_told(error))
        if vector is None:
            return Probe(provider=provider, error=NO_MODEL)
        return Probe(provider=vector.identity.provider, vector=vector, took_s=time.perf_counter() - started)

    def _late(self, provider: str) -> Notice:
        return Notice(
            "embedding_timeout",
            f"The embedding provider {provider} gave no vector within {self._deadline_s:g} s.",
            "Ask again where a model may still be loading; else see whether its server can be reached from here.",
        )


def _told(error: BackendError) -> Notice:
    if error.failure is Failure.EMBEDDING:
        return Notice(error.code, error.message, error.hint)
    # Not the provider's fault: it was not reached.
    return Notice(error.code, error.message, error.hint or "Ask again in a minute; the daemon's log tells more.")
