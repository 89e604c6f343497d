"""The `meta` table: a few JSON values that say what an index holds, checked on reading: anybody may edit a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import apsw
import orjson


class DamagedError(Exception):
    """An index of ours does not hold what we wrote into it. Says where, never what."""


def read_meta(connection: apsw.Connection) -> dict[str, Any]:
    """Every meta value, decoded. Raises `DamagedError` for one that cannot be ours."""
    return {key: _decoded(key, value) for key, value in connection.execute("SELECT key, value FROM meta")}


def write_meta(connection: apsw.Connection, **values: Any) -> None:
    """Store JSON-ready meta values."""
    rows = [(key, orjson.dumps(value).decode()) for key, value in values.items()]
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows)


def read_generation(connection: apsw.Connection) -> int:
    """The number of the last change, 0 before the first. Raises `DamagedError`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    return int(_decoded("generation", row[0])) if row else 0


def _decoded(key: str, value: Any) -> Any:
    try:
        decoded = orjson.loads(value)
    except (orjson.JSONDecodeError, TypeError) as error:
        raise DamagedError(f"meta.{key}") from error
    if key in _SHAPES and not _SHAPES[key](decoded):
        raise DamagedError(f"meta.{key}")
    return decoded


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_spread(value: Any) -> bool:
    return value is None or (isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)))


def _is_embedding(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("provider"), str) and _is_count(value.get("dims"))


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


def _is_notice(value: Any) -> bool:
    return value is None or (_is_text_map(value) and value.keys() == {"code", "message", "action"})


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_SHAPES: Mapping[str, Callable[[Any], bool]] = {
    "generation": _is_count,
    "epoch": _is_count,
    "chunking": _is_list,
    "embedding": _is_embedding,
    "spread": _is_spread,
    "vec_complete": _is_flag,
    "vector_store": _is_text,
    "last_sync": _is_number,
    "skipped": _is_text_map,
    "embedding_notice": _is_notice,
    "rebuilt_notice": _is_notice,
}
