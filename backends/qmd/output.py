"""Read whatever a qmd may print: rows, an honest "nothing found", or a typed failure. Never an exception.

What is known to come out of real ones: log lines with brackets before the JSON, colour codes, progress,
plain text although JSON was asked, several arrays, an object with `results`, one object a line, a crash
after complete output, truncated output, bytes that are not UTF-8.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from backends.base import BackendError, Failure, Notice
from backends.qmd.child import Completed

#: Characters that are decoded in vain before the rest is given up: bounds the work on hostile output.
_MAX_WASTED_CHARS = 8 * 1024 * 1024
#: What a failed start counts at least: the decoder's error looks at all that stands before it.
_FAILED_START_CHARS = 4096
_MAX_EXCERPT_CHARS = 200
_MAX_LINE_CHARS = 4096
#: How lines of a stack trace or a drawn box begin.
_NOISE = ("├", "└", "│", "at ", "Node.js")
_TELLING = re.compile(r"error|fail|cannot|fatal|invalid", re.IGNORECASE)

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_START = re.compile(r'\[\s*\{\s*"|\{\s*"results"\s*:\s*\[')
# A repeat that may start anywhere is bounded: on a megabyte of blank or dotted lines it would otherwise look at each
# line from every one before it, inside one call that no deadline can interrupt.
_CUT = re.compile(r'^[ \t]{0,64}\[\s{0,64}(?:\{\s{0,64}(?:"|$)|$)', re.MULTILINE)
_EMPTY = re.compile(
    r'^[ \t]{0,64}(?:\[\s{0,64}\]|\{\s{0,64}"results"\s{0,64}:\s{0,64}\[\s{0,64}\]\s{0,64}\})[ \t]{0,64}$', re.MULTILINE
)
_NOTHING = re.compile(r"^[^\w\n]{0,64}No results found\b", re.MULTILINE | re.IGNORECASE)
_OBJECT = re.compile(r'^\{".*', re.MULTILINE)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Row:
    """One file that qmd found. `file` as printed; `line` 1-based; `score` means whatever this verb means by it."""

    file: str
    line: int | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What a search printed. With a `failure` the rows mean nothing."""

    rows: tuple[Row, ...] = ()
    failure: BackendError | None = None
    notices: tuple[Notice, ...] = ()


def read(completed: Completed, *, secret: str = "") -> Reading:
    """Turn a finished search into rows or a failure. `secret` is the query: it never shows in a message."""
    if completed.timed_out:
        return Reading(failure=timed_out())
    text = plain(completed.stdout)
    rows = rows_in(text)
    if rows is None and completed.status == 0 and (_says_nothing(text) or _says_nothing(plain(completed.stderr))):
        rows = ()
    if rows is None or (completed.truncated and not rows):
        return Reading(failure=failure_of(completed, secret=secret))
    if completed.status == 0:
        return Reading(rows)
    # An empty list before a crash proves nothing; rows were printed as a whole and are used.
    if not rows:
        return Reading(failure=failure_of(completed, secret=secret))
    message = f"qmd answered, then ended with status {completed.status}."
    return Reading(rows, notices=(Notice("qmd_crashed_at_exit", message, "Update qmd if this goes on."),))


def _says_nothing(text: str) -> bool:
    # The cheap look first: over megabytes of noise the pattern alone takes a tenth of a second.
    return "results found" in text.casefold() and _NOTHING.search(text) is not None


def rows_in(text: str) -> tuple[Row, ...] | None:
    """The last complete list of rows in `text`, an empty one when that is all there is, None when there is none."""
    found: tuple[Row, ...] | None = None
    for value in _values(text):
        rows = rows_of(value)
        if rows:
            found = rows
    if found is not None:
        return found
    if _CUT.search(_EMPTY.sub("", text)):
        return None
    lines = _one_a_line(text)
    if lines:
        return lines
    return () if _EMPTY.search(text) else None


def rows_of(value: Any) -> tuple[Row, ...] | None:
    """The rows of a decoded value: a list of objects with a `file`, or an object that holds one as `results`."""
    if isinstance(value, dict):
        value = value.get("results")
    if not isinstance(value, list):
        return None
    rows = [_row(item) for item in value]
    return tuple(row for row in rows if row) if all(rows) else None


def plain(data: bytes) -> str:
    """Text without colour codes and cursor movements; a bare carriage return ends a line."""
    text = _ANSI.sub("", data.decode("utf-8", errors="replace"))
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _values(text: str) -> Iterator[Any]:
    at = wasted = 0
    while wasted < _MAX_WASTED_CHARS and (start := _START.search(text, at)):
        try:
            value, at = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            wasted += error.pos - start.start() + _FAILED_START_CHARS
            at = start.start() + 1
        except (ValueError, RecursionError):
            wasted += _FAILED_START_CHARS
            at = start.start() + 1
        else:
            yield value


def _one_a_line(text: str) -> tuple[Row, ...]:
    rows = []
    # One after the other: megabytes of short lines are several times as large as a list.
    for line in _OBJECT.finditer(text):
        try:
            row = _row(json.loads(line[0]))
        except (ValueError, RecursionError):
            return ()
        if row:
            rows.append(row)
    return tuple(rows)


def _row(item: Any) -> Row | None:
    if not isinstance(item, dict):
        return None
    file, line, score = item.get("file"), item.get("line"), item.get("score")
    if not isinstance(file, str) or not file or "\0" in file:
        return None
    return Row(file, _line(line), _score(score))


def _line(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else None


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        return float(value) if math.isfinite(value) else 0.0
    except OverflowError:
        return 0.0


@dataclass(frozen=True, slots=True)
class _Sign:
    """A text that tells which failure it was."""

    pattern: re.Pattern[str]
    failure: Failure
    message: str
    hint: str


def _sign(pattern: str, failure: Failure, message: str, hint: str) -> _Sign:
    return _Sign(re.compile(pattern, re.IGNORECASE | re.MULTILINE), failure, message, hint)


_REINSTALL = "Reinstall qmd with the Node that runs it: npm install -g @tobilu/qmd"
_SIGNS = (
    _sign(
        r"NODE_MODULE_VERSION|ERR_DLOPEN_FAILED|Could not locate the bindings file|no such module: vec0",
        Failure.BROKEN_INSTALL,
        "qmd's native module was built for another runtime",
        _REINSTALL,
    ),
    _sign(
        r"Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND",
        Failure.BROKEN_INSTALL,
        "qmd's files are incomplete",
        _REINSTALL,
    ),
    _sign(
        r"database (?:table )?is locked|SQLITE_BUSY",
        Failure.LOCKED,
        "qmd's database is locked by another process",
        "Wait for the other qmd to finish.",
    ),
    _sign(
        r"SQLITE_FULL|database or disk is full|ENOSPC|no space left on device",
        Failure.DISK_FULL,
        "the disk is full",
        "Free space; the next sync goes on.",
    ),
    _sign(
        r"SQLITE_NOTADB|file is not a database|SQLITE_CORRUPT|disk image is malformed|no such table",
        Failure.INDEX_LOST,
        "qmd's database is damaged",
        "It is rebuilt by the next sync.",
    ),
    _sign(
        r"Collection not found",
        Failure.INDEX_LOST,
        "qmd does not know our collections",
        "They are written again by the next sync.",
    ),
    _sign(
        r"unknown (?:option|command|flag)|unrecognized option|ERR_PARSE_ARGS|^Usage: qmd",
        Failure.UNSUPPORTED_FLAGS,
        "this qmd does not know the options that were used",
        "Update qmd: npm install -g @tobilu/qmd@latest",
    ),
    _sign(
        r"model (?:file )?(?:is )?(?:missing|not found)|failed to (?:load|resolve|download) (?:the )?model"
        r"|huggingface|no such file.*\.gguf",
        Failure.MODEL_MISSING,
        "qmd's embedding model is not on this machine",
        "Run `qmd pull` once with network, or set QMD_EMBED_MODEL to a local GGUF file.",
    ),
)


def failure_of(completed: Completed, *, secret: str = "") -> BackendError:
    """Name the failure of a child that left no usable output."""
    if completed.timed_out:
        return timed_out()
    errors = plain(completed.stderr)
    told = f"{errors}\n{plain(completed.stdout[-65536:])}" if completed.status else errors
    for sign in _SIGNS:
        if sign.pattern.search(told):
            return BackendError(sign.failure, f"{sign.message}.", hint=sign.hint)
    if completed.status == 127:
        return BackendError(Failure.MISSING, "qmd, or a program that it starts, was not found.", hint=_REINSTALL)
    if completed.status == 126:
        return BackendError(Failure.BROKEN_INSTALL, "qmd may not be executed.", hint="Check its permissions.")
    detail = excerpt(errors, secret)
    if completed.status:
        return BackendError(
            Failure.EXITED, f"qmd ended with status {completed.status}{detail}.", hint="Run `qmd doctor`."
        )
    return BackendError(Failure.BAD_OUTPUT, f"qmd printed something that is not a result list{detail}.")


def timed_out() -> BackendError:
    """The failure of a call that met its deadline."""
    return BackendError(
        Failure.TIMEOUT,
        "qmd did not answer before the deadline.",
        hint="Raise memory.qmd.limits.timeoutMs if it is slow.",
    )


def excerpt(errors: str, secret: str) -> str:
    """The last telling line of standard error, capped, without the words of `secret`; empty when there is none."""
    lines = (line.strip()[:_MAX_LINE_CHARS] for line in reversed(errors.splitlines()))
    told = next((line for line in lines if _TELLING.search(line) and not line.startswith(_NOISE)), "")
    if not told:
        return ""
    told = _without(told, re.findall(r"\w+", secret))
    return f": {told[:_MAX_EXCERPT_CHARS]}"


def _without(line: str, words: Sequence[str]) -> str:
    for word in _longest_first(words):
        line = re.sub(re.escape(word), "…", line, flags=re.IGNORECASE)
    return line


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted({word for word in words if len(word) > 1}, key=len, reverse=True)[:200]
