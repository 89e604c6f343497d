"""What is shipped: one version, the declared tools, and every file in the wheel."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib

import sidecar
from sidecar.openclaw.host import PLUGIN_FOLDER, PLUGIN_ID
from tests.running import REPOSITORY

MANIFEST = json.loads((PLUGIN_FOLDER / "openclaw.plugin.json").read_text(encoding="utf-8"))
PACKAGE = json.loads((PLUGIN_FOLDER / "package.json").read_text(encoding="utf-8"))


def test_the_plugin_has_the_version_and_the_id_of_the_daemon() -> None:
    """An installed copy that is older is found by its version."""
    assert MANIFEST["version"] == PACKAGE["version"] == sidecar.__version__
    assert MANIFEST["id"] == PACKAGE["name"] == PLUGIN_ID


def test_the_settings_have_no_key_that_must_be_there_and_dreaming_is_off() -> None:
    """OpenClaw records a plugin without a required key as switched off."""
    schema = MANIFEST["configSchema"]
    assert "required" not in schema
    assert schema["properties"]["dreaming"]["default"] == {"enabled": False}


def test_no_module_needs_more_than_node_and_its_neighbours() -> None:
    """No build step and no registry."""
    assert "dependencies" not in PACKAGE
    for module in PLUGIN_FOLDER.glob("*.js"):
        for name in re.findall(r'^import .* from "(.+)";$', module.read_text(encoding="utf-8"), re.MULTILINE):
            assert name.startswith("node:") or (PLUGIN_FOLDER / name).is_file(), f"{module.name}: {name}"


def test_the_wheel_takes_every_file_of_the_plugin() -> None:
    """It takes all of a package but what git ignores."""
    wheel = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == ["sidecar", "backends", "scope", "exporter"]
    assert not {"exclude", "only-include"} & wheel.keys()
    assert PLUGIN_FOLDER.is_relative_to(REPOSITORY / "sidecar")
    ignored = subprocess.run(["git", "check-ignore", *PLUGIN_FOLDER.iterdir()], cwd=REPOSITORY, capture_output=True)
    assert ignored.stdout == b""
