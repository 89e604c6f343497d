"""Every message of the troubleshooting page is one that the program can give."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.docs.codes import trees
from tests.running import REPOSITORY

PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
MESSAGES = re.findall(r"^- `([^`]+)`", PAGE, re.MULTILINE)
#: What stands between two gaps says nothing when it is shorter.
LEAST_CHARS = 8


@cache
def texts() -> str:
    """Every literal text of the sources but docstrings, those with gaps in one piece."""
    # Of most sources it is plain at a glance that they say nothing of this page.
    beginnings = {part[:LEAST_CHARS] for message in MESSAGES for part in parts(message)}
    return "\n".join(_text(node) for tree in trees("", *beginnings) for node in _expressions(tree))


def parts(message: str) -> list[str]:
    """What stands between the gaps of a message, where it says something."""
    return [part for part in message.split("..") if len(part) >= LEAST_CHARS]


def _expressions(tree: ast.Module) -> Iterator[ast.expr]:
    nodes = [*ast.walk(tree)]
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    yield from (node for node in nodes if isinstance(node, ast.expr) and id(node) not in docstrings)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "\0" for part in node.values)
    return ""


@pytest.mark.parametrize("message", MESSAGES)
def test_the_program_says_so(message: str) -> None:
    """Between the gaps, word for word."""
    assert parts(message)
    assert [part for part in parts(message) if part not in texts()] == []


def test_the_page_has_messages() -> None:
    """A list in another form would not be looked at."""
    assert len(MESSAGES) > 40
