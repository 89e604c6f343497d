"""The log of a running daemon: opened before anything can fail, changed by a reload, closed last."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from sidecar.config import Settings
from sidecar.errors import StartupError
from sidecar.logs.crashes import crashes_logged
from sidecar.logs.entry import Entry, as_json, redacted
from sidecar.logs.outlet import Outlet
from sidecar.logs.pipe import Pipe
from sidecar.logs.places import LOG_FOLDER, choose, remember
from sidecar.logs.redaction import LazyRedactor
from sidecar.logs.rendering import pretty
from sidecar.logs.sinks import Descriptor, RotatedFile
from sidecar.wording.terminal import Style

log = logging.getLogger(__name__)

#: Libraries that narrate; their warnings still pass.
QUIET = ("apscheduler", "asyncio", "uvicorn", "watchfiles")
#: What is wrong with a disk and not with the name of a file.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
#: What syslog calls our levels, for journald.
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}


@contextmanager
def logging_to(
    settings: Settings,
    *,
    level: str | None = None,
    stderr: int | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Iterator[Logs]:
    """Log to standard error, and to a file where nobody else keeps a log, until the block ends.

    A crash of the block is logged and ends the process with 1. Raises `StartupError` when the configured file cannot
    be opened.
    """
    descriptor = _standard_error() if stderr is None else stderr
    outlet = Outlet()
    with _root(outlet):
        logs = Logs(settings, outlet, descriptor, environ, pinned=level)
        try:
            with crashes_logged(descriptor):
                yield logs
        finally:
            logs.close()


class Logs:
    """The log while it is open. `pinned` is a level that no configuration changes, from a flag or the environment."""

    def __init__(
        self, settings: Settings, outlet: Outlet, stderr: int, environ: Mapping[str, str], *, pinned: str | None
    ) -> None:
        log_file = settings.sidecar.log.file
        named = Path(log_file).expanduser() if log_file else None
        self._outlet = outlet
        self._state_dir = settings.state_dir
        self._pinned = pinned
        self._redactor = LazyRedactor()
        self._style = _style(stderr)
        self.where = choose(stderr, environ, state_dir=settings.state_dir, named=named)
        self.apply(settings)
        problem = _problem(self._remember, settings.state_dir)
        file, unusable = self._file(is_named=named is not None)
        keeps_little = file is not None and _of_launchd(environ)
        outlet.pipes = [
            *([] if stderr < 0 else [self._stream(stderr, level=logging.WARNING if keeps_little else logging.NOTSET)]),
            *([Pipe("file", file, self._json)] if file else []),
        ]
        if error := problem or unusable:
            log.warning("log folder unusable", extra={"fields": {"reason": error.strerror}})

    def set_level(self, level: str) -> None:
        """Log what is of this level and above, from the next line on."""
        logging.getLogger().setLevel(level.upper())

    def apply(self, settings: Settings) -> None:
        """Take over the level and the secrets of a configuration that was read anew."""
        self.set_level(self._pinned or settings.sidecar.log.level)
        self._redactor.become(settings.sidecar.redact.patterns, settings.sidecar.redact.allow)

    def reopen(self) -> None:
        """Open the file anew, for logrotate; its folder may be gone with the state folder."""
        _problem(self._remember, self._state_dir)
        for pipe in self._outlet.pipes:
            pipe.reopen()

    def close(self) -> None:
        """Write what waits, as far as the places take it in time."""
        self._outlet.close()

    def _remember(self, state_dir: Path) -> None:
        (state_dir / LOG_FOLDER).mkdir(mode=0o700, exist_ok=True)
        remember(self.where, state_dir)

    def _file(self, *, is_named: bool) -> tuple[RotatedFile | None, OSError | None]:
        if self.where.file is None:
            return None, None
        file = RotatedFile(Path(self.where.file))
        error = _problem(file.open)
        if error is None or error.errno in _FULL:
            return file, error
        if is_named:
            raise StartupError(
                "log_unusable",
                f"cannot write the log {self.where.file}: {error.strerror}",
                hint="correct sidecar.log.file",
                exit_code=78,
            ) from error
        return None, error

    def _stream(self, stderr: int, *, level: int) -> Pipe:
        renders = {"terminal": self._pretty, "journal": self._prioritized, "other": self._json}
        return Pipe("stderr", Descriptor(stderr), renders[self.where.stream], level=level)

    def _json(self, entry: Entry) -> str:
        return as_json(redacted(entry, self._redactor))

    def _prioritized(self, entry: Entry) -> str:
        return f"<{_PRIORITIES[entry['level']]}>{self._json(entry)}"

    def _pretty(self, entry: Entry) -> str:
        return pretty(redacted(entry, self._redactor), self._style)


@contextmanager
def _root(outlet: Outlet) -> Iterator[None]:
    root = logging.getLogger()
    before = root.level, root.handlers
    root.handlers = [outlet]
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.level, root.handlers = before


def _standard_error() -> int:
    """The descriptor, or -1 when it was closed: the number is the next file's then."""
    return sys.stderr.fileno() if sys.stderr else -1


def _style(stderr: int) -> Style:
    if stderr < 0:
        return Style(colour=False)
    with open(stderr, "w", encoding="utf-8", closefd=False) as stream:
        return Style.of(stream)


def _of_launchd(environ: Mapping[str, str]) -> bool:
    """Whether launchd appends our standard error to a file, which it never rotates."""
    return "qmd-sidecar" in environ.get("XPC_SERVICE_NAME", "")


def _problem(action: Callable[..., None], *arguments: Path) -> OSError | None:
    try:
        action(*arguments)
    except OSError as error:
        return error
    return None
