"""From the files on disk to `Settings`, or to the list of everything that is wrong."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeAlias

from backends.presence import is_file
from sidecar import places
from sidecar.config import agents, checks, documents, embedding_checks, unused
from sidecar.config.errors import ConfigError, Finding, Severity
from sidecar.config.json5 import KeyPath
from sidecar.config.schema import Memory, Provider, Session, SessionTools, Sidecar
from sidecar.config.sections import SECTIONS, Reader
from sidecar.config.settings import AgentSettings, Origins, Settings
from sidecar.config.variables import env_file, expand, with_env_file

#: Time, size and inode of a file; None where there is none.
Stamp: TypeAlias = tuple[int, int, int] | None
Fingerprint: TypeAlias = Mapping[Path, Stamp]

STATE_DIR: Final[KeyPath] = ("stateDir",)
SOCKET: Final[KeyPath] = ("socket",)
#: What is shown under the place where it is written.
_AS_WRITTEN: Final[tuple[KeyPath, ...]] = (("memory",), ("sidecar",), ("session",), ("tools",), ("models",))


def load(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    state_dir: Path | None = None,
    socket: Path | None = None,
) -> Settings:
    """Read, validate and resolve the configuration. Nothing is written.

    `config`, `state_dir` and `socket` are what the command line names. Raises `ConfigError` with every error found.
    """
    settings, findings = inspect(config, environ=environ, state_dir=state_dir, socket=socket)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    if errors or settings is None:
        raise ConfigError(errors)
    return settings


def inspect(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    state_dir: Path | None = None,
    socket: Path | None = None,
) -> tuple[Settings | None, tuple[Finding, ...]]:
    """The same, but errors are returned: all findings, and the settings when the files could be read at all."""
    path = find(config, environ)
    try:
        tree = documents.read(path, SECTIONS)
    except ConfigError as error:
        return None, error.findings
    reader = Reader(tree, with_env_file(environ))
    settings = _resolve(reader, environ, state_dir, socket)
    settings = replace(settings, findings=(*settings.findings, *embedding_checks.run(settings)))
    return settings, settings.findings


def find(config: Path | None, environ: Mapping[str, str]) -> Path | None:
    """The file in use: the named one, whether it exists or not, else the first default one that exists."""
    if config is not None:
        return config.absolute()
    candidates = [path.absolute() for path in places.config_candidates(environ)]
    if environ.get("SIDECAR_CONFIG") or environ.get("OPENCLAW_CONFIG_PATH"):
        return candidates[0]
    return next((path for path in candidates if is_file(path)), None)


def fingerprint(settings: Settings, environ: Mapping[str, str] = os.environ) -> Fingerprint:
    """What the files of a configuration are at this moment, and those that would be read instead of them."""
    read = {document.path for document, _ in settings.origins.tree.places.values()}
    candidates = {path.absolute() for path in places.config_candidates(environ)}
    return {path: _stamp(path) for path in read | candidates | {env_file(environ)}}


def _stamp(path: Path) -> Stamp:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size, info.st_ino


def _resolve(reader: Reader, environ: Mapping[str, str], state_flag: Path | None, socket_flag: Path | None) -> Settings:
    path = reader.tree.main
    memory = _with_home(
        reader.model(("memory",), Memory, without=frozenset({"search"}), ignored=unused.MEMORY), environ
    )
    sidecar = _with_log_file(reader.model(("sidecar",), Sidecar), environ, path)
    state_dir, state_origin = _state_dir(sidecar, path, environ, state_flag)
    socket, socket_origin = _socket(sidecar, path, environ, state_dir, socket_flag)
    resolved = agents.resolve(reader, environ, state_dir)
    session = reader.model(("session",), Session)
    visibility = reader.model(("tools", "sessions"), SessionTools).visibility
    providers = _providers(reader)
    checks.run(reader, memory, sidecar, resolved)
    disabled = _slot(reader) == "none"
    return Settings(
        path=path,
        memory=memory,
        sidecar=sidecar,
        agents=_turned_off(resolved.agents) if disabled else resolved.agents,
        session=session,
        visibility=visibility,
        providers=providers,
        policy=memory.qmd.scope.policy(),
        state_dir=state_dir,
        socket=socket,
        home=places.home(environ),
        disabled=disabled,
        findings=tuple(reader.findings),
        origins=_origins(reader, resolved, {STATE_DIR: state_origin, SOCKET: socket_origin}),
        variables=reader.variables,
    )


def _with_home(memory: Memory, environ: Mapping[str, str]) -> Memory:
    """The command with `~` replaced, as a shell would have done; a bare name stays one."""
    command = memory.qmd.command
    if not command.startswith("~/"):
        return memory
    qmd = memory.qmd.model_copy(update={"command": str(expand(command, environ))})
    return memory.model_copy(update={"qmd": qmd})


def _with_log_file(sidecar: Sidecar, environ: Mapping[str, str], path: Path | None) -> Sidecar:
    """The log file as an absolute path; a relative one starts beside the configuration, like all paths of `sidecar`."""
    if sidecar.log.file is None:
        return sidecar
    file = expand(sidecar.log.file, environ, base=path.parent if path else None)
    return sidecar.model_copy(update={"log": sidecar.log.model_copy(update={"file": str(file)})})


def _state_dir(sidecar: Sidecar, path: Path | None, environ: Mapping[str, str], flag: Path | None) -> tuple[Path, str]:
    if flag is not None:
        return flag.absolute(), "--state-dir"
    if environ.get("SIDECAR_STATE_DIR"):
        return places.state_dir(environ).absolute(), "SIDECAR_STATE_DIR"
    if sidecar.state_dir is not None:
        return expand(sidecar.state_dir, environ, base=path.parent if path else None), ""
    return places.state_dir(environ, config=path).absolute(), ""


def _socket(
    sidecar: Sidecar, path: Path | None, environ: Mapping[str, str], state_dir: Path, flag: Path | None
) -> tuple[Path, str]:
    if flag is not None:
        return flag.absolute(), "--socket"
    if environ.get("SIDECAR_SOCKET"):
        return places.socket_path(environ, state_dir).absolute(), "SIDECAR_SOCKET"
    if sidecar.socket.path is not None:
        return expand(sidecar.socket.path, environ, base=path.parent if path else None), ""
    return places.socket_path(environ, state_dir).absolute(), ""


def _providers(reader: Reader) -> dict[str, Provider]:
    names = reader.mapping(("models", "providers"))
    return {name: reader.model(("models", "providers", name), Provider) for name in names}


def _turned_off(agents: Mapping[str, AgentSettings]) -> dict[str, AgentSettings]:
    return {agent_id: replace(agent, off_by="plugins.slots.memory") for agent_id, agent in agents.items()}


def _slot(reader: Reader) -> str | None:
    return reader.word(("plugins", "slots", "memory"))


def _origins(reader: Reader, resolved: agents.Resolved, given: dict[KeyPath, str]) -> Origins:
    written = {
        **{place: (place,) for place in _AS_WRITTEN},
        STATE_DIR: (("sidecar", "stateDir"),),
        SOCKET: (("sidecar", "socket", "path"),),
        ("disabled",): (("plugins", "slots", "memory"),),
        **resolved.written,
    }
    return Origins(tree=reader.tree, written=written, given={key: name for key, name in given.items() if name})
