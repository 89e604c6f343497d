"""`qmd-sidecar service`: have systemd or launchd run the daemon."""

from __future__ import annotations

import functools
import os
import pwd
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sidecar.cli.exits import Exit, VerbError, print_json, say, verb
from sidecar.cli.options import connect, shared_options
from sidecar.client import ClientError
from sidecar.service import managing
from sidecar.service.invocation import Invocation
from sidecar.service.launchd import Launchd
from sidecar.service.managing import Manager, ServiceError
from sidecar.service.systemd import Systemd

if TYPE_CHECKING:
    from sidecar.config import Settings

READY_TIMEOUT_S = 60.0
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whose service is meant, in which manager, and the places that flags named, by flag."""

    manager: Manager
    environ: Mapping[str, str]
    mine: bool
    given: Mapping[str, Path | None]

    def ready(self) -> bool:
        """Whether the daemon answers that it is ready; another user's socket is not ours to ask."""
        try:
            return bool(self._asked("/readyz").get("ready"))
        except ClientError:
            return False

    def stray(self) -> bool:
        """Whether a daemon answers that the manager did not start."""
        try:
            return self.mine and bool(self._asked("/livez")) and not self.manager.state().running
        except ClientError:
            return False

    def _asked(self, route: str) -> dict[str, Any]:
        config, state_dir, socket = self.given.values()
        return connect(config, state_dir, socket, timeout_s=10).call("GET", route)


@click.group()
def service() -> None:
    """Have systemd or launchd run the daemon: from login on, and again after a crash."""


def _managed(function: Callable[..., Exit]) -> Callable[..., Any]:
    """The options that every verb here understands; the verb is given the `target` that they name, and `as_json`."""

    @functools.wraps(function)
    def run(
        system: bool,
        user: str | None,
        config: Path | None,
        state_dir: Path | None,
        socket: Path | None,
        **options: Any,
    ) -> Exit:
        if user is not None and not system:
            raise click.UsageError("--user goes with --system: without it the service is your own.")
        given = {"--config": config, "--state-dir": state_dir, "--socket": socket}
        try:
            return function(_target(system, user, given), **options)
        except ServiceError as error:
            raise VerbError(Exit.FAILURE, error.code, error.message, hint=error.hint) from None

    system = click.option("--system", is_flag=True, help="A service of the machine, which runs without a login.")
    user = click.option("--user", metavar="NAME", help="With --system: whose daemon; else of who called sudo.")
    return system(user(shared_options(verb(run))))


def _target(system: bool, user: str | None, given: Mapping[str, Path | None]) -> Target:
    try:
        named = user or (system and os.environ.get("SUDO_USER"))
        # Not what USER says: it outlives a `su`, and the files would become root's in somebody's home.
        account = pwd.getpwnam(named) if named else pwd.getpwuid(os.getuid())
    except KeyError:
        raise VerbError(
            Exit.USAGE,
            "unknown_user",
            "there is no such user",
            hint="correct --user",
        ) from None
    mine = account.pw_uid == os.getuid()
    environ = os.environ if mine else {"HOME": account.pw_dir, "PATH": os.environ.get("PATH", os.defpath)}
    manager: Manager
    if sys.platform == "darwin":
        manager = Launchd(environ, user=account.pw_name, uid=account.pw_uid, system=system)
    else:
        manager = Systemd(environ, user=account.pw_name, system=system)
    return Target(manager=manager, environ=environ, mine=mine, given=given)


@service.command()
@click.option("--print", "only_print", is_flag=True, help="Only show the files that would be written.")
@_managed
def install(target: Target, *, only_print: bool, as_json: bool) -> Exit:
    """Write the service's files, start it and wait until it is ready.

    The command, a PATH on which qmd and its Node are found, and the places that are named here become part of the
    service. Doing it again brings it up to date.
    """
    invocation, trouble = _planned(target)
    if only_print:
        _print_files(target.manager.files(invocation), as_json=as_json)
        return Exit.OK
    target.manager.reach()
    if target.stray():
        hint = "qmd-sidecar stop, then this again"
        raise VerbError(Exit.FAILURE, "already_running", "a daemon runs that is no service", hint=hint)
    changed = managing.install(target.manager, invocation)
    _await_ready(target)
    if as_json:
        print_json({**_state(target.manager), "changed": changed, **({"qmd": trouble} if trouble else {})})
        return Exit.OK
    say(f"{'installed' if changed else 'unchanged'}: {target.manager.service} is ready")
    for line in (trouble and f"without qmd: {trouble}", target.manager.advice()):
        if line:
            say(line)
    say(f"see: qmd-sidecar status\nlog: {target.manager.logs()}")
    return Exit.OK


@service.command()
@_managed
def uninstall(target: Target, *, as_json: bool) -> Exit:
    """Stop the service and remove its files; the state and every index stay."""
    removed = managing.uninstall(target.manager)
    if as_json:
        print_json({"removed": [str(path) for path in removed]})
    else:
        say("\n".join(f"removed {path}" for path in removed) or "nothing was installed")
    return Exit.OK


@service.command()
@_managed
def start(target: Target, *, as_json: bool) -> Exit:
    """Start the service and wait until it is ready."""
    return _begin(target, target.manager.start, as_json=as_json)


@service.command()
@_managed
def restart(target: Target, *, as_json: bool) -> Exit:
    """Stop and start the service, and wait until it is ready."""
    return _begin(target, target.manager.restart, as_json=as_json)


@service.command()
@_managed
def stop(target: Target, *, as_json: bool) -> Exit:
    """Stop the service until the next login or boot; a service that is not there is stopped."""
    target.manager.reach()
    target.manager.stop()
    if as_json:
        print_json(_state(target.manager))
    else:
        say("stopped")
    return Exit.OK


@service.command()
@_managed
def status(target: Target, *, as_json: bool) -> Exit:
    """Show how the service is, as its manager sees it; `qmd-sidecar status` asks the daemon itself."""
    target.manager.reach()
    state = _state(target.manager)
    if as_json:
        print_json(state)
    else:
        running = f", pid {state['pid']}" if state["pid"] else ""
        print(f"{state['service']} ({state['manager']}): {state['state']}{running}")
        for path in state["files"]:
            print(f"  {path}")
        say("see: qmd-sidecar status" if state["running"] else "try: qmd-sidecar service start")
    return Exit.OK if state["running"] else Exit.NOT_RUNNING


def _planned(target: Target) -> tuple[Invocation, str]:
    """How the daemon is to be started, and why it will find no qmd. A wrong configuration is told before anything."""
    from sidecar import config as configuration
    from sidecar.service import planning

    config, state_dir, socket = target.given.values()
    try:
        settings: Settings = configuration.load(config, environ=target.environ, state_dir=state_dir, socket=socket)
    except configuration.ConfigError as error:
        raise VerbError(Exit.CONFIGURATION, error.code, str(error), hint="qmd-sidecar config check") from None
    trouble = planning.qmd_trouble(settings, target.environ)
    invocation = planning.plan(settings, target.environ, target.given)
    return invocation, f"{trouble.message} {trouble.hint}" if trouble else ""


def _print_files(files: Mapping[Path, bytes], *, as_json: bool) -> None:
    if as_json:
        print_json({"files": {str(path): content.decode() for path, content in files.items()}})
    else:
        print("\n".join(f"# {path}\n{content.decode()}" for path, content in files.items()), end="")


def _begin(target: Target, begin: Callable[[], None], *, as_json: bool) -> Exit:
    target.manager.reach()
    if not target.manager.state().installed:
        raise VerbError(
            Exit.FAILURE, "not_installed", f"there is no {target.manager.service}", hint="qmd-sidecar service install"
        )
    begin()
    _await_ready(target)
    if as_json:
        print_json(_state(target.manager))
    else:
        say(f"{target.manager.service} is ready")
    return Exit.OK


def _await_ready(target: Target) -> None:
    """Return when the daemon is ready; for another user's the manager's word is all there is."""
    give_up_at = time.monotonic() + READY_TIMEOUT_S
    while not (target.ready() if target.mine else target.manager.state().running):
        if time.monotonic() > give_up_at:
            message = f"the service is {target.manager.state().word}, and no daemon is ready"
            raise VerbError(Exit.TIMEOUT, "not_ready", message, hint=target.manager.logs())
        time.sleep(_PAUSE_S)


def _state(manager: Manager) -> dict[str, Any]:
    state = manager.state()
    return {
        "manager": manager.name,
        "service": manager.service,
        "installed": state.installed,
        "running": state.running,
        "state": state.word,
        "pid": state.pid,
        "files": [str(path) for path in manager.written()],
    }
