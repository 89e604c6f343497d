"""With a daemon: it looks at itself, and what is suggested is done, word for word, in the order of the tests."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.doctor.catalogue import TITLES, Code
from tests.fake_qmd import FakeQmd
from tests.running import until
from tests.sidecar.cli.fake_daemon import FakeDaemon
from tests.sidecar.doctor.patient import Patient


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="qd-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def fake(home: Path) -> FakeQmd:
    return FakeQmd.install(home)


@pytest.fixture(scope="module")
def lively(home: Path, fake: FakeQmd) -> Iterator[Patient]:
    """Somebody with a daemon that has a qmd, and knows of nothing wrong."""
    patient = Patient.born(home / "p", memory={"backend": "qmd", "qmd": {"update": {"debounceMs": 0}}})
    patient.environ["PATH"] = f"{fake.path.parent}:{patient.environ['PATH']}"
    with patient.with_daemon():
        yield patient


def commanded(patient: Patient, code: Code) -> None:
    """It is found, its command is run as it stands there, and it is gone."""
    finding = patient.found(code)
    assert finding is not None, patient.report(code.check)
    patient.shell(finding["command"])
    until(lambda: patient.found(code) is None, what="the end of the finding")


def test_a_sound_daemon_has_nothing_but_a_qmd_index_that_is_none(lively: Patient) -> None:
    """The index of the qmd of the tests is JSON; all else is as it should be."""
    report = lively.report()
    wrong = {check["id"]: check for check in report["checks"] if check["status"] != "ok"}
    assert report["running"]
    assert wrong.keys() == {"indexes"}


def test_every_check_is_shown_once_in_the_order_of_the_page(lively: Patient) -> None:
    """Programs find what they look for, also where nothing is wrong."""
    assert [check["id"] for check in lively.report()["checks"]] == [*TITLES]


def test_a_socket_that_is_open_is_closed(lively: Patient) -> None:
    """By hand and by `fix`."""
    lively.socket.chmod(0o666)
    commanded(lively, Code.SOCKET_OPEN)
    lively.socket.chmod(0o666)
    assert "0600" in lively.report("socket", fix=True)["checks"][0]["fixed"][0]
    assert stat.S_IMODE(lively.socket.stat().st_mode) == 0o600


def test_collections_that_were_changed_are_put_right(lively: Patient) -> None:
    """A person may have edited the list, and moved a folder of ours."""
    file = lively.state / "agents" / "main" / "qmd" / "xdg-config" / "qmd" / "index.yml"
    file.write_text(file.read_text().replace(str(lively.home / "ws" / "memory"), "/elsewhere"))
    commanded(lively, Code.COLLECTIONS_DIFFER)


def test_an_index_that_is_gone_is_built(lively: Patient) -> None:
    """The notes are the truth."""
    (lively.state / "memory" / "main.sqlite").unlink()
    commanded(lively, Code.INDEX_MISSING)


def test_an_index_that_is_damaged_is_built_anew(lively: Patient) -> None:
    """Also where its head is whole."""
    index = lively.state / "memory" / "main.sqlite"
    size = index.stat().st_size
    with index.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (size - 8192))
    finding = lively.found(Code.INDEX_DAMAGED)
    assert finding is not None
    assert str(index) in finding["message"]
    lively.shell(finding["command"])
    until(lambda: str(index) not in str(lively.report("indexes")), what="a whole index")


def test_a_qmd_that_finds_nothing_is_seen_by_searching(lively: Patient) -> None:
    """Status has nothing to say of an index that was emptied."""
    index = lively.state / "agents" / "main" / "qmd" / "xdg-cache" / "qmd" / "index.sqlite"
    index.write_text("{}")
    commanded(lively, Code.SEARCH_BLIND)


def test_a_failing_qmd_is_seen_although_status_is_well(lively: Patient, fake: FakeQmd) -> None:
    """B07: the live path fails while everything looks healthy."""
    fake.behave(mcp="garbage", search="garbage", query="garbage")
    lively.npm(f"rm {fake.path.with_name('behaviour.json')} && touch {fake.path}")
    commanded(lively, Code.SEARCH_FALLBACK)


def test_what_an_agent_reports_is_found(lively: Patient) -> None:
    """A note that is no text, as `status` shows it, until it is mended."""
    note = lively.home / "ws" / "memory" / "2026-11-02.md"
    note.write_bytes(b"\x00\xff\xfe" * 100)
    lively.shell("qmd-sidecar sync main --wait")
    assert lively.found(Code.AGENT_PROBLEM)
    note.unlink()
    lively.shell("qmd-sidecar sync main --wait")
    assert lively.found(Code.AGENT_PROBLEM) is None


def test_another_daemon_that_clients_would_find_is_named(lively: Patient) -> None:
    """Of the same user, on another state folder."""
    other = Patient(lively.home, {**lively.environ, "SIDECAR_STATE_DIR": str(lively.home / "other")})
    assert other.found(Code.NOT_RUNNING)
    assert other.found(Code.ANOTHER_DAEMON)


def test_a_changed_configuration_is_followed(lively: Patient) -> None:
    """What is in force stays so until then."""
    lively.configure(memory={"backend": "qmd", "qmd": {"update": {"debounceMs": 0}, "limits": {"maxResults": 7}}})
    commanded(lively, Code.CONFIGURATION_CHANGED)


def test_nothing_of_a_note_stands_in_the_log_or_the_report(lively: Patient) -> None:
    """The question is made of words of a note."""
    assert "timetable" not in str(lively.report()) + (lively.home / "daemon.log").read_text()


def test_a_start_from_the_shell_takes_its_path_and_a_changed_configuration(patient: Patient) -> None:
    """B07, B08: a service has a poorer PATH than the shell that finds qmd."""
    patient.configure(memory={"backend": "qmd"})
    with patient.with_daemon():
        assert patient.found(Code.QMD_MISSING)
        fake = patient.with_qmd()
        elsewhere = patient.found(Code.QMD_ELSEWHERE)
        assert elsewhere is not None
        assert str(fake.path) in elsewhere["message"]
        assert patient.found(Code.RESTART_NEEDED) is None
        patient.configure(memory={"backend": "qmd"}, sidecar={"log": {"file": str(patient.home / "log.ndjson")}})
        changed = patient.found(Code.RESTART_NEEDED)
        assert changed is not None
        assert changed["command"] == elsewhere["command"]
        before = patient.pid()
        patient.leave_running(changed["command"])
        until(lambda: patient.pid() not in (None, before) and patient.is_ready(), what="the new daemon")
        assert patient.report("changes", "qmd", "search")["worst"] == "ok"


def test_a_search_that_lacks_its_provider_leads_to_the_configuration(patient: Patient) -> None:
    """A sync would not bring the key."""
    patient.configure(memory={"backend": "builtin"}, agents={"defaults": {"memorySearch": {"provider": "openai"}}})
    with patient.with_daemon():
        found = patient.found(Code.SEARCH_UNAVAILABLE)
    assert found is not None
    assert found["command"] == f"${{EDITOR:-vi}} {patient.config}"


def test_a_daemon_that_cannot_examine_itself_is_told(patient: Patient) -> None:
    """One of an earlier version, that was not restarted after an upgrade."""
    patient.socket.parent.mkdir(mode=0o700)
    daemon = FakeDaemon(patient.socket)
    try:
        daemon.routes["GET", "/livez"] = (200, {"alive": True})
        assert patient.found(Code.OLDER_DAEMON)
    finally:
        daemon.close()
