"""From settings to the one list of folders that is an agent's memory.

Both engines, reading, watching and provenance use this list. Only the disk's state that decides how a
path is meant (file or folder, inside the workspace or not) is looked at; a missing path is normal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from backends.base import Notice
from backends.corpus import Corpus, Kind, Root, is_plain
from backends.media import KINDS, kind_of
from backends.patterns import literal
from backends.presence import is_file, is_there
from sidecar.config.settings import AgentSettings, Settings
from sidecar.config.variables import expand

#: Shown paths outside the workspace start with this, so nothing inside it may.
OUTSIDE: Final = "qmd/"
SESSIONS: Final = "sessions"
RESERVED: Final = ("memory-root", "memory-user", "memory-dir", SESSIONS)
#: A folder of which no pattern is asked for gives its notes, and with `multimodal` its images and recordings.
_NOTES: Final = "**/*.md"
_ANYTHING: Final = "**/*"


#: By agent, the real paths of what is its alone.
Places: TypeAlias = Mapping[str, tuple[str, ...]]


def places_of(settings: Settings) -> Places:
    """Where every agent's workspace and conversations really are. For many agents, look once."""
    return {
        agent.id: (os.path.realpath(agent.workspace), os.path.realpath(sessions_dir(settings, agent)))
        for agent in settings.agents.values()
    }


def resolve_corpus(
    settings: Settings, agent: AgentSettings, places: Places | None = None
) -> tuple[Corpus, tuple[Notice, ...]]:
    """The agent's roots in order of precedence, and what is odd about them. Writes nothing, never raises.

    `places` are `places_of` the settings, where they are known already.
    """
    # Images and recordings come before texts of the same folders: where a pattern is wide, both mean them.
    extras = sorted(_extras(settings, agent), key=lambda root: not root.media)
    defaults = _default_roots(agent.workspace) if settings.memory.qmd.include_default_memory else ()
    foreign = [root for root in extras if not root.trusted]
    inside = [root for root in foreign if not _is_around(root.path, agent.workspace)]
    # A file belongs to the first root that covers it, and what is a conversation, or was written by others, must
    # count as that also inside a trusted folder. A wide path of others makes the agent's own notes not theirs.
    around = [root for root in foreign if root not in inside]
    trusted = [root for root in extras if root.trusted]
    shared = (*inside, *defaults, *around, *trusted)
    places = places_of(settings) if places is None else places
    others = {os.path.realpath(settings.state_dir)}.union(*(places[other] for other in places if other != agent.id))
    workspace = os.path.realpath(agent.workspace)
    own = (replace(root, without=_others_inside(root.path, others, workspace)) for root in shared)
    roots = (*_session_roots(settings, agent), *own)
    return Corpus(agent.id, agent.workspace, roots), tuple(_notices(settings, agent, defaults))


def _is_around(path: Path, workspace: Path) -> bool:
    return Path(os.path.realpath(workspace)).is_relative_to(os.path.realpath(path))


def sessions_enabled(settings: Settings, agent: AgentSettings) -> bool:
    """Whether conversations belong to the agent's memory: either of the two documented switches is enough."""
    return settings.memory.qmd.sessions.enabled or agent.search.sessions_wanted


def sessions_dir(settings: Settings, agent: AgentSettings) -> Path:
    """Where the agent's conversations are exported to: a folder of its own, also below a configured one."""
    configured = settings.memory.qmd.sessions.export_dir
    if configured is None:
        return agent.state_dir / "qmd" / "sessions"
    return expand(configured, settings.variables, base=agent.workspace) / agent.folder


def _session_roots(settings: Settings, agent: AgentSettings) -> tuple[Root, ...]:
    if not sessions_enabled(settings, agent):
        return ()
    path = sessions_dir(settings, agent)
    shown = _shown(path, agent.workspace, SESSIONS)
    return (Root(name=SESSIONS, kind=Kind.SESSION, path=path, patterns=("**/*.md",), shown=shown, trusted=False),)


def _default_roots(workspace: Path) -> tuple[Root, ...]:
    curated = ("memory-root", ("MEMORY.md", "memory.md")), ("memory-user", ("USER.md",))
    return (
        *(Root(name=name, kind=Kind.CURATED, path=workspace, patterns=files, shown="") for name, files in curated),
        Root(name="memory-dir", kind=Kind.DAILY, path=workspace / "memory", patterns=("**/*.md",), shown="memory/"),
    )


def _notices(settings: Settings, agent: AgentSettings, defaults: tuple[Root, ...]) -> Iterator[Notice]:
    if defaults and {"MEMORY.md", "memory.md"} <= _names(agent.workspace):
        message = "the workspace holds MEMORY.md and memory.md; only MEMORY.md is read"
        yield Notice("two_root_memories", message, "move the text of memory.md into MEMORY.md")
    if defaults and _foreign_places(settings, agent) & _default_places(agent):
        message = "a path with trusted: false is the agent's own memory, which is trusted all the same"
        yield Notice("no_effect", message, "name the folder inside it that others write to")


def _names(folder: Path) -> set[str]:
    try:
        return set(os.listdir(folder))  # noqa: PTH208 - names are compared as the disk spells them
    except OSError:
        return set()


#: Real path, pattern, and the kinds of media; none for texts.
_Place: TypeAlias = tuple[str, str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A configured path before it is a root."""

    path: Path
    pattern: str
    name: str | None
    media: frozenset[str]
    trusted: bool

    @property
    def place(self) -> _Place:
        return os.path.realpath(self.path), self.pattern, self.media


def _extras(settings: Settings, agent: AgentSettings) -> Iterator[Root]:
    """Configured paths as roots. The first of two that name the same files wins, as qmd demands."""
    taken = {*RESERVED, *_names(agent.workspace / "qmd")}
    seen = _default_places(agent) if settings.memory.qmd.include_default_memory else set()
    foreign = _foreign_places(settings, agent)
    for index, wanted in enumerate(_wanted(settings, agent), start=1):
        new = [sort for sort in _sorted_out(wanted) if sort.place not in seen]
        if not new:
            continue
        seen |= {sort.place for sort in new}
        name = _unique(_plain_name(wanted.name) or f"custom-{index}", taken)
        for sort in new:
            yield Root(
                name=_unique(f"{name}-media", taken) if sort.media else name,
                kind=Kind.EXTRA,
                path=sort.path,
                patterns=(sort.pattern,),
                shown=_shown(sort.path, agent.workspace, name),
                media=tuple(kind for kind in KINDS if kind in sort.media),
                trusted=sort.place not in foreign,
            )


def _foreign_places(settings: Settings, agent: AgentSettings) -> set[_Place]:
    """What others write to. Whoever else names the same files does not make them trusted."""
    return {sort.place for wanted in _wanted(settings, agent) if not wanted.trusted for sort in _sorted_out(wanted)}


def _others_inside(path: Path, others: AbstractSet[str], workspace: str) -> tuple[str, ...]:
    """What is of other agents or the daemon's own below `path`, relative to it: a wide path is no leave to read it."""
    base = os.path.realpath(path).rstrip("/") + "/"
    # A workspace around our own is a choice of the operator, who then shares it.
    inside = (other for other in others if other.startswith(base) and not f"{workspace}/".startswith(f"{other}/"))
    return tuple(sorted(other.removeprefix(base) for other in inside))


def _default_places(agent: AgentSettings) -> set[_Place]:
    """Where the default roots are: qmd refuses a second collection of the same path and pattern."""
    roots = _default_roots(agent.workspace)
    return {(os.path.realpath(root.path), pattern, frozenset()) for root in roots for pattern in root.patterns}


def _wanted(settings: Settings, agent: AgentSettings) -> Iterable[_Wanted]:
    """`memory.qmd.paths`, then `memorySearch.extraPaths`; only the latter may hold media."""
    for path in settings.memory.qmd.paths:
        yield _Wanted(_absolute(path.path, settings, agent), path.pattern, path.name, frozenset(), path.trusted)
    media = agent.search.multimodal.kinds
    for extra in agent.search.extra_paths:
        yield _Wanted(_absolute(extra.path, settings, agent), extra.pattern, None, media, extra.trusted)


def configured_paths(settings: Settings, agent: AgentSettings) -> list[Path]:
    """Where the configured paths of an agent lead: those of `memory.qmd.paths`, then its `extraPaths`."""
    return [wanted.path for wanted in _wanted(settings, agent)]


def _absolute(text: str, settings: Settings, agent: AgentSettings) -> Path:
    return expand(text, settings.variables, base=agent.workspace)


def _sorted_out(wanted: _Wanted) -> list[_Wanted]:
    """A configured path as one of media and one of texts, each only where there can be such files."""
    if _is_file(wanted.path):
        # The folder of the file, and itself; so is what is named like one and does not exist yet.
        alone = replace(wanted, path=wanted.path.parent, pattern=literal(wanted.path.name))
        is_media = kind_of(wanted.path.name) in wanted.media
        return [alone if is_media else replace(alone, media=frozenset())]
    texts = replace(wanted, media=frozenset())
    if not wanted.media:
        return [texts]
    return [texts, replace(wanted, pattern=_ANYTHING) if wanted.pattern == _NOTES else wanted]


def _is_file(path: Path) -> bool:
    return is_file(path) or (path.suffix == ".md" and not is_there(path))


def _plain_name(name: str | None) -> str:
    """A configured name as qmd and shown paths can carry it."""
    return re.sub(r"[^\w.-]+", "-", name or "", flags=re.ASCII).strip("-.")


def _unique(name: str, taken: set[str]) -> str:
    """`name`, or with `-2`, `-3`, .. when it is taken; case does not tell two names apart."""
    folded = {other.casefold() for other in taken}
    count = 1
    candidate = name
    while candidate.casefold() in folded:
        count += 1
        candidate = f"{name}-{count}"
    taken.add(candidate)
    return candidate


def _shown(path: Path, workspace: Path, name: str) -> str:
    """The prefix of shown paths: relative to the workspace for what lies in it, else `qmd/<name>/`."""
    outside = f"{OUTSIDE}{name}/"
    for inner, outer in ((path, workspace), (Path(os.path.realpath(path)), Path(os.path.realpath(workspace)))):
        if inner.is_relative_to(outer):
            relative = inner.relative_to(outer).as_posix()
            if relative == ".":
                return ""
            usable = is_plain(relative) and not f"{relative}/".startswith(OUTSIDE)
            return f"{relative}/" if usable else outside
    return outside
