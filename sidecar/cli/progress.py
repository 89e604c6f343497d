"""How far a long call is, told while somebody waits for it."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from sidecar.cli.columns import shortened
from sidecar.cli.exits import say
from sidecar.client import Client, ClientError
from sidecar.wording import words
from sidecar.wording.terminal import Style, can_redraw, duration, one_line, screen_width

#: How often the daemon is asked, and so how soon a call counts as long.
ASK_S = 0.5
#: Off a terminal a line is told at most so often: it stays, in a log or a mail.
PAUSE_S = 10.0
_ANSWER_S = 2.0
_REST_OF_LINE = "\x1b[K"


class Line:
    """A line of talk that is told again and again: in one place on a terminal, now and then elsewhere.

    Safe to use from two threads. `clock` is monotonic, in seconds.
    """

    def __init__(self, stream: TextIO, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._redraws = can_redraw(stream, os.environ)
        self._next_at = clock() + PAUSE_S
        self._is_shown = self._is_over = False
        self._lock = threading.Lock()

    def tell(self, text: str) -> None:
        """Show the text instead of the last one. Nothing is shown after `end`."""
        with self._lock:
            if self._is_over:
                return
            if self._redraws:
                width = (screen_width(self._stream, os.environ) or 80) - 1
                line = shortened(text, width, Style.of(self._stream).symbol("…"))
                print(f"\r{line}{_REST_OF_LINE}", end="", file=self._stream, flush=True)
                self._is_shown = True
            elif self._clock() >= self._next_at:
                print(text, file=self._stream, flush=True)
                self._next_at = self._clock() + PAUSE_S

    def end(self) -> None:
        """Leave the place as it was. Safe to call twice."""
        with self._lock:
            self._is_over = True
            if self._is_shown:
                self._is_shown = False
                print(f"\r{_REST_OF_LINE}", end="", file=self._stream, flush=True)


@contextlib.contextmanager
def waiting(client: Client, agent: str, doing: str) -> Iterator[None]:
    """While the body waits for the agent, say on standard error how far it is; `doing` is what has no numbers.

    Whoever ends the wait with Ctrl-C has not ended the work, and is told so.
    """
    line, over = Line(sys.stderr), threading.Event()
    asking = Client(client.path, timeout_s=_ANSWER_S)
    threading.Thread(target=_tell, args=(asking, agent, doing, line, over), daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        line.end()
        say("the daemon goes on; qmd-sidecar status tells how far it is")
        raise
    finally:
        over.set()
        line.end()


def _tell(client: Client, agent: str, doing: str, line: Line, over: threading.Event) -> None:
    began_at = time.monotonic()
    while not over.wait(ASK_S):
        passed = duration(time.monotonic() - began_at)
        line.tell(one_line(f"{agent}: {_how_far(client, agent) or doing} ({passed})"))


def _how_far(client: Client, agent: str) -> str:
    """The progress of each of the agent's indexes; empty where there is none, or nobody says."""
    try:
        engines: Mapping[str, Any] = client.status(agent).get("engines") or {}
    except ClientError:
        return ""
    return "; ".join(
        f"{name} {far}" for name, facts in engines.items() if (far := words.progress(facts.get("progress")))
    )
