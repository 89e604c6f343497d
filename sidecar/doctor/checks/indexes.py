"""The indexes: whole, ours, not swollen, and with vectors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw

from backends.base import BackendError
from backends.builtin.ownership import Owner, owner_of
from backends.builtin.schema import load_vec
from backends.embedding import resolve
from sidecar.config import choose
from sidecar.config.variables import expand
from sidecar.doctor.catalogue import Code, Finding
from sidecar.doctor.checks.configuration import file_of
from sidecar.doctor.checks.engines import homes
from sidecar.doctor.subject import Subject
from sidecar.wording.terminal import size

#: A log grows while somebody reads for long, and is cut back after it; this is more than any of ours needs.
_MOST_LOG_BYTES = 64 * 2**20
#: A damaged index has a fault in many places; the first one is enough.
_CHECK = "PRAGMA quick_check(1)"


def indexes(subject: Subject) -> Iterator[Finding]:
    """Every index of every agent."""
    for agent in subject.agents if subject.wants_builtin else ():
        yield from _built_in(agent.id, agent.index_path, subject)
    for agent_id, home in homes(subject).items() if subject.wants_qmd else ():
        if home.index.exists():
            yield from _file(agent_id, home.index)


def _built_in(agent_id: str, path: Path, subject: Subject) -> Iterator[Finding]:
    try:
        owner = owner_of(path)
    except BackendError as error:
        yield Code.INDEX_FOREIGN.found(f"agent {agent_id}: {error.message}", path=path)
        return
    match owner:
        case Owner.NOBODY if _should_have_one(agent_id, subject):
            yield Code.INDEX_MISSING.found(f"agent {agent_id} has no index at {path}", agent=agent_id)
        case Owner.OURS_DAMAGED:
            yield Code.INDEX_DAMAGED.found(f"the index of agent {agent_id} has no readable head", agent=agent_id)
        case Owner.US:
            yield from _file(agent_id, path)


def _should_have_one(agent_id: str, subject: Subject) -> bool:
    """Whether an index that is not there is missed: a daemon runs, and is not building it."""
    agent = subject.live.fleet.get(agent_id) if subject.live else None
    return agent is not None and not agent.status()["engines"]["builtin"].get("syncing")


def _file(agent_id: str, path: Path) -> Iterator[Finding]:
    if fault := _fault(path):
        yield Code.INDEX_DAMAGED.found(f"{path} is damaged ({fault})", agent=agent_id)
    with contextlib.suppress(OSError):
        log_bytes = path.with_name(f"{path.name}-wal").stat().st_size
        if log_bytes > _MOST_LOG_BYTES:
            yield Code.LOG_LARGE.found(f"the log of {path} has {size(log_bytes)}", agent=agent_id)


def _fault(path: Path) -> str:
    """What SQLite finds wrong in a file, empty for nothing. A file that is locked is in use, and not damaged."""
    try:
        with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            ((answer,),) = connection.execute(_CHECK).fetchall()
    except (apsw.BusyError, apsw.CantOpenError):
        return ""
    except apsw.Error as error:
        return type(error).__name__
    # A line of it may hold text of a row.
    return "" if answer == "ok" else "its pages do not agree"


def vectors(subject: Subject) -> Iterator[Finding]:
    """Whether sqlite-vec loads into the SQLite that we use."""
    if not subject.wants_builtin:
        return
    named = {agent.search.store.vector.extension_path for agent in subject.agents if agent.search.store.vector.enabled}
    for extension in sorted(named, key=str):
        file = expand(extension, subject.settings.variables) if extension else None
        with contextlib.closing(apsw.Connection(":memory:")) as connection:
            if load_vec(connection, file):
                continue
        if file is not None:
            yield Code.VECTOR_EXTENSION_MISSING.found(f"{file} cannot be loaded", file=file_of(subject))
        else:
            yield Code.SQLITE_VEC_UNAVAILABLE.found("sqlite-vec cannot be loaded", python=sys.executable)


async def embedding(subject: Subject) -> list[Finding]:
    """Whether there is a provider with a key, and with `deep` whether it gives a vector."""
    if not subject.wants_builtin:
        return []
    if subject.deep and subject.live is not None:
        return await _probed(subject)
    if keyless := list(_keyless(subject)):
        return keyless
    bare = [agent.id for agent in subject.agents if resolve(choose(subject.settings, agent).first) == "none"]
    wanted = [name for name in bare if subject.settings.agents[name].search.provider != "none"]
    if not wanted:
        return []
    return [Code.KEYWORDS_ONLY.found(f"there is no embedding model for {', '.join(wanted)}", python=sys.executable)]


def _keyless(subject: Subject) -> Iterator[Finding]:
    """Providers that are named and have no key, as `config check` tells them."""
    for remark in subject.settings.findings:
        if remark.code == "no_api_key" and remark.key.endswith(".provider"):
            file = remark.file or file_of(subject)
            yield Code.EMBEDDING_KEY_MISSING.found(remark.advice, line=remark.line or 1, file=file)


async def _probed(subject: Subject) -> list[Finding]:
    assert subject.live is not None
    found = {}
    for agent in subject.live.fleet:
        if agent.enabled and agent.builtin:
            for probe in await subject.live.prober.probe(agent.builtin.providers):
                if probe.error is not None:
                    found[probe.provider] = probe.error.message
    return [Code.EMBEDDING_FAILS.found(message, file=file_of(subject)) for message in found.values()]
