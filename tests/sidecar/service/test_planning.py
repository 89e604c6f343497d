"""What a service is started with: absolute paths, and a PATH that finds what a shell's would find."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from backends import look_alike
from sidecar import config
from sidecar.service import files
from sidecar.service.invocation import command
from sidecar.service.planning import plan, qmd_trouble, service_path

REPOSITORY = Path(__file__).parents[3]


def program(file: Path, text: str = "#!/bin/sh\n") -> Path:
    """An executable script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return file


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A shell in which qmd and its Node lie in two folders of version managers, among others."""
    program(tmp_path / "npm" / "bin" / "qmd", "#!/usr/bin/env node\n")
    program(tmp_path / "nvm" / "v22" / "node")
    folders = [tmp_path / "games", tmp_path / "nvm" / "v22", Path("/usr/bin"), tmp_path / "npm" / "bin", Path("/bin")]
    return {"HOME": str(tmp_path), "PATH": os.pathsep.join(map(str, folders))}


def test_the_path_holds_qmd_and_its_node_and_nothing_else_of_the_shell(tmp_path: Path, environ: dict[str, str]) -> None:
    """In the shell's order: the folder that was meant comes first."""
    path = service_path("qmd", environ).split(os.pathsep)
    assert path == [f"{tmp_path}/nvm/v22", "/usr/bin", f"{tmp_path}/npm/bin", "/bin", "/usr/local/bin"]


def test_the_path_holds_the_real_qmd_and_not_a_look_alike_in_front(tmp_path: Path, environ: dict[str, str]) -> None:
    """The daemon could not use it, and would be without a qmd."""
    program(tmp_path / "games" / "qmd", f"#!/bin/sh\n# {look_alike.MARK}\n")
    path = service_path("qmd", environ).split(os.pathsep)
    assert path == [f"{tmp_path}/nvm/v22", "/usr/bin", f"{tmp_path}/npm/bin", "/bin", "/usr/local/bin"]


def test_a_qmd_that_is_named_by_its_path_still_gets_its_node(tmp_path: Path, environ: dict[str, str]) -> None:
    """The first line of a script is looked up by the kernel's `env`, on the PATH of the service."""
    assert f"{tmp_path}/nvm/v22" in service_path(f"{tmp_path}/npm/bin/qmd", environ).split(os.pathsep)


def test_a_relative_folder_of_the_shell_is_left_out(tmp_path: Path, environ: dict[str, str]) -> None:
    """It would be another folder for the service."""
    found = service_path("qmd", {**environ, "PATH": f".:npm/bin:{environ['PATH']}"}).split(os.pathsep)
    assert all(Path(folder).is_absolute() for folder in found)


def test_a_missing_node_is_told_before_the_service_is_there(tmp_path: Path, environ: dict[str, str]) -> None:
    """`spawn qmd ENOENT` under a service has this cause."""
    settings = config.load(environ=environ)
    assert qmd_trouble(settings, environ) is None
    program(tmp_path / "npm" / "bin" / "qmd", "#!/usr/bin/env nosuchnode\n")
    trouble = qmd_trouble(settings, environ)
    assert trouble is not None
    assert "nosuchnode" in trouble.message


def test_flags_become_absolute_and_a_shells_choices_are_kept(tmp_path: Path, environ: dict[str, str]) -> None:
    """The service starts elsewhere and without the shell's variables; a key is not copied into a file."""
    kept = {"XDG_STATE_HOME": str(tmp_path / "st"), "QMD_EMBED_MODEL": "hf:x", "OPENCLAW_STATE_DIR": "/o"}
    shell = environ | kept | {"OPENAI_API_KEY": "sk-1"}
    planned = plan(config.load(environ=shell), shell, {"--config": None, "--state-dir": Path("st")})
    assert planned.argv == (*command(), "run", "--state-dir", str(Path("st").absolute()))
    assert set(planned.environment) == {"PATH", *kept}


def test_every_folder_that_is_written_is_named_once(tmp_path: Path, environ: dict[str, str]) -> None:
    """The rest of the home folder is read-only for a service of the system."""
    file = tmp_path / "config.json5"
    file.write_text(
        '{memory: {qmd: {sessions: {exportDir: "/srv/talk"}}}, sidecar: {log: {file: "/srv/log/sidecar.log"},'
        ' socket: {path: "/srv/run/s.sock"}},'
        ' agents: {defaults: {memorySearch: {store: {path: "/srv/index/{agentId}.sqlite"}}}}}',
        encoding="utf-8",
    )
    settings = config.load(file, environ=environ)
    written = plan(settings, environ, {}).writes
    own = [settings.state_dir, tmp_path / ".cache" / "qmd", tmp_path / ".cache" / "qmd-sidecar", Path("/srv/run")]
    assert list(written) == [*own, Path("/srv/talk"), Path("/srv/log"), Path("/srv/index")]


def test_the_command_is_this_installations() -> None:
    """By its absolute path; it runs as it stands."""
    told = subprocess.run([*command(), "version"], capture_output=True, env={}, timeout=60, check=True)
    assert told.stdout


@pytest.mark.parametrize("name", [files.USER_UNIT, files.SYSTEM_UNIT, files.SOCKET_UNIT, files.PROPERTY_LIST])
def test_the_wheel_holds_what_is_installed(name: str) -> None:
    """At the place where the package looks for it."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    folder, _, file = name.partition("/")
    assert included[folder] == f"sidecar/service/files/{folder}"
    assert files.shipped(name) == (REPOSITORY / folder / file).read_bytes()
