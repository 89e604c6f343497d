"""`qmd-sidecar doctor`: what is wrong, seen from where the daemon stands, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from backends.presence import is_there
from sidecar import places
from sidecar.cli.exits import Exit, print_json, verb
from sidecar.cli.options import connect, shared_options
from sidecar.client import BadReplyError, Client, DeadlineError, NotRunningError, RefusedError
from sidecar.client.finding import read_pointer, sockets
from sidecar.doctor.catalogue import TITLES, CheckId, Code, Finding, Severity, report_json, result_json
from sidecar.wording.terminal import Style, printable
from sidecar.wording.words import counted

#: Longer than the daemon gives to its checks, mending and looking again included.
DEADLINE_S = 60.0
#: Longer than a busy daemon takes to say that it lives.
KNOCK_S = 5.0
_NOT_FROM_HERE = "no daemon: looked at from this shell, whose environment may differ from that of a service"
_MARKS: Mapping[str, str] = {"ok": "●", "skipped": "○", "note": "○", "warning": "▲", "error": "✖"}
_ids = click.Choice(list(TITLES))


@click.command()
@click.option("--fix", is_flag=True, help="Mend what is safe to mend; never a configuration or a workspace.")
@click.option("--only", multiple=True, type=_ids, metavar="ID", help="Run this check alone; may be repeated.")
@click.option("--skip", multiple=True, type=_ids, metavar="ID", help="Leave this check out; may be repeated.")
@click.option("--deep", is_flag=True, help="Also ask the embedding providers, over the network.")
@shared_options
@verb
def doctor(
    fix: bool,
    only: tuple[CheckId, ...],
    skip: tuple[CheckId, ...],
    deep: bool,
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> Exit:
    """Say what is wrong, each with the command that mends it.

    The daemon looks from inside: with its own environment, its own qmd, and a real search and read for every agent.
    Where none runs, the same is looked at from here, as far as it can be.
    """
    chosen = frozenset(only or TITLES) - {*skip}
    report = _with_daemon(config, state_dir, socket, chosen, fix=fix, deep=deep)
    if as_json:
        print_json(report)
    else:
        print("\n".join(lines(report, Style.of())))
    return Exit.FAILURE if Severity(report["worst"]).rank > Severity.NOTE.rank else Exit.OK


def _with_daemon(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    chosen: Collection[CheckId],
    *,
    fix: bool,
    deep: bool,
) -> dict[str, Any]:
    """The report of the daemon, else one that is made here; whether it answers is a check like the others."""
    try:
        client = connect(config, state_dir, socket, timeout_s=DEADLINE_S)
        report = _asked(client, chosen, fix=fix, deep=deep)
        found: list[Finding] = []
    except NotRunningError as error:
        found, report = [Code.NOT_RUNNING.found(error.message)], None
    except (DeadlineError, BadReplyError) as error:
        pid = _holder(config, state_dir, socket)
        command = None if pid else "qmd-sidecar stop"
        found, report = [Code.NOT_ANSWERING.found(error.message, command=command, pid=pid)], None
    except RefusedError as error:
        if error.code != "not_found":
            raise
        found, report = [Code.OLDER_DAEMON.found("the running daemon is of an earlier version")], None
    if report is None:
        # Here, not above: a daemon that runs has all of this in memory.
        from sidecar.doctor.offline import examine_here

        report = examine_here(config, state_dir, socket, chosen, fix=fix)
    checks = [result_json("daemon", found, []), *report["checks"]] if "daemon" in chosen else report["checks"]
    return report_json(checks, running=bool(report["running"]))


def _asked(client: Client, chosen: Collection[CheckId], *, fix: bool, deep: bool) -> Mapping[str, Any]:
    Client(client.path, timeout_s=KNOCK_S).call("GET", "/livez")
    return client.doctor(only=sorted(chosen), fix=fix, deep=deep, shellPath=os.environ.get("PATH"))


def _holder(config: Path | None, state_dir: Path | None, socket: Path | None) -> int | None:
    """The process behind the socket, as far as it wrote itself down; None rather than that of another daemon."""
    from sidecar.state import holder_of

    possible = sockets(os.environ, config=config, state_dir=state_dir, socket=socket)
    asked = next((path for path in possible if is_there(path)), possible[0])
    state = state_dir or places.state_dir(os.environ, config=config)
    folders = (*places.run_dirs(os.environ, state), places.meeting_dir(os.environ))
    pointed = dict(pointer for folder in folders if (pointer := read_pointer(folder / places.POINTER)))
    if owner := pointed.get(asked, None if socket and not state_dir else state):
        return holder_of(owner) or None
    return None


def lines(report: Mapping[str, Any], style: Style) -> list[str]:
    """The report for a person: the gravest checks first, what was not looked at last."""
    checks = sorted(report["checks"], key=lambda check: -_rank(check["status"]))
    body = [line for check in checks for line in _check_lines(check, style)]
    return [*([] if report["running"] else [style.dim(_NOT_FROM_HERE)]), *body, "", _sum(checks)]


def _rank(status: str) -> int:
    return -1 if status == "skipped" else Severity(status).rank


def _check_lines(check: Mapping[str, Any], style: Style) -> Iterator[str]:
    name = f"{check['id']:<{max(map(len, TITLES))}}"
    for text in check.get("fixed") or []:
        yield f"{style.good(style.symbol('●'))} {name}  {printable(text)}"
    if not check["findings"]:
        skipped = check["status"] == "skipped"
        text = f"not looked at: {check['title']}" if skipped else check["title"]
        yield f"{_mark(check['status'], style)} {name}  {style.dim(text) if skipped else text}"
    for finding in check["findings"]:
        yield f"{_mark(finding['severity'], style)} {name}  {printable(finding['message'])}"
        yield f"  {style.dim('try:')} {printable(finding['command'])}"


def _mark(status: str, style: Style) -> str:
    paint = {"ok": style.good, "warning": style.warn, "error": style.bad}.get(status, style.dim)
    return paint(style.symbol(_MARKS[status]))


def _sum(checks: Collection[Mapping[str, Any]]) -> str:
    found = [finding["severity"] for check in checks for finding in check["findings"]]
    parts = [counted(found.count(grade), grade) for grade in ("error", "warning", "note") if grade in found]
    return ", ".join(parts) or "nothing is wrong"
