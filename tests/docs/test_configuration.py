"""The page about the configuration."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.docs.configuration import PAGE, keys, page
from tests.running import REPOSITORY


def test_it_says_what_the_models_say() -> None:
    """When this fails: python -m tests.docs.configuration."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_key_has_a_meaning() -> None:
    """A docstring below the field, which ends as a sentence does."""
    assert [key for key, schema in keys().items() if not schema.get("description", "").endswith((".", ".."))] == []


def test_every_key_of_openclaws_that_counts_is_there() -> None:
    """The keys that the models know, down to the innermost."""
    assert {"memory.qmd.update.interval", "agents.defaults.memorySearch.query.hybrid.mmr.lambda"} <= {*keys()}
    assert len(keys()) > 120


def test_every_variable_that_is_read_is_named() -> None:
    """Those of the daemon and of OpenClaw; keys of providers have a page of their own."""
    named = {*re.findall(r"`([A-Z][A-Z_]+)`", page())}
    assert {*_variables()} - named == set()


def _variables() -> Iterator[str]:
    for file in (REPOSITORY / "sidecar").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and re.fullmatch(r"(SIDECAR|OPENCLAW)_[A-Z_]+", str(node.value)):
                yield str(node.value)
