"""`qmd-sidecar config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.sidecar.cli.conftest import Run


@pytest.fixture
def file(folder: Path) -> Path:
    """A configuration with one value of its own."""
    path = folder / "config.json5"
    path.write_text("{\n  // a comment\n  memory: { citations: 'off' },\n}\n")
    return path


def test_a_good_configuration_is_said_to_be_fine(run: Run, file: Path) -> None:
    """Nothing to mend: exit code 0 and nothing on standard output."""
    result = run("config", "check", "--config", str(file))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "the configuration is fine\n")


def test_an_error_names_file_line_and_key(run: Run, file: Path) -> None:
    """Every error can be jumped to, and the exit code is that of a configuration error."""
    file.write_text("{\n  memory: { citation: 'off' },\n}\n")
    result = run("config", "check", SIDECAR_CONFIG=str(file))
    assert result.exit_code == 78
    assert f"{file}:2 memory.citation" in result.stdout
    assert "1 error, 0 warnings" in result.stderr


def test_errors_are_told_from_top_to_bottom(run: Run, file: Path) -> None:
    """As somebody mends them who reads the file."""
    file.write_text("{\n  memory: {\n    citation: 'off',\n    qmd: { update: { interval: 'never' } },\n  },\n}\n")
    lines = run("config", "check", "--config", str(file)).stdout.splitlines()
    assert [line.split()[1] for line in lines] == [f"{file}:3", f"{file}:4"]


def test_findings_as_json(run: Run, file: Path) -> None:
    """Programs get the same findings as data."""
    file.write_text("{\n  memory: { citation: 'off' },\n}\n")
    told = json.loads(run("config", "check", "--config", str(file), "--json").stdout)
    assert told["ok"] is False
    assert (told["findings"][0]["key"], told["findings"][0]["line"]) == ("memory.citation", 2)


def test_show_prints_every_value_in_force(run: Run, file: Path) -> None:
    """Values of the file and defaults alike, one line each."""
    lines = run("config", "show", "--config", str(file)).stdout.splitlines()
    assert 'memory.citations = "off"' in lines
    assert 'memory.qmd.command = "qmd"' in lines


def test_show_says_where_a_value_comes_from(run: Run, file: Path) -> None:
    """File and line, or the default."""
    lines = run("config", "show", "--origin", "--config", str(file)).stdout.splitlines()
    assert f'memory.citations = "off"  ({file}:3)' in lines
    assert 'memory.qmd.command = "qmd"  (default)' in lines


def test_show_as_json_is_one_object(run: Run, file: Path, folder: Path) -> None:
    """The same tree for programs; a flag is in force there too."""
    shown = json.loads(run("config", "show", "--config", str(file), "--state-dir", str(folder / "s"), "--json").stdout)
    assert (shown["stateDir"], shown["memory"]["citations"]) == (str(folder / "s"), "off")


@pytest.mark.parametrize("verb", [["config", "show"], ["run"]])
def test_a_broken_configuration_stops_with_its_own_exit_code(run: Run, file: Path, verb: list[str]) -> None:
    """Nothing is shown or started from a file that cannot be read."""
    file.write_text("{ memory: ")
    result = run(*verb, "--config", str(file))
    assert (result.exit_code, result.stdout) == (78, "")
    assert str(file) in result.stderr
    assert "try: qmd-sidecar config check" in result.stderr
