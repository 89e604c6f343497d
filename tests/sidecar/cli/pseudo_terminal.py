"""The real command on a terminal of its own."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping

DEADLINE_S = 60.0


class Terminal:
    """A command that runs on a terminal, and all that it has written to it."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._written = b""

    @property
    def written(self) -> str:
        """Everything so far, with line ends as the command wrote them."""
        return self._written.decode(errors="replace").replace("\r\n", "\n")

    def until(self, text: str) -> str:
        """Everything that was written once `text` is there; fails at the deadline or when the command ends before."""
        give_up_at = time.monotonic() + DEADLINE_S
        while text not in self.written:
            assert self._read(give_up_at), f"{text!r} did not come: {self.written[-500:]!r}"
        return self.written

    def interrupt(self) -> int:
        """Ctrl-C, and the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        """The exit code, once the command has ended and all that it wrote is read."""
        give_up_at = time.monotonic() + DEADLINE_S
        while self._read(give_up_at):
            pass
        return self.process.wait(DEADLINE_S)

    def _read(self, give_up_at: float) -> bool:
        """Take what comes next; False when nothing will."""
        ready, _, _ = select.select([self._screen], [], [], max(0.0, give_up_at - time.monotonic()))
        try:
            read = os.read(self._screen, 65536) if ready else b""
        except OSError:
            # How Linux says that nobody has the terminal open any more.
            read = b""
        self._written += read
        return bool(read)


@contextlib.contextmanager
def on_terminal(environ: Mapping[str, str], *args: str, rows: int = 24, columns: int = 100) -> Iterator[Terminal]:
    """Run `qmd-sidecar ARGS` on a terminal of that size; what still runs at the end is ended."""
    screen, line = os.openpty()
    termios.tcsetwinsize(screen, (rows, columns))
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", *args],
        env={key: value for key, value in environ.items() if key not in ("COLUMNS", "NO_COLOR")}
        | {"TERM": "xterm", "LC_ALL": "C.UTF-8"},
        stdin=line,
        stdout=line,
        stderr=line,
        start_new_session=True,
    )
    os.close(line)
    try:
        yield Terminal(process, screen)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(screen)
