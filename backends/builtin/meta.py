"""The `meta` table: a few JSON values that say what an index holds, checked on reading: anybody may edit a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import apsw
import orjson

#: Each note of a sync writes some pages: of many agents every few minutes, that is gigabytes in a year.
NOTED_S = 3600.0


class DamagedError(Exception):
    """An index of ours does not hold what we wrote into it. Says where, never what."""


def read_meta(connection: apsw.Connection) -> dict[str, Any]:
    """Every meta value, decoded. Raises `DamagedError` for one that cannot be ours."""
    return {key: _decoded(key, value) for key, value in connection.execute("SELECT key, value FROM meta")}


def write_meta(connection: apsw.Connection, **values: Any) -> None:
    """Store JSON-ready meta values. What stands there already is not written again, and costs no page."""
    rows = [(key, orjson.dumps(value).decode()) for key, value in values.items()]
    sql = (
        "INSERT INTO meta VALUES (?, ?)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value"
    )
    connection.executemany(sql, rows)


def read_generation(connection: apsw.Connection) -> int:
    """The number of the last change, 0 before the first. Raises `DamagedError`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    return int(_decoded("generation", row[0])) if row else 0


def publish(connection: apsw.Connection, **values: Any) -> None:
    """Store meta values and tell readers that something is new."""
    write_meta(connection, generation=read_generation(connection) + 1, **values)


def note_sync(
    connection: apsw.Connection,
    *,
    has_vec: bool,
    skipped: Mapping[str, str],
    unembedded: Mapping[str, str] | None,
    embedding_notice: Mapping[str, str] | None,
    rebuilt_notice: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """Write down what a sync found. `unembedded` None: it did not look, and what an earlier one found stands.

    One that found what the last one found is written down once in `NOTED_S` seconds.
    """
    if unembedded is not None:
        more["unembedded"] = unembedded
    found = {
        "vector_store": "vec0" if has_vec else "numpy",
        "skipped": skipped,
        "embedding_notice": embedding_notice,
        "rebuilt_notice": rebuilt_notice,
        **more,
    }
    before, now = read_meta(connection), time.time()
    is_new = {key: before.get(key) for key in found} != found
    if is_new or not 0 <= now - before.get("last_sync", 0) < NOTED_S:
        with connection:
            publish(connection, last_sync=now, **found)


def joined(skipped: Mapping[str, str], unembedded: Mapping[str, str]) -> dict[str, str]:
    """Every file with something amiss, with all reasons."""
    both = {path: f"{skipped[path]}; {why}" for path, why in unembedded.items() if path in skipped}
    return {**skipped, **unembedded, **both}


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


def _are_spreads(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(map(_is_spread, value.values())))


def _is_spread(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value))


def _is_embedding(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(key), str) for key in ("provider", "model"))
        and _is_count(value.get("dims"))
    )


def _is_text_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())


def _is_notice(value: Any) -> bool:
    return value is None or (_is_text_map(value) and value.keys() == {"code", "message", "action"})


def _is_chunking(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(map(_is_count, value)) and value[0] > 0


def _is_text_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_SHAPES: Mapping[str, Callable[[Any], bool]] = {
    "generation": _is_count,
    "epoch": _is_count,
    "chunking": _is_chunking,
    "embedding": _is_embedding,
    "spreads": _are_spreads,
    "vec_complete": _is_flag,
    "vector_store": _is_text,
    "last_sync": _is_number,
    "skipped": _is_text_map,
    "unembedded": _is_text_map,
    "most_media_bytes": _is_count,
    "declined_media": _is_text_list,
    "lost": _is_text_list,
    "seeded": _is_flag,
    "whole": _is_flag,
    "embedding_notice": _is_notice,
    "rebuilt_notice": _is_notice,
}
