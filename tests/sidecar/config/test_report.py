from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

from sidecar.config import Severity, check, load, show
from tests.sidecar.config.conftest import Load


def test_check_tells_errors_before_warnings(home: Path) -> None:
    """And never raises."""
    file = home / "c.json5"
    file.write_text("{memory: {qmd: {searchTool: 'x'}}, sidecar: {x: 1}}", encoding="utf-8")
    findings = check(file, environ={"HOME": str(home)})
    assert [(found.severity, found.key) for found in findings] == [
        (Severity.ERROR, "sidecar.x"),
        (Severity.WARNING, "memory.qmd.searchTool"),
    ]


def test_check_of_an_unreadable_file(home: Path) -> None:
    """One finding that says why."""
    (finding,) = check(home / "none.json5", environ={"HOME": str(home)})
    assert (finding.code, finding.file) == ("unreadable", str(home / "none.json5"))


def test_check_names_paths_that_lead_nowhere(home: Path) -> None:
    """By the line that is to be corrected, each once; what is in a workspace that is missing is told with that."""
    file = home / "c.json5"
    (home / "there").mkdir()
    file.write_text(
        """{memory: {qmd: {paths: [
             {path: '~/there'},
             {path: '~/nowhere'},
             {path: 'inside'}]}},
           agents: {defaults: {memorySearch: {extraPaths: ['~/there', '~/lost.md']}},
                    list: [{id: 'a', workspace: '~/no-a'}, {id: 'b', workspace: '~/no-b'}]}}""",
        encoding="utf-8",
    )
    found = [finding for finding in check(file, environ={"HOME": str(home)}) if finding.code == "path_missing"]
    assert [(finding.key, finding.line, finding.message) for finding in found] == [
        ("memory.qmd.paths[1].path", 3, f"nothing is at {home}/nowhere"),
        ("agents.defaults.memorySearch.extraPaths", 5, f"nothing is at {home}/lost.md"),
    ]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://u:hunter2@h/v1", "https://***@h/v1"),
        ("https://u:p/hunter2@h/v1", "https://***@h/v1"),
        ("u:hunter2@h", "***@h"),
        ("https://h/v1?key=hunter2", "https://h/v1?***"),
        ("https://h/v1", "https://h/v1"),
    ],
)
def test_show_hides_the_secrets_of_an_address(load_text: Load, url: str, shown: str) -> None:
    """OpenClaw's own providers may hold any; a header of that name is hidden whole."""
    provider = {"baseUrl": url, "headers": {"baseUrl": "hunter2"}}
    settings = load_text(json.dumps({"models": {"providers": {"x": provider}}}))
    effective = show(settings)
    assert effective["models"]["providers"]["x"]["baseUrl"] == shown
    assert "hunter2" not in json.dumps([effective, show(settings, origin=True)])


def test_show_hides_secrets(load_text: Load) -> None:
    """With and without origins."""
    settings = load_text(
        """{memory: {search: {remote: {apiKey: 'hunter2', headers: {auth: 'hunter2'}}}},
            models: {providers: {openai: {apiKey: 'hunter2'}}}}"""
    )
    for origin in (False, True):
        text = orjson.dumps(show(settings, origin=origin)).decode()
        assert "hunter2" not in text
        assert "**********" not in text
        assert text.count('"***"') == 3


def test_origins_name_file_and_line(load_text: Load) -> None:
    """Of both spellings, or the default."""
    settings = load_text(
        """{
        memory: { search: {
            model: 'm' } },
        agents: { list: [ { id: 'a',
            memorySearch: { query: {
              maxResults: 3 } } } ] } }""",
        SIDECAR_STATE_DIR="/s",
    )
    shown = show(settings, origin=True)
    search = shown["agents"]["a"]["memorySearch"]
    assert search["query"]["maxResults"] == {"value": 3, "origin": f"{settings.path}:6"}
    assert search["model"]["origin"] == f"{settings.path}:3"
    assert search["provider"] == {"value": "auto", "origin": "default"}
    assert shown["stateDir"] == {"value": "/s", "origin": "SIDECAR_STATE_DIR"}


def test_what_is_shown_loads_again(load_text: Load, home: Path) -> None:
    """The effective configuration is a configuration."""
    settings = load_text(
        "{memory: {qmd: {update: {interval: 7}, limits: {maxResults: 3}}}, sidecar: {socket: {mode: '660'}}}"
    )
    shown = show(settings)
    again = home / "again.json5"
    again.write_text(json.dumps({key: shown[key] for key in ("memory", "sidecar")}), encoding="utf-8")
    loaded = load(again, environ={"HOME": str(home)})
    assert (loaded.memory, loaded.sidecar) == (settings.memory, settings.sidecar)


def test_a_workspace_that_does_not_exist_is_a_warning(tmp_path: Path) -> None:
    """A typing error in a path looks like amnesia later."""
    file = tmp_path / "c.json5"
    file.write_text(f"{{agents: {{defaults: {{workspace: '{tmp_path}/wrok'}}}}}}")
    (finding,) = check(file, environ={"HOME": str(tmp_path)}, state_dir=tmp_path / "state")
    assert (finding.code, finding.line) == ("workspace_missing", 1)


def test_a_workspace_that_cannot_be_looked_at_is_the_same_warning(tmp_path: Path) -> None:
    """Its name is too long for any disk, or it lies in a closed folder."""
    file = tmp_path / "c.json5"
    file.write_text(f"{{agents: {{defaults: {{workspace: '{tmp_path}/{'w' * 300}'}}}}}}")
    (finding,) = check(file, environ={"HOME": str(tmp_path)}, state_dir=tmp_path / "state")
    assert finding.code == "workspace_missing"
