"""What the manager is told, read from a real socket that plays the manager."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from sidecar.service import notify
from sidecar.service.notify import Notifier, summary

Speaking = Callable[..., Notifier]


@pytest.fixture
def manager() -> Iterator[socket.socket]:
    """A socket that takes messages, at a path."""
    with TemporaryDirectory(prefix="qs-") as folder, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(Path(folder) / "notify"))
        sock.settimeout(10)
        yield sock


@pytest.fixture
def speaking() -> Iterator[Speaking]:
    """A way to make notifiers that are closed at the end."""
    with ExitStack() as stack:

        def make(address: str, **more: Any) -> Notifier:
            return stack.enter_context(closing(Notifier(address, **more)))

        yield make


def heard(manager: socket.socket) -> list[str]:
    """The lines of the next message."""
    return manager.recv(4096).decode().splitlines()


async def attended(
    manager: socket.socket,
    *,
    watchdog_s: float = 0.06,
    status: Callable[[], str] = lambda: "fine",
    ready: Callable[[], bool] = lambda: True,
    alive: Callable[[], bool] = lambda: True,
    until: Callable[[list[str]], bool],
) -> list[list[str]]:
    """Attend until a message comes that is looked for; all messages so far."""
    messages: list[list[str]] = []
    with closing(Notifier(manager.getsockname(), watchdog_s=watchdog_s)) as notifier:
        task = asyncio.create_task(notifier.attend(status, ready=ready, alive=alive))
        try:
            while not messages or not until(messages[-1]):
                messages.append(await asyncio.to_thread(heard, manager))
        finally:
            task.cancel()
    return messages


def test_ready_comes_first_and_then_signs_of_life(manager: socket.socket) -> None:
    """With the status once, and not again as long as it stays."""
    messages = asyncio.run(attended(manager, until=lambda lines: lines == ["WATCHDOG=1"]))
    assert messages == [["READY=1", "STATUS=fine"], ["WATCHDOG=1"]]


def test_ready_waits_until_the_daemon_is(manager: socket.socket) -> None:
    """Nothing is said before."""
    looks = iter([False, False, True])
    messages = asyncio.run(attended(manager, ready=lambda: next(looks), until=lambda lines: True))
    assert messages == [["READY=1", "STATUS=fine"]]
    assert next(looks, None) is None


def test_one_agent_that_never_comes_does_not_hold_the_others(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manager would end a daemon that answers for the others."""
    monkeypatch.setattr(notify, "PATIENCE_S", 0.1)
    messages = asyncio.run(attended(manager, ready=lambda: False, until=lambda lines: True))
    assert messages[0][0] == "READY=1"


def test_a_dead_scheduler_gives_no_sign_of_life(manager: socket.socket) -> None:
    """The status line goes on, for whoever looks at it."""
    words = iter(["fine", "ailing", "worse"])
    messages = asyncio.run(
        attended(
            manager, status=lambda: next(words), alive=lambda: False, until=lambda lines: lines == ["STATUS=worse"]
        )
    )
    assert messages == [["READY=1", "STATUS=fine"], ["STATUS=ailing"], ["STATUS=worse"]]


def test_the_log_says_where_a_daemon_hung_that_the_watchdog_ended(manager: socket.socket) -> None:
    """SIGABRT is what the manager sends."""
    hung = (
        "import asyncio, os, sys; from sidecar.service.notify import Notifier\n"
        "def hang(): os.abort()\n"
        "notifier = Notifier(sys.argv[1], watchdog_s=1)\n"
        "asyncio.run(notifier.attend(hang, ready=lambda: True, alive=lambda: True))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", hung, manager.getsockname()], stderr=subprocess.PIPE, encoding="utf-8", timeout=60
    )
    assert ended.returncode == -signal.SIGABRT
    assert "in hang" in ended.stderr


def test_a_status_that_fails_is_no_reason_to_fall_silent(manager: socket.socket) -> None:
    """The watchdog would end a daemon that answers."""
    messages = asyncio.run(attended(manager, status=lambda: str(1 / 0), until=lambda lines: "WATCHDOG=1" in lines))
    assert messages[0] == ["READY=1", "STATUS=status unknown"]


def test_reloading_carries_the_time_that_systemd_wants(manager: socket.socket, speaking: Speaking) -> None:
    """In one message, by the manager's clock; and a reload that fails is over, too."""
    notifier = speaking(manager.getsockname())
    with notifier.reloading(lambda: "before the daemon was ready"):
        pass
    notifier.ready("1 agent")
    assert heard(manager) == ["READY=1", "STATUS=1 agent"]
    with pytest.raises(ZeroDivisionError), notifier.reloading(lambda: "2 agents"):
        _ = 1 / 0
    reloading, stamp = heard(manager)
    assert reloading == "RELOADING=1"
    assert stamp.startswith("MONOTONIC_USEC=")
    assert int(stamp.partition("=")[2]) > 0
    assert heard(manager) == ["READY=1", "STATUS=2 agents"]


def test_a_long_start_asks_for_time(manager: socket.socket, speaking: Speaking) -> None:
    """In microseconds."""
    speaking(manager.getsockname()).starting(within_s=120)
    assert "EXTEND_TIMEOUT_USEC=120000000" in heard(manager)


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="abstract addresses are Linux's")
def test_an_abstract_address_is_reached(speaking: Speaking) -> None:
    """A leading @ stands for NUL."""
    name = f"qmd-sidecar-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}")
        manager.settimeout(10)
        speaking(f"@{name}").stopping()
        assert heard(manager) == ["STOPPING=1", "STATUS=stopping"]


@pytest.mark.parametrize("address", ["/nonexistent/notify", "@nobody-listens", f"/{'x' * 200}", "/nul\0"])
def test_a_manager_that_cannot_be_reached_changes_nothing(speaking: Speaking, address: str) -> None:
    """The daemon runs for its callers, not for the manager."""
    notifier = speaking(address)
    notifier.ready("fine")
    notifier.stopping()


def test_a_manager_that_does_not_listen_is_not_waited_for(manager: socket.socket, speaking: Speaking) -> None:
    """Its queue is full after some messages; the event loop must not stand still."""
    notifier = speaking(manager.getsockname())
    for _ in range(2_000):
        notifier.ready("fine")


def test_ready_is_said_again_to_a_manager_that_was_busy(manager: socket.socket) -> None:
    """One that never hears of it ends the daemon; what comes later does not overtake it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, pytest.raises(BlockingIOError):
        while True:
            other.sendto(b"noise", socket.MSG_DONTWAIT, manager.getsockname())
    words = iter(["fine", "ailing"])
    messages = asyncio.run(attended(manager, status=lambda: next(words), until=lambda lines: "STATUS=ailing" in lines))
    told = [lines for lines in messages if lines != ["noise"]]
    assert told == [["READY=1", "STATUS=fine"], ["WATCHDOG=1", "STATUS=ailing"]]


def test_the_variables_are_taken_away() -> None:
    """A child that found them could speak in our name."""
    environ = {"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": "3", "WATCHDOG_PID": "7", "PATH": "/bin"}
    Notifier.taken_from(environ, pid=7).close()
    assert environ == {"PATH": "/bin"}


@pytest.mark.parametrize(
    ("variables", "period_s"),
    [
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"}, 60.0),
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"}, 0.0),
        ({"WATCHDOG_USEC": "a minute"}, 0.0),
        ({"WATCHDOG_USEC": "-5"}, 0.0),
        ({"WATCHDOG_USEC": "9" * 5000}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_watchdog_is_fed_only_when_it_is_ours(
    manager: socket.socket, variables: dict[str, str], period_s: float
) -> None:
    """A period for another process, or one that is no number, is none."""
    environ = {"NOTIFY_SOCKET": manager.getsockname(), **variables}
    with closing(Notifier.taken_from(environ, pid=7)) as notifier:
        assert notifier.watchdog_s == period_s


@pytest.mark.parametrize(
    ("states", "line"),
    [
        (["ready", "degraded", "ready"], "3 agents: 2 ready, 1 degraded"),
        (["ready"], "1 agent: 1 ready"),
        ([], "0 agents"),
    ],
)
def test_the_agents_are_told_in_one_line(states: list[str], line: str) -> None:
    """The most frequent state first."""
    assert summary(states) == line
