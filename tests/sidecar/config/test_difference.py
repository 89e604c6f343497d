"""Which keys differ between two configurations, and which of them a running daemon cannot follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import Settings, changed_keys, dotted, load, needs_restart


def settings(folder: Path, config: dict[str, Any], **environ: str) -> Settings:
    """The settings of a configuration."""
    return load(_written(folder, config), environ={"HOME": str(folder), **environ})


def _written(folder: Path, config: dict[str, Any]) -> Path:
    file = folder / "config.json5"
    file.write_text(json.dumps(config), encoding="utf-8")
    return file


def keys(folder: Path, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The changed keys as they are told."""
    return [dotted(key) for key in changed_keys(settings(folder, old), settings(folder, new))]


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ({}, {}, []),
        ({}, {"memory": {"backend": "auto"}}, []),
        ({}, {"memory": {"qmd": {"limits": {"maxResults": 7}}}}, ["memory.qmd.limits.maxResults"]),
        ({}, {"memory": {"qmd": {"paths": [{"path": "/a"}]}}}, ["memory.qmd.paths"]),
        ({}, {"agents": {"list": [{"id": "main"}, {"id": "b", "workspace": "/b"}]}}, ["agents.b"]),
        (
            {"agents": {"defaults": {"memorySearch": {"remote": {"apiKey": "one"}}}}},
            {"agents": {"defaults": {"memorySearch": {"remote": {"apiKey": "two"}}}}},
            ["agents.main.memorySearch.remote.apiKey"],
        ),
        (
            {"models": {"providers": {"openai": {"apiKey": "one", "headers": {"x": "1"}}}}},
            {"models": {"providers": {"openai": {"apiKey": "two", "headers": {"x": "2"}}}}},
            ["models.providers.openai.apiKey", "models.providers.openai.headers"],
        ),
    ],
)
def test_the_keys_that_have_another_value(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], changed: list[str]
) -> None:
    """A default that is written down is no change; of a secret the key is named and nothing else."""
    assert keys(tmp_path, old, new) == changed


def test_a_file_that_only_says_what_holds_anyway_is_no_change(tmp_path: Path) -> None:
    """Whoever writes the first configuration is told of its keys, and not of the file."""
    before = load(environ={"HOME": str(tmp_path)})
    after = load(_written(tmp_path, {}), environ={"HOME": str(tmp_path)}, state_dir=before.state_dir)
    assert changed_keys(before, after) == ()


@pytest.mark.parametrize(
    ("config", "restart"),
    [
        ({"stateDir": "/x"}, True),
        ({"socket": {"mode": "0660"}}, True),
        ({"metrics": {"listen": "127.0.0.1:9100"}}, True),
        ({"log": {"level": "debug"}}, False),
        ({"redact": {"allow": ["x"]}}, False),
        ({"transcripts": "/t"}, False),
    ],
)
def test_what_a_daemon_has_for_its_life_needs_a_restart(tmp_path: Path, config: dict[str, Any], restart: bool) -> None:
    """Everything else is followed."""
    found = changed_keys(settings(tmp_path, {}), settings(tmp_path, {"sidecar": config}))
    assert found
    assert any(map(needs_restart, found)) is restart
