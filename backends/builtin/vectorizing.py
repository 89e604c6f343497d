"""Texts in, vectors out, whatever a model does to one of them: refuse it, fail at it, or give no numbers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from backends.embedding import Embedder, EmbeddingUnavailableError, Vectors

log = logging.getLogger(__name__)

#: What every model can embed: it tells a model that is gone from a text that it cannot take.
_HARMLESS = "memory"


class _ShapeError(Exception):
    """A model did not give one row of its dimension for each text."""


@dataclass(frozen=True, slots=True)
class Made:
    """By digest, the vectors of texts as little-endian float32, and why the others have none."""

    vectors: Mapping[str, bytes] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def joined(self, other: Made) -> Made:
        """Both together."""
        return Made({**self.vectors, **other.vectors}, {**self.refused, **other.refused})


class Vectorizer:
    """Asks one model for the vectors of texts, each on its own account. Safe on any thread that the model is."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def vectors(self, texts: Mapping[str, str]) -> Made:
        """The vectors of texts by digest. Raises `EmbeddingUnavailableError` when the model is gone."""
        if not texts:
            return Made()
        try:
            rows = self._rows(list(texts.values()))
        except EmbeddingUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model raises for one text, the others are embedded
            self._require_model()
            return self._isolated(texts, type(error).__name__)
        good: list[bool] = np.asarray(np.isfinite(rows).all(axis=1)).tolist()
        fresh = {digest: _blob(row) for digest, row, fine in zip(texts, rows, good, strict=True) if fine}
        return Made(fresh, {digest: "the model gave no numbers" for digest in texts if digest not in fresh})

    def _rows(self, texts: Sequence[str]) -> Vectors:
        rows = self._embedder.embed(texts)
        if rows.shape != (len(texts), self._embedder.identity.dims):
            raise _ShapeError
        return rows

    def _isolated(self, texts: Mapping[str, str], error: str) -> Made:
        """The same for texts of which at least one cannot be embedded, by halves."""
        if len(texts) == 1:
            log.warning("a text could not be embedded: %s", error)
            return Made({}, dict.fromkeys(texts, f"the model cannot embed it ({error})"))
        items, middle = list(texts.items()), len(texts) // 2
        return self.vectors(dict(items[:middle])).joined(self.vectors(dict(items[middle:])))

    def _require_model(self) -> None:
        """Raise `EmbeddingUnavailableError` when the model cannot even embed a harmless word."""
        try:
            self._rows([_HARMLESS])
        except EmbeddingUnavailableError:
            raise
        except Exception as error:
            raise EmbeddingUnavailableError(
                "embedding_failed",
                f"The embedding model fails ({type(error).__name__}); new notes are found by their words only.",
                hint="The next sync tries again; check which model is served.",
            ) from error


def _blob(row: Vectors) -> bytes:
    return row.astype("<f4").tobytes()
