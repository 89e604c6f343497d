"""`qmd-sidecar config`: what is configured, from where, and what is wrong with it. Needs no daemon."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import shared_options
from sidecar.wording.terminal import Style, printable
from sidecar.wording.words import counted

if TYPE_CHECKING:
    from sidecar.config import Finding


@click.group()
def config() -> None:
    """Check and show the configuration."""


@config.command()
@shared_options
@verb
def check(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Say everything that is wrong or odd in the configuration file."""
    from sidecar import config as configuration

    findings = configuration.check(config, environ=os.environ, state_dir=state_dir, socket=socket)
    errors = sum(finding.severity is configuration.Severity.ERROR for finding in findings)
    if as_json:
        print_json({"ok": not errors, "findings": [finding_json(finding) for finding in findings]})
    else:
        for finding in findings:
            print(finding_line(finding, Style.of()))
        warnings = len(findings) - errors
        say(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}" if findings else "the configuration is fine")
    return Exit.CONFIGURATION if errors else Exit.OK


@config.command()
@click.option("--origin", is_flag=True, help="Also where each value comes from: file and line, flag or default.")
@shared_options
@verb
def show(
    origin: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Print the configuration in force, with defaults; keys and headers are starred."""
    from sidecar import config as configuration

    try:
        settings = configuration.load(config, environ=os.environ, state_dir=state_dir, socket=socket)
    except configuration.ConfigError as error:
        raise VerbError(Exit.CONFIGURATION, error.code, str(error), hint="qmd-sidecar config check") from None
    shown = configuration.show(settings, origin=origin)
    if as_json:
        print_json(shown)
        return
    style = Style.of()
    for key, leaf in leaves(shown, with_origin=origin):
        value, source = (leaf["value"], style.dim(f"  ({leaf['origin']})")) if origin else (leaf, "")
        print(f"{printable(key)} = {printable(json.dumps(value, ensure_ascii=False))}{source}")


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding as plain data; what is not known is left out."""
    return {key: value for key, value in dataclasses.asdict(finding).items() if value not in (None, "")}


def finding_line(finding: Finding, style: Style) -> str:
    """`severity  file:line key: message (hint)`."""
    mark = style.warn if finding.severity == "warning" else style.bold
    return f"{mark(str(finding.severity))}  {printable(str(finding))}"


def leaves(tree: Mapping[str, Any], *, with_origin: bool, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key. With origins a leaf is itself a mapping of `value` and `origin`."""
    for key, value in tree.items():
        name = f"{at}.{key}" if at else key
        is_leaf = value.keys() == {"value", "origin"} if with_origin and isinstance(value, dict) else not value
        if isinstance(value, dict) and not is_leaf:
            yield from leaves(value, with_origin=with_origin, at=name)
        else:
            yield name, value
