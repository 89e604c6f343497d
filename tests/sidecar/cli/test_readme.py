"""What the README says is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sidecar.cli import VERBS
from tests.sidecar.cli.conftest import Run

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    """A page that is read, and not a manual."""
    assert len(README.splitlines()) <= 150


def test_its_configuration_is_fine(run: Run, folder: Path) -> None:
    """The example passes the check that it names, without a single remark, once its folders exist."""
    for name in ("work", "ops", "notes"):
        (folder / "home" / name).mkdir()
    (example,) = re.findall(r"```json5\n(.*?)```", README, re.DOTALL)
    (folder / "config.json5").write_text(example, encoding="utf-8")
    result = run("config", "check", "--config", str(folder / "config.json5"))
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_named(verb: str) -> None:
    """Nothing that the command can do is left out."""
    assert re.search(rf"`[^`]*\b{verb}\b[^`]*`", README)
