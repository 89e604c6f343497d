"""The embedding models of this process: loaded once each, shared by its threads, given a rest when they fail."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from backends.embedding import Embedder, EmbeddingSpec, EmbeddingUnavailableError, create

#: More models than agents are ever configured with; one that was not used for longest is let go.
MOST_MODELS = 16
#: For so long a provider that failed is not asked again: whoever asks is told the same at once.
REST_S = 15.0


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
        with self._lock:
            place = self._places.setdefault(spec, _Place())
            self._places.move_to_end(spec)
            if len(self._places) > MOST_MODELS:
                self._places.popitem(last=False)
        with place.lock:
            if not place.is_loaded:
                self._fill(place, spec)
            return place.embedder

    def _fill(self, place: _Place, spec: EmbeddingSpec) -> None:
        if place.failure and self._clock() < place.rests_until:
            raise place.failure
        try:
            place.embedder = self._load(spec)
        except EmbeddingUnavailableError as error:
            # Without what it was raised from: that holds frames, and these hold texts.
            place.failure = EmbeddingUnavailableError(error.code, error.message, hint=error.hint)
            place.rests_until = self._clock() + REST_S
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
