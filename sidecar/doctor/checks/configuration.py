"""The configuration: what is wrong in the file, and whether the daemon runs with what stands there."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import sidecar
from sidecar import places
from sidecar.config import Settings, Severity, check, inspect
from sidecar.config.errors import Finding as Remark
from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.subject import Subject

_DISTRIBUTION = "qmd-sidecar"


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


def changes(subject: Subject) -> Iterator[Finding]:
    """Whether a daemon that starts now would be another one."""
    running = subject.settings
    found, _ = inspect(running.path, environ=subject.environ, state_dir=running.state_dir, socket=running.socket)
    if found is not None and _in_force(found) != _in_force(running):
        yield Code.CONFIGURATION_CHANGED.found(f"{file_of(subject)} says something else than what is in force")
    try:
        installed = version(_DISTRIBUTION)
    except PackageNotFoundError:
        return
    if installed != sidecar.__version__:
        yield Code.PROGRAM_CHANGED.found(f"version {sidecar.__version__} runs and {installed} is installed")


def _in_force(settings: Settings) -> tuple[Any, ...]:
    """What of the settings changes what a daemon does."""
    return (
        settings.memory,
        settings.sidecar,
        settings.agents,
        settings.session,
        settings.visibility,
        settings.providers,
        settings.disabled,
    )
