"""Without a daemon: each thing that can be wrong is made wrong, and what is suggested is done, word for word."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from sidecar.cli import doctor
from sidecar.doctor.catalogue import Code
from tests.fake_qmd import FakeQmd
from tests.running import until
from tests.sidecar.doctor.patient import Patient

#: Hold a lock file as a daemon does.
HOLD = """
import fcntl, json, os, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
json.dump({"pid": os.getpid()}, file)
file.flush()
"""


def codes(report: dict[str, Any]) -> set[str]:
    """Everything that was found."""
    return {finding["code"] for check in report["checks"] for finding in check["findings"]}


def commanded(patient: Patient, code: Code) -> None:
    """It is found, its command is run as it stands there, and it is gone."""
    finding = patient.found(code)
    assert finding is not None
    patient.shell(finding["command"])
    assert patient.found(code) is None


def mended(patient: Patient, code: Code) -> list[str]:
    """It is found, `fix` mends it, it is gone and the report says what was done."""
    assert patient.found(code)
    report = patient.report(code.check, fix=True)
    assert code.label not in codes(report)
    (check,) = report["checks"]
    fixed: list[str] = check["fixed"]
    return fixed


# The configuration and the notes.


def test_a_wrong_key_is_opened_in_the_editor_at_its_line(patient: Patient) -> None:
    """`EDITOR` is honoured, and the line is the one of the key."""
    patient.configure(memory={"backend": "nonsense"})
    line = 1 + patient.config.read_text().splitlines().index('  "backend": "nonsense"')
    patient.program("ed1t", f'test "$1" = +{line} && echo "{{}}" > "$2"')
    patient.environ["EDITOR"] = "ed1t"
    commanded(patient, Code.CONFIGURATION_ERROR)


def test_a_key_without_effect_is_a_note(patient: Patient) -> None:
    """It is worth a look, and no failure."""
    patient.configure(memory={"qmd": {"mcporter": {"enabled": True}}})
    report = patient.report("configuration")
    assert Code.CONFIGURATION_REMARK.label in codes(report)
    assert report["worst"] == "note"


def test_a_file_that_is_no_json5_is_all_that_can_be_said(patient: Patient) -> None:
    """The other checks say that they were not asked."""
    patient.config.write_text("{ nothing")
    report = patient.report()
    assert Code.CONFIGURATION_ERROR.label in codes(report)
    assert {check["status"] for check in report["checks"] if check["id"] not in ("configuration", "daemon")} == {
        "skipped"
    }


def test_a_missing_workspace_is_made(patient: Patient) -> None:
    """Once, by this check, and not again as a remark on the configuration."""
    patient.configure(agents={"defaults": {"workspace": f"{patient.home}/a b"}})
    assert patient.report("configuration")["worst"] == "ok"
    commanded(patient, Code.WORKSPACE_MISSING)


def test_a_note_from_the_future_is_given_a_time(patient: Patient) -> None:
    """A note that a wrong clock has written is newest for years; a folder of notes is nothing that `fix` touches."""
    note = patient.home / "ws" / "memory" / "it's later.md"
    note.write_text("later")
    os.utime(note, (time.time() + 1e6,) * 2)
    report = patient.report("clock", fix=True)
    assert "fixed" not in report["checks"][0]
    commanded(patient, Code.FROM_THE_FUTURE)


# What is ours.


def opened_state(patient: Patient) -> Path:
    file = patient.state / "memory" / "main.sqlite"
    file.parent.mkdir(parents=True, mode=0o755)
    file.touch(0o644)
    return file


def test_state_that_others_may_read_is_closed(patient: Patient) -> None:
    """With the folders around it."""
    opened_state(patient)
    commanded(patient, Code.OPEN_TO_OTHERS)


def test_fix_closes_what_others_may_read(patient: Patient) -> None:
    """It says how much it closed, and gives nobody more than before."""
    file = opened_state(patient)
    file.chmod(0o440)
    assert "closed" in mended(patient, Code.OPEN_TO_OTHERS)[0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    assert stat.S_IMODE(patient.state.stat().st_mode) == 0o700


def test_fix_follows_no_link_out_of_the_state(patient: Patient) -> None:
    """The folder of models that all share is somebody else's."""
    opened_state(patient)
    outside = patient.home / "models"
    outside.mkdir(mode=0o755)
    (outside / "model").touch(0o644)
    (patient.state / "models").symlink_to(outside)
    patient.report("permissions", fix=True)
    assert stat.S_IMODE((outside / "model").stat().st_mode) == 0o644
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


def test_fix_touches_nothing_of_others_in_a_state_folder_that_is_theirs_too(patient: Patient) -> None:
    """Such as OpenClaw's own, or a home folder, which somebody named as `stateDir`."""
    ours = opened_state(patient)
    theirs = [patient.state / "openclaw.json", patient.state / "agents" / "main" / "sessions" / "one.jsonl"]
    for file in theirs:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(0o644)
    modes = {path: path.stat().st_mode for file in theirs for path in (file, *file.parents)}
    mended(patient, Code.OPEN_TO_OTHERS)
    assert stat.S_IMODE(ours.stat().st_mode) == 0o600
    assert {path: path.stat().st_mode for path in modes} == modes


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_state_of_another_user_is_taken_back(patient: Patient) -> None:
    """As after a start with sudo."""
    os.chown(opened_state(patient), 65534, 65534)
    patient.program("sudo", 'exec "$@"')
    commanded(patient, Code.OWNED_BY_OTHERS)


@contextmanager
def dead_socket(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
    yield


def test_a_dead_socket_is_removed(patient: Patient) -> None:
    """By hand or by `fix`."""
    with dead_socket(patient.socket):
        commanded(patient, Code.SOCKET_STALE)
    with dead_socket(patient.socket):
        assert "removed" in mended(patient, Code.SOCKET_STALE)[0]


def test_something_else_in_the_place_of_the_socket_is_moved_aside(patient: Patient) -> None:
    """And not removed: it is not ours."""
    patient.socket.parent.mkdir(mode=0o700)
    patient.socket.write_text("mine")
    commanded(patient, Code.SOCKET_TAKEN)
    assert patient.socket.with_name("sidecar.sock.aside").read_text() == "mine"


def test_a_folder_in_which_others_could_lay_a_socket_is_closed(patient: Patient) -> None:
    """Clients would talk to whoever does."""
    patient.socket.parent.mkdir()
    patient.socket.parent.chmod(0o777)
    commanded(patient, Code.SOCKET_FOLDER_OPEN)


def test_a_socket_path_that_is_too_long_is_told(patient: Patient) -> None:
    """Before a start fails for it."""
    patient.configure(sidecar={"socket": {"path": f"/tmp/{'x' * 120}"}})
    assert patient.found(Code.SOCKET_PATH_LONG)


# Other processes.


def left_pointer(patient: Patient) -> Path:
    pointer = patient.home / "rt" / "qmd-sidecar" / "daemon.json"
    pointer.parent.mkdir(mode=0o700, exist_ok=True)
    pointer.write_text(json.dumps({"socket": str(patient.home / "gone.sock"), "stateDir": str(patient.state)}))
    return pointer


def test_the_pointer_of_a_daemon_that_is_gone_is_removed(patient: Patient) -> None:
    """By hand or by `fix`."""
    left_pointer(patient)
    commanded(patient, Code.POINTER_STALE)
    pointer = left_pointer(patient)
    mended(patient, Code.POINTER_STALE)
    assert not pointer.exists()


@contextmanager
def child(script: str, *args: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """A Python that has said a line, and waits."""
    script += "\nimport time\nprint('here', flush=True)\ntime.sleep(600)"
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", script, *args], stdout=subprocess.PIPE, text=True, env=os.environ | environ
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_process_that_holds_the_state_and_serves_nobody_is_named(patient: Patient) -> None:
    """A start would only say that another daemon owns the folder."""
    patient.state.mkdir(mode=0o700)
    lock = patient.state / "sidecar.lock"
    with child(HOLD, str(lock)) as holder:
        commanded(patient, Code.LOCK_HELD)
        assert holder.wait(10) == -9


@contextmanager
def orphan(patient: Patient) -> Iterator[psutil.Process]:
    """A process on the state folder whose parent is gone, as after a daemon that was killed."""
    cache = patient.state / "agents" / "main" / "qmd" / "xdg-cache"
    mark = {"QMD_SIDECAR_STATE": str(patient.state), "XDG_CACHE_HOME": str(cache)}
    script = 'exec </dev/null; "$@" >/dev/null 2>&1 & echo $!'
    started = subprocess.run(["sh", "-c", script, "sh", "sleep", "600"], env=os.environ | mark, stdout=subprocess.PIPE)
    process = psutil.Process(int(started.stdout))
    until(lambda: process.name() == "sleep")
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_orphans_of_a_daemon_that_is_gone_are_ended(patient: Patient) -> None:
    """Only what bears our mark."""
    with orphan(patient) as left, child("") as other:
        commanded(patient, Code.ORPHANS)
        assert is_gone(left)
        assert other.poll() is None


def test_fix_ends_orphans(patient: Patient) -> None:
    """Under the lock of the state folder: no daemon can start meanwhile, whose children would look the same."""
    with orphan(patient) as left:
        assert mended(patient, Code.ORPHANS) == ["processes ended: 1"]
        assert is_gone(left)


# qmd.


def test_a_missing_qmd_is_installed(patient: Patient) -> None:
    """An error where it is the configured engine."""
    patient.configure(memory={"backend": "qmd"})
    fake = FakeQmd.install(patient.home / "later")
    target = patient.home / "command" / "qmd"
    patient.npm(f'test "$*" = "install -g @tobilu/qmd" && ln -s {fake.path} {target}')
    assert patient.report("qmd")["worst"] == "error"
    commanded(patient, Code.QMD_MISSING)


def test_a_qmd_that_is_only_used_if_present_may_be_missing(patient: Patient) -> None:
    """A note."""
    assert patient.report("qmd")["worst"] == "note"


def test_a_qmd_that_is_not_executable_is_made_so(patient: Patient) -> None:
    """The file that is configured, and not another one."""
    fake = FakeQmd.install(patient.home)
    fake.path.chmod(0o644)
    patient.configure(memory={"backend": "qmd", "qmd": {"command": str(fake.path)}})
    commanded(patient, Code.QMD_NOT_EXECUTABLE)


def test_a_missing_interpreter_is_not_a_missing_qmd(patient: Patient) -> None:
    """Both look alike to whoever starts them."""
    patient.program("qmd", "")
    script = patient.home / "command" / "qmd"
    script.write_text("#!/usr/bin/env n0de\n")
    (patient.home / "n0de").write_text("#!/bin/sh\necho qmd 2.8.3\n")
    patient.npm(
        f'test "$3" = n0de && chmod +x {patient.home}/n0de && ln -s {patient.home}/n0de {patient.home}/command/'
    )
    commanded(patient, Code.QMD_INTERPRETER_MISSING)


def test_a_qmd_that_does_not_start_is_installed_anew(patient: Patient) -> None:
    """Its native module was built for another Node."""
    fake = patient.with_qmd()
    fake.behave(version="abi")
    patient.npm(f"rm {fake.path.with_name('behaviour.json')}")
    commanded(patient, Code.QMD_BROKEN)


def test_a_qmd_of_an_untried_version_is_a_note(patient: Patient) -> None:
    """With the way to the newest one that was tried."""
    fake = patient.with_qmd(version="99.0.0")
    patient.npm(f'test "$3" = @tobilu/qmd@2.8.3 && echo "#!/bin/sh\necho qmd 2.8.3" > {fake.path}')
    assert patient.report("qmd")["worst"] == "note"
    commanded(patient, Code.QMD_UNTRIED)


def test_a_mode_without_its_model_is_told(patient: Patient) -> None:
    """qmd would hang and say nothing."""
    patient.configure(memory={"qmd": {"searchMode": "query"}})
    patient.environ["QMD_EMBED_MODEL"] = str(patient.home / "model.gguf")
    assert patient.found(Code.MODEL_MISSING)
    (patient.home / "model.gguf").write_text("<html>not found</html>")
    assert patient.found(Code.MODEL_DAMAGED)


def test_a_link_into_another_index_is_removed(patient: Patient) -> None:
    """The person's own index would hold the agent's notes."""
    own = patient.home / ".cache"
    own.mkdir()
    cache = patient.state / "agents" / "main" / "qmd" / "xdg-cache"
    cache.parent.mkdir(parents=True, mode=0o700)
    cache.symlink_to(own)
    commanded(patient, Code.INDEX_SHARED)
    assert own.is_dir()


# Indexes.


def test_a_file_that_is_not_our_index_is_moved_aside(patient: Patient) -> None:
    """It is somebody's, and nothing here writes into it."""
    opened_state(patient).write_text("my recipes")
    commanded(patient, Code.INDEX_FOREIGN)
    assert (patient.state / "memory" / "main.sqlite.aside").read_text() == "my recipes"


def test_an_extension_that_cannot_be_loaded_is_a_note(patient: Patient) -> None:
    """Vectors are compared all the same."""
    vector = {"extensionPath": "/nowhere/vec0.so"}
    patient.configure(memorySearch=None, agents={"defaults": {"memorySearch": {"store": {"vector": vector}}}})
    report = patient.report("vectors")
    assert Code.VECTOR_EXTENSION_MISSING.label in codes(report)
    assert report["worst"] == "note"


# The verb itself.


def test_a_provider_without_a_key_is_opened_at_its_line(patient: Patient) -> None:
    """What is named and cannot work finds nothing by meaning, whatever is installed."""
    patient.configure(agents={"defaults": {"memorySearch": {"provider": "openai"}}})
    patient.program("ed1t", 'sed -i "${1#+}s/openai/static/" "$2"')
    patient.environ["EDITOR"] = "ed1t"
    commanded(patient, Code.EMBEDDING_KEY_MISSING)


def test_it_says_that_no_daemon_was_asked(patient: Patient) -> None:
    """And that a service may live in another environment than the shell."""
    done = patient.doctor("--only", "daemon", "--only", "search")
    assert done.exit_code == 1
    assert "whose environment may differ" in done.stdout
    assert "try: qmd-sidecar run" in done.stdout
    assert "not looked at" in done.stdout


def test_notes_are_no_failure(patient: Patient) -> None:
    """The exit code is for scripts, that would stop for nothing."""
    done = patient.doctor("--only", "qmd", "--only", "disk")
    assert done.exit_code == 0
    assert "1 note" in done.stdout


def test_the_gravest_comes_first(patient: Patient) -> None:
    """What is well stands below."""
    opened_state(patient)
    out = patient.doctor("--only", "disk", "--only", "qmd", "--only", "permissions").stdout
    assert out.index("permissions  ") < out.index("qmd  ") < out.index("disk  ")


def test_an_unknown_check_is_a_usage_error_that_names_the_known_ones(patient: Patient) -> None:
    """Exit code 2, as everywhere."""
    done = patient.doctor("--only", "everything")
    assert done.exit_code == 2
    assert "'permissions'" in done.stderr


LISTEN = "import socket\nsock = socket.socket(socket.AF_UNIX)\nsock.bind(sys.argv[2])\nsock.listen(9)\n"


def test_of_two_daemons_the_one_that_hangs_is_named(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pointer leads to its own state folder; without one nobody is named, rather than the one that is well."""
    monkeypatch.setattr(doctor, "KNOCK_S", 0.3)
    patient.environ.pop("SIDECAR_STATE_DIR")
    well, ill = patient.home / ".local" / "state" / "qmd-sidecar", patient.home / "ill"
    for folder in (well, ill, patient.socket.parent):
        folder.mkdir(mode=0o700, parents=True)
    other = patient.home / "ill.sock"
    with (
        child(HOLD, str(well / "sidecar.lock")),
        child(HOLD + LISTEN, str(ill / "sidecar.lock"), str(other)) as hanging,
    ):
        assert "kill" not in patient.doctor("--socket", str(other)).stdout
        (patient.socket.parent / "daemon.json").write_text(json.dumps({"socket": str(other), "stateDir": str(ill)}))
        assert f"kill -9 {hanging.pid}" in patient.doctor("--socket", str(other)).stdout


def test_a_daemon_that_hangs_is_ended(patient: Patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the socket, and answers nobody."""
    monkeypatch.setattr(doctor, "KNOCK_S", 0.3)
    patient.socket.parent.mkdir(mode=0o700)
    patient.state.mkdir(mode=0o700)
    with child(HOLD + LISTEN, str(patient.state / "sidecar.lock"), str(patient.socket)) as hanging:
        finding = patient.found(Code.NOT_ANSWERING)
        assert finding is not None
        patient.shell(finding["command"])
        assert hanging.wait(10) == -9
        # The system may still hang up on those who waited.
        until(lambda: patient.found(Code.NOT_ANSWERING) is None)
