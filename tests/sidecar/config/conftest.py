"""A home folder of its own for every test, and the two calls that most tests make."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.config import ConfigError, Finding, Settings, load

Load = Callable[..., Settings]
Refuse = Callable[..., tuple[Finding, ...]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def load_text(home: Path) -> Load:
    """Load a configuration from its text; further keywords are variables of the environment."""

    def load_it(text: str, **environ: str) -> Settings:
        file = home / "config.json5"
        file.write_text(text, encoding="utf-8")
        return load(file, environ={"HOME": str(home), "TZ": "UTC", **environ})

    return load_it


@pytest.fixture
def refuse(load_text: Load) -> Refuse:
    """The errors of a configuration that must not load."""

    def refuse_it(text: str, **environ: str) -> tuple[Finding, ...]:
        with pytest.raises(ConfigError) as caught:
            load_text(text, **environ)
        return caught.value.findings

    return refuse_it
