"""What is remembered between runs about one agent's index, in a small file beside its configuration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import orjson

from backends.files import write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """`owned`: the collections that we wrote, path and pattern by name. `parked`: those of missing roots.

    `updated`, `embedded`: signature of the files at the last good update and embed; `documents` as qmd counted
    them; times are Unix seconds, 0 for never.
    """

    owned: dict[str, list[str]]
    parked: list[str] = field(default_factory=list)
    updated: str = ""
    embedded: str = ""
    documents: int = 0
    updated_at: float = 0.0
    embedded_at: float = 0.0

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read a ledger. One that is missing or damaged is empty: everything is then looked at anew."""
        try:
            data: Any = orjson.loads(file.read_bytes())
            values = {known.name: data[known.name] for known in fields(cls) if known.name in data}
            return cls(**({"owned": {}} | values))
        except (OSError, ValueError, TypeError):
            return cls(owned={})

    def save(self, file: Path) -> None:
        """Write the ledger atomically. Raises `OSError`."""
        write_atomically(file, orjson.dumps(asdict(self)))
