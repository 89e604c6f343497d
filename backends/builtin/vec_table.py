"""The sqlite-vec table: derived from the chunks, made to agree with them, and made anew when it is mostly dead."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from backends.builtin.meta import read_meta, write_meta
from backends.builtin.schema import fetch_value

#: sqlite-vec keeps the room of deleted rows in blocks of 1,024: half of it dead, and more than two blocks, is too much.
_DEAD_SHARE = 0.5
_LEAST_DEAD_ROWS = 2048


def align(connection: apsw.Connection, dims: int) -> None:
    """Make the table hold exactly the vectors of the chunks. Needs sqlite-vec."""
    with connection:
        if not read_meta(connection).get("vec_complete") or _is_mostly_dead(connection):
            _begin_anew(connection, dims)
        # Rows of chunks that went, and vectors that a chunk brought along from before its file changed.
        connection.execute(
            "DELETE FROM chunks_vec WHERE number IN"
            " (SELECT number FROM chunks_vec EXCEPT SELECT number FROM chunks WHERE stamp > 0)"
        )
        connection.execute(
            "INSERT INTO chunks_vec (number, embedding) SELECT number, embedding FROM chunks WHERE stamp > 0"
            " AND number NOT IN (SELECT number FROM chunks_vec)"
        )
        write_meta(connection, vec_complete=True)


def leave(connection: apsw.Connection) -> None:
    """Note that the table may no longer agree: sqlite-vec is not there to keep it so."""
    write_meta(connection, vec_complete=False)


def add(connection: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Add numbers of chunks with their vectors."""
    connection.executemany("INSERT INTO chunks_vec (number, embedding) VALUES (?, ?)", rows)


def _begin_anew(connection: apsw.Connection, dims: int) -> None:
    connection.execute("DROP TABLE IF EXISTS chunks_vec")
    connection.execute(
        "CREATE VIRTUAL TABLE chunks_vec USING vec0("
        f"number INTEGER PRIMARY KEY, embedding FLOAT[{dims}] DISTANCE_METRIC=cosine)"
    )


def _is_mostly_dead(connection: apsw.Connection) -> bool:
    room = fetch_value(connection, "SELECT total(size) FROM chunks_vec_chunks")
    alive = fetch_value(connection, "SELECT count(*) FROM chunks WHERE stamp > 0")
    return bool(room - alive > max(_LEAST_DEAD_ROWS, _DEAD_SHARE * room))
