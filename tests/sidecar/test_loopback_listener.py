"""The port for scrapers, where somebody else has it."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from typing import cast

import pytest

from sidecar.gateway.loopback import Loopback
from sidecar.gateway.view import DaemonView

NOBODY = cast("DaemonView", None)


async def until_listening(port: int) -> None:
    """Return once somebody accepts connections."""
    async with asyncio.timeout(30):
        while True:
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.01)


def test_a_port_that_is_taken_is_told_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    """A notice with a next step and one line in the log, until it is free."""

    async def scenario() -> list[int]:
        taken = socket.create_server(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
        loopback = Loopback(f"127.0.0.1:{port}", retry_s=0.01)
        running = asyncio.create_task(loopback.run(NOBODY))
        async with asyncio.timeout(30):
            while not loopback.told():
                await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        (notice,) = loopback.told()
        assert notice.code == "metrics_unreachable"
        assert notice.action
        taken.close()
        await until_listening(port)
        told = [len(loopback.told())]
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        with socket.socket() as free:
            told.append(free.connect_ex(("127.0.0.1", port)))
        return told

    with caplog.at_level(logging.WARNING):
        told, refused = asyncio.run(scenario())
    assert told == 0
    assert refused != 0
    assert [record.message for record in caplog.records] == ["metrics are not listened for"]


def test_nothing_is_listened_at_unless_that_is_wanted() -> None:
    """Off by default."""
    asyncio.run(Loopback(None).run(NOBODY))
