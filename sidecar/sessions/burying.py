"""Deciding what is forgotten, and counting what the indexes have of it. Runs in the worker process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import apsw

from backends.base import BackendError, Failure, disk_full
from backends.builtin.forgetting import Holdings, holdings
from backends.full_disk import is_full_disk
from exporter import ExportJob, bury, compile_pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class BuryJob:
    """A purge, with the indexes (files, whether they are there or not) whose share of it is counted."""

    export: ExportJob
    indexes: Sequence[str]
    session: str = ""
    pattern: str = field(default="", repr=False)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> BuryJob:
        """The job of its fields as JSON has them."""
        return cls(**{**raw, "export": ExportJob(**raw["export"])})


def buried(job: BuryJob, alive: Callable[[], None]) -> dict[str, Any]:
    """The fields of `Buried`, and of the `Holdings` of all indexes together. Raises `BackendError`."""
    try:
        found = bury(job.export, session=job.session, pattern=job.pattern, alive=alive)
    except (OSError, apsw.Error) as error:
        if is_full_disk(error):
            raise disk_full() from error
        message = f"The transcripts, or exports.sqlite, cannot be read ({type(error).__name__})."
        raise BackendError(Failure.EXITED, message, hint="See what `qmd-sidecar export --dry-run` says.") from error
    share = [_held(Path(index), job, found.exports) for index in job.indexes]
    total = {key: sum(getattr(each, key) for each in share) for key in ("chunks", "vectors", "cached")}
    return {**asdict(found), **total}


def _held(index: Path, job: BuryJob, exports: Sequence[str]) -> Holdings:
    wanted = compile_pattern(job.pattern) if job.pattern else None

    def holds(name: str, text: str) -> bool:
        return bool(wanted.search(text)) if wanted else name in exports

    try:
        return holdings(index, holds)
    except (BackendError, apsw.Error, OSError):
        # One that cannot be read is made anew by the purge, or is in its report.
        return Holdings()
