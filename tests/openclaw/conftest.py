"""A daemon and a plugin that asks it; and whether the real OpenClaw is here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.openclaw.host import OPENCLAW
from tests.openclaw.notes import memory_of
from tests.openclaw.plugin import Plugin, plugin
from tests.running import Running, running


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon with two notes."""
    folder = tmp_path_factory.mktemp("plugin")
    with running(folder, memory_of(folder)) as daemon:
        daemon.sync("main")
        yield daemon


@pytest.fixture(scope="module")
def asked(daemon: Running) -> Iterator[Plugin]:
    """A plugin that asks this daemon."""
    with plugin(socketPath=str(daemon.client.path)) as asked:
        yield asked


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
