"""Which chunks a query may see, applied before any cut so that a small part of a large index stays reachable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson

from backends.base import Query, Source
from backends.builtin.reader import Lease


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on chunks as SQL with its values; an empty condition lets everything through."""

    condition: str = ""
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: Query) -> Filter:
        """The sources, sessions and days that a query names."""
        conditions: list[str] = []
        values: list[str] = []
        if query.sources != frozenset(Source):
            conditions.append(f"files.source IN ({','.join('?' * len(query.sources))})")
            values += sorted(query.sources)
        if query.sessions is not None and Source.SESSIONS in query.sources:
            conditions.append("(files.source <> ? OR files.relative IN (SELECT value FROM json_each(?)))")
            values += [Source.SESSIONS, orjson.dumps([*query.sessions]).decode()]
        for operator, day in ((">=", query.after), ("<=", query.before)):
            if day is not None:
                conditions.append(f"files.day {operator} ?")
                values.append(day.isoformat())
        return cls(" AND ".join(conditions), tuple(values))

    def sql(self, column: str) -> str:
        """The condition as a clause that begins with AND, on a column of chunk numbers."""
        return f" AND {column} IN ({self._numbers()})" if self.condition else ""

    def allowed(self, lease: Lease) -> npt.NDArray[np.int64] | None:
        """The numbers of the chunks that pass, None for all."""
        if not self.condition:
            return None
        rows = lease.connection.execute(self._numbers(), self.values)
        return np.fromiter((number for (number,) in rows), dtype=np.int64)

    def _numbers(self) -> str:
        # Files first, and of the chunks their index alone: a row of theirs holds a text and a vector.
        return f"SELECT chunks.number FROM files CROSS JOIN chunks USING (path) WHERE {self.condition}"  # noqa: S608
