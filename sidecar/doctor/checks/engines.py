"""qmd: whether it starts in the environment of whoever looks, and whether its folders are what they should be."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import yaml

from backends.base import BackendError, Failure, Mode
from backends.qmd.capabilities import NEWEST_TRIED
from backends.qmd.collections import desired, parse, plan
from backends.qmd.home import QmdHome
from backends.qmd.install import Install, find, interpreter_of, probe
from backends.qmd.ledger import Ledger
from backends.qmd.models import Presence, look
from sidecar.config import AgentSettings
from sidecar.doctor.catalogue import Code, Finding, Severity
from sidecar.doctor.subject import Subject
from sidecar.engines import qmd_home


async def qmd(subject: Subject) -> list[Finding]:
    """Find qmd and its interpreter as the daemon does, and run it in the surroundings of the first agent."""
    if not subject.wants_qmd or not subject.agents:
        return []
    try:
        install = await _installed(subject)
    except BackendError as error:
        return [_told(error, subject)]
    if install.tried:
        return []
    newest = ".".join(map(str, NEWEST_TRIED))
    message = f"qmd {install.label} is used like {newest}, the newest that was tried"
    return [Code.QMD_UNTRIED.found(message, version=newest)]


async def _installed(subject: Subject) -> Install:
    home, settings = qmd_home(subject.settings, subject.agents[0], subject.environ), subject.settings.memory.qmd
    binary = find(settings.command, subject.environ)
    surroundings = home.surroundings(subject.environ)
    if not home.work.is_dir():
        # Made by the first start; to look makes nothing.
        surroundings = replace(surroundings, folder=Path("/"))
    return await probe(binary, surroundings, timeout_s=settings.update.command_timeout_ms / 1000)


def _told(error: BackendError, subject: Subject) -> Finding:
    command = subject.settings.memory.qmd.command
    elsewhere = _elsewhere(command, subject.shell_path)
    if elsewhere is not None:
        return Code.QMD_ELSEWHERE.found(f"{error.message} The shell finds it: {elsewhere}")
    if error.failure is Failure.MISSING:
        optional = subject.settings.memory.backend == "auto"
        return Code.QMD_MISSING.found(error.message, severity=Severity.NOTE if optional else None)
    script = Path(command).expanduser()
    if "/" in command and not os.access(script, os.X_OK):
        return Code.QMD_NOT_EXECUTABLE.found(error.message, path=script)
    if (name := _missing_interpreter(command, subject)) is not None:
        return Code.QMD_INTERPRETER_MISSING.found(error.message, name=name)
    return Code.QMD_BROKEN.found(error.message)


def _elsewhere(command: str, shell_path: str) -> Path | None:
    """The qmd that the person's shell finds and could start."""
    try:
        return find(command, {"PATH": shell_path}).path if shell_path else None
    except BackendError:
        return None


def _missing_interpreter(command: str, subject: Subject) -> str | None:
    """The program in the first line of the qmd that is found, when that is what is missing."""
    path = subject.environ.get("PATH", os.defpath)
    found = shutil.which(os.path.expanduser(command), path=path)  # noqa: PTH111 - a bare name must stay bare
    interpreter = interpreter_of(Path(os.path.realpath(found))) if found else None
    if interpreter is None or shutil.which(interpreter, path=path):
        return None
    return Path(interpreter).name


def models(subject: Subject) -> Iterator[Finding]:
    """The model that a search by meaning needs."""
    mode = subject.settings.memory.qmd.search_mode
    if not subject.wants_qmd or mode is Mode.SEARCH:
        return
    for home in homes(subject).values():
        state = look(_listed(home) or {}, subject.environ, home.cache / "qmd" / "models").embed
        if state is Presence.ABSENT:
            yield Code.MODEL_MISSING.found(f"the mode {mode} needs an embedding model, and there is none")
        elif state is Presence.BROKEN:
            yield Code.MODEL_DAMAGED.found("the file of the embedding model is not whole")
        # All agents share one folder of models.
        return


def homes(subject: Subject) -> dict[str, QmdHome]:
    """Where each agent's qmd lives, by the id of the agent."""
    return {agent.id: qmd_home(subject.settings, agent, subject.environ) for agent in subject.agents}


def isolation(subject: Subject) -> Iterator[Finding]:
    """Links that lead out of an agent's own folder: another agent, or the person, would share the index."""
    for agent in subject.agents if subject.wants_qmd else ():
        home = qmd_home(subject.settings, agent, subject.environ)
        for path in (home.config, home.cache, home.index_yml.parent, home.index.parent, home.index_yml, home.index):
            if path.is_symlink() and not _is_inside(path, agent):
                message = f"the qmd of agent {agent.id} uses {os.path.realpath(path)}"
                yield Code.INDEX_SHARED.found(message, path=path)


def _is_inside(path: Path, agent: AgentSettings) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(agent.state_dir))


def collections(subject: Subject) -> Iterator[Finding]:
    """What qmd is told to index, against the folders that are configured; before the first update there is neither."""
    for agent in subject.agents if subject.wants_qmd else ():
        home = qmd_home(subject.settings, agent, subject.environ)
        if not home.index.exists():
            continue
        if message := _difference(home, subject, agent):
            yield Code.COLLECTIONS_DIFFER.found(f"agent {agent.id}: {message}", agent=agent.id)


def _difference(home: QmdHome, subject: Subject, agent: AgentSettings) -> str:
    document = _listed(home)
    if document is None:
        return f"{home.index_yml} is damaged"
    ledger = Ledger.load(home.ledger)
    wanted = desired(subject.corpus(agent).of_texts())
    step = plan(document, wanted, ledger.owned, ledger.aliases)
    stood_for = {*ledger.aliases.values()}
    parts = {
        "missing": [name for name in step.create if name not in stood_for],
        "of another folder": step.rebind,
        "no longer wanted": step.remove,
    }
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts.items() if names)


def _listed(home: QmdHome) -> dict[str, object] | None:
    """What stands in index.yml, None when it is damaged."""
    try:
        return parse(home.index_yml)
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return None
