"""From a write to the search that finds it: at every moment between, the search says that something is pending."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import ClientError
from tests.running import Running, running, until

#: So late may an event be told on a busy machine. What is looked for lasts longer.
TOLD_S = 1.0
WITH_ONE_WATCH = (
    shutil.which("unshare") or "",
    "-Ur",
    "sh",
    "-c",
    'echo 1 > /proc/sys/user/max_inotify_watches && exec "$@"',
    "-",
)


def config(folder: Path, debounce_ms: int = 1500, **search: Any) -> dict[str, Any]:
    """One agent on the built-in engine, without vectors."""
    (folder / "workspace" / "memory").mkdir(parents=True, exist_ok=True)
    search = {"provider": "none", "sync": {"watchDebounceMs": debounce_ms}, **search}
    defaults = {"workspace": str(folder / "workspace"), "memorySearch": search}
    return {"memory": {"backend": "builtin"}, "agents": {"defaults": defaults}}


def fill(folder: Path) -> None:
    """Enough notes that rebuilding their index takes a while."""
    for number in range(600):
        (folder / "workspace" / "memory" / f"{number}.md").write_text(f"note {number} of many\n" * 60, encoding="utf-8")


def is_found(reply: dict[str, Any], path: str) -> bool:
    return any(result["path"] == path for result in reply["results"])


def assert_no_gap(daemon: Running, word: str, path: str) -> None:
    """From `TOLD_S` on, every search finds the word or says that something is pending; at the end it is found."""
    written_at = time.monotonic()
    while not is_found(reply := daemon.search("main", word), path):
        if time.monotonic() - written_at > TOLD_S:
            assert reply.get("pending", {}).get("files", 0) >= 1, (word, time.monotonic() - written_at)
        assert time.monotonic() - written_at < 60


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon with many notes."""
    folder = tmp_path_factory.mktemp("fresh")
    wanted = config(folder)
    fill(folder)
    with running(folder, wanted) as daemon:
        daemon.sync("main")
        yield daemon


def memory(daemon: Running) -> Path:
    return daemon.folder / "workspace" / "memory"


def is_idle(daemon: Running) -> bool:
    status = daemon.call("GET", "/v1/agents/main")
    return "pending" not in status and not status["engines"]["builtin"].get("syncing")


@pytest.mark.alone
@pytest.mark.parametrize("way", ["written", "replaced", "appended", "moved in with its folder", "in a new folder"])
def test_a_note_is_found_or_pending_however_it_came(daemon: Running, way: str) -> None:
    """The next sync comes long after it must have been noticed."""
    until(lambda: is_idle(daemon))
    word, note = f"zebra{way.replace(' ', '')}", memory(daemon) / f"{way}.md"
    match way:
        case "written":
            note.write_text(word, encoding="utf-8")
        case "replaced":
            (beside := daemon.folder / "x.tmp").write_text(word, encoding="utf-8")
            beside.rename(note)
        case "appended":
            with (note := memory(daemon) / "7.md").open("a") as stream:
                stream.write(word)
        case "moved in with its folder":
            (outside := daemon.folder / "v1.2").mkdir()
            (outside / note.name).write_text(word, encoding="utf-8")
            outside.rename(memory(daemon) / "v1.2")
            note = memory(daemon) / "v1.2" / note.name
        case _:
            note = memory(daemon) / "a" / "b" / note.name
            note.parent.mkdir(parents=True)
            note.write_text(word, encoding="utf-8")
    assert_no_gap(daemon, word, note.relative_to(daemon.folder / "workspace").as_posix())


@pytest.mark.alone
def test_a_removed_note_is_gone_from_the_next_answer(daemon: Running) -> None:
    """Even before the index knows."""
    note = memory(daemon) / "9.md"
    note.write_text("zebragone", encoding="utf-8")
    until(lambda: is_found(daemon.search("main", "zebragone"), "memory/9.md"))
    note.unlink()
    assert not is_found(daemon.search("main", "zebragone"), "memory/9.md")


@pytest.mark.alone
def test_2_000_notes_at_once_take_few_syncs(daemon: Running) -> None:
    """And all are searchable at the end."""
    until(lambda: is_idle(daemon))
    before = daemon.logged().count("synced")
    for number in range(2000):
        (memory(daemon) / f"burst-{number}.md").write_text(f"burst zebraburst{number}\n", encoding="utf-8")
    notes = len(list(memory(daemon).rglob("*.md")))
    until(lambda: daemon.call("GET", "/v1/agents/main")["documents"] == notes, deadline_s=60)
    until(lambda: is_idle(daemon))
    assert daemon.logged().count("synced") - before <= 8
    assert is_found(daemon.search("main", "zebraburst1999"), "memory/burst-1999.md")


def test_what_was_written_while_no_daemon_ran_is_pending_until_it_is_found(tmp_path: Path) -> None:
    """From the very first answer on."""
    wanted = config(tmp_path)
    with running(tmp_path, wanted) as daemon:
        daemon.sync("main")
    (tmp_path / "workspace" / "memory" / "a.md").write_text("zebraasleep", encoding="utf-8")
    with running(tmp_path, wanted, wait=False) as daemon:
        reply: dict[str, Any] = {}

        def answered() -> bool:
            try:
                reply.update(daemon.search("main", "zebraasleep"))
            except ClientError:
                return False
            return True

        until(answered)
        assert is_found(reply, "memory/a.md") or reply.get("pending", {}).get("files", 0) >= 1
        until(lambda: is_found(daemon.search("main", "zebraasleep"), "memory/a.md"))


def last_sync(daemon: Running) -> float:
    at: float = daemon.call("GET", "/v1/agents/main")["lastSync"]["at"]
    return at


def test_a_watched_state_folder_causes_no_syncs(tmp_path: Path) -> None:
    """Neither the index nor its log nor what the daemon writes down may start the next round."""
    wanted = config(tmp_path, debounce_ms=50, extraPaths=[str(tmp_path)])
    with running(tmp_path, wanted) as daemon:
        daemon.sync("main")
        (tmp_path / "workspace" / "memory" / "a.md").write_text("zebraround", encoding="utf-8")
        until(lambda: is_found(daemon.search("main", "zebraround"), "memory/a.md"))
        until(lambda: is_idle(daemon))
        seen = set()
        for _ in range(150):
            # A search reads the index and its log.
            daemon.search("main", "zebraround")
            seen.add(last_sync(daemon))
        # One may have been planned before; a circle would turn at every debounce.
        assert len(seen) <= 2


def test_a_memory_folder_that_becomes_a_link_is_followed(tmp_path: Path) -> None:
    """Nothing crashes when it leads nowhere, and what it leads to in the end is found."""
    with running(tmp_path, config(tmp_path, debounce_ms=50)) as daemon:
        daemon.sync("main")
        root, other = tmp_path / "workspace" / "memory", tmp_path / "other"
        root.rename(tmp_path / "old")
        root.symlink_to(tmp_path / "nowhere")
        until(lambda: is_idle(daemon))
        other.mkdir()
        (other / "a.md").write_text("zebralink", encoding="utf-8")
        root.unlink()
        root.symlink_to(other)
        until(lambda: is_found(daemon.search("main", "zebralink"), "memory/a.md"))
        (other / "b.md").write_text("zebrabehind", encoding="utf-8")
        until(lambda: is_found(daemon.search("main", "zebrabehind"), "memory/b.md"))


@pytest.mark.skipif(
    not WITH_ONE_WATCH[0]
    or subprocess.run([*WITH_ONE_WATCH, "true"], capture_output=True, check=False).returncode != 0,
    reason="this system allows no limits of our own",
)
def test_without_watches_the_status_says_so_and_notes_are_found_all_the_same(tmp_path: Path) -> None:
    """Polling is slower, and told once."""
    with running(tmp_path, config(tmp_path, debounce_ms=50), within=WITH_ONE_WATCH) as daemon:
        daemon.sync("main")
        codes = [notice["code"] for notice in daemon.call("GET", "/v1/agents/main")["notices"]]
        assert codes == ["watch_polling"]
        (tmp_path / "workspace" / "memory" / "a.md").write_text("zebrapolled", encoding="utf-8")
        until(lambda: is_found(daemon.search("main", "zebrapolled"), "memory/a.md"))
        assert daemon.logged().count('"files are polled"') == 1
