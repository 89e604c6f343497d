"""A fake daemon, and a way to run the command line against it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sidecar.cli import command
from tests.sidecar.cli.fake_daemon import FakeDaemon

Run = Callable[..., Result]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path: a Unix socket's path may have 103 characters, pytest's own folders have more."""
    path = Path(tempfile.mkdtemp(prefix="qs", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def environ(folder: Path) -> dict[str, str]:
    """An environment in which nothing of the person who runs the tests is found."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SIDECAR_", "OPENCLAW_", "XDG_"))}
    places = {"HOME": str(folder / "home"), "XDG_RUNTIME_DIR": str(folder / "rt"), "TMPDIR": str(folder)}
    ours = {**places, "NO_COLOR": "1", "COLUMNS": "120"}
    (folder / "home").mkdir()
    (folder / "rt" / "qmd-sidecar").mkdir(parents=True)
    return kept | ours


@pytest.fixture
def daemon(environ: dict[str, str]) -> Iterator[FakeDaemon]:
    """A fake daemon at the default place, with one agent called main."""
    fake = FakeDaemon(Path(environ["XDG_RUNTIME_DIR"]) / "qmd-sidecar" / "sidecar.sock")
    fake.routes["GET", "/v1/agents"] = (
        200,
        {"agents": [{"id": "main", "workspace": "/w", "backend": "qmd", "state": "ready"}]},
    )
    yield fake
    fake.close()


@pytest.fixture
def run(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a verb in this process, with the isolated environment; `result.stdout` and `.stderr` are apart."""
    for key in [key for key in os.environ if key not in environ]:
        monkeypatch.delenv(key)

    def invoke(*args: str, **extra: str) -> Result:
        return CliRunner().invoke(command, list(args), env=environ | extra, prog_name="qmd-sidecar")

    return invoke
