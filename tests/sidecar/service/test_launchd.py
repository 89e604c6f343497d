"""launchd: one property list that holds whatever stands in a path, and commands that suit what is loaded."""

from __future__ import annotations

import plistlib
from pathlib import Path

import pytest

from sidecar.service.files import PROPERTY_LIST, shipped
from sidecar.service.invocation import Invocation
from sidecar.service.launchd import Launchd
from sidecar.service.managing import ServiceError, install, uninstall
from tests.sidecar.service.fake_managers import FakeManagers

SERVICE = "gui/501/ai.qmd-sidecar"


@pytest.fixture
def launchd(environ: dict[str, str]) -> Launchd:
    """The session of ana, user 501."""
    return Launchd(environ, user="ana", uid=501, system=False)


@pytest.fixture
def unloaded(managers: FakeManagers) -> FakeManagers:
    """A launchd that does not know the service."""
    managers.answer("launchctl", "print", SERVICE, code=113, err="Could not find service in domain for user gui: 501")
    return managers


def test_a_clean_stop_lasts_and_a_crash_does_not() -> None:
    """`KeepAlive` alone would undo every stop; the end of a drain is waited for."""
    content = plistlib.loads(shipped(PROPERTY_LIST))
    assert content["KeepAlive"] == {"SuccessfulExit": False}
    assert (content["RunAtLoad"], content["ExitTimeOut"], content["Umask"]) == (True, 30, 0o077)


@pytest.mark.parametrize("name", ["with space", "50%h", 'quo"te', "$HOME", "<&>", "back\\slash", "søppel 🗒"])
def test_every_path_comes_back_as_it_was(launchd: Launchd, name: str) -> None:
    """Nothing in a property list is expanded, and everything can be spelled."""
    argv = (f"/opt/{name}/qmd-sidecar", "run", "--config", f"/etc/{name}")
    planned = Invocation(argv=argv, environment={"PATH": f"/opt/{name}"}, writes=())
    (content,) = launchd.files(planned).values()
    read = plistlib.loads(content)
    assert read["ProgramArguments"] == list(argv)
    assert read["EnvironmentVariables"]["PATH"] == f"/opt/{name}"


@pytest.mark.parametrize("name", ["\x1b", "nul\0", "latin-\udce9"])
def test_a_path_that_no_list_can_hold_is_refused(launchd: Launchd, name: str) -> None:
    """Rather than a file that launchd cannot read."""
    with pytest.raises(ServiceError) as refused:
        launchd.files(Invocation(argv=(name,), environment={}, writes=()))
    assert refused.value.code == "list_unwritable"


def test_a_service_of_the_machine_runs_as_its_user(environ: dict[str, str], invocation: Invocation) -> None:
    """From the folder of daemons, in the system's domain."""
    ((path, content),) = Launchd(environ, user="ana", uid=501, system=True).files(invocation).items()
    assert path == Path("/Library/LaunchDaemons/ai.qmd-sidecar.plist")
    assert plistlib.loads(content)["UserName"] == "ana"


def test_install_loads_the_list(unloaded: FakeManagers, launchd: Launchd, invocation: Invocation) -> None:
    """What was disabled once is enabled first; the folder of the log is made, which launchd would not do."""
    assert install(launchd, invocation)
    (path,) = launchd.written()
    assert unloaded.calls == [
        ["launchctl", "enable", SERVICE],
        ["launchctl", "bootstrap", "gui/501", str(path)],
    ]
    assert Path(plistlib.loads(path.read_bytes())["StandardErrorPath"]).parent.is_dir()


def test_a_changed_list_is_loaded_anew(managers: FakeManagers, launchd: Launchd, invocation: Invocation) -> None:
    """launchd reads a list when it is loaded and never again."""
    managers.is_running(7)
    install(launchd, invocation)
    assert ["launchctl", "bootout", SERVICE] in managers.calls


def test_start_stop_and_restart_what_is_loaded(managers: FakeManagers, launchd: Launchd) -> None:
    """A stop is a signal: the list stays loaded, and exit 0 is not started again."""
    managers.is_running(7)
    launchd.start()
    launchd.stop()
    launchd.restart()
    assert managers.calls == [
        ["launchctl", "kickstart", SERVICE],
        ["launchctl", "kill", "SIGTERM", SERVICE],
        ["launchctl", "kickstart", "-k", SERVICE],
    ]
    assert launchd.state().pid == 7


def test_what_is_absent_is_stopped_and_uninstalled_already(unloaded: FakeManagers, launchd: Launchd) -> None:
    """Neither is an error."""
    launchd.stop()
    assert uninstall(launchd) == []
    assert unloaded.calls == []
    assert launchd.state().word == "not loaded"


def test_a_refusal_is_told_in_launchds_words(managers: FakeManagers, launchd: Launchd) -> None:
    """With the command that shows more."""
    managers.is_running(7)
    managers.answer("launchctl", "kickstart", code=5, err="Load failed: 5: Input/output error\n")
    with pytest.raises(ServiceError, match="5: Input/output error") as refused:
        launchd.restart()
    assert refused.value.hint == f"launchctl print {SERVICE}"
