"""A disk full of traps, and the paths by which a caller may try to leave its memory."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Stands in everything that no caller may see.
CANARY = "canary-5f2a9c"
#: The agent's own words, which may be seen.
OWN = "a note of our own"

#: What must come of a path: refused, no such file, or the agent's own words.
REFUSED, MISSING, READ = "path_not_allowed", "missing", "read"


@dataclass(frozen=True)
class Layout:
    """Where everything stands. `wide` is a configured path with the workspace of another agent inside."""

    folder: Path

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def memory(self) -> Path:
        return self.workspace / "memory"

    @property
    def outside(self) -> Path:
        return self.folder / "outside"

    @property
    def wide(self) -> Path:
        return self.folder / "wide"

    def config(self) -> dict[str, Any]:
        """Two agents on the built-in engine."""
        agents = [
            {"id": "main", "workspace": str(self.folder / "by-link")},
            {"id": "other", "workspace": str(self.wide / "other")},
        ]
        paths = [{"path": str(self.wide), "name": "wide"}]
        return {"memory": {"backend": "builtin", "qmd": {"paths": paths}}, "agents": {"list": agents}}

    def path(self, spelling: str) -> str:
        """A spelling of the table as a caller sends it."""
        for name in ("folder", "workspace", "memory", "outside", "wide"):
            spelling = spelling.replace(f"<{name}>", str(getattr(self, name)))
        return spelling


def lay_out(folder: Path) -> Layout:
    """Build it. The workspace is reached by a link, as honest users do."""
    layout = Layout(folder)
    _write_secrets(layout)
    for file in (
        layout.workspace / "MEMORY.md",
        layout.memory / "a.md",
        layout.memory / "50%.md",
        layout.wide / "w.md",
    ):
        file.write_text(f"{OWN}\n", encoding="utf-8")
    (folder / "by-link").symlink_to(layout.workspace)
    os.link(layout.memory / "a.md", layout.memory / "hard.md")
    _write_links(layout)
    _write_other_sorts(layout)
    return layout


def _write_secrets(layout: Layout) -> None:
    memory, other = layout.memory, layout.wide / "other"
    for file in (
        *(layout.outside / name for name in ("secret.md", "sub/secret.md", "secret.txt")),
        *(layout.workspace / name for name in ("secret.md", "USER.MD", "docs/secret.md", "memory-2/secret.md")),
        *(memory / name for name in (".hidden.md", ".git/secret.md", "node_modules/secret.md", "SHOUT.MD", "a.txt")),
        *(other / name for name in ("MEMORY.md", "memory/secret.md")),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{CANARY}\n", encoding="utf-8")


def _write_links(layout: Layout) -> None:
    for name, target in (
        ("link.md", layout.outside / "secret.md"),
        ("inner.md", layout.memory / "a.md"),
        ("dangling.md", layout.outside / "nowhere.md"),
        ("loop.md", "loop.md"),
        ("environ.md", "/proc/self/environ"),
        ("null.md", "/dev/null"),
        ("hidden.md", ".hidden.md"),
        ("linked", layout.outside),
        ("up", ".."),
        ("here", "."),
        ("proc", "/proc/self"),
        ("root", "/"),
    ):
        (layout.memory / name).symlink_to(target)
    (layout.memory / "deep").mkdir()
    (layout.memory / "deep" / "linked").symlink_to("../linked")
    (layout.memory / "deep" / "sub").symlink_to(layout.outside / "sub")


def _write_other_sorts(layout: Layout) -> None:
    os.mkfifo(layout.memory / "pipe.md")
    (layout.memory / "folder.md").mkdir()
    with socket.socket(socket.AF_UNIX) as listener, suppress(OSError):  # a long folder has no room for one
        listener.bind(str(layout.memory / "socket.md"))
    with suppress(PermissionError):  # a device is for root to make
        os.mknod(layout.memory / "zero.md", 0o20600, os.makedev(1, 5))


_CLIMBING = (
    "..",
    ".",
    "",
    "../outside/secret.md",
    "../../outside/secret.md",
    "memory/../../outside/secret.md",
    "memory/../secret.md",
    "memory/./a.md",
    "memory//a.md",
    "memory/a.md/",
    "./memory/a.md",
    "memory/deep/../../../outside/secret.md",
    "qmd/wide/../outside/secret.md",
    "qmd/wide/other/../../outside/secret.md",
    "qmd/../secret.md",
    "memory\\..\\..\\outside\\secret.md",
    "memory/..\\secret.md",
    "..\\outside\\secret.md",
    "\\\\server\\share\\secret.md",
    "C:\\outside\\secret.md",
    "C:secret.md",
    "c:/outside/secret.md",
    "file://<outside>/secret.md",
    "qmd://wide/../../etc/passwd.md",
    "~/outside/secret.md",
    "~root/secret.md",
    "memory/a.md\0",
    "memory/a\0.md",
    "../outside/secret.md\0.md",
    "memory/../../outside/secret.md#L1-L5",
    "<outside>/secret.md#L1",
)

_ABSOLUTE = (
    "<outside>/secret.md",
    "<workspace>/secret.md",
    "<workspace>/docs/secret.md",
    "<workspace>/memory-2/secret.md",
    "<memory>/../secret.md",
    "<memory>/../../outside/secret.md",
    "<memory>//a.md",
    "/<memory>/a.md",
    "<folder>/by-link/../outside/secret.md",
    "<folder>/by-link/secret.md",
    "<wide>/other/MEMORY.md",
    "<wide>/other/memory/secret.md",
    "<folder>/state/agents/other/secret.md",
    "<memory>/.hidden.md",
    "/proc/self/environ",
    "/proc/self/root<outside>/secret.md",
    "/proc/self/cwd/secret.md",
    "/dev/zero",
    "/dev/stdin",
    "/etc/passwd",
    "/",
    "//server/share/secret.md",
)

_OTHERS = (
    "secret.md",
    "docs/secret.md",
    "memory-2/secret.md",
    "qmd/other/secret.md",
    "qmd/wide",
    "qmd/wide/other/MEMORY.md",
    "qmd/wide/other/memory/secret.md",
    "qmd/memory-dir/a.md",
    "other/MEMORY.md",
    "memory/.hidden.md",
    "memory/.git/secret.md",
    "memory/node_modules/secret.md",
    "memory/SHOUT.MD",
    "USER.MD",
    "memory/a.txt",
    "memory/a.md ",
    "memory/a.md.",
    "memory",
    "Memory/a.md",
    "memory.MD",
)

_NO_FILES = (
    "memory/link.md",
    "memory/inner.md",
    "memory/dangling.md",
    "memory/loop.md",
    "memory/environ.md",
    "memory/null.md",
    "memory/hidden.md",
    "memory/linked/secret.md",
    "memory/linked/nowhere.md",
    "memory/linked/sub/secret.md",
    "memory/deep/linked/secret.md",
    "memory/deep/sub/secret.md",
    "memory/up/secret.md",
    "memory/here/a.md",
    "memory/proc/cwd/secret.md",
    "memory/root<outside>/secret.md",
    "<memory>/linked/secret.md",
    "<memory>/link.md",
    "memory/link.md#L1",
    "memory/pipe.md",
    "memory/folder.md",
)

#: Names that only look as if they climbed: a file may be called so, and none is.
_ODD_NAMES = (
    "memory/%2e%2e/%2e%2e/outside/secret.md",
    "memory/..%2f..%2foutside/secret.md",
    "memory/%252e%252e/secret.md",
    "memory/.../secret.md",
    "memory/....//secret.md",
    "memory/‥/secret.md",
    "memory/․․/secret.md",
    "memory/．．/secret.md",
    "memory/..∕secret.md",
    "memory/..／..／outside／secret.md",
    "memory/\u202egpj.dm/secret.md",
    "memory/.. /secret.md",
    "memory/ /secret.md",
    "memory/A.md",
    "memory/a.md\n.md",
    "memory/-rf.md",
    "memory/$HOME/secret.md",
    "memory/`id`.md",
    "memory/À®À®/secret.md",
    "memory/a.md/secret.md",
    f"memory/{'x' * 300}.md",
    f"memory/{'y/' * 1_800}secret.md",
    "memory.md",
    "USER.md",
)

_OWN = (
    "MEMORY.md",
    "memory/a.md",
    "memory/hard.md",
    "memory/50%.md",
    "qmd/wide/w.md",
    "<memory>/a.md",
    "<folder>/by-link/memory/a.md",
    "<wide>/w.md",
    "memory/a.md#L1-L1",
)

#: What starts with two dots, or a dot, is hidden or climbs.
_HIDDEN_BY_NAME = {name for name in _ODD_NAMES if any(part.startswith(".") for part in name.split("/"))} | {
    "memory/....//secret.md"
}

TABLE = (
    *((path, REFUSED) for path in (*_CLIMBING, *_ABSOLUTE, *_OTHERS, *_NO_FILES)),
    *((path, REFUSED if path in _HIDDEN_BY_NAME else MISSING) for path in _ODD_NAMES),
    *((path, READ) for path in _OWN),
)
