"""The page about the command line."""

from __future__ import annotations

import re

import click
import pytest

from sidecar.cli import VERBS, command
from sidecar.cli.exits import Exit
from tests.docs.command_line import PAGE, page

WRITTEN = PAGE.read_text(encoding="utf-8")


def test_it_says_what_the_commands_say() -> None:
    """When this fails: python -m tests.docs.command_line."""
    assert page() == WRITTEN


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_section_with_its_options(verb: str) -> None:
    """And each option a word on what it is for."""
    context = click.Context(command)
    found = command.get_command(context, verb)
    assert found is not None
    section = WRITTEN.split(f"\n## {verb}\n")[1].split("\n## ")[0]
    shared = WRITTEN.split("\n## Common options\n")[1].split("\n## ")[0]
    for option in (param for param in found.params if isinstance(param, click.Option)):
        assert re.search(rf"\| `[^`]*{re.escape(option.opts[0])}\b[^`]*` \| \S", section + shared), option.opts


@pytest.mark.parametrize("code", list(Exit))
def test_every_exit_code_is_named(code: Exit) -> None:
    """With what it means."""
    assert re.search(rf"^\| {int(code)} \| \w", WRITTEN, re.MULTILINE)


def test_what_can_be_typed_inside_a_verb_has_a_section() -> None:
    """`config check`, for one."""
    for inner in ("check", "show", "explain", "env"):
        assert re.search(rf"^### {inner}$", WRITTEN, re.MULTILINE)
