"""What an earlier daemon left running is ended, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from backends.qmd import agent_environment, descendants, sweep
from backends.qmd.home import STATE_VARIABLE, QmdHome
from tests.backends.qmd.making import alive, eventually

SLEEPER = "import signal, subprocess, sys, time; print(flush=True); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"], env={}, start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def started() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def home(tmp_path: Path) -> QmdHome:
    state = tmp_path / "state"
    folder = state / "agents" / "main" / "qmd"
    home = QmdHome(config=folder / "config", cache=folder / "cache", work=folder / "work", state=state)
    home.prepare()
    return home


def start(stack: ExitStack, environment: dict[str, str], code: str = SLEEPER) -> tuple[subprocess.Popen[bytes], str]:
    """A real process with an environment, and the first line that it says."""
    process = subprocess.Popen([sys.executable, "-S", "-c", code], env=environment, stdout=subprocess.PIPE)
    stack.callback(process.wait)
    stack.callback(process.kill)
    assert process.stdout is not None
    stack.callback(process.stdout.close)
    return process, process.stdout.readline().decode().strip()


def marked(home: QmdHome) -> dict[str, str]:
    return dict(home.surroundings({}).environment)


@pytest.mark.parametrize("code", [SLEEPER, DEAF])
def test_an_orphan_is_ended(started: ExitStack, home: QmdHome, code: str) -> None:
    """Politely, then not."""
    orphan, _ = start(started, marked(home), code)
    assert home.state
    assert sweep(home.state, grace_s=0.5) == 1
    assert eventually(lambda: not alive(orphan.pid))


def test_an_orphan_is_ended_as_a_tree(started: ExitStack, home: QmdHome) -> None:
    """Also what it started with another environment in a session of its own."""
    _, said = start(started, marked(home), PARENT)
    assert home.state
    assert sweep(home.state) == 2
    assert eventually(lambda: not alive(int(said)))


def test_children_that_are_watched_over_are_spared(started: ExitStack, home: QmdHome) -> None:
    """A living daemon sweeps strays, not what runs below it."""
    child, _ = start(started, marked(home))
    assert home.state
    assert sweep(home.state, spare=descendants) == 0
    assert child.poll() is None
    assert sweep(home.state) == 1


def test_everybody_else_is_spared(started: ExitStack, home: QmdHome, tmp_path: Path) -> None:
    """A person's qmd on the same index, another daemon's child, a mark without our cache, a cache without a mark."""
    assert home.state
    others = [
        agent_environment(home, {}),
        marked(home) | {STATE_VARIABLE: str(tmp_path / "other")},
        marked(home) | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        {STATE_VARIABLE: str(home.state)},
        {},
    ]
    processes = [start(started, environment)[0] for environment in others]
    assert sweep(home.state) == 0
    assert all(psutil.pid_exists(process.pid) and process.poll() is None for process in processes)


def test_a_person_gets_the_folders_and_the_models_but_no_mark(home: QmdHome) -> None:
    """What `agents env` prints points at the same index."""
    exports = agent_environment(home, {"QMD_EMBED_MODEL": "/m.gguf", "OPENAI_API_KEY": "x"})
    assert exports == {
        "XDG_CONFIG_HOME": str(home.config),
        "XDG_CACHE_HOME": str(home.cache),
        "QMD_CONFIG_DIR": str(home.index_yml.parent),
        "QMD_EMBED_MODEL": "/m.gguf",
    }
