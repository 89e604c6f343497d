"""Heavy work takes turns: fair inside a daemon, exclusive across daemons, never locked for ever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from sidecar.governor import Governor

OTHER_DAEMON = """
import asyncio, sys
from pathlib import Path
from sidecar.governor import Governor

async def main():
    async with Governor(Path(sys.argv[1])).turn("embed"):
        print("has the turn", flush=True)
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


async def hold(governor: Governor, work: str, order: list[str], name: str, release: asyncio.Event) -> None:
    """Take a turn and keep it until released."""
    async with governor.turn(work):
        order.append(name)
        await release.wait()


def test_turns_come_in_the_order_of_asking(tmp_path: Path) -> None:
    """Nobody is passed over."""

    async def scenario() -> list[str]:
        governor, order, release = Governor(tmp_path), list[str](), asyncio.Event()
        release.set()
        await asyncio.gather(*(hold(governor, "embed", order, str(n), release) for n in range(5)))
        return order

    assert asyncio.run(scenario()) == ["0", "1", "2", "3", "4"]


def test_one_embed_and_two_updates_at_a_time(tmp_path: Path) -> None:
    """The third update waits until a place is free."""

    async def scenario() -> None:
        governor, order, release = Governor(tmp_path), list[str](), asyncio.Event()
        held = [asyncio.create_task(hold(governor, "update", order, str(n), release)) for n in range(3)]
        async with asyncio.timeout(5):
            while len(order) < 2:
                await asyncio.sleep(0.01)
        assert order == ["0", "1"]
        release.set()
        await asyncio.gather(*held)
        assert order == ["0", "1", "2"]

    asyncio.run(scenario())


def test_another_daemon_holds_the_turn_until_it_dies(tmp_path: Path) -> None:
    """Killed with the turn in hand, it leaves nothing locked."""
    command = [sys.executable, "-c", OTHER_DAEMON, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "has the turn\n"

        async def scenario() -> None:
            order, release = list[str](), asyncio.Event()
            release.set()
            waiting = asyncio.create_task(hold(Governor(tmp_path), "embed", order, "us", release))
            done, _ = await asyncio.wait({waiting}, timeout=0.5)
            assert not done
            other.kill()
            async with asyncio.timeout(10):
                await waiting
            assert order == ["us"]

        asyncio.run(scenario())
