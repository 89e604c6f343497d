"""File events become shown paths of the agents that hold them; nothing that is written is passed by."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

import pytest

from backends.base import Notice
from backends.corpus import Corpus, Kind, Root
from sidecar.watching import Layout, Watching, mounts, watch
from sidecar.watching.file_events import ANYTHING, Change, OnChanges, PortableEvents, Source
from sidecar.watching.inotify import Inotify
from sidecar.watching.mounts import silent_devices
from tests.running import REPOSITORY

linux = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
SOURCES = [pytest.param(Inotify, marks=linux), PortableEvents]


def corpus(workspace: Path, agent: str = "main", *extra: Root) -> Corpus:
    """The default roots of an agent, and more."""
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
            *extra,
        ),
    )


class Watched:
    """A running watch, and what it told."""

    def __init__(self, *corpora: Corpus, source: Callable[[OnChanges], Source] | None = None) -> None:
        self.told: dict[str, set[str]] = {each.agent_id: set() for each in corpora}
        self.notices: list[Notice | None] = []
        by_agent = {each.agent_id: each for each in corpora}
        more = {"source": source} if source else {}
        self.watching = Watching(by_agent, self._tell, self._explain, **more)
        self._news = asyncio.Event()

    def _tell(self, agent_id: str, paths: frozenset[str]) -> None:
        self.told[agent_id] |= paths
        self._news.set()

    def _explain(self, notice: Notice | None) -> None:
        self.notices.append(notice)
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what is told."""
        async with asyncio.timeout(20):
            while not condition():
                self._news.clear()
                await self._news.wait()

    async def tells(self, *paths: str, agent: str = "main") -> None:
        """Wait until these paths are told, and forget what was."""
        await self.until(lambda: set(paths) <= self.told[agent])
        self.told[agent].clear()

    async def comes_to_tell(self, path: str, note: Path) -> None:
        """Write a note until it is told by its own path: a folder that came is watched in its own time."""
        async with asyncio.timeout(20):
            while path not in self.told["main"]:
                note.write_text("x")
                await asyncio.sleep(0.05)
        self.told["main"].clear()

    def during(self, scenario: Callable[[Watched], Awaitable[None]]) -> None:
        """Run a scenario while the watch runs."""

        async def main() -> None:
            task = asyncio.create_task(self.watching.run())
            try:
                async with asyncio.timeout(60):
                    await self.watching.laid.wait()
                    await scenario(self)
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

        asyncio.run(main())


@pytest.mark.parametrize("source", SOURCES)
def test_written_and_removed_notes_are_told_to_their_agent_alone(
    tmp_path: Path, source: Callable[[OnChanges], Source]
) -> None:
    """By shown path."""
    for agent in ("a", "b"):
        (tmp_path / agent / "memory" / "deep").mkdir(parents=True)

    async def scenario(watched: Watched) -> None:
        note = tmp_path / "a" / "memory" / "deep" / "x.md"
        note.write_text("x")
        await watched.tells("memory/deep/x.md", agent="a")
        note.unlink()
        await watched.tells("memory/deep/x.md", agent="a")
        assert watched.told["b"] == set()

    Watched(corpus(tmp_path / "a", "a"), corpus(tmp_path / "b", "b"), source=source).during(scenario)


def test_an_editors_way_of_saving_tells_the_note_and_nothing_else(tmp_path: Path) -> None:
    """Written beside it and put in its place; swap files and probes are nobody's."""
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "x.md").write_text("old")

    async def scenario(watched: Watched) -> None:
        for name in (".x.md.swp", "4913", "x.md~", "x.md.tmp"):
            (memory / name).write_text("new")
        for name in (".x.md.swp", "4913", "x.md~"):
            (memory / name).unlink()
        (memory / "x.md.tmp").rename(memory / "x.md")
        await watched.until(lambda: bool(watched.told["main"]))
        assert watched.told["main"] == {"memory/x.md"}

    Watched(corpus(tmp_path)).during(scenario)


def test_the_root_memory_is_watched_without_its_neighbours(tmp_path: Path) -> None:
    """`MEMORY.md` is told; other files of the workspace are nobody's."""
    (tmp_path / "node_modules").mkdir()

    async def scenario(watched: Watched) -> None:
        (tmp_path / "README.md").write_text("x")
        (tmp_path / "node_modules" / "x.md").write_text("x")
        (tmp_path / "MEMORY.md").write_text("x")
        await watched.until(lambda: bool(watched.told["main"]))
        assert watched.told["main"] == {"MEMORY.md"}

    Watched(corpus(tmp_path)).during(scenario)


@pytest.mark.parametrize("source", SOURCES)
def test_a_root_that_appears_later_is_told_and_watched(tmp_path: Path, source: Callable[[OnChanges], Source]) -> None:
    """And one that was moved away and replaced; the folder above has the events."""
    memory = tmp_path / "memory"

    async def scenario(watched: Watched) -> None:
        for name in ("first", "second"):
            memory.mkdir()
            await watched.tells("memory/")
            await watched.comes_to_tell(f"memory/{name}.md", memory / f"{name}.md")
            memory.rename(tmp_path / f"old-{name}")
            await watched.tells("memory/")

    Watched(corpus(tmp_path), source=source).during(scenario)


def test_a_workspace_that_appears_later_is_watched(tmp_path: Path) -> None:
    """Folder by folder, from the nearest that exists."""
    workspace = tmp_path / "far" / "away" / "workspace"

    async def scenario(watched: Watched) -> None:
        (workspace / "memory").mkdir(parents=True)
        await watched.tells("memory/")
        await watched.comes_to_tell("memory/a.md", workspace / "memory" / "a.md")

    Watched(corpus(workspace)).during(scenario)


def test_a_root_that_is_a_link_is_watched_where_it_leads_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is put in another's place without any folder coming or going; nobody has to look again for that."""
    monkeypatch.setattr(watch, "LOOK_AGAIN_MS", 60_000)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link, other = tmp_path / "ws" / "memory", tmp_path / "ws" / "other"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "one")

    async def scenario(watched: Watched) -> None:
        (tmp_path / "one" / "a.md").write_text("x")
        await watched.tells("memory/a.md")
        other.symlink_to(tmp_path / "two")
        other.rename(link)
        await watched.tells("memory/")
        await watched.comes_to_tell("memory/b.md", tmp_path / "two" / "b.md")
        link.unlink()
        await watched.tells("memory/")
        link.symlink_to(link)
        await watched.tells("memory/")

    Watched(corpus(tmp_path / "ws")).during(scenario)


def test_a_root_that_moves_without_an_event_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one below a link that leads elsewhere now, or on a disk that was mounted."""
    monkeypatch.setattr(watch, "LOOK_AGAIN_MS", 50)
    for name in ("one", "two"):
        (tmp_path / name / "ws" / "memory").mkdir(parents=True)
    link = tmp_path / "links" / "deep"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "one")

    async def scenario(watched: Watched) -> None:
        link.unlink()
        link.symlink_to(tmp_path / "two")
        await watched.tells("memory/")
        await watched.comes_to_tell("memory/a.md", tmp_path / "two" / "ws" / "memory" / "a.md")

    Watched(corpus(link / "ws")).during(scenario)


@pytest.mark.parametrize("name", ["archive", "v1.2", "example.com", "notes.md"])
def test_a_folder_that_is_moved_in_and_out_is_told_and_watched(tmp_path: Path, name: str) -> None:
    """The notes in it send no events of their own; its name says nothing of what it is."""
    inside, outside = tmp_path / "memory" / name, tmp_path / name
    (outside / "deep").mkdir(parents=True)
    inside.parent.mkdir()

    async def scenario(watched: Watched) -> None:
        for _ in range(2):
            outside.rename(inside)
            await watched.tells(f"memory/{name}")
            await watched.comes_to_tell(f"memory/{name}/deep/x.md", inside / "deep" / "x.md")
            inside.rename(outside)
            await watched.tells(f"memory/{name}")

    Watched(corpus(tmp_path)).during(scenario)


def test_a_folder_is_told_again_once_it_is_watched(tmp_path: Path) -> None:
    """What was written into it before had no event, and a sync may have passed already."""
    (tmp_path / "memory").mkdir()

    async def scenario(watched: Watched) -> None:
        for number in range(20):
            folder = tmp_path / "memory" / f"{number}" / "deep"
            folder.mkdir(parents=True)
            (folder / "x.md").write_text("x")
            await watched.until(lambda shown=f"memory/{number}/deep": shown in watched.told["main"])

    Watched(corpus(tmp_path)).during(scenario)


@linux
def test_folders_are_watched_once_and_given_back(tmp_path: Path) -> None:
    """One that was replaced at the same path is new; one that was moved keeps its watch; one that is left has none."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()

    async def main() -> None:
        source = Inotify(lambda changes: None)
        assert source.watch([str(one), str(two)]) == [str(one)]
        assert source.watch([str(one)]) == []
        one.rename(two)
        one.mkdir()
        assert source.watch([str(one), str(two)]) == [str(one)]
        assert watches() == 2
        assert source.watch([str(two)]) == []
        assert watches() == 1
        source.close()
        assert watches() == 0

    asyncio.run(main())


@linux
def test_reading_notes_and_setting_their_times_of_reading_tells_nothing(tmp_path: Path) -> None:
    """Or a sync would cause the next one."""
    (tmp_path / "memory").mkdir()
    note, last = tmp_path / "memory" / "a.md", tmp_path / "memory" / "last.md"
    note.write_text("x")

    async def scenario(watched: Watched) -> None:
        note.read_text()
        os.utime(note, ns=(1, note.stat().st_mtime_ns))
        list((tmp_path / "memory").iterdir())
        last.write_text("x")
        await watched.until(lambda: bool(watched.told["main"]))
        assert watched.told["main"] == {"memory/last.md"}

    Watched(corpus(tmp_path)).during(scenario)


@pytest.mark.parametrize("source", SOURCES)
def test_a_name_that_is_not_utf8_stops_nothing(tmp_path: Path, source: Callable[[OnChanges], Source]) -> None:
    """It is no memory; the notes beside it are."""
    (tmp_path / "memory").mkdir()

    async def scenario(watched: Watched) -> None:
        (tmp_path / "memory" / os.fsdecode(b"bad\xff.md")).write_text("x")
        (tmp_path / "memory" / "a.md").write_text("x")
        await watched.until(lambda: bool(watched.told["main"]))
        await watched.comes_to_tell("memory/b.md", tmp_path / "memory" / "b.md")
        assert watched.notices == []

    Watched(corpus(tmp_path), source=source).during(scenario)


def watches(pid: int | str = "self") -> int:
    """How many inotify watches a process holds."""
    return sum(info.read_text().count("inotify wd:") for info in Path(f"/proc/{pid}/fdinfo").iterdir() if info.exists())


@linux
def test_20_000_notes_cost_a_watch_for_each_folder(tmp_path: Path) -> None:
    """And none for hidden folders, build folders, or what a link leads to."""
    memory = tmp_path / "ws" / "memory"
    for number in range(20):
        folder = memory / f"{number}"
        folder.mkdir(parents=True)
        for note in range(1000):
            os.close(os.open(folder / f"{note}.md", os.O_CREAT))
    for number in range(300):
        for name in (".venv", "node_modules", "../../elsewhere"):
            (memory / name / f"{number}").mkdir(parents=True)
    (memory / "link").symlink_to(tmp_path / "elsewhere")

    async def scenario(watched: Watched) -> None:
        before = len(list(Path("/proc/self/fd").iterdir()))
        assert 21 <= watches() <= 25
        assert len(list(Path("/proc/self/fd").iterdir())) <= before

    Watched(corpus(tmp_path / "ws")).during(scenario)


#: Watches a folder where a limit is reached, lifts the limit, and prints what was told and explained.
REFUSED = """
import os, resource, sys
from pathlib import Path
from sidecar.watching import mounts, watch
from tests.sidecar.test_watching import Watched, corpus

watch.POLL_MS, watch.RETRY_MS = 50, 300
home, limit = Path(sys.argv[1]), sys.argv[2]
files = resource.getrlimit(resource.RLIMIT_NOFILE)

def refuse(on_changes):
    # The limit of open files holds for the source alone, and not for what a test needs.
    if limit == "files" and not lifted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, files[1]))
    try:
        return Inotify(on_changes)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, files)

from sidecar.watching.inotify import Inotify
lifted = []

async def scenario(watched):
    await watched.until(lambda: watched.notices != [])
    print(watched.notices[0].code, watched.notices[0].action.split()[-1])
    note = home / "memory" / "a.md"
    note.write_text("x")
    await watched.tells("memory/a.md")
    note.unlink()
    await watched.tells("memory/a.md")
    lifted.append(True)
    if limit != "files":
        Path(f"/proc/sys/user/max_inotify_{limit}").write_text("1000")
    await watched.until(lambda: watched.notices[-1] is None)
    note.write_text("y")
    await watched.tells("memory/a.md")
    print(len(watched.notices))

Watched(corpus(home), source=refuse).during(scenario)
"""
UNSHARED = 'echo "$2" > /proc/sys/user/max_inotify_$1 && exec "$3" -c "$4" "$5" "$1"'


def _may_unshare() -> bool:
    command = ["unshare", "-Ur", "sh", "-c", "echo 9 > /proc/sys/user/max_inotify_watches"]
    return sys.platform == "linux" and subprocess.run(command, capture_output=True, check=False).returncode == 0


@linux
@pytest.mark.parametrize(
    ("limit", "value", "remedy"),
    [("instances", "0", "files"), ("watches", "1", "fs.inotify.max_user_watches=524288"), ("files", "", "files")],
)
def test_files_are_polled_where_the_kernel_refuses_and_until_it_no_longer_does(
    tmp_path: Path, limit: str, value: str, remedy: str
) -> None:
    """Changes are told all the same, one notice says why and what to do, and its end is told once."""
    (tmp_path / "memory").mkdir()
    command = [sys.executable, "-c", REFUSED, str(tmp_path), limit]
    if limit != "files":
        if not _may_unshare():
            pytest.skip("this system allows no limits of our own")
        command = ["unshare", "-Ur", "sh", "-c", UNSHARED, "-", limit, value, sys.executable, REFUSED, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"watch_polling {remedy}", "2"]


def test_what_no_root_holds_is_nobodys(tmp_path: Path) -> None:
    """Editors' files, hidden and build folders, other agents' workspaces, and folders beside a root."""
    wide = Root(
        name="wide", kind=Kind.EXTRA, path=tmp_path, patterns=("**/*.md",), shown="qmd/wide/", without=("other",)
    )
    layout = Layout.of({"main": corpus(tmp_path / "ws", "main", wide)})
    memory = f"{tmp_path}/ws/memory"
    files = [f"{memory}/{name}" for name in (".x.md.swp", "x.md~", ".git/a.md", "picture.png")]
    folders = [f"{memory}/.git/objects/ab", f"{memory}/node_modules/x", f"{tmp_path}/other", f"{tmp_path}/other/memory"]
    changes = {*(Change(path, is_folder=False) for path in files), *(Change(path, is_folder=True) for path in folders)}
    assert layout.changed(changes) == {}


def test_a_root_below_the_top_of_the_disk_is_told_when_it_comes() -> None:
    """As `/data` in a container: the folder above has no name of its own."""
    layout = Layout.of({"main": corpus(Path("/no-such-data"))})
    assert "/" in layout.folders
    told = layout.changed([Change("/no-such-data", is_folder=True)])
    assert told == {"main": frozenset({"memory-root", "memory/"})}


def test_after_a_loss_of_events_every_root_is_told(tmp_path: Path) -> None:
    """By its prefix, or by its name at the top of the workspace."""
    layout = Layout.of({"main": corpus(tmp_path)})
    assert layout.changed([ANYTHING]) == {"main": frozenset({"memory-root", "memory/"})}


class Deaf:
    """A source of a disk on which others write: it tells nothing."""

    def __init__(self, on_changes: OnChanges) -> None:
        """Nobody is told."""

    def watch(self, folders: Collection[str]) -> Collection[str]:
        """Hear nothing, of no folder."""
        return ()

    def close(self) -> None:
        """Nothing to close."""


def test_a_disk_without_events_is_looked_at_in_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the roots on it, and one notice says so until they are elsewhere."""
    monkeypatch.setattr(watch, "LOOK_AGAIN_MS", 50)
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mountinfo")
    (tmp_path / "memory").mkdir()
    device = tmp_path.stat().st_dev
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /notes rw,noatime master:1 - nfs4 server:/notes rw\n"
    (tmp_path / "mountinfo").write_text(line)

    async def scenario(watched: Watched) -> None:
        await watched.until(lambda: watched.notices != [])
        (tmp_path / "memory" / "a.md").write_text("x")
        await watched.until(lambda: bool(watched.told["main"]))
        assert watched.told["main"] == {"memory/"}
        (tmp_path / "mountinfo").write_text(line.replace("nfs4", "ext4"))
        await watched.until(lambda: watched.notices[-1] is None)
        assert [notice and notice.code for notice in watched.notices] == ["watch_polling", None]

    Watched(corpus(tmp_path), source=Deaf).during(scenario)


@pytest.mark.parametrize(
    ("kind", "silent"), [("nfs4", True), ("fuse.sshfs", True), ("9p", True), ("ext4", False), ("overlay", False)]
)
def test_network_disks_are_known_by_their_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, silent: bool
) -> None:
    """Optional fields and odd names in front do not matter."""
    monkeypatch.setattr(mounts, "MOUNTS", tmp_path / "mountinfo")
    (tmp_path / "mountinfo").write_text(f"1 2 0:45 / /a\\040-\\040b rw shared:1 master:2 - {kind} nfs rw\n")
    assert silent_devices() == ({os.makedev(0, 45)} if silent else set())
