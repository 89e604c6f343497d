"""Waiting for what happens elsewhere, and telling all the while that this thread is alive."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from contextlib import AbstractContextManager
from typing import TypeAlias, TypeVar

T = TypeVar("T")

#: What a thread gives up while it waits for a model elsewhere, and takes again afterwards.
Idle: TypeAlias = Callable[[], AbstractContextManager[object]]

#: Whoever watches over this process hears of it at least this often.
HEARTBEAT_S = 10.0


def awaited(future: Future[T], *, idle: Idle, alive: Callable[[], None]) -> T:
    """The result of a future, or its exception."""
    with idle():
        while True:
            try:
                return future.result(timeout=HEARTBEAT_S)
            except NotYetError:
                if future.done():
                    raise
                alive()
