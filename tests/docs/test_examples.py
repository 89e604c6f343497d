"""The example clients do what their pages say, against a real daemon."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.api.stage import stage
from tests.openclaw.node import NODE
from tests.running import REPOSITORY, Running

EXAMPLES = REPOSITORY / "docs" / "examples"
#: With what each is run, and whether it finds the daemon by itself.
CLIENTS = {
    "client.py": (sys.executable, False),
    "client.mjs": (NODE, False),
    "library.py": (sys.executable, True),
    "library_async.py": (sys.executable, True),
    "library.mjs": (NODE, True),
}
QUESTION = "when does the boat to Corvo leave?"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stage(tmp_path_factory.mktemp("examples")) as running:
        yield running


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_searches_reads_is_denied_and_is_told_its_error(name: str, daemon: Running) -> None:
    """Four calls, with the standard library alone or with ours."""
    interpreter, finds = CLIENTS[name]
    if interpreter is None:
        pytest.skip(f"node is not here: docs/examples/{name} was not tried")
    command = [interpreter, EXAMPLES / name, *([] if finds else [daemon.client.path]), QUESTION]
    environ = os.environ | {"SIDECAR_SOCKET": str(daemon.client.path)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    *results, denied, error = done.stdout.splitlines()
    assert results[:2] == [
        "memory/2026-02-10.md:1 by builtin",
        "# 2026-02-10",
    ]
    assert denied == "denied by default deny"
    assert error == "unknown_agent - did you mean 'main'?"


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_short(name: str) -> None:
    """It is there to be read."""
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 45


@pytest.mark.parametrize("name", [name for name, (_, finds) in CLIENTS.items() if not finds])
def test_a_client_without_a_question_says_how_it_is_called(name: str) -> None:
    """Without a socket Node would knock at a port."""
    interpreter, _ = CLIENTS[name]
    if interpreter is None:
        pytest.skip("node is not here: docs/examples/client.mjs was not tried")
    done = subprocess.run([interpreter, str(EXAMPLES / name)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith(f"{name} SOCKET QUESTION\n")
