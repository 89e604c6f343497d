"""Whether a workspace is there, seen without ever waiting for its disk."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Event

from sidecar.agents.presence import FRESH_S, SILENT_S, Presence


class Disk:
    """One that answers when it is let, at a time that is told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = 0
        self.answers = Event()

    def look(self, folder: Path) -> bool:
        """Wait until answers are let through: nothing is there."""
        self.looks += 1
        return not self.answers.wait(30)

    def presence(self) -> Presence:
        """Of a folder on this disk."""
        return Presence(Path(), is_there=self.look, clock=lambda: self.now)


def test_a_folder_is_missing_once_that_was_seen_and_there_again_when_it_comes(tmp_path: Path) -> None:
    """Before the first look nothing is claimed."""
    now = [0.0]
    presence = Presence(tmp_path / "workspace", clock=lambda: now[0])

    async def scenario() -> list[bool]:
        seen = [presence.seen]
        for _ in range(2):
            await presence.look()
            seen.append(presence.seen)
            (tmp_path / "workspace").mkdir(exist_ok=True)
            now[0] += FRESH_S
        return seen

    assert asyncio.run(scenario()) == [True, False, True]


def test_what_was_seen_a_moment_ago_is_not_looked_at_again() -> None:
    """A thousand searches a second are one look."""
    disk = Disk()
    disk.answers.set()
    presence = disk.presence()

    async def scenario() -> None:
        for _ in range(3):
            await presence.look()

    asyncio.run(scenario())
    assert disk.looks == 1


def test_a_disk_that_hangs_is_waited_for_once_by_one_thread_and_told() -> None:
    """What it says in the end is believed."""
    disk = Disk()
    presence = disk.presence()

    async def scenario() -> None:
        for _ in range(3):
            await presence.look()
            disk.now += SILENT_S + 1
        assert (disk.looks, presence.silent, presence.seen) == (1, True, True)
        disk.answers.set()
        async with asyncio.timeout(30):
            while presence.seen:
                await asyncio.sleep(0.001)
        assert not presence.silent

    asyncio.run(scenario())


def test_a_folder_that_may_not_be_looked_into_is_missing_and_no_crash(tmp_path: Path) -> None:
    """The name of a file as a folder above, or too long a one."""
    (tmp_path / "file").touch()

    async def seen(folder: Path) -> bool:
        presence = Presence(folder)
        await presence.look()
        return presence.seen

    assert not asyncio.run(seen(tmp_path / "file" / "below"))
    assert not asyncio.run(seen(tmp_path / ("x" * (os.pathconf(tmp_path, "PC_NAME_MAX") + 1))))
