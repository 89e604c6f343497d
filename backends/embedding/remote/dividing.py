"""The vectors of a batch that a provider refuses as a whole: by halves, so that one bad text costs no other its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from backends.embedding.base import Vectors
from backends.embedding.remote.wire import RefusedError, Trouble
from backends.text.costs import fitting_end, token_cost

#: What fewer or other texts may change; everything else is the provider's own trouble.
DIVISIBLE = frozenset({Trouble.SIZE, Trouble.TEXT, Trouble.REQUEST, Trouble.REPLY})
#: No model reads less than this, so that a text refused for its size is not cut further.
_LEAST_TOKENS = 16


class Cap:
    """How many texts one request may hold: as documented, and less once more were refused. Safe between threads."""

    def __init__(self, texts: int) -> None:
        self.texts = texts
        self._lock = threading.Lock()

    def lower(self, texts: int) -> None:
        """Remember that requests of more than `texts` are refused for their size."""
        with self._lock:
            self.texts = max(1, min(self.texts, texts))


class Division:
    """One batch. `ask` raises `RefusedError`; `require_sound` raises when the provider refuses even a harmless word."""

    def __init__(
        self, ask: Callable[[Sequence[str]], Vectors], require_sound: Callable[[], object], cap: Cap, dims: int
    ) -> None:
        self._ask = ask
        self._require_sound = require_sound
        self._cap = cap
        self._dims = dims
        self._is_sound = False
        self._bad_texts = 0

    def rows(self, texts: Sequence[str]) -> Vectors:
        """Rows in the order of the texts, of NaN where one is refused alone.

        Raises what `ask` does for troubles that no division mends, and what `require_sound` does.
        """
        if len(texts) > self._cap.texts:
            return self._in_parts(texts, self._cap.texts)
        try:
            return self._ask(texts)
        except RefusedError as refused:
            if refused.trouble not in DIVISIBLE:
                raise
            trouble = refused.trouble
        return self._alone(texts[0], trouble) if len(texts) == 1 else self._halved(texts, trouble)

    def _in_parts(self, texts: Sequence[str], size: int) -> Vectors:
        return np.concatenate([self.rows(texts[at : at + size]) for at in range(0, len(texts), size)])

    def _halved(self, texts: Sequence[str], trouble: Trouble) -> Vectors:
        if trouble is not Trouble.SIZE:
            self._check()
        half, bad_texts = (len(texts) + 1) // 2, self._bad_texts
        rows = self._in_parts(texts, half)
        # Where a text was refused alone, it may have been that one's size all the time.
        if trouble is Trouble.SIZE and self._bad_texts == bad_texts:
            self._cap.lower(half)
        return rows

    def _alone(self, text: str, trouble: Trouble) -> Vectors:
        """The row of a refused text: of its first half where it was too long, since estimates of tokens are rough."""
        self._bad_texts += 1
        cost = token_cost(text)
        if trouble is Trouble.SIZE and cost > _LEAST_TOKENS:
            return self.rows([text[: fitting_end(text, 0, cost // 2)]])
        self._check()
        return np.full((1, self._dims), np.nan, dtype=np.float32)

    def _check(self) -> None:
        """Make sure once that it is the texts: a provider that refuses everything must not be asked about each."""
        if not self._is_sound:
            self._require_sound()
            self._is_sound = True
