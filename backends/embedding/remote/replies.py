"""Reading the replies of embedding APIs: JSON with odd numbers in it, and rows that must have one length."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from backends.embedding.base import Vectors
from backends.embedding.remote.wire import RefusedError, Reply, Trouble


def json_object(reply: Reply) -> dict[str, Any]:
    """The object of a reply. Raises `RefusedError(REPLY)` when it is none."""
    try:
        document = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        document = _lenient(reply.body)
    if not isinstance(document, dict):
        raise RefusedError(Trouble.REPLY, "no JSON object")
    return document


def _lenient(body: bytes) -> Any:
    """JSON with `NaN` and `Infinity`, which servers written in Python send."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedError(Trouble.REPLY, "no JSON") from None


def matrix(rows: Sequence[Any], count: int) -> Vectors:
    """Rows of numbers (or nulls, which become NaN) as an array, shape (count, dims).

    Raises `RefusedError(REPLY)` unless they are `count` rows of one length above zero.
    """
    if len(rows) != count:
        raise RefusedError(Trouble.REPLY, f"{len(rows)} vectors for {count} texts")
    try:
        # A number too large for float32 becomes infinite, and its row is told from good ones by that.
        with np.errstate(over="ignore"):
            array: Vectors = np.array(rows, dtype=np.float64).astype(np.float32)
    except (TypeError, ValueError):
        raise RefusedError(Trouble.REPLY, "vectors of different lengths, or not of numbers") from None
    if array.ndim != 2 or not array.shape[1]:
        raise RefusedError(Trouble.REPLY, "no vectors of numbers")
    return array
