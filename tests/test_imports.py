"""The house has one direction: sidecar -> backends, scope, exporter, and never back."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CLI = re.compile(r"\bsidecar\.cli\b")
MAY_IMPORT = {
    "sidecar": {"sidecar", "backends", "scope", "exporter"},
    "backends": {"backends"},
    "scope": {"scope"},
    "exporter": {"exporter"},
}


def imported_rooms(source: str) -> set[str]:
    """The first part of every absolute import of a module that is one of our rooms."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.split(".")[0] for name in names} & set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    """Every module of a room stays within the imports that the room is allowed."""
    modules = sorted((ROOT / room).rglob("*.py"))
    assert modules
    strays = {
        str(module.relative_to(ROOT)): strange
        for module in modules
        if (strange := imported_rooms(module.read_text(encoding="utf-8")) - MAY_IMPORT[room])
    }
    assert strays == {}


def test_the_command_line_is_imported_by_nobody() -> None:
    """It stands on everything else: what others need of it is in the wrong room. `mcp` is a verb with a room."""
    modules = [module for module in (ROOT / "sidecar").rglob("*.py") if module.parent.name not in {"cli", "mcp"}]
    strays = [str(module.relative_to(ROOT)) for module in modules if CLI.search(module.read_text("utf-8"))]
    assert strays == ["sidecar/__main__.py"]


def test_nothing_but_the_mcp_server_imports_the_sdk_and_nothing_but_its_verb_imports_the_server() -> None:
    """It takes a second and 64 MB, and is an extra."""
    sources = {
        str(module.relative_to(ROOT)): module.read_text(encoding="utf-8")
        for room in MAY_IMPORT
        for module in (ROOT / room).rglob("*.py")
    }
    sdk = re.compile(r"^\s*(?:from|import) mcp(?:_types)?\b", re.MULTILINE)
    server = re.compile(r"^\s*from sidecar\.mcp import server$|sidecar\.mcp\.server import", re.MULTILINE)
    assert [name for name, source in sources.items() if sdk.search(source)] == ["sidecar/mcp/server.py"]
    assert [name for name, source in sources.items() if server.search(source)] == ["sidecar/cli/mcp.py"]
