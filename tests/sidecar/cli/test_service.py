"""`qmd-sidecar service`, with managers that write down what they were told."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon
from tests.sidecar.service.fake_managers import FakeManagers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks for systemd")

UNIT = "qmd-sidecar.service"


@pytest.fixture
def managers(folder: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> FakeManagers:
    """Fake commands in front of the machine's."""
    fake = FakeManagers(folder)
    environ["PATH"] = f"{fake.bin}{os.pathsep}{environ['PATH']}"
    return fake


@pytest.fixture
def ready(daemon: FakeDaemon, managers: FakeManagers) -> FakeDaemon:
    """A daemon that is ready, started by the manager."""
    daemon.routes["GET", "/readyz"] = (200, {"ready": True})
    daemon.routes["GET", "/livez"] = (200, {"alive": True})
    managers.is_running(7)
    return daemon


def units(environ: dict[str, str]) -> list[str]:
    """The files of a user's units."""
    folder = Path(environ["HOME"]) / ".config" / "systemd" / "user"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_install_ends_when_the_daemon_is_ready_and_says_what_to_look_at(
    run: Run, environ: dict[str, str], ready: FakeDaemon
) -> None:
    """The files are there; status, log and lingering are named."""
    result = run("service", "install")
    assert result.exit_code == 0, result.stderr
    assert units(environ) == [UNIT, f"{UNIT}.d/10-install.conf", "qmd-sidecar.socket"]
    for word in (f"{UNIT} is ready", "qmd-sidecar status", f"journalctl --user -u {UNIT} -f", "enable-linger"):
        assert word in result.stderr
    again = run("service", "install", "--json")
    assert json.loads(again.stdout)["changed"] is False


def test_install_takes_the_places_that_were_named(run: Run, folder: Path, environ: dict[str, str]) -> None:
    """By flag and by variable alike, as absolute paths."""
    config = folder / "a b.json5"
    config.write_text("{}", encoding="utf-8")
    result = run("service", "install", "--print", "--config", str(config), SIDECAR_STATE_DIR="~/state")
    assert f'"run" "--config" "{config}" "--state-dir" "{environ["HOME"]}/state"\n' in result.stdout
    assert units(environ) == []


def test_print_shows_the_files_where_no_manager_runs(run: Run, managers: FakeManagers) -> None:
    """For whoever writes their own, in a container or a package."""
    managers.answer("systemctl", code=1, err="System has not been booted with systemd as init system (PID 1).")
    files = json.loads(run("service", "install", "--print", "--json").stdout)["files"]
    assert [Path(path).name for path in files] == [UNIT, "qmd-sidecar.socket", "10-install.conf"]
    assert managers.calls == []


def test_the_user_is_who_runs_it_whatever_the_environment_says(run: Run, environ: dict[str, str]) -> None:
    """After a `su` the variables still name somebody else, in whose home root would write."""
    shown = run("service", "install", "--print", "--json", USER="nobody", LOGNAME="nobody")
    assert all(Path(file).is_relative_to(environ["HOME"]) for file in json.loads(shown.stdout)["files"])


@pytest.mark.parametrize("verb", ["install", "uninstall", "start", "stop", "restart", "status"])
def test_without_a_manager_there_is_one_clear_error(run: Run, managers: FakeManagers, verb: str) -> None:
    """With the next step, and nothing is written."""
    managers.answer("systemctl", code=1, err="System has not been booted with systemd as init system (PID 1).")
    result = run("service", verb)
    assert result.exit_code == 1
    assert "no service manager" in result.stderr
    assert "try: run it yourself with qmd-sidecar run" in result.stderr


def test_a_wrong_configuration_is_told_before_anything_is_written(
    run: Run, folder: Path, environ: dict[str, str], managers: FakeManagers
) -> None:
    """A service with it would end with 78 and stay down."""
    (folder / "c.json5").write_text("{memory: {qmd: {searchMode: 'grep'}}}", encoding="utf-8")
    result = run("service", "install", "--config", str(folder / "c.json5"))
    assert (result.exit_code, units(environ), managers.calls) == (78, [], [])


def test_a_daemon_that_was_started_by_hand_is_not_pushed_aside(
    run: Run, environ: dict[str, str], ready: FakeDaemon, managers: FakeManagers
) -> None:
    """The service could not start beside it, and would try again and again."""
    managers.answer("systemctl", "--user", "show", UNIT, out="LoadState=not-found\nActiveState=inactive\n")
    result = run("service", "install")
    assert result.exit_code == 1
    assert "try: qmd-sidecar stop" in result.stderr
    assert units(environ) == []


def test_a_start_that_fails_leads_to_the_log(run: Run, ready: FakeDaemon, managers: FakeManagers) -> None:
    """With the manager's own words."""
    managers.answer("systemctl", "--user", "start", code=1, err="Job for it failed.\nSee the journal.\n")
    result = run("service", "start")
    assert result.exit_code == 1
    assert result.stderr == f"error: systemctl: Job for it failed.\ntry: journalctl --user -u {UNIT} -n 20\n"


def test_start_and_restart_wait_for_the_daemon(run: Run, ready: FakeDaemon, managers: FakeManagers) -> None:
    """The manager's word is not enough: the socket has to answer."""
    for verb in ("start", "restart"):
        assert run("service", verb).exit_code == 0
        assert managers.calls[-1] == ["systemctl", "--user", verb, UNIT]
    assert [path for _, path, _ in ready.requests] == ["/readyz", "/readyz"]


def test_starting_what_is_not_installed_names_the_way(run: Run, managers: FakeManagers) -> None:
    """Systemd would say that a unit was not found."""
    managers.answer("systemctl", "--user", "show", UNIT, out="LoadState=not-found\nActiveState=inactive\n")
    result = run("service", "start")
    assert (result.exit_code, "try: qmd-sidecar service install" in result.stderr) == (1, True)


def test_stopping_and_removing_what_is_absent_succeed(run: Run, managers: FakeManagers) -> None:
    """Scripts need not look first."""
    managers.answer("systemctl", "--user", "show", UNIT, out="LoadState=not-found\nActiveState=inactive\n")
    assert run("service", "stop").exit_code == 0
    assert json.loads(run("service", "uninstall", "--json").stdout) == {"removed": []}


def test_status_says_how_the_manager_sees_it(run: Run, managers: FakeManagers) -> None:
    """Data on standard output; exit code 3 when it does not run."""
    managers.answer("systemctl", "--user", "show", UNIT, out="LoadState=loaded\nActiveState=failed\nSubState=failed\n")
    stopped = run("service", "status")
    assert (stopped.exit_code, stopped.stdout) == (3, f"{UNIT} (systemd): failed (failed)\n")
    managers.is_running(7)
    state = json.loads(run("service", "status", "--json").stdout)
    assert state == {
        "manager": "systemd",
        "service": UNIT,
        "installed": True,
        "running": True,
        "state": "active (running)",
        "pid": 7,
        "files": [],
    }


@pytest.mark.parametrize(
    ("words", "complaint"),
    [(["--user", "ana"], "--system"), (["--system", "--user", "no-such-user"], "no such user")],
)
def test_a_user_who_cannot_be_meant_is_a_usage_error(run: Run, words: list[str], complaint: str) -> None:
    """Before anything is asked of a manager."""
    result = run("service", "install", "--print", *words)
    assert result.exit_code == 2
    assert complaint in result.stderr
