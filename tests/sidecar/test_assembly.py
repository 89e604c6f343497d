"""What agents are made from: equal where nothing differs, and no slower for each agent that there is besides."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sidecar.assembly import recipes_of
from sidecar.config import Settings, load


def settings(folder: Path, agents: int, **memory: object) -> Settings:
    """So many agents, each with a workspace of its own."""
    file = folder / "config.json5"
    listed = [{"id": f"agent-{number}", "workspace": str(folder / str(number))} for number in range(agents)]
    file.write_text(json.dumps({"memory": {"backend": "builtin", **memory}, "agents": {"list": listed}}), "utf-8")
    return load(file, environ={"HOME": str(folder)}, state_dir=folder / "state")


def test_the_same_configuration_read_twice_has_the_same_recipes(tmp_path: Path) -> None:
    """A reload without a change makes nobody anew."""
    assert recipes_of(settings(tmp_path, 3)) == recipes_of(settings(tmp_path, 3))


def test_what_is_looked_up_at_every_request_is_no_part_of_a_recipe(tmp_path: Path) -> None:
    """Scope, limits and citations hold at once, with the engines that are there."""
    looked_up = {"citations": "off", "qmd": {"limits": {"maxResults": 1}, "scope": {"default": "deny"}}}
    assert recipes_of(settings(tmp_path, 3)) == recipes_of(settings(tmp_path, 3, **looked_up))
    assert recipes_of(settings(tmp_path, 3)) != recipes_of(settings(tmp_path, 3, qmd={"searchMode": "vsearch"}))


@pytest.mark.alone
def test_eight_times_the_agents_take_about_eight_times_as_long(tmp_path: Path) -> None:
    """Each agent's roots are held against the folders of all others, and these are looked up once."""

    def took_s(agents: int) -> float:
        wanted = settings(tmp_path, agents)
        started = time.perf_counter()
        recipes_of(wanted)
        return time.perf_counter() - started

    few, many = (min(took_s(agents) for _ in range(3)) for agents in (25, 200))
    assert many < few * 24
