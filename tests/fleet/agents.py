"""Many agents, each with a few notes and a codeword that no other agent has."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def codeword(agent: str) -> str:
    """A word that stands in one agent's notes alone."""
    return f"zebra{agent}comet"


def write(workspace: Path, agent: str) -> None:
    """A workspace with two notes."""
    (workspace / "memory").mkdir(parents=True, exist_ok=True)
    (workspace / "MEMORY.md").write_text("# Facts\n\nThe boat leaves at nine.\n", encoding="utf-8")
    note = f"# Notes\n\nThe codeword of today is {codeword(agent)}.\n"
    (workspace / "memory" / "2026-02-10.md").write_text(note, encoding="utf-8")


def config(folder: Path, count: int, **qmd: Any) -> dict[str, Any]:
    """`count` agents below `folder`, named a0, a1, .., with their notes written."""
    names = [f"a{number}" for number in range(count)]
    for name in names:
        write(folder / name, name)
    agents = [{"id": name, "workspace": str(folder / name)} for name in names]
    return {"memory": {"backend": "qmd", "qmd": qmd}, "agents": {"list": agents}}


def qmd_facts(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What each agent's status (of `/v1/status`) says about its qmd."""
    return {agent["id"]: agent["engines"]["qmd"] for agent in status["agents"]}


def good_at(facts: dict[str, Any], work: str) -> float:
    """When `lastUpdate` or `lastEmbed` last went well, in Unix seconds; 0 for never."""
    return float((facts.get(work) or {}).get("lastGoodAt") or 0)
