"""What every test needs to know: whether the real qmd is here."""

from __future__ import annotations

import pytest

from tests.running import QMD

HAS_QMD = (QMD / ".bin" / "qmd").exists()


def pytest_report_header() -> str:
    """One visible line about the real qmd."""
    return "real qmd: in .qmd" if HAS_QMD else "real qmd: MISSING, its tests are skipped (install npm, then: make qmd)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the real qmd where it is not."""
    if HAS_QMD:
        return
    skip = pytest.mark.skip(reason="the real qmd is not here: make qmd")
    for item in items:
        if item.get_closest_marker("real_qmd"):
            item.add_marker(skip)
