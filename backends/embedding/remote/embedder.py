"""One embedder for every API behind HTTP: what fits into a request, what a refusal means, and unit vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from backends.embedding.base import HARMLESS, EmbeddingIdentity, EmbeddingUnavailableError, Media, Side, Vectors
from backends.embedding.remote.batch.runner import BatchRunner, JobStore
from backends.embedding.remote.batch.wire import Result
from backends.embedding.remote.dividing import DIVISIBLE, Cap, Division
from backends.embedding.remote.exchange import Exchange
from backends.embedding.remote.refusals import unavailable
from backends.embedding.remote.wire import MediaWire, RefusedError, Trouble
from backends.embedding.units import unit_rows
from backends.media import TYPES
from backends.relevance import Spread
from backends.text.costs import fitting_end, token_cost
from backends.text.scripts import Script

#: More in one call would only make a failed one dearer.
_BATCH_TEXTS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Whose vectors they are and what is known of them.

    `dims` asks for that length, and the vectors of a server that knows no such wish are shortened to it. `key` goes
    into the identity. `concurrency` is how many calls the provider takes at a time.
    """

    provider: str
    model: str
    dims: int | None = None
    key: str = ""
    concurrency: int = 4
    spread: Spread


Jobs: TypeAlias = Callable[[JobStore, Callable[[float], None]], BatchRunner]


class RemoteJobs:
    """The batch jobs of one model, for texts as they are sent to it otherwise."""

    def __init__(
        self,
        runner: BatchRunner,
        sendable: Callable[[str], str],
        unavailable: Callable[[RefusedError], EmbeddingUnavailableError],
    ) -> None:
        self._runner = runner
        self._sendable = sendable
        self._unavailable = unavailable

    @property
    def has_jobs(self) -> bool:
        """Whether jobs of this model and account are under way."""
        return self._runner.has_jobs

    def run(self, texts: Mapping[str, str]) -> Iterator[Result]:
        """The vectors of texts by digest; see `BatchRunner.run`.

        Raises `BatchGivenUp`, and `EmbeddingUnavailableError` when no call of any kind can succeed.
        """
        try:
            yield from self._runner.run({digest: self._sendable(text) for digest, text in texts.items()})
        except RefusedError as refused:
            raise self._unavailable(refused) from None


class RemoteEmbedder:
    """Vectors of one model behind HTTP. Safe to share between threads.

    Making one asks for the vector of a harmless word, which tells the length of all others: that raises
    `EmbeddingUnavailableError` when the provider cannot be used.
    """

    def __init__(self, profile: Profile, exchange: Exchange, jobs: Jobs | None = None) -> None:
        self._profile = profile
        self._jobs = jobs
        self._exchange = exchange
        self._limits = exchange.wire.limits
        self._cap = Cap(self._limits.texts)
        self._dims = profile.dims
        # As a question: whoever waits for one waits for this, too.
        self._dims = self._sound(Side.QUERY).shape[1]
        self.concurrency = profile.concurrency
        self.identity = EmbeddingIdentity(
            provider=profile.provider, model=profile.model, dims=self._dims, key=profile.key
        )

    @property
    def batch_texts(self) -> int:
        """How many texts one call is best given: no more than a request is known to take."""
        return min(self._cap.texts, _BATCH_TEXTS)

    def usual_spread(self, script: Script) -> Spread:
        """The same for every script: models that are offered to everyone are trained on many."""
        return self._profile.spread

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row of float32 per text, shape (len(texts), dims).

        A blank text is a zero row; one that the provider refuses alone, or gives no finite numbers for, a row of NaN.
        Raises `EmbeddingUnavailableError` when the provider itself fails.
        """
        return self._embed(texts, Side.DOCUMENT)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question, shape (dims,); zero for a blank one. Raises `EmbeddingUnavailableError`."""
        vector: Vectors = self._embed([text], Side.QUERY)[0]
        if not np.isfinite(vector).all():
            raise self._unavailable(RefusedError(Trouble.TEXT, "no vector for this question"))
        return vector

    def jobs(self, store: JobStore, sleep: Callable[[float], None]) -> RemoteJobs | None:
        """What runs the provider's batch jobs; None when there are none, or they did not work here before."""
        return RemoteJobs(self._jobs(store, sleep), self._sendable, self._unavailable) if self._jobs else None

    def gave_up(self) -> None:
        """Batch jobs do not work here: no more of them."""
        self._jobs = None

    @property
    def media(self) -> frozenset[str]:
        """The media types that the model takes; none for a model of texts."""
        wire = self._exchange.wire
        return frozenset(TYPES.values()) if isinstance(wire, MediaWire) and wire.reads_media else frozenset()

    def embed_media(self, items: Sequence[Media]) -> Vectors:
        """One unit row per image or recording, shape (len(items), dims), each by a request of its own.

        One that the provider refuses is a row of NaN. Raises `EmbeddingUnavailableError` when the provider itself
        fails.
        """
        rows: Vectors = np.zeros((len(items), self.identity.dims), dtype=np.float32)
        for at, item in enumerate(items):
            rows[at] = self._medium(item)
        return rows

    def _medium(self, item: Media) -> Vectors:
        try:
            return self._fitted(self._exchange.ask_medium(item))
        except RefusedError as refused:
            if refused.trouble not in DIVISIBLE:
                raise self._unavailable(refused) from None
        # A provider that refuses everything must not pass for one that cannot take this file.
        self._sound(Side.DOCUMENT)
        return np.full((1, self.identity.dims), np.nan, dtype=np.float32)

    def _embed(self, texts: Sequence[str], side: Side) -> Vectors:
        rows: Vectors = np.zeros((len(texts), self.identity.dims), dtype=np.float32)
        # Blank texts mean nothing, and most providers refuse them.
        kept = [at for at, text in enumerate(texts) if text.strip()]
        done = 0
        for batch in self._batches([self._sendable(texts[at]) for at in kept]):
            rows[kept[done : done + len(batch)]] = self._batch(batch, side)
            done += len(batch)
        return rows

    def _sendable(self, text: str) -> str:
        """A text as UTF-8 can carry it, cut to what the model reads."""
        whole = text.encode("utf-8", "replace").decode()
        if token_cost(whole) <= self._limits.text_tokens:
            return whole
        return whole[: fitting_end(whole, 0, self._limits.text_tokens)]

    def _batches(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """Consecutive texts that fit into one request."""
        first = total = 0
        for at, cost in enumerate(map(token_cost, texts)):
            if at > first and (at - first >= self._cap.texts or total + cost > self._limits.tokens):
                yield texts[first:at]
                first, total = at, 0
            total += cost
        if first < len(texts):
            yield texts[first:]

    def _batch(self, texts: Sequence[str], side: Side) -> Vectors:
        division = Division(
            lambda part: self._ask(part, side), lambda: self._sound(side), self._cap, self.identity.dims
        )
        try:
            return division.rows(texts)
        except RefusedError as refused:
            raise self._unavailable(refused) from None

    def _sound(self, side: Side) -> Vectors:
        """The row of a harmless word. Raises `EmbeddingUnavailableError` when there is none."""
        try:
            rows = self._ask([HARMLESS], side)
        except RefusedError as refused:
            raise self._unavailable(refused) from None
        if not np.isfinite(rows).all():
            raise self._unavailable(RefusedError(Trouble.REPLY, "no finite numbers"))
        return rows

    def _ask(self, texts: Sequence[str], side: Side) -> Vectors:
        """The unit rows of one request. Raises `RefusedError`."""
        return self._fitted(self._exchange.ask(texts, side))

    def _fitted(self, rows: Vectors) -> Vectors:
        """Rows as unit vectors of the length that is kept. Raises `RefusedError(REPLY)` for another one."""
        got, expected = rows.shape[1], self._dims or rows.shape[1]
        # Models that can be asked for short vectors are trained so that the head of a long one is such a vector.
        if got < expected or (got > expected and self._profile.dims is None):
            raise RefusedError(Trouble.REPLY, f"vectors of {got} numbers instead of {expected}")
        return unit_rows(rows[:, :expected])

    def _unavailable(self, refused: RefusedError) -> EmbeddingUnavailableError:
        return unavailable(refused, provider=self._profile.provider, model=self._profile.model)
