"""The writers of one index: `qmd update` and `qmd embed`, and what their words mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from backends.base import BackendError, Failure
from backends.qmd.child import Completed, Surroundings, run
from backends.qmd.output import failure_of, plain

_INDEXED = re.compile(r"Indexed:\s*(\d+) new, (\d+) updated, (\d+) unchanged, (\d+) removed")
_PENDING = re.compile(r"\((\d+) unique hash(?:es)? needs? vectors?\)")
_SKIPPING = re.compile(r"Another \w+ process is already running|\bSkipping\.\s*$", re.MULTILINE)
_EMBEDDED = re.compile(r"Embedded (\d+)|(\d+) chunks? (?:embedded|from)")
_CONSTRAINT = re.compile(r"SQLITE_CONSTRAINT|UNIQUE constraint failed", re.IGNORECASE)
_ATTEMPTS = 3
#: Maintenance steps behind whatever the user does.
_NICENESS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What an update did, in files over all collections. `pending_vectors` is -1 when it said nothing of them."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    pending_vectors: int = -1

    @property
    def documents(self) -> int:
        """How many files the index holds now."""
        return self.new + self.updated + self.unchanged


class _PassingError(BackendError):
    """A failure that goes away by itself: a lock, or two writers that met on an empty index."""


class _ConstraintError(_PassingError):
    """Two writers met, or the index contradicts itself: that does not go away, and nothing new is ever indexed."""


async def update(argv: Sequence[str], surroundings: Surroundings, *, timeout_s: float) -> Counts:
    """Index what changed. Locks are waited for, a few times. Raises `BackendError`, `index_lost` for a bad index."""
    try:
        completed = await _patiently(argv, surroundings, timeout_s)
    except _ConstraintError as error:
        message = "qmd's index contradicts itself."
        raise BackendError(Failure.INDEX_LOST, message, hint="It is rebuilt by the next sync.") from error
    return counts_in(plain(completed.stdout))


async def embed(argv: Sequence[str], surroundings: Surroundings, *, timeout_s: float) -> int | None:
    """Compute missing vectors; how many, or None when another process had the turn: not done. Raises `BackendError`."""
    completed = await _patiently(argv, surroundings, timeout_s)
    text = plain(completed.stdout) + plain(completed.stderr)
    return None if _SKIPPING.search(text) else embedded_in(text)


async def cleanup(argv: Sequence[str], surroundings: Surroundings, *, timeout_s: float) -> None:
    """Remove what no file stands for any more. Locks are waited for, a few times. Raises `BackendError`."""
    await _patiently(argv, surroundings, timeout_s)


def counts_in(text: str) -> Counts:
    """Add up the lines of an update, one for each collection."""
    lines = [tuple(map(int, match)) for match in _INDEXED.findall(text)]
    new, updated, unchanged, removed = (sum(column) for column in zip(*lines, strict=True)) if lines else (0, 0, 0, 0)
    pending = _PENDING.search(text)
    # Nothing is said when nothing is missing, and nothing is known when the output is not understood.
    vectors = int(pending.group(1)) if pending else 0 if lines else -1
    return Counts(new=new, updated=updated, unchanged=unchanged, removed=removed, pending_vectors=vectors)


def embedded_in(text: str) -> int:
    """How many chunks an embed says that it did; 0 when it says nothing."""
    match = _EMBEDDED.search(text)
    return int(match.group(1) or match.group(2)) if match else 0


async def _patiently(argv: Sequence[str], surroundings: Surroundings, timeout_s: float) -> Completed:
    attempts = AsyncRetrying(
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.5, max=5),
        retry=retry_if_exception(lambda error: isinstance(error, _PassingError)),
        reraise=True,
    )
    async for attempt in attempts:
        with attempt:
            return _checked(await run(argv, surroundings, timeout_s=timeout_s, niceness=_NICENESS))
    raise AssertionError("tenacity either returns or raises")


def _checked(completed: Completed) -> Completed:
    if completed.status == 0 and not completed.timed_out:
        return completed
    error = failure_of(completed)
    if _CONSTRAINT.search(plain(completed.stderr)):
        raise _ConstraintError(error.failure, error.message, hint=error.hint)
    if error.failure is Failure.LOCKED:
        raise _PassingError(error.failure, error.message, hint=error.hint)
    raise error


def set_aside(index: Path) -> None:
    """Move a damaged index out of the way as `index.sqlite.broken`; the next update builds a new one."""
    for tail in ("-wal", "-shm"):
        index.with_name(index.name + tail).unlink(missing_ok=True)
    if index.exists():
        index.replace(index.with_name(f"{index.name}.broken"))
