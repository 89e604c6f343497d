"""What the JSON of a reply holds, checked before any of it is believed."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import orjson

from backends.embedding.base import Vectors
from backends.embedding.remote.wire import RefusedError, Reply, Trouble

_Row: TypeAlias = npt.NDArray[np.float32]


def parsed(reply: Reply) -> dict[str, Any]:
    """The JSON object that a reply is. Raises `RefusedError(REPLY)`."""
    try:
        value = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        value = _lenient(reply.body)
    if not isinstance(value, dict):
        raise RefusedError(Trouble.REPLY, "not a JSON object")
    return value


def at(raw: object, *path: str | int) -> Any:
    """What lies at a path of keys and places in parsed JSON; None where the path ends early."""
    for step in path:
        if isinstance(raw, dict) and isinstance(step, str):
            raw = raw.get(step)
        elif isinstance(raw, list) and isinstance(step, int) and step < len(raw):
            raw = raw[step]
        else:
            return None
    return raw


def rows(raw: object, count: int) -> Vectors:
    """`count` vectors of one length as an array of shape (count, dims).

    Each is a list of numbers, or base64 of little-endian float32. A null is NaN, and a number beyond float32 infinite:
    that costs one text its vector, and not all of them. Raises `RefusedError(REPLY)`.
    """
    if not isinstance(raw, list) or len(raw) != count:
        raise RefusedError(Trouble.REPLY, f"not {count} vectors")
    table = [_row(vector) for vector in raw]
    if len({len(vector) for vector in table}) > 1:
        raise RefusedError(Trouble.REPLY, "vectors of unlike lengths")
    return np.stack(table) if table else np.empty((0, 0), dtype=np.float32)


def indexed_rows(raw: object, count: int) -> Vectors:
    """The vectors of `{"embedding": ..., "index": n}` entries in the order of their texts, shape (count, dims).

    Entries may come in any order; where none has an index, or all have 0, they count as ordered. Raises
    `RefusedError(REPLY)`.
    """
    entries = raw if isinstance(raw, list) else []
    places = [at(entry, "index") for entry in entries]
    if any(places):
        if any(type(place) is not int for place in places) or sorted(places) != list(range(len(places))):
            raise RefusedError(Trouble.REPLY, "vectors without an order")
        entries = sorted(entries, key=lambda entry: int(entry["index"]))
    return rows([at(entry, "embedding") for entry in entries], count)


def _lenient(body: bytes) -> Any:
    """JSON with `NaN` and `Infinity`, which servers written in Python send."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as malformed:
        raise RefusedError(Trouble.REPLY, "not JSON") from malformed


def _row(raw: object) -> _Row:
    row = _decoded(raw) if isinstance(raw, str) else _listed(raw)
    if not row.size:
        raise RefusedError(Trouble.REPLY, "an empty vector")
    return row


def _listed(raw: object) -> _Row:
    # numpy would also read numbers out of strings and booleans.
    if not isinstance(raw, list) or not set(map(type, raw)) <= {float, int, NoneType}:
        raise RefusedError(Trouble.REPLY, "a vector that is no list of numbers")
    try:
        with np.errstate(over="ignore"):
            return np.array(raw, dtype=np.float64).astype(np.float32)
    except OverflowError as malformed:
        raise RefusedError(Trouble.REPLY, "a number that no float holds") from malformed


def _decoded(raw: str) -> _Row:
    try:
        return np.frombuffer(b64decode(raw, validate=True), dtype="<f4").astype(np.float32)
    except (binascii.Error, ValueError) as malformed:
        raise RefusedError(Trouble.REPLY, "a vector that is no base64 of float32") from malformed
