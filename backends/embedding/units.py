"""Vectors of length one, so that a product is a cosine."""

from __future__ import annotations

import numpy as np

from backends.embedding.base import Vectors


def unit_rows(rows: Vectors) -> Vectors:
    """Each row of float32 at length one; a row of zeros stays, and one with a number that is not finite becomes NaN."""
    # The squares of large float32 numbers are none.
    norms = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    finite = np.isfinite(norms)
    units: Vectors = np.divide(rows, norms, out=np.zeros_like(rows), where=finite & (norms > 0))
    units[~finite[:, 0]] = np.nan
    return units
