"""The settings that OpenClaw dropped, taken over into a file of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sidecar import config
from sidecar.openclaw.moving import MoveError, find, move, openclaw_file

QMD = {"paths": [{"path": "~/notes", "name": "notes"}], "limits": {"maxResults": 9}}


@pytest.fixture
def openclaw(tmp_path: Path) -> Path:
    """OpenClaw's file after its doctor went over it, and what that left behind."""
    file = tmp_path / ".openclaw" / "openclaw.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"agents": {"defaults": {"workspace": str(tmp_path / "work")}}}))
    old = {"memory": {"backend": "qmd", "qmd": QMD, "other": 1}, "channels": {"telegram": {"botToken": "secret"}}}
    file.with_name("openclaw.json.bak.1").write_text(f"// of last year\n{json.dumps(old)}")
    file.with_name("openclaw.json.bak").write_text("{ half a fi")
    return file


def test_the_old_settings_count_with_the_present_file_below_them(openclaw: Path, tmp_path: Path) -> None:
    target = tmp_path / "config" / "qmd-sidecar" / "config.json5"
    before = openclaw.read_bytes()
    assert move(openclaw, target) == openclaw.with_name("openclaw.json.bak.1")
    settings = config.load(target, environ={"HOME": str(tmp_path)})
    agent = settings.agents["main"]
    assert agent.workspace == tmp_path / "work"
    assert [path.path for path in settings.memory.qmd.paths] == ["~/notes"]
    assert settings.memory.qmd.limits.max_results == 9
    assert "secret" not in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o600
    assert openclaw.read_bytes() == before


def test_the_state_beside_openclaws_file_goes_on(openclaw: Path, tmp_path: Path) -> None:
    (openclaw.parent / "qmd-sidecar").mkdir()
    target = tmp_path / "config.json5"
    move(openclaw, target)
    assert config.load(target, environ={"HOME": str(tmp_path)}).state_dir == openclaw.parent / "qmd-sidecar"


def test_the_newest_backup_with_such_settings_is_taken(openclaw: Path) -> None:
    older = openclaw.with_name("openclaw.json.bak.1")
    newer = openclaw.with_name("openclaw.json.bak.2")
    newer.write_text(json.dumps({"memory": {"qmd": {}}}))
    os.utime(older, (1, 1))
    assert find(openclaw) == newer
    os.utime(newer, (0, 0))
    assert find(openclaw) == older


def test_a_file_of_ours_is_left_alone(openclaw: Path, tmp_path: Path) -> None:
    target = tmp_path / "config.json5"
    target.write_text("{}")
    with pytest.raises(MoveError, match="is there already"):
        move(openclaw, target)
    assert target.read_text() == "{}"


def test_settings_that_still_stand_in_openclaws_file_are_not_doubled(openclaw: Path, tmp_path: Path) -> None:
    openclaw.write_text(json.dumps({"memory": {"qmd": QMD}}))
    with pytest.raises(MoveError, match="still holds"):
        move(openclaw, tmp_path / "config.json5")


def test_without_old_settings_nothing_is_written(openclaw: Path, tmp_path: Path) -> None:
    openclaw.with_name("openclaw.json.bak.1").unlink()
    with pytest.raises(MoveError, match="no backup"):
        move(openclaw, tmp_path / "config.json5")
    assert not (tmp_path / "config.json5").exists()


def test_openclaws_file_is_looked_for_where_openclaw_looks() -> None:
    assert openclaw_file({"HOME": "/h"}) == Path("/h/.openclaw/openclaw.json")
    assert openclaw_file({"HOME": "/h", "OPENCLAW_STATE_DIR": "/s"}) == Path("/s/openclaw.json")
    assert openclaw_file({"HOME": "/h", "OPENCLAW_STATE_DIR": "/s", "OPENCLAW_CONFIG_PATH": "/c.json"}) == Path(
        "/c.json"
    )
