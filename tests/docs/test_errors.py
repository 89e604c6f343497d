"""The page about codes: none is missing, and none is left from a time when there was one."""

from __future__ import annotations

import re

import pytest

from backends.base import Failure
from sidecar.cli.exits import Exit
from sidecar.gateway.errors import Code
from tests.docs.codes import declared, given, keyed, valued
from tests.running import REPOSITORY

PAGE = (REPOSITORY / "docs" / "errors.md").read_text(encoding="utf-8")
#: Functions that record a remark about a key, with the position of its code.
REMARKS = {"error": 1, "warn": 1, "finding": 1, "_error": 1, "_warn": 1}

PROVIDERS = {
    *given({"EmbeddingUnavailableError": 0, "_Telling": 0}),
    *keyed("backends/embedding/local/process.py", "_MESSAGES"),
}
REPORTED = {
    "Exit codes": {str(code.value) for code in Exit},
    "Refusals of the socket": {code.label for code in Code},
    "Failures of engines": {str(failure) for failure in Failure},
    # What a provider's failure is called is told once, with the providers.
    "Notices": (given({"Notice": 0}) | valued("backends/builtin")) - PROVIDERS - {"no_effect"},
    "Embedding providers": PROVIDERS,
    "Exports of conversations": {
        *given({"Failure": 1, "_failed": 0}, "exporter"),
        *keyed("sidecar/sessions/exporting.py", "_NEXT_STEPS"),
    },
    "When the daemon does not start": given({"StartupError": 0}),
    "Configuration": {*given(REMARKS, "sidecar/config"), *given({"_error": 3}, "sidecar/config/documents.py")},
    "Command line": given({"VerbError": 1}) | declared("sidecar/client") | declared("sidecar/config/errors.py"),
}


@pytest.mark.parametrize("section", REPORTED)
def test_every_code_is_explained_and_no_other(section: str) -> None:
    """A new code wants a row, and a code that is gone takes its row with it."""
    assert _documented(section) == REPORTED[section]


def test_every_section_is_held_to_the_sources() -> None:
    """A table that nobody compares would grow old unseen."""
    assert {*re.findall(r"^## (.+)$", PAGE, re.MULTILINE)} == {*REPORTED}


@pytest.mark.parametrize("section", REPORTED)
def test_no_code_is_explained_twice(section: str) -> None:
    """Two rows would come to disagree."""
    rows = _rows(section)
    assert len(rows) == len({*rows})


def _documented(section: str) -> set[str]:
    return {*_rows(section)}


def _rows(section: str) -> list[str]:
    (_, text) = PAGE.split(f"\n## {section}\n")
    return re.findall(r"^\| `?(\w+)`? \|", text.split("\n## ")[0].partition("|---|")[2], re.MULTILINE)
