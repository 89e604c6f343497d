"""systemd: units that it accepts, whatever stands in a path, and the commands in the right order."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from sidecar.service.files import SOCKET_UNIT, SYSTEM_UNIT, USER_UNIT, shipped
from sidecar.service.invocation import Invocation
from sidecar.service.managing import ServiceError, install, uninstall
from sidecar.service.systemd import Systemd, drop_in_of, quoted
from tests.sidecar.service.fake_managers import FakeManagers

ANALYZE = shutil.which("systemd-analyze")
needs_analyze = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not here")
#: Tenths: https://www.freedesktop.org/software/systemd/man/systemd-analyze.html, "OK" ends at 4.9.
THRESHOLD = 20
STRANGE = ["plain", "with space", "50%h", "$HOME", "${HOME}", "#;!@:-+|", "søppel 🗒"]


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    """Run systemd-analyze."""
    assert ANALYZE is not None
    return subprocess.run([ANALYZE, *words], capture_output=True, encoding="utf-8", timeout=60)


def written(folder: Path, invocation: Invocation, *, system: bool) -> Path:
    """The files of a service in a folder; returns the unit. A template is analyzed as the one of user i."""
    manager = Systemd({"HOME": "/home/i"}, user="i", system=system, units=folder)
    for path, content in manager.files(invocation).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / ("qmd-sidecar@.service" if system else "qmd-sidecar.service")


@needs_analyze
@pytest.mark.parametrize("system", [True, False], ids=["system", "user"])
def test_systemd_accepts_the_units_as_they_are_installed(tmp_path: Path, invocation: Invocation, system: bool) -> None:
    """Not a word about any line of them."""
    written(tmp_path, invocation, system=system)
    for unit in tmp_path.glob("qmd-sidecar*.s*"):
        if unit.is_file():
            checked = analyze("verify", "--man=no", str(unit))
            assert (checked.returncode, checked.stderr) == (0, ""), unit


@needs_analyze
def test_the_system_unit_is_hardened_as_far_as_qmd_allows(tmp_path: Path, invocation: Invocation) -> None:
    """An exposure of 2.0 at most."""
    unit = written(tmp_path, invocation, system=True)
    rated = analyze("security", "--offline=yes", f"--threshold={THRESHOLD}", "--no-pager", str(unit))
    assert rated.returncode == 0, rated.stdout.splitlines()[-1]


@needs_analyze
@pytest.mark.parametrize("name", STRANGE)
def test_systemd_reads_the_very_path_that_was_meant(tmp_path: Path, name: str) -> None:
    """Whatever a unit file would take for a specifier, a variable, a quote or a comment."""
    program = tmp_path / name
    program.symlink_to("/bin/true")
    invocation = Invocation(argv=(str(program),), environment={"PATH": str(program)}, writes=(program,))
    unit = written(tmp_path / "units", invocation, system=False)
    checked = analyze("verify", "--man=no", str(unit))
    assert (checked.returncode, checked.stderr) == (0, "")
    program.unlink()
    assert f"{program} is not executable" in analyze("verify", "--man=no", str(unit)).stderr


@pytest.mark.parametrize("name", ['quo"te', "it's", "back\\slash"])
def test_a_program_that_systemd_would_not_start_is_refused(name: str) -> None:
    """It takes quotes and backslashes in arguments, and in no path of a program."""
    with pytest.raises(ServiceError) as refused:
        drop_in_of(Invocation(argv=(f"/opt/{name}",), environment={}, writes=()), confined=False)
    assert refused.value.code == "unit_unwritable"
    assert quoted(name) == '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.mark.parametrize("name", ["line\nbreak", "\x1b[2J", "nul\0", "latin-\udce9"])
def test_a_path_that_no_unit_can_hold_is_refused(name: str) -> None:
    """Rather than a file with a line that somebody else wrote."""
    with pytest.raises(ServiceError) as refused:
        quoted(name)
    assert refused.value.code == "unit_unwritable"


def test_what_is_particular_to_a_machine_stands_in_the_drop_in(invocation: Invocation) -> None:
    """The old command is cleared; no word of the new one is a variable or a specifier."""
    assert drop_in_of(invocation, confined=True).splitlines() == [
        "[Service]",
        'Environment="PATH=/usr/bin"',
        "ExecStart=",
        'ExecStart=":/bin/true" "run"',
        "ReadWritePaths=",
        'ReadWritePaths="-/var/notes"',
    ]


@pytest.mark.parametrize("unit", [USER_UNIT, SYSTEM_UNIT])
@pytest.mark.parametrize(
    "line",
    [
        "Type=notify",
        "NotifyAccess=main",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "RestartPreventExitStatus=78",
        "KillMode=mixed",
        "OOMPolicy=continue",
        "LimitCORE=0",
    ],
)
def test_a_unit_says_what_the_daemon_relies_on(unit: str, line: str) -> None:
    """In both units alike."""
    assert line in shipped(unit).decode().splitlines()


def test_the_socket_unit_names_the_place_where_clients_look_first() -> None:
    """Owner-only, and by the name that the daemon knows."""
    lines = shipped(SOCKET_UNIT).decode().splitlines()
    assert {"ListenStream=%t/qmd-sidecar/sidecar.sock", "FileDescriptorName=api", "SocketMode=0600"} <= set(lines)


def test_install_writes_enables_and_starts(
    managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """In this order, and a count of failed starts is forgotten."""
    manager = Systemd(environ, user="ana", system=False)
    assert install(manager, invocation)
    assert managers.calls == [
        ["systemctl", "--user", "daemon-reload"],
        ["systemctl", "--user", "enable", "qmd-sidecar.service"],
        ["systemctl", "--user", "reset-failed", "qmd-sidecar.service"],
        ["systemctl", "--user", "start", "qmd-sidecar.service"],
    ]
    names = [path.name for path in manager.written()]
    assert names == ["10-install.conf", "qmd-sidecar.service", "qmd-sidecar.socket"]


def test_installing_again_writes_nothing_and_restarts_nothing(
    managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """A running daemon keeps its warm children; only a changed file is a reason to restart."""
    manager = Systemd(environ, user="ana", system=False)
    install(manager, invocation)
    managers.is_running(7)
    assert not install(manager, invocation)
    assert ["systemctl", "--user", "restart", "qmd-sidecar.service"] not in managers.calls
    other = Invocation(argv=("/bin/false",), environment={}, writes=())
    assert install(manager, other)
    assert managers.calls[-1] == ["systemctl", "--user", "restart", "qmd-sidecar.service"]


def test_a_system_service_has_its_folders_made_by_the_user(
    tmp_path: Path, managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """Root would follow a link that the user laid."""
    install(Systemd(environ, user="ana", system=True, units=tmp_path / "units"), invocation)
    assert managers.calls[:2] == [
        ["runuser", "-u", "ana", "--", "mkdir", "-p", "-m", "700", "--", "/var/notes"],
        ["systemctl", "daemon-reload"],
    ]


def test_uninstall_removes_what_install_wrote(
    managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """And doing it again is no error."""
    manager = Systemd(environ, user="ana", system=False)
    install(manager, invocation)
    assert len(uninstall(manager)) == 3
    assert ["systemctl", "--user", "disable", "--now", "qmd-sidecar.service"] in managers.calls
    assert managers.calls[-1] == ["systemctl", "--user", "daemon-reload"]
    assert manager.written() == []
    managers.answer("systemctl", "--user", "disable", code=1, err="Unit file qmd-sidecar.service does not exist.")
    assert uninstall(manager) == []


def test_uninstall_leaves_what_a_person_wrote(
    tmp_path: Path, managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """`systemctl edit` puts it beside our drop-in; without it no folder is left."""
    manager = Systemd(environ, user="ana", system=False, units=tmp_path)
    folder = tmp_path / "qmd-sidecar.service.d"
    install(manager, invocation)
    (folder / "override.conf").touch()
    uninstall(manager)
    assert [path.name for path in folder.iterdir()] == ["override.conf"]
    (folder / "override.conf").unlink()
    install(manager, invocation)
    uninstall(manager)
    assert not folder.exists()


def test_a_daemon_that_keeps_failing_does_not_run(managers: FakeManagers, environ: dict[str, str]) -> None:
    """Between two starts systemd calls it activating."""
    shown = "LoadState=loaded\nActiveState=activating\nSubState=auto-restart\nMainPID=0\n"
    managers.answer("systemctl", "--user", "show", "qmd-sidecar.service", out=shown)
    state = Systemd(environ, user="ana", system=False).state()
    assert (state.running, state.pid, state.word) == (False, None, "activating (auto-restart)")


def test_the_template_stays_while_another_user_needs_it(
    tmp_path: Path, managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """Removing ana's service leaves ben's."""
    ana, ben = (Systemd(environ, user=user, system=True, units=tmp_path / "units") for user in ("ana", "ben"))
    install(ana, invocation)
    install(ben, invocation)
    assert [path.name for path in uninstall(ana)] == ["10-install.conf"]
    assert [path.name for path in uninstall(ben)] == ["10-install.conf", "qmd-sidecar@.service"]


def test_stopping_what_is_absent_is_no_error(managers: FakeManagers, environ: dict[str, str]) -> None:
    """It is stopped. What is there and does not stop is an error."""
    manager = Systemd(environ, user="ana", system=False)
    managers.answer("systemctl", "--user", "stop", code=5, err="Failed to stop: Unit qmd-sidecar.service not loaded.")
    manager.stop()
    managers.is_running(7)
    with pytest.raises(ServiceError, match="not loaded"):
        manager.stop()


def test_stop_also_stops_the_socket(managers: FakeManagers, environ: dict[str, str]) -> None:
    """The next call would start the daemon again."""
    Systemd(environ, user="ana", system=False).stop()
    assert [call[-1] for call in managers.calls] == ["qmd-sidecar.socket", "qmd-sidecar.service"]


def test_lingering_is_said_only_where_it_is_off(managers: FakeManagers, environ: dict[str, str]) -> None:
    """And never of a system service, which needs none."""
    manager = Systemd(environ, user="ana", system=False)
    assert "loginctl enable-linger ana" in manager.advice()
    managers.answer("loginctl", "show-user", "ana", out="yes\n")
    assert manager.advice() == ""
    assert Systemd(environ, user="ana", system=True).advice() == ""


def test_without_a_manager_nothing_is_written(
    managers: FakeManagers, environ: dict[str, str], invocation: Invocation
) -> None:
    """One error that says why, and what else can be done."""
    managers.answer("systemctl", "--user", "show", code=1, err="Failed to connect to bus: No medium found")
    manager = Systemd(environ, user="ana", system=False)
    with pytest.raises(ServiceError, match="No medium found") as refused:
        install(manager, invocation)
    assert "--print" in refused.value.hint
    assert manager.written() == []


@pytest.mark.parametrize("user", ["", "a b", "../x", "a@b", "-x", "a\n"])
def test_a_user_whose_name_is_no_part_of_a_unit_is_refused(environ: dict[str, str], user: str) -> None:
    """The name becomes a file name and a line of the unit."""
    with pytest.raises(ServiceError):
        Systemd(environ, user=user, system=True)
