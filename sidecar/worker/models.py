"""The embedding models of this process: loaded once each, shared by its threads, given a rest when they fail."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from backends.embedding import (
    BAD_REPLY,
    HARMLESS,
    Embedder,
    EmbeddingIdentity,
    EmbeddingSpec,
    EmbeddingUnavailableError,
    Vectors,
    create,
)

#: More models than agents are ever configured with; one that was not used for longest is let go.
MOST_MODELS = 16
#: For so long a provider that failed is not asked again: whoever asks is told the same at once.
REST_S = 15.0
#: So many questions may be under way at one provider that is elsewhere.
MOST_ASKING = 8
#: For so long another question waits for its place among them.
PATIENCE_S = 1.0


class Models:
    """Embedders by specification. Safe on any thread; one that loads slowly keeps nobody from another."""

    def __init__(
        self,
        load: Callable[[EmbeddingSpec], Embedder | None] = create,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._clock = clock
        self._lock = threading.Lock()
        self._places: OrderedDict[EmbeddingSpec, _Place] = OrderedDict()

    def get(self, spec: EmbeddingSpec) -> Embedder | None:
        """The model of a specification, None when it comes to keywords only. Raises `EmbeddingUnavailableError`."""
        return self._loaded(self._place(spec), spec)

    def _loaded(self, place: _Place, spec: EmbeddingSpec) -> Embedder | None:
        with place.lock:
            if place.failure and self._clock() < place.rests_until:
                raise place.failure
            if not place.is_loaded:
                self._fill(place, spec)
            return place.embedder

    def embed_query(self, spec: EmbeddingSpec, text: str) -> tuple[Vectors, EmbeddingIdentity] | None:
        """A question's vector, shape (dims,), and whose it is; None for keywords only.

        Raises `EmbeddingUnavailableError`, at once when the provider has failed just now, or when it is slow and more
        questions than `MOST_ASKING` wait for it: those of others need the threads.
        """
        place = self._place(spec)
        if place.embedder is not None and place.embedder.concurrency == 0:
            return place.embedder.embed_query(text), place.embedder.identity
        # Also before it is loaded: a provider that hangs keeps whoever asks for it waiting then, too.
        if not place.asking.acquire(timeout=PATIENCE_S):
            raise EmbeddingUnavailableError(
                "embedding_busy", "Too many questions wait for the embedding provider.", hint="Retry in a moment."
            )
        try:
            embedder = self._loaded(place, spec)
            return (embedder.embed_query(text), embedder.identity) if embedder else None
        except EmbeddingUnavailableError as error:
            self._give_rest(place, error)
            raise
        finally:
            place.asking.release()

    def doubt(self, spec: EmbeddingSpec, code: str) -> None:
        """Take note that a provider failed a job with this code."""
        self._place(spec).doubt(code)

    def probe(self, spec: EmbeddingSpec) -> tuple[Vectors, EmbeddingIdentity] | None:
        """The same for a harmless word, without the rest: a provider that was mended is in use again at once."""
        self._place(spec).rests_until = 0.0
        return self.embed_query(spec, HARMLESS)

    def _place(self, spec: EmbeddingSpec) -> _Place:
        with self._lock:
            place = self._places.setdefault(spec, _Place())
            self._places.move_to_end(spec)
            if len(self._places) > MOST_MODELS:
                self._places.popitem(last=False)
            return place

    def _give_rest(self, place: _Place, error: EmbeddingUnavailableError) -> None:
        if error is place.failure:
            return
        place.doubt(error.code)
        # Without what it was raised from: that holds frames, and these hold texts.
        place.failure = EmbeddingUnavailableError(error.code, error.message, hint=error.hint)
        place.rests_until = self._clock() + REST_S

    def _fill(self, place: _Place, spec: EmbeddingSpec) -> None:
        try:
            place.embedder = self._load(spec)
        except EmbeddingUnavailableError as error:
            self._give_rest(place, error)
            raise
        place.is_loaded, place.failure = True, None


class _Place:
    """What is known of one model. `lock` is held while it is loaded."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.embedder: Embedder | None = None
        self.is_loaded = False
        self.failure: EmbeddingUnavailableError | None = None
        self.rests_until = 0.0
        self.asking = threading.BoundedSemaphore(MOST_ASKING)

    def doubt(self, code: str) -> None:
        """Ask anew whose vectors a provider gives that failed in a way in which another model would."""
        if code == BAD_REPLY:
            self.is_loaded = False
