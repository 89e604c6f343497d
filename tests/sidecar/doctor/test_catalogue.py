"""The catalogue of findings, and the page about it."""

from __future__ import annotations

import re
import subprocess

import pytest

from sidecar.doctor.catalogue import TITLES, Code
from sidecar.doctor.checks import CHECKS
from sidecar.wording.problems import REMEDIES, command_of
from tests.sidecar.doctor.page import PAGE, page

AWKWARD = "a b'; $(touch /tmp/pwned)"


def test_the_page_says_what_the_catalogue_says() -> None:
    """When this fails: python -m tests.sidecar.doctor.page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_check_has_a_title_and_runs_in_that_order() -> None:
    """`daemon` is the one that whoever asks makes."""
    assert ["daemon", *(check.id for check in CHECKS)] == [*TITLES]


@pytest.mark.parametrize("code", Code)
def test_a_command_is_one_line_for_a_shell_whatever_a_path_is_called(code: Code) -> None:
    """Names of files are quoted."""
    names = re.findall(r"(?<!\{)\{(\w+)\}(?!\})", code.command)
    command = code.found("message", **dict.fromkeys(names, AWKWARD)).command
    assert "\n" not in command
    subprocess.run(["sh", "-n", "-c", command], check=True)
    words = subprocess.run(
        ["sh", "-c", f"set -- {command.split(' && ')[0].split(' | ')[0]}; printf '%s\\n' \"$@\""],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert all(any(AWKWARD in word for word in words) for _ in names)


@pytest.mark.parametrize("reason", REMEDIES)
def test_a_remedy_gives_its_command_or_none(reason: str) -> None:
    """What `status` says in words is not for a shell."""
    command = command_of(REMEDIES[reason], "my agent")
    assert command is None or command.split()[0] in ("npm", "qmd", "qmd-sidecar")
    assert command is None or "{" not in command


def test_a_command_is_read_from_a_sentence() -> None:
    """Notices quote theirs."""
    assert command_of("Bring it back, or run `qmd-sidecar sync --force`, or wait.", "a") == "qmd-sidecar sync --force"
    assert command_of("npm install -g @tobilu/qmd, or set memory.backend", "a") == "npm install -g @tobilu/qmd"
    assert command_of("qmd-sidecar sync {agents} --wait", "my agent") == "qmd-sidecar sync 'my agent' --wait"
    assert command_of("raise memory.qmd.limits.timeoutMs", "a") is None
