"""What every test needs to know: whether the real qmd, a real model and Node are here."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.openclaw.node import NODE
from tests.running import MODEL, QMD

pytest_plugins = ("tests.parallel",)

# The tests start hundreds of daemons, workers and commands, each of which would compile all of the sources again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The same examples each time: a change fails for what it changed and not for its luck. `make properties` looks further.
# And whatever the clock says: a busy machine is slow with any example.
settings.register_profile("suite", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

HAS_QMD = (QMD / ".bin" / "qmd").exists()


def pytest_report_header() -> list[str]:
    """One visible line about the real qmd, one about the model that it searches by meaning with, one about Node."""
    qmd = "in .qmd" if HAS_QMD else "MISSING, its tests are skipped (install npm, then: make qmd)"
    model = "in .qmd" if MODEL.exists() else "MISSING, searches by meaning are not tested (make qmd)"
    node = str(NODE) if NODE else "MISSING, the plugin for OpenClaw is not tested (install npm, then: make qmd)"
    return [f"real qmd: {qmd}", f"real model: {model}", f"node: {node}"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the real qmd where it is not."""
    if HAS_QMD:
        return
    skip = pytest.mark.skip(reason="the real qmd is not here: make qmd")
    for item in items:
        if item.get_closest_marker("real_qmd"):
            item.add_marker(skip)
