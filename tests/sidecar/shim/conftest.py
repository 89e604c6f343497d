"""A daemon with three agents, a look-alike that asks it, and behind it a `qmd` that tells how it was started."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sidecar import shim
from tests.fake_qmd import FakeQmd
from tests.running import Running, running

#: Prints what it was given, byte for byte: the environment as the kernel has it, and the arguments.
REAL = """#!{python} -ISEXutf8
import json, os, signal, sys
told = {{"argv": [os.fsencode(word).hex() for word in sys.argv[1:]], "environ": dict(os.environ)}}
told["pipe"] = signal.getsignal(signal.SIGPIPE).name
print(json.dumps({{"real": told}}))
"""
NOTES = {
    "MEMORY.md": "# Harbour\n\nThe boat leaves at ten.\n",
    "memory/2026-11-01.md": 'The boat, "late" & <slow>, came with a codeword.\n',
    "memory/no heading_ü.md": "Only the heron sees the codeword",
}

#: More than the daemon gives at once.
GULLS = {f"memory/{number}.md": f"The gull of day {number}.\n" for number in range(60)}


@dataclass
class LookAlike:
    """The file under test, and the `qmd` that stands behind it on PATH."""

    file: Path
    real: Path
    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def run(self, *words: str | bytes, path: str | None = None, cwd: Path | None = None, **extra: str) -> Ended:
        """Spawn it as a caller would."""
        base = {"PATH": path or f"{self.file.parent}:{self.real.parent}:/usr/bin:/bin", "HOME": str(self.folder)}
        done = subprocess.run(
            [str(self.file), *words],
            env={**base, "LANG": "C.UTF-8", **self.environ, **extra},
            cwd=cwd or self.folder,
            capture_output=True,
            timeout=60,
        )
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass(frozen=True)
class Ended:
    """What a run left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def real(self) -> dict[str, Any] | None:
        """What the real qmd saw; None when it was not asked."""
        told = json.loads(self.stdout) if self.stdout.startswith('{"real"') else {}
        return told.get("real")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The answer of `--json`."""
        assert (self.status, self.stderr) == (0, "")
        rows: list[dict[str, Any]] = json.loads(self.stdout)
        return rows


def write_notes(workspace: Path, notes: dict[str, str]) -> Path:
    for name, text in notes.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(text, encoding="utf-8")
    return workspace


@pytest.fixture(scope="session")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Agents `main`, `öps` with a word of its own, `many`, and `two words`, whom no key of a session can name."""
    folder = tmp_path_factory.mktemp("look alike")
    workspaces = {
        "main": write_notes(folder / "main", NOTES),
        "öps": write_notes(folder / "ops", {"MEMORY.md": "The codeword of operations is saltmarsh.\n"}),
        "many": write_notes(folder / "many", {"MEMORY.md": "A gull.\n", **GULLS}),
        "two words": write_notes(folder / "hidden", {"MEMORY.md": "The codeword is hidden.\n"}),
    }
    config = {
        "memory": {"backend": "qmd"},
        "agents": {"list": [{"id": name, "workspace": str(at)} for name, at in workspaces.items()]},
    }
    fake = FakeQmd.install(folder)
    with running(folder / "daemon", config, path=fake.environ()["PATH"]) as daemon:
        daemon.sync("main")
        daemon.sync("many")
        daemon.call("POST", "/v1/agents/%C3%B6ps/sync", {"wait": True})
        yield daemon


@pytest.fixture
def qmd(tmp_path: Path, daemon: Running) -> LookAlike:
    """Installed for the daemon, in front of the real one, asked on behalf of `main`."""
    real = tmp_path / "real bin" / "qmd"
    real.parent.mkdir()
    real.write_text(REAL.format(python=sys.executable))
    real.chmod(0o755)
    file = shim.install(tmp_path / "look alike", sys.executable, [tmp_path / "nobody.sock", daemon.client.path])
    return LookAlike(file, real, tmp_path, {"SIDECAR_AGENT": "main"})
