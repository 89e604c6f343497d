"""Contents in, vectors out, whatever a model does to one of them: refuse it, fail at it, or give no numbers."""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from backends.builtin.intake import UnfitError
from backends.builtin.media import MediaFile
from backends.embedding import HARMLESS, Embedder, EmbeddingUnavailableError, MediaEmbedder, Vectors

#: What a chunk is embedded by: its text, or a file whose bytes are read just before they are sent.
Content: TypeAlias = str | MediaFile

#: Why a content has no vector although the model answered: asked again, it would say the same.
NO_NUMBERS = "the model gave no numbers"

log = logging.getLogger(__name__)


class _ShapeError(Exception):
    """A model did not give one row of its dimension for each text."""


@dataclass(frozen=True, slots=True)
class Made:
    """By digest, the vectors of contents as little-endian float32, and why the others have none."""

    vectors: Mapping[str, bytes] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def joined(self, other: Made) -> Made:
        """Both together."""
        return Made({**self.vectors, **other.vectors}, {**self.refused, **other.refused})


class Vectorizer:
    """Asks one model for the vectors of contents, each on its own account. Safe on any thread that the model is."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def vectors(self, contents: Mapping[str, Content]) -> Made:
        """The vectors of contents by digest. Raises `EmbeddingUnavailableError` when the model is gone."""
        made = self._of_texts({digest: text for digest, text in contents.items() if isinstance(text, str)})
        for digest, content in contents.items():
            if isinstance(content, MediaFile):
                made = made.joined(self._of_media(digest, content))
        return made

    def _of_media(self, digest: str, file: MediaFile) -> Made:
        """The vector of one file: more in one call would have to be in memory together."""
        if not isinstance(self._embedder, MediaEmbedder) or file.mime not in self._embedder.media:
            return Made({}, {digest: f"the model does not take {file.mime}"})
        try:
            medium = file.medium(digest)
        except UnfitError as unfit:
            return Made({}, {digest: unfit.reason})
        except OSError as error:
            return Made({}, {digest: f"it cannot be read ({errno.errorcode.get(error.errno or 0, 'OSError')})"})
        try:
            rows = self._checked(self._embedder.embed_media([medium]), 1)
        except EmbeddingUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model raises for one file, the others are embedded
            self._require_model()
            return Made({}, {digest: f"the model cannot embed it ({type(error).__name__})"})
        return _sorted_out([digest], rows)

    def _of_texts(self, texts: Mapping[str, str]) -> Made:
        if not texts:
            return Made()
        try:
            rows = self._rows(list(texts.values()))
        except EmbeddingUnavailableError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model raises for one text, the others are embedded
            self._require_model()
            return self._isolated(texts, type(error).__name__)
        return _sorted_out(list(texts), rows)

    def _rows(self, texts: Sequence[str]) -> Vectors:
        return self._checked(self._embedder.embed(texts), len(texts))

    def _checked(self, rows: Vectors, count: int) -> Vectors:
        if rows.shape != (count, self._embedder.identity.dims):
            raise _ShapeError
        return rows

    def _isolated(self, texts: Mapping[str, str], error: str) -> Made:
        """The same for texts of which at least one cannot be embedded, by halves."""
        if len(texts) == 1:
            log.warning("a text could not be embedded", extra={"fields": {"reason": error}})
            return Made({}, dict.fromkeys(texts, f"the model cannot embed it ({error})"))
        items, middle = list(texts.items()), len(texts) // 2
        return self._of_texts(dict(items[:middle])).joined(self._of_texts(dict(items[middle:])))

    def _require_model(self) -> None:
        """Raise `EmbeddingUnavailableError` when the model cannot even embed a harmless word."""
        try:
            self._rows([HARMLESS])
        except EmbeddingUnavailableError:
            raise
        except Exception as error:
            raise EmbeddingUnavailableError(
                "embedding_failed",
                f"The embedding model fails ({type(error).__name__}); new notes are found by their words only.",
                hint="The next sync tries again; check which model is served.",
            ) from error


def _sorted_out(digests: Sequence[str], rows: Vectors) -> Made:
    """The rows of numbers as vectors, and the others as refused."""
    good: list[bool] = np.asarray(np.isfinite(rows).all(axis=1)).tolist()
    fresh = {digest: _blob(row) for digest, row, fine in zip(digests, rows, good, strict=True) if fine}
    return Made(fresh, {digest: NO_NUMBERS for digest in digests if digest not in fresh})


def _blob(row: Vectors) -> bytes:
    return row.astype("<f4").tobytes()
