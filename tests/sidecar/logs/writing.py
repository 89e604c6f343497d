"""A log that is written in the test's own process, and what came of it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar.config import Settings, load
from sidecar.logs.setup import Logs, logging_to

log = logging.getLogger("sidecar.test")


def settings(folder: Path, **sidecar: Any) -> Settings:
    """A configuration with this under `sidecar`, and a state folder that exists."""
    (folder / "state").mkdir(exist_ok=True)
    file = folder / "config.json5"
    file.write_text(json.dumps({"sidecar": sidecar}), encoding="utf-8")
    return load(file, environ={"HOME": str(folder)}, state_dir=folder / "state")


@contextmanager
def written(
    folder: Path, *, level: str | None = None, environ: Mapping[str, str] | None = None, **sidecar: Any
) -> Iterator[Logs]:
    """Log to `folder/stderr` and wherever that leads."""
    stderr = os.open(folder / "stderr", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        with logging_to(settings(folder, **sidecar), level=level, stderr=stderr, environ=environ or {}) as logs:
            yield logs
    finally:
        os.close(stderr)


def lines(file: Path) -> list[dict[str, Any]]:
    """The entries of a log file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def events(file: Path) -> list[str]:
    """What the lines of a log file say."""
    return [line["event"] for line in lines(file)]


def tell(event: str, *, level: int = logging.INFO, **fields: Any) -> None:
    """Log one event, as the daemon's modules do."""
    log.log(level, event, extra={"fields": fields})
