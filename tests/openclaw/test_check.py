"""What the check makes of an OpenClaw in which something is wrong. An executable script plays OpenClaw."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import sidecar
from sidecar.client import Client, NotRunningError
from sidecar.openclaw.check import Finding, findings
from sidecar.openclaw.host import Host, HostError

OURS = "qmd-sidecar"
SCRIPT = """#!{python}
import json, sys
answers = json.load(open({answers!r}))
command = " ".join(sys.argv[1:])
for begin, (code, out) in answers.items():
    if command.startswith(begin):
        print(out if isinstance(out, str) else json.dumps(out), file=sys.stderr if code else sys.stdout)
        sys.exit(code)
sys.exit("unknown: " + command)
"""
WELL: dict[str, tuple[int, Any]] = {
    "plugins list": (
        0,
        {"plugins": [{"id": OURS, "enabled": True, "status": "loaded", "version": sidecar.__version__}]},
    ),
    "config get plugins": (0, {"slots": {"memory": OURS}, "entries": {OURS: {"enabled": True}}}),
    "memory status": (0, [{"agentId": "main", "status": {"custom": {"engine": "qmd"}}}]),
    "gateway call agents.list": (0, {"agents": [{"id": "main"}]}),
    "gateway call sessions.list": (0, {"sessions": [{"key": "agent:main:main"}]}),
    "gateway call tools.effective": (
        0,
        {"groups": [{"tools": [{"id": tool, "pluginId": OURS} for tool in ("memory_search", "memory_get")]}]},
    ),
    "gateway call memory.search": (0, {"results": [], "searchMode": "hybrid"}),
}


def playing(folder: Path, **wrong: tuple[int, Any]) -> Host:
    """An OpenClaw in which all is well but what is named, by a word of its command."""
    named = {begin: wrong.get(begin.split()[-1].replace(".", "_"), answer) for begin, answer in WELL.items()}
    (folder / "answers.json").write_text(json.dumps(named))
    script = folder / "openclaw"
    script.write_text(SCRIPT.format(python=sys.executable, answers=str(folder / "answers.json")))
    script.chmod(0o755)
    return Host(str(script))


def found(host: Host) -> dict[str, Finding]:
    """The findings by name, without a daemon."""

    def connect() -> Client:
        raise NotRunningError(Path("/none"))

    return {finding.name: finding for finding in findings(host, connect)}


def test_all_is_well_but_for_the_daemon_that_is_not_there(tmp_path: Path) -> None:
    seen = found(playing(tmp_path))
    assert [name for name, finding in seen.items() if not finding.ok] == ["daemon"]
    assert {"plugin", "slot", "command", "gateway", "memory_search", "memory_get", "search"} <= {*seen}


@pytest.mark.parametrize(
    ("wrong", "name", "says", "fix"),
    [
        ({"list": (0, {"plugins": []})}, "plugin", "not installed", "openclaw install"),
        ({"list": (0, {"plugins": [{"id": OURS, "enabled": False}]})}, "plugin", "switched off", "openclaw install"),
        (
            {"list": (0, {"plugins": [{"id": OURS, "enabled": True, "version": "0.0.1"}]})},
            "plugin",
            "is 0.0.1",
            "openclaw install",
        ),
        ({"plugins": (0, {"slots": {"memory": "mem0"}})}, "slot", "mem0", "openclaw install"),
        ({"plugins": (1, "no such key")}, "slot", "not set", "openclaw install"),
        (
            {"status": (0, [{"agentId": "main", "status": {"backend": "builtin"}}])},
            "command",
            "memory-core",
            "dreaming",
        ),
        ({"status": (1, "Memory: not running")}, "command", "not running", "openclaw doctor"),
        (
            {"tools_effective": (0, [{"id": "memory_search", "pluginId": "memory-core"}])},
            "memory_search",
            "memory-core",
            "dreaming",
        ),
        ({"tools_effective": (0, [])}, "memory_get", "not given", "tools.deny"),
        ({"memory_search": (1, "memory search unavailable")}, "search", "unavailable", "restart"),
    ],
)
def test_a_trap_is_named_with_the_way_out(
    tmp_path: Path, wrong: dict[str, tuple[int, Any]], name: str, says: str, fix: str
) -> None:
    finding = found(playing(tmp_path, **wrong))[name]
    assert finding.ok is False
    assert says in finding.message
    assert fix in finding.fix


def test_what_cannot_be_told_is_neither_well_nor_wrong(tmp_path: Path) -> None:
    assert found(playing(tmp_path, sessions_list=(0, {"sessions": []})))["tools"].ok is None
    assert found(playing(tmp_path, agents_list=(1, "ECONNREFUSED")))["gateway"].ok is None


def test_an_openclaw_that_is_not_there_or_says_nonsense_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no command") as missing:
        Host(str(tmp_path / "openclaw"))
    assert "--openclaw" in missing.value.hint
    with pytest.raises(HostError, match="printed no JSON"):
        found(playing(tmp_path, list=(0, "Welcome!")))
