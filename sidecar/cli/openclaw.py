"""`qmd-sidecar openclaw`: our plugin in OpenClaw's memory slot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from sidecar import places
from sidecar.cli.exits import Exit, print_json, say, verb
from sidecar.cli.options import connect, shared_options
from sidecar.openclaw import plugin
from sidecar.openclaw.check import Finding, findings
from sidecar.openclaw.host import Host
from sidecar.wording.terminal import Style, printable

_host_option = click.option(
    "--openclaw", "command", default="openclaw", metavar="COMMAND", help="OpenClaw's command, or its path."
)


@click.group()
def openclaw() -> None:
    """Be the memory of OpenClaw: install the plugin, prove that it is in use, take it away."""


@openclaw.command()
@_host_option
@click.option("--move-config", is_flag=True, help="Also write a configuration of ours with an old memory.qmd.")
@shared_options
@verb
def install(
    command: str,
    move_config: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Put the plugin into OpenClaw's memory slot, by OpenClaw's own commands.

    A daemon that is named by a flag or in the environment is the one that the plugin will ask.
    """
    # It reads configuration files, for which `--help` need not wait.
    from sidecar.openclaw import moving

    host, target = Host(command), places.own_config(os.environ)
    # Here, not above: a help text needs no configuration.

    moved = moving.move(moving.openclaw_file(os.environ), target) if move_config else None
    named = socket or (connect(config, state_dir, None).path if config or state_dir else None)
    changes = plugin.install(host, named)
    if as_json:
        written = {"source": str(moved), "file": str(target)} if moved else None
        print_json({"changes": _changes_json(changes), "config": written})
        return
    _tell(changes)
    if moved:
        say(f"wrote {printable(str(target))} with memory.qmd of {printable(str(moved))}; undo: delete it")
    elif not target.exists() and (old := moving.find(moving.openclaw_file(os.environ))):
        say(f"an old memory.qmd is in {printable(str(old))}: --move-config takes it over")
    say("next: openclaw gateway restart, then qmd-sidecar openclaw check")
    say("undo: qmd-sidecar openclaw uninstall")


@openclaw.command()
@_host_option
@shared_options
@verb
def check(
    command: str,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Prove through the running gateway that the tools and the search are ours and answer.

    The exit code is 0 when all is well, 1 when something is wrong or could not be told.
    """
    found = findings(Host(command), lambda: connect(config, state_dir, socket, timeout_s=10))
    seen = _shown(found, quiet=as_json)
    if as_json:
        keys = ("name", "ok", "message", "fix")
        print_json({"findings": [{key: getattr(each, key) for key in keys} for each in seen]})
    return Exit.OK if all(finding.ok for finding in seen) else Exit.FAILURE


@openclaw.command()
@_host_option
@shared_options
@verb
def uninstall(
    command: str,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Remove the plugin; OpenClaw's own memory takes its slot again. The daemon and its index stay."""
    changes = plugin.uninstall(Host(command))
    if as_json:
        print_json({"changes": _changes_json(changes)})
        return
    _tell(changes)
    say("next: openclaw gateway restart")


def _shown(found: Iterable[Finding], *, quiet: bool) -> list[Finding]:
    """All findings, each printed as soon as it is known: every one takes a start of Node."""
    seen, style = [], Style.of()
    for finding in found:
        seen.append(finding)
        if not quiet:
            print(_line(finding, style), flush=True)
            if finding.fix:
                print(f"         fix: {printable(finding.fix)}", flush=True)
    return seen


def _line(finding: Finding, style: Style) -> str:
    paint, word = {True: (style.good, "ok"), False: (style.bad, "wrong"), None: (style.warn, "?")}[finding.ok]
    return f"{paint(word.ljust(5))}    {finding.name}: {printable(finding.message)}"


def _tell(changes: Sequence[plugin.Change]) -> None:
    for key, before, after in changes:
        print(printable(f"{key}: {_shown_value(before)} -> {_shown_value(after)}"))
    if not changes:
        say("OpenClaw's configuration is as it was")


def _shown_value(value: Any) -> str:
    return "not set" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _changes_json(changes: Sequence[plugin.Change]) -> list[dict[str, Any]]:
    return [{"key": key, "before": before, "after": after} for key, before, after in changes]
