"""The Node that runs the plugin's modules: the one that came with the real qmd, else the machine's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.running import QMD, REPOSITORY

PLUGIN = REPOSITORY / "sidecar" / "integrations" / "openclaw"


def _node() -> Path | None:
    bundled = next(QMD.glob("node-*/bin/node"), None)
    found = shutil.which("node")
    return bundled or (Path(found) if found else None)


NODE = _node()
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node on this machine")
