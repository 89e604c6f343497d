"""Tests in several processes: what is alone runs behind the others and beside none, and one result tells of all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise

import pytest

from tests.running import REPOSITORY

PROCESSES = 2
#: Tests that write down who ran them and when; one of each kind fails.
MODULE = """
import json, os, time
from pathlib import Path
import pytest

@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("kind", [
    "of a module",
    pytest.param("together", marks=pytest.mark.together("name")),
    pytest.param("alone", marks=pytest.mark.alone),
])
def test_some(kind, number):
    began_at = time.monotonic()
    # What lasts no time can overlap with nothing.
    time.sleep(0.02)
    run = {"module": __name__, "kind": kind, "process": os.getpid(), "began": began_at, "ended": time.monotonic()}
    with (Path(__file__).parent / "runs").open("a") as runs:
        runs.write(json.dumps(run) + "\\n")
    assert number != 3 or __name__ != "test_a"
"""
MODULES = "abcd"


@dataclass(frozen=True, slots=True)
class Run:
    """One test that ran, with monotonic seconds."""

    module: str
    kind: str
    process: int
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Suite:
    """All that ran, and how it ended."""

    runs: list[Run]
    done: subprocess.CompletedProcess[str]

    def of(self, kind: str) -> list[Run]:
        """The runs of one kind, in the order of their beginning."""
        return sorted((run for run in self.runs if run.kind == kind), key=lambda run: run.began)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """Some modules, run in several processes."""
    folder = tmp_path_factory.mktemp("suite")
    for name in MODULES:
        (folder / f"test_{name}.py").write_text(MODULE, encoding="utf-8")
    (folder / "conftest.py").write_text('pytest_plugins = ("tests.parallel",)\n', encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  alone\n  together\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-n", str(PROCESSES), "--rootdir", str(folder), str(folder)]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=REPOSITORY, env=environ, capture_output=True, encoding="utf-8", timeout=100)
    lines = (folder / "runs").read_text(encoding="utf-8").splitlines()
    return Suite([Run(**json.loads(line)) for line in lines], done)


def test_everything_runs_once_in_all_processes(suite: Suite) -> None:
    assert [len(suite.of(kind)) for kind in ("of a module", "together", "alone")] == [5 * len(MODULES)] * 3
    assert len({run.process for run in suite.runs}) == PROCESSES


def test_what_is_alone_runs_behind_all_others_and_beside_none(suite: Suite) -> None:
    alone = suite.of("alone")
    assert len({run.process for run in alone}) == 1
    assert all(first.ended <= second.began for first, second in pairwise(alone))
    assert max(run.ended for run in suite.runs if run.kind != "alone") <= alone[0].began


def test_what_belongs_together_stays_in_one_process(suite: Suite) -> None:
    """Tests of a module, and what has a name of its own in any module."""
    assert len({(run.module, run.process) for run in suite.of("of a module")}) == len(MODULES)
    assert len({run.process for run in suite.of("together")}) == 1


def test_failures_of_every_sort_fail_the_run_and_stand_in_the_one_summary(suite: Suite) -> None:
    assert suite.done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "3 failed, 57 passed" in suite.done.stdout.splitlines()[-1]
