"""What is remembered between runs about one agent's index, in a small file beside its configuration."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import orjson

from backends.files import write_atomically
from backends.qmd.guard import Loss
from backends.qmd.pausing import Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """`owned`: the collections that we wrote, path and pattern by name.

    `aliases`: older names that still stand for a root, by older name. `files`: how many each root had at the last
    scan that was believed; `losses`: roots that are held, and since when. `updated`, `embedded`: signature of the files
    at the last good update and embed; `documents`, `pending_vectors` as qmd counted them (-1: never said); times are
    Unix seconds, 0 for never. `clean`: nothing in the index is of files that are gone.
    `embed_factor` multiplies the time-out of an embed that was too short.
    """

    owned: dict[str, list[str]]
    aliases: dict[str, str] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    losses: dict[str, Loss] = field(default_factory=dict)
    updated: str = ""
    embedded: str = ""
    clean: bool = True
    documents: int = 0
    pending_vectors: int = -1
    updated_at: float = 0.0
    embedded_at: float = 0.0
    update_pause: Pause = field(default_factory=Pause)
    embed_pause: Pause = field(default_factory=Pause)
    embed_factor: int = 1

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read a ledger. One that is missing or damaged is empty: everything is then looked at anew."""
        try:
            data: Any = orjson.loads(file.read_bytes())
            values = {known.name: data[known.name] for known in fields(cls) if known.name in data}
            for name in ("update_pause", "embed_pause"):
                if name in values:
                    values[name] = Pause(**values[name])
            if "losses" in values:
                values["losses"] = {root: Loss(**loss) for root, loss in values["losses"].items()}
            return cls(**({"owned": {}} | values))
        except (OSError, ValueError, TypeError, AttributeError):
            return cls(owned={})

    def save(self, file: Path) -> None:
        """Write the ledger atomically. Raises `OSError`."""
        write_atomically(file, orjson.dumps(asdict(self)))


class Remembered:
    """The ledger as it is now, in memory and in its file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.now = Ledger.load(file)

    def change(self, **changes: Any) -> None:
        """Replace some of its values; writes only what is new. Raises `OSError`."""
        after = replace(self.now, **changes)
        if after != self.now:
            self.now = after
            after.save(self._file)
