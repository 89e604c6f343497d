"""The quickstart, done as it stands: each command in order, against real daemons."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.client import Client, NotRunningError
from tests.running import REPOSITORY, path_without_qmd, until

PAGE = (REPOSITORY / "docs" / "quickstart.md").read_text(encoding="utf-8")
RUN = "qmd-sidecar run"


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what it prints; `..` stands for anything within a line."""

    command: str
    output: tuple[str, ...]


def steps(page: str) -> list[Step]:
    """The commands of all `console` blocks; lines with `> ` go on with the one before."""
    found: list[tuple[list[str], list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(([line[2:]], []))
            elif line.startswith("> "):
                found[-1][0].append(line[2:])
            else:
                found[-1][1].append(line)
    return [Step("\n".join(command), tuple(output)) for command, output in found]


class Shell:
    """A user without qmd, whose home is a new folder."""

    def __init__(self, home: Path, runtime: Path) -> None:
        self._home = home
        self._runtime = runtime
        tools = [path_without_qmd(home), str(Path(sys.executable).parent), "/usr/bin", "/bin"]
        self._environ = {
            "HOME": str(home),
            "PATH": os.pathsep.join(tools),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(runtime),
            # What is said on both streams stays in order.
            "PYTHONUNBUFFERED": "1",
        }

    def do(self, command: str) -> list[str]:
        """What a command prints, line by line."""
        done = subprocess.run(
            ["bash", "-c", command], env=self._environ, cwd=self._home, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return done.stdout.splitlines()

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """The daemon in a terminal of its own."""
        with (self._home / "daemon.log").open("ab") as log:
            process = subprocess.Popen(RUN.split(), env=self._environ, cwd=self._home, stdout=log, stderr=log)
        try:
            client = Client(self._runtime / "qmd-sidecar" / "sidecar.sock")
            until(lambda: _has_indexed(client), what="the first index")
            yield
        finally:
            process.terminate()
            process.wait(30)


def _has_indexed(client: Client) -> bool:
    try:
        (agent,) = client.status()["agents"]
    except NotRunningError:
        return False
    return bool(agent["documents"]) and agent["state"] == "ready"


def test_every_command_does_what_the_page_shows(tmp_path: Path) -> None:
    """In order; a line that is not shown is not printed."""
    with tempfile.TemporaryDirectory(prefix="qs-") as short, ExitStack() as daemons:
        shell = Shell(tmp_path, Path(short))
        for step in steps(PAGE):
            if step.command == RUN:
                daemons.enter_context(shell.daemon())
            else:
                assert_like(shell.do(step.command), step)


def assert_like(printed: list[str], step: Step) -> None:
    """The lines that are shown, and no other; `..` alone stands for all the rest."""
    shown = list(step.output)
    if shown and shown[-1] == "..":
        shown.pop()
        printed = printed[: len(shown)]
    assert len(printed) == len(shown), (step.command, printed)
    for line, wanted in zip(printed, shown, strict=True):
        pattern = ".*".join(map(re.escape, wanted.split("..")))
        assert re.fullmatch(pattern, line), (step.command, line, wanted)


@pytest.mark.parametrize("printed", [["b"], ["a", "b"], []])
def test_another_output_is_noticed(printed: list[str]) -> None:
    """Another line, one more, and none at all."""
    with pytest.raises(AssertionError):
        assert_like(printed, Step("", ("a",)))
