"""The configuration: what is wrong in the file, and whether the daemon runs with what stands there."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import sidecar
from sidecar import places
from sidecar.config import ConfigError, Severity, check, dotted, needs_restart
from sidecar.config.errors import Finding as Remark
from sidecar.config.json5 import KeyPath
from sidecar.configured import Configured
from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.subject import Subject
from sidecar.wording.words import listed

_DISTRIBUTION = "qmd-sidecar"
_SHOWN_KEYS = 5


def configuration(subject: Subject) -> Iterator[Finding]:
    """Every error and remark of `config check`, but for folders, which have a check of their own."""
    settings = subject.settings
    remarks = check(settings.path, environ=subject.environ, state_dir=settings.state_dir, socket=settings.socket)
    yield from (told(remark, file_of(subject)) for remark in remarks if remark.code != "workspace_missing")


def told(remark: Remark, file: str) -> Finding:
    """A remark of the configuration as a finding; its command opens the file at the line."""
    code = Code.CONFIGURATION_ERROR if remark.severity is Severity.ERROR else Code.CONFIGURATION_REMARK
    return code.found(str(remark), line=remark.line or 1, file=remark.file or file)


def file_of(subject: Subject) -> str:
    """The file in use, or the one that would be."""
    return str(subject.settings.path or places.config_candidates(subject.environ)[-2])


def opened_in_editor(subject: Subject) -> str:
    """The command that opens the file in use."""
    return f"${{EDITOR:-vi}} {shlex.quote(file_of(subject))}"


def changes(subject: Subject) -> Iterator[Finding]:
    """Whether a daemon that starts now would be another one."""
    assert subject.live is not None
    configured = subject.live.configured
    keys, last = _changed_keys(configured), configured.last
    if followed := [dotted(key) for key in keys if not needs_restart(key)]:
        message = f"{file_of(subject)} says something else than what is in force: {listed(followed, _SHOWN_KEYS)}"
        yield Code.CONFIGURATION_CHANGED.found(message)
    if waiting := {*(dotted(key) for key in keys if needs_restart(key)), *(last.waiting if last else ())}:
        message = f"changed, and without effect until a restart: {listed(sorted(waiting), _SHOWN_KEYS)}"
        yield Code.RESTART_NEEDED.found(message)
    try:
        installed = version(_DISTRIBUTION)
    except PackageNotFoundError:
        return
    if installed != sidecar.__version__:
        yield Code.PROGRAM_CHANGED.found(f"version {sidecar.__version__} runs and {installed} is installed")


def _changed_keys(configured: Configured) -> tuple[KeyPath, ...]:
    """The keys that say something else by now; none of a configuration that is wrong, which nobody would follow."""
    try:
        return configured.differing()
    except ConfigError:
        return ()
