"""File events become shown paths of the agents that hold them; missing roots are found when they come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from backends.corpus import Corpus, Kind, Root
from sidecar import watching
from sidecar.watching import Watching, changed


def corpus(workspace: Path, agent: str = "main") -> Corpus:
    """The default roots of an agent."""
    return Corpus(
        agent,
        workspace,
        (
            Root(name="memory-root", kind=Kind.CURATED, path=workspace, patterns=("MEMORY.md", "memory.md"), shown=""),
            Root(
                name="memory-dir",
                kind=Kind.DAILY,
                path=workspace / "memory",
                patterns=("**/*.md",),
                shown="memory/",
            ),
        ),
    )


class Watched:
    """A running watch, and what it told."""

    def __init__(self, *corpora: Corpus) -> None:
        self.told: dict[str, set[str]] = {each.agent_id: set() for each in corpora}
        self._watching = Watching({each.agent_id: each for each in corpora}, self._tell)
        self._news = asyncio.Event()

    def _tell(self, agent_id: str, paths: frozenset[str]) -> None:
        self.told[agent_id] |= paths
        self._news.set()

    async def until(self, condition: Callable[[], bool], nudge: Callable[[], object] = lambda: None) -> None:
        """Wait for what is told; `nudge` is repeated, since a watch is laid in its own time."""
        async with asyncio.timeout(20):
            while not condition():
                nudge()
                self._news.clear()
                try:
                    async with asyncio.timeout(0.3):
                        await self._news.wait()
                except TimeoutError:
                    continue

    async def during(self, scenario: Callable[[], Awaitable[None]]) -> None:
        """Run a scenario while the watch runs."""
        task = asyncio.create_task(self._watching.run())
        try:
            await scenario()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_written_and_removed_notes_are_told_to_their_agent_alone(tmp_path: Path) -> None:
    """By shown path."""
    for agent in ("a", "b"):
        (tmp_path / agent / "memory" / "deep").mkdir(parents=True)

    async def main() -> None:
        watched = Watched(corpus(tmp_path / "a", "a"), corpus(tmp_path / "b", "b"))

        async def scenario() -> None:
            note = tmp_path / "a" / "memory" / "deep" / "x.md"
            await watched.until(lambda: "memory/deep/x.md" in watched.told["a"], lambda: note.write_text("x"))
            watched.told["a"].clear()
            note.unlink()
            await watched.until(lambda: "memory/deep/x.md" in watched.told["a"])
            assert watched.told["b"] == set()

        await watched.during(scenario)

    asyncio.run(main())


def test_the_root_memory_is_watched_without_its_neighbours(tmp_path: Path) -> None:
    """`MEMORY.md` is told; other files of the workspace are nobody's."""
    (tmp_path / "node_modules").mkdir()

    async def main() -> None:
        watched = Watched(corpus(tmp_path))

        async def scenario() -> None:
            def write() -> None:
                (tmp_path / "README.md").write_text("x")
                (tmp_path / "node_modules" / "x.md").write_text("x")
                (tmp_path / "MEMORY.md").write_text("x")

            await watched.until(lambda: bool(watched.told["main"]), write)
            assert watched.told["main"] == {"MEMORY.md"}

        await watched.during(scenario)

    asyncio.run(main())


def test_a_root_that_appears_later_is_watched_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that was replaced by another, however fast."""
    monkeypatch.setattr(watching, "LOOK_AGAIN_MS", 50)

    async def main() -> None:
        watched = Watched(corpus(tmp_path))

        async def scenario() -> None:
            for name in ("first.md", "second.md"):
                folder = tmp_path / "memory"
                folder.mkdir()
                shown = f"memory/{name}"
                write = (folder / name).write_text
                await watched.until(lambda s=shown: s in watched.told["main"], lambda w=write: w("x"))
                # Moved, not removed, so that the next folder cannot get the same inode.
                folder.rename(tmp_path / f"old-{name}")

        await watched.during(scenario)

    asyncio.run(main())


def test_a_folder_that_is_moved_in_is_told_although_its_notes_send_no_events(tmp_path: Path) -> None:
    """The sync looks inside."""
    told = changed({"main": corpus(tmp_path)}, [str(tmp_path / "memory" / "archive")])
    assert told == {"main": frozenset({"memory/archive"})}


def test_paths_that_no_root_holds_are_nobodys(tmp_path: Path) -> None:
    """Editors' temporary files and hidden folders."""
    paths = [str(tmp_path / "memory" / name) for name in (".x.md.swp", "x.md~", ".git/a.md", "picture.png")]
    assert changed({"main": corpus(tmp_path)}, paths) == {}
