"""A question's vector: made by the model of the index, which for a while may not be the one that is configured."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from backends.base import BackendError, Failure, Notice
from backends.builtin.options import QueryVector, Writer
from backends.embedding import EmbeddingSpec, Vectors, resolve

#: The identity of the vectors in an index, as stored in it; None without any, or before it was looked at.
Stored: TypeAlias = Mapping[str, Any] | None

_LATE = Notice(
    "semantic_unfinished",
    "Only keywords were searched: the question was not embedded in time.",
    "Ask again; raise limits.timeoutMs if it goes on.",
)
#: Vectors of two models are never compared.
OTHER_VECTORS = Notice(
    "semantic_unfinished",
    "Only keywords were searched: the index has vectors of another model than the question.",
    "Wait for the next sync, which makes new ones.",
)


@dataclass(frozen=True, slots=True)
class Semantics:
    """What the vector leg of one search has: the question's vector, or why it has none."""

    vector: QueryVector | None = None
    late: bool = False
    notice: Notice | None = None

    def against(self, stored: Stored) -> Vectors | None:
        """The vector, shape (dims,), if it can be compared with those of an index."""
        if self.vector is None or asdict(self.vector.identity) != stored:
            return None
        return np.frombuffer(self.vector.data, dtype="<f4")


class Questions:
    """Has questions embedded, by the configured model or by the one that an index was built with."""

    def __init__(self, spec: EmbeddingSpec, writer: Writer) -> None:
        self._spec = spec
        self._provider = resolve(spec)
        self._writer = writer
        #: Whose vectors the configured model gives, as far as it was asked.
        self._own: Stored = None

    @property
    def are_possible(self) -> bool:
        """Whether there is a model at all."""
        return self._provider != "none"

    async def semantics(self, text: str, stored: Callable[[], Stored], limit_s: float) -> Semantics:
        """The vector of a question. `stored` may come to know more while the first model is asked."""
        try:
            async with asyncio.timeout(max(0.0, limit_s)):
                return Semantics(await self._vector(text, stored))
        except TimeoutError:
            return Semantics(late=True, notice=_LATE)
        except BackendError as error:
            if self._spec.required and error.failure is Failure.EMBEDDING:
                raise
            code = error.code if error.failure is Failure.EMBEDDING else "embedding_failed"
            return Semantics(late=True, notice=Notice(code, error.message, error.hint))

    async def _vector(self, text: str, stored: Callable[[], Stored]) -> QueryVector | None:
        if not self._is_of_another(stored()):
            vector = await self._writer.embed_query(self._spec, text)
            self._own = asdict(vector.identity) if vector else None
            if not self._is_of_another(stored()):
                return vector
        return await self._builders_vector(text, stored() or {})

    async def _builders_vector(self, text: str, builder: Mapping[str, Any]) -> QueryVector | None:
        """The vector by the model that an index was built with; None when it cannot be reached any more."""
        if builder["provider"] == self._provider:
            spec = replace(self._spec, model=builder["model"], dims=builder["dims"])
        else:
            spec = EmbeddingSpec(provider=builder["provider"], model=builder["model"])
        try:
            return await self._writer.embed_query(spec, text)
        except BackendError as error:
            if error.failure is Failure.EMBEDDING:
                return None
            raise

    def _is_of_another(self, stored: Stored) -> bool:
        """Whether an index was certainly built with another model than the one that is configured."""
        if stored is None:
            return False
        if self._provider != stored["provider"] or (self._spec.model or stored["model"]) != stored["model"]:
            return True
        return self._own is not None and self._own != stored
