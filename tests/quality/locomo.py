"""Evidence recall on LoCoMo conversations, where they and their harness lie beside the project.

`QUALITY_LOCOMO` names the folder of the conversations, else it is `../shared/data/locomo`; the harness is
`../../tools/locomo.py` from there. It starts daemons of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.running import REPOSITORY

_DEADLINE_S = 900


def folder() -> Path:
    """Where the conversations would be."""
    return Path(os.environ.get("QUALITY_LOCOMO") or REPOSITORY.parent / "shared" / "data" / "locomo").resolve()


def report(data: Path) -> str:
    """What the harness says of the built-in engine, or one line that it was skipped and why.

    Raises `subprocess.CalledProcessError` when the harness fails.
    """
    harness = data.parent.parent / "tools" / "locomo.py"
    conversations = sorted(file.stem for file in data.glob("*.json"))
    if not (harness.is_file() and conversations):
        return f"LoCoMo skipped: no conversations in {data} with {harness} (QUALITY_LOCOMO names another folder)"
    with tempfile.TemporaryDirectory(prefix="quality-") as home:
        words = ["sidecar", "--data", str(data), "--conv", ",".join(conversations), "--home", home]
        run = subprocess.run(
            [sys.executable, str(harness), *words],
            env={**os.environ, "SIDECAR_CMD": str(Path(sys.executable).with_name("qmd-sidecar"))},
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
            timeout=_DEADLINE_S,
        )
    return run.stdout.rstrip()
