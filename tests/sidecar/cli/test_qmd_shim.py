"""`qmd-shim`: putting the look-alike where callers find it, and taking it away."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon


def test_it_is_installed_into_the_state_folder_and_path_names_that(run: Run, folder: Path) -> None:
    result = run("qmd-shim", "install", "--state-dir", str(folder / "s t"))
    file = folder / "s t" / "bin" / "qmd"
    assert result.stdout == f"export PATH='{file.parent}':\"$PATH\"\n"
    assert str(file) in result.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert run("qmd-shim", "path", "--state-dir", str(folder / "s t")).stdout == f"{file.parent}\n"


def test_what_it_prints_puts_it_in_front(run: Run, folder: Path) -> None:
    at = folder / "it's here"
    line = run("qmd-shim", "install", "--dir", str(at)).stdout
    shown = subprocess.run(["/bin/sh", "-c", f"{line}\ncommand -v qmd"], capture_output=True, text=True, check=True)
    assert shown.stdout == f"{at}/qmd\n"


def test_it_asks_the_daemon_that_is_running_at_its_installation(run: Run, folder: Path, daemon: FakeDaemon) -> None:
    told = json.loads(run("qmd-shim", "install", "--dir", str(folder / "b"), "--json").stdout)
    assert told["sockets"][0] == str(daemon.path)
    subprocess.run([told["installed"], "search", "boat"], env={"PATH": os.defpath, "HOME": str(folder)}, check=False)
    assert ("GET", "/v1/agents", None) in daemon.requests


def test_it_is_written_anew_and_removed_again(run: Run, folder: Path) -> None:
    at = ["--dir", str(folder / "b")]
    assert run("qmd-shim", "install", *at).exit_code == 0
    (folder / "b" / "qmd").chmod(0o600)
    assert run("qmd-shim", "install", *at).exit_code == 0
    assert os.access(folder / "b" / "qmd", os.X_OK)
    assert json.loads(run("qmd-shim", "uninstall", *at, "--json").stdout)["removed"] is True
    assert not (folder / "b" / "qmd").exists()
    again = run("qmd-shim", "uninstall", *at)
    assert (again.exit_code, again.stdout) == (0, "")


def test_a_qmd_of_somebody_else_is_left_alone(run: Run, folder: Path) -> None:
    (folder / "b").mkdir()
    real = folder / "b" / "qmd"
    for make in (lambda: real.write_text("#!/bin/sh\n"), lambda: real.symlink_to("/nowhere"), real.mkdir):
        make()
        for verb in ("install", "uninstall"):
            result = run("qmd-shim", verb, "--dir", str(folder / "b"))
            assert result.exit_code == 1
            assert "another qmd" in result.stderr
            assert os.path.lexists(real)
        real.rmdir() if real.is_dir() else real.unlink()


def test_a_folder_that_cannot_be_written_is_named(run: Run, folder: Path) -> None:
    (folder / "file").write_text("")
    result = run("qmd-shim", "install", "--dir", str(folder / "file" / "b"))
    assert result.exit_code == 1
    assert str(folder / "file") in result.stderr
