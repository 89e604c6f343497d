"""The configuration in force, and how the last attempt to change it went."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from backends.base import Notice
from sidecar.config import ConfigError, Settings, changed_keys, dotted, fingerprint, needs_restart
from sidecar.config.json5 import KeyPath
from sidecar.config.loader import Fingerprint


class Load(Protocol):
    """Reads the configuration that the command line named. Raises `ConfigError`."""

    def __call__(self, *, state_dir: Path | None = None, socket: Path | None = None) -> Settings:
        """The settings; `state_dir` and `socket`, when given, win over everything else."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """A reload at `at` (Unix seconds): the changed keys in force, those that wait for a restart, or what was wrong."""

    at: float
    changed: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    error: ConfigError | None = None


class Configured:
    """`settings` are in force. `load` reads them again; `wall` is the time in Unix seconds."""

    def __init__(
        self,
        settings: Settings,
        load: Load,
        *,
        environ: Mapping[str, str] = os.environ,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._started_with = settings
        self.last: Attempt | None = None
        self._load = load
        self._environ = environ
        self._wall = wall
        self._seen: Fingerprint = fingerprint(settings, environ)

    def read(self) -> tuple[Settings, Attempt]:
        """What the files say now, and what that would change. Looks at the disk. Raises `ConfigError`.

        The places that a daemon has for its life stay as they are, whatever the files say.
        """
        # Before reading: what is written meanwhile is to be noticed.
        self._seen = fingerprint(self.settings, self._environ)
        wanted = self._load()
        self._seen = {**fingerprint(wanted, self._environ), **self._seen}
        waiting = _named(key for key in changed_keys(self._started_with, wanted) if needs_restart(key))
        if (wanted.state_dir, wanted.socket) != (self.settings.state_dir, self.settings.socket):
            # What lies below the state folder would move with it.
            wanted = self._load(state_dir=self.settings.state_dir, socket=self.settings.socket)
        changed = _named(key for key in changed_keys(self.settings, wanted) if not needs_restart(key))
        return wanted, Attempt(self._wall(), changed, waiting)

    def differing(self) -> tuple[KeyPath, ...]:
        """The keys that say something else on the disk than what is in force. Raises `ConfigError`."""
        return changed_keys(self.settings, self._load(state_dir=self.settings.state_dir, socket=self.settings.socket))

    def became(self, settings: Settings, attempt: Attempt) -> None:
        """These settings are in force from now on."""
        self.settings, self.last = settings, attempt

    def refused(self, error: ConfigError) -> None:
        """The files are wrong: what was in force stays so."""
        self.last = Attempt(self._wall(), error=error)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What an operator must know of the files and what is in force."""
        return (*self.settings.notices, *self._news())

    def _news(self) -> Iterator[Notice]:
        last = self.last
        if last and last.error:
            wrong = f"the configuration on disk is wrong, and the previous one is in force: {last.error.findings[0]}"
            yield Notice("config_invalid", wrong, "qmd-sidecar config check")
        if last and last.waiting:
            yield Notice(
                "restart_needed",
                f"changed, and without effect until a restart: {', '.join(last.waiting)}",
                "stop the daemon with `qmd-sidecar stop`, and start it again",
            )
        now = fingerprint(self.settings, self._environ)
        if any(self._seen.get(path) != stamp for path, stamp in now.items()):
            yield Notice("config_changed", "the configuration was written since it was read", "qmd-sidecar reload")


def _named(keys: Iterable[KeyPath]) -> tuple[str, ...]:
    return tuple(map(dotted, keys))
