"""JSON as JavaScript writes it: half of an emoji that a limit has cut is no reason to lose the rest."""

from __future__ import annotations

import json

import orjson


def parsed(data: bytes) -> object:
    """What a JSON text says; half of a surrogate pair, which no UTF-8 can hold, becomes `?`. Raises ValueError."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\ud" not in data.lower():
            raise
    try:
        return orjson.loads(json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
