"""docs/logging.md names what is logged, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sidecar.logs.pipe import LOST

ROOT = Path(__file__).parents[3]
DOCUMENT = (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")
METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def logged() -> Iterator[tuple[str, ast.expr]]:
    """The level (`log` where it depends) and the event of every call of a logger."""
    for package in ("sidecar", "backends", "scope", "exporter"):
        for module in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
                if _is_log_call(node):
                    assert isinstance(node, ast.Call)
                    assert isinstance(node.func, ast.Attribute)
                    method = node.func.attr
                    yield {"exception": "error"}.get(method, method), node.args[1 if method == "log" else 0]


def _is_log_call(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in METHODS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "log"
    )


def test_an_event_is_a_name_and_its_facts_are_fields() -> None:
    """A name with facts in it can neither be counted nor looked up."""
    assert [ast.unparse(event) for _, event in logged() if not isinstance(event, ast.Constant)] == []
    assert [event.value for _, event in logged() if isinstance(event, ast.Constant) and "%" in str(event.value)] == []


def test_every_event_is_documented_and_every_documented_event_is_logged() -> None:
    """An operator looks a line up by its event."""
    events = {str(event.value) for _, event in logged() if isinstance(event, ast.Constant)}
    table = set(re.findall(r"^\| `([^`]+)` \| (?:debug|info|warning|error|critical)", DOCUMENT, re.MULTILINE))
    assert table == events | {LOST}


def test_every_event_is_documented_with_its_level() -> None:
    """Alarms are set by it."""
    rows = dict(re.findall(r"^\| `([^`]+)` \| ([a-z, ]+) \|", DOCUMENT, re.MULTILINE))
    fixed = {
        (level, str(event.value)) for level, event in logged() if isinstance(event, ast.Constant) and level != "log"
    }
    assert [(level, event) for level, event in sorted(fixed) if rows[event] != level] == []


def test_every_field_of_the_line_of_a_request_is_documented() -> None:
    """As `gateway/request_line.py` and the handlers write them."""
    sources = [*(ROOT / "sidecar" / "gateway" / "handlers").glob("*.py"), ROOT / "sidecar" / "gateway" / "app.py"]
    written = {
        keyword.arg
        for source in sources
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("state.fields.update")
        for keyword in node.keywords
        if keyword.arg
    }
    shared = {"route", "status", "ms", "slow", "requestId", "code", "backend", "mode", "outcome", "fallback", "denied"}
    shared |= {"results", "chars", "queryChars", "query"}
    assert [field for field in sorted(shared | written) if f"`{field}`" not in DOCUMENT] == []
