"""What the tests of qmd build: a corpus of notes, a home for qmd, a backend over both, questions, live processes."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from backends.base import Mode, Query, SyncRequest
from backends.corpus import Corpus, Kind, Root
from backends.qmd.backend import QmdBackend
from backends.qmd.home import QmdHome, QmdOptions
from backends.qmd.pool import ResidentPool
from backends.relevance import Statistics

SYNC = SyncRequest(reason="test")
FORCED = SyncRequest(reason="test", force=True)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write text files below `folder`."""
    for relative, text in files.items():
        file = folder / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def write_model(file: Path) -> Path:
    """A file that looks like a GGUF with a tensor in it, and does nothing."""
    file.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + bytes(2**20))
    return file


def corpus_of(workspace: Path, *extra: Root) -> Corpus:
    """The default roots of an agent, and more."""
    roots = (
        Root(name="memory-root", kind=Kind.CURATED, path=workspace, patterns=("MEMORY.md", "memory.md"), shown=""),
        Root(name="memory-dir", kind=Kind.DAILY, path=workspace / "memory", patterns=("**/*.md",), shown="memory/"),
    )
    return Corpus("main", workspace, roots + extra)


def home_of(folder: Path) -> QmdHome:
    """A private home for qmd below `folder`."""
    return QmdHome(
        config=folder / "xdg-config", cache=folder / "xdg-cache", work=folder / "work", models=folder / "models"
    )


def query(text: str, *, timeout_s: float = 10.0, **changes: Any) -> Query:
    """A question with everything else as usual."""
    usual: dict[str, Any] = {"max_results": 6, "min_score": 0.0, "max_chars": 700}
    return Query(text=text, deadline_at=time.monotonic() + timeout_s, **(usual | changes))


@contextlib.asynccontextmanager
async def no_queue(_: str) -> AsyncIterator[None]:
    """A turn that always comes at once."""
    yield


@contextlib.asynccontextmanager
async def running(
    corpus: Corpus,
    folder: Path,
    environ: Mapping[str, str],
    *,
    pool: ResidentPool | None = None,
    turn: Callable[[str], Any] = no_queue,
    statistics: Callable[[], Statistics | None] = lambda: None,
    **options: Any,
) -> AsyncIterator[QmdBackend]:
    """A backend over `corpus` with its home in `folder`, closed at the end."""
    residents = pool or ResidentPool()
    threads = ThreadPoolExecutor(2)
    backend = QmdBackend(
        corpus=corpus,
        home=home_of(folder),
        options=QmdOptions(**({"mode": Mode.SEARCH} | options)),
        residents=residents,
        turn=turn,
        statistics=statistics,
        pool=threads,
        environ=environ,
    )
    try:
        yield backend
    finally:
        await backend.close()
        await residents.close()
        threads.shutdown()


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(condition: Callable[[], bool], *, within_s: float = 10.0) -> bool:
    """Poll a condition until it holds or time is up."""
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


async def eventually_async(condition: Callable[[], bool], *, within_s: float = 10.0) -> bool:
    """The same without stopping the loop."""
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.02)
    return True


def group(pid: int) -> list[int]:
    """The living members of a process group."""
    found = []
    for process in psutil.process_iter(["pid"]):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            import os

            if os.getpgid(process.pid) == pid and alive(process.pid):
                found.append(process.pid)
    return found
