"""Whether the real OpenClaw is here."""

from __future__ import annotations

import pytest

from tests.openclaw.host import OPENCLAW


def pytest_report_header() -> str:
    """One visible line, where these tests are asked for."""
    return f"openclaw: {'in .openclaw' if OPENCLAW.exists() else 'MISSING, its tests are skipped (make openclaw)'}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the real OpenClaw where it is not."""
    if OPENCLAW.exists():
        return
    skip = pytest.mark.skip(reason="the real OpenClaw is not here: make openclaw")
    for item in items:
        if item.get_closest_marker("openclaw"):
            item.add_marker(skip)
