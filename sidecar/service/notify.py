"""What the daemon tells the service manager that started it: ready, reloading, stopping, alive.

The protocol of sd_notify(3): datagrams of `NAME=value` lines, sent to the socket in `NOTIFY_SOCKET`. Where no manager
asked, nothing is sent and nothing runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import os
import re
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Self

log = logging.getLogger(__name__)

#: Three signs of life in each period that the manager allows: one may come late, or not at all.
SIGNS_A_PERIOD = 3
#: How often the status line is looked at when no watchdog sets the pace.
STATUS_INTERVAL_S = 15.0
#: An agent without any engine is told in the status line; after this long the others do not wait for it.
PATIENCE_S = 20.0
_LOOK_S = 0.1
_LEAST_S = 0.01
#: Microseconds, as many as 64 bits hold.
_PERIOD = re.compile(r"[0-9]{1,20}")
#: So many messages are kept for a manager that is busy.
_MOST_LATE = 32


class Notifier:
    """Speaks to the service manager. Nothing here raises or waits: a deaf manager must not stop a daemon.

    What finds no room is said again while `attend` runs.

    `address` is a path, or a name that starts with `@`, or empty for no manager. `watchdog_s` is how long the
    manager waits for a sign of life, 0 for ever.
    """

    def __init__(self, address: str = "", *, watchdog_s: float = 0.0) -> None:
        self._address = address
        self.watchdog_s = watchdog_s
        self._status = ""
        #: What the manager had no room for, oldest first.
        self._late: deque[tuple[str, ...]] = deque(maxlen=_MOST_LATE)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if address else None

    @classmethod
    def taken_from(cls, environ: MutableMapping[str, str], *, pid: int) -> Self:
        """The manager of process `pid`. Its variables are removed: no child may speak in our name."""
        address = environ.pop("NOTIFY_SOCKET", "")
        period_us, keeper = environ.pop("WATCHDOG_USEC", ""), environ.pop("WATCHDOG_PID", str(pid))
        watched = _PERIOD.fullmatch(period_us) and keeper == str(pid)
        return cls(address if address[:1] in ("/", "@") else "", watchdog_s=int(period_us) / 1e6 if watched else 0.0)

    def starting(self, *, within_s: float) -> None:
        """The start may take this long, whatever the unit says."""
        self._say("STATUS=bringing the indexes up to date", f"EXTEND_TIMEOUT_USEC={_microseconds(within_s)}")

    def ready(self, status: str) -> None:
        """Requests are answered."""
        self._status = status
        self._say("READY=1", f"STATUS={status}")

    @contextlib.contextmanager
    def reloading(self, status: Callable[[], str]) -> Iterator[None]:
        """The configuration is being read again; at the end, however it went, the daemon is ready as before.

        Before it was ready for the first time nothing is said: the end would be taken for the end of the start.
        """
        if not self._status:
            yield
            return
        self._say("RELOADING=1", f"MONOTONIC_USEC={_microseconds(time.clock_gettime(time.CLOCK_MONOTONIC))}")
        try:
            yield
        finally:
            self.ready(_line(status))

    def stopping(self) -> None:
        """The daemon drains and ends."""
        self._say("STOPPING=1", "STATUS=stopping")

    def close(self) -> None:
        """Nothing more will be said."""
        if self._socket is not None:
            self._socket.close()

    async def attend(self, status: Callable[[], str], *, ready: Callable[[], bool], alive: Callable[[], bool]) -> None:
        """Say that the daemon is ready, then how it is and that it lives, for ever.

        Signs of life are sent by the event loop, and only while `alive` is true: a loop that hangs sends none.
        """
        if self._socket is None:
            return
        if self.watchdog_s:
            # The manager ends us by SIGABRT: let the log say where every thread hung.
            faulthandler.enable()
        for _ in range(int(PATIENCE_S / _LOOK_S)):
            if ready():
                break
            await asyncio.sleep(_LOOK_S)
        self.ready(_line(status))
        while True:
            await asyncio.sleep(_LOOK_S if self._late else self._interval_s)
            self._say()
            if not self._late:
                self._tell(status, alive=alive())

    @property
    def _interval_s(self) -> float:
        # The status is looked at also where the manager is very patient, and the loop is not busy with a hasty one.
        return min(STATUS_INTERVAL_S, max(_LEAST_S, self.watchdog_s / SIGNS_A_PERIOD or STATUS_INTERVAL_S))

    def _tell(self, status: Callable[[], str], *, alive: bool) -> None:
        lines = ["WATCHDOG=1"] if alive and self.watchdog_s else []
        if (line := _line(status)) != self._status:
            self._status = line
            lines.append(f"STATUS={line}")
        self._say(*lines)

    def _say(self, *lines: str) -> None:
        if lines:
            self._late.append(lines)
        # A start or a reload that is never told would end in a kill: what finds no room is said again, in its order.
        while self._late and self._has_room(self._late[0]):
            self._late.popleft()

    def _has_room(self, lines: tuple[str, ...]) -> bool:
        """Send one message; whether the manager could take it. One that is not there takes all."""
        if self._socket is None:
            return True
        to = f"\0{self._address[1:]}" if self._address.startswith("@") else self._address
        try:
            self._socket.sendto(os.fsencode("\n".join(lines)), socket.MSG_DONTWAIT, to)
        except BlockingIOError:
            return False
        except (OSError, ValueError):
            return True
        return True


def _line(status: Callable[[], str]) -> str:
    """The status; one that cannot be told is no reason to be ended for want of signs of life."""
    try:
        return status()
    except Exception:
        log.exception("the status line failed")
        return "status unknown"


def summary(states: Iterable[str]) -> str:
    """Agents in one line, by the names of their states: `5 agents: 4 ready, 1 degraded`."""
    counts = Counter(states)
    total = counts.total()
    told = ", ".join(f"{count} {state}" for state, count in counts.most_common())
    return f"{total} agent{'' if total == 1 else 's'}{f': {told}' if told else ''}"


def _microseconds(seconds: float) -> int:
    return int(seconds * 1_000_000)
