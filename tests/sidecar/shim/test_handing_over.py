"""When the real qmd is to answer, and how it is found and started."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sidecar import shim
from sidecar.shim.qmd import Asked, Daemon, HandOver, agent_of
from tests.sidecar.cli.fake_daemon import FakeDaemon
from tests.sidecar.shim.conftest import LookAlike

pytestmark = pytest.mark.together("look-alike")

UNKNOWN = [
    "",
    "status",
    "update",
    "mcp",
    "collection list",
    "get qmd://memory-root/MEMORY.md",
    "--version",
    "search",
    "search boat -h",
    "search boat --index other",
    "search boat --all",
    "search boat --explain",
    "search boat --json=true",
    "search boat -n0",
    "search boat -n 0",
    "search boat -n 6x",
    "search boat -n",
    "search boat -n --json",
    "search boat --min-score x",
    "search boat --min-score 7",
    "search boat --format yaml",
    "search boat --format",
    "search -- boat -ship",
    "query lex:boat",
    "search \t",
]


@pytest.mark.parametrize("line", UNKNOWN)
def test_what_only_qmd_knows_is_for_qmd(line: str) -> None:
    with pytest.raises(HandOver):
        Asked(line.split(" "))


def test_as_qmd_does_it_gives_programs_twenty_and_people_five() -> None:
    limits = {form: Asked(["search", "boat", form]).limit for form in ("--json", "--files", "--csv", "--format=cli")}
    assert limits == {"--json": 20, "--files": 20, "--csv": 5, "--format=cli": 5}
    assert Asked(["search", "boat", "--json", "-n", "3", "-n", "4"]).limit == 4


def test_a_format_that_is_named_wins_and_among_flags_it_is_as_in_qmd() -> None:
    assert Asked(["search", "boat", "--json", "--csv"]).format == "csv"
    assert Asked(["search", "boat", "--csv", "--format", "md"]).format == "md"


def test_arguments_environment_and_signals_arrive_as_they_were(qmd: LookAlike) -> None:
    words = [b"get", b"--", b"a\nb", b"\xff", b"", "ü".encode()]
    real = qmd.run(*words, MINE="x y", PYTHONPATH="/nowhere").real
    assert real is not None
    assert real["argv"] == [word.hex() for word in words]
    path = f"{qmd.file.parent}:{qmd.real.parent}:/usr/bin:/bin"
    mine = {"MINE": "x y", "PYTHONPATH": "/nowhere", "SIDECAR_AGENT": "main", "LANG": "C.UTF-8", "PATH": path}
    assert real["environ"] == {**mine, "HOME": str(qmd.folder)}


def test_a_broken_pipe_ends_the_real_one_as_it_would_have(qmd: LookAlike) -> None:
    qmd.real.write_text("#!/bin/sh\ntrap '' USR1\ngrep SigIgn /proc/self/status || echo none\n")
    if not Path("/proc/self/status").exists():
        pytest.skip("only Linux tells which signals are ignored")
    ignored = int(qmd.run("update").stdout.split()[1], 16)
    assert not ignored & (1 << 12)


@pytest.mark.parametrize(
    "words",
    [["-c", "private"], ["-c", "memory-root", "-c", "private"], ["--min-score", "2"]],
    ids=["a collection that is not known", "one of two that is not", "a score that the daemon refuses"],
)
def test_what_the_daemon_does_not_know_is_for_the_real_one(qmd: LookAlike, words: list[str]) -> None:
    assert qmd.run("search", "boat", "--json", *words).real


def test_an_index_of_the_callers_own_is_for_the_real_one(qmd: LookAlike, tmp_path: Path) -> None:
    qmd.environ.clear()
    for extra in ({"QMD_CONFIG_DIR": str(tmp_path)}, {"INDEX_PATH": "/x"}, {"SIDECAR_AGENT": "nobody"}, {}):
        assert qmd.run("search", "boat", **extra).real, extra


def test_without_a_daemon_it_is_for_the_real_one(qmd: LookAlike) -> None:
    assert qmd.run("search", "boat", SIDECAR_SOCKET="/nowhere/s.sock").real
    assert qmd.run("search", "boat", SIDECAR_SOCKET="/" + "x" * 300).real


def test_the_daemon_does_not_ask_itself_through_a_qmd_of_its_own(qmd: LookAlike) -> None:
    assert qmd.run("search", "boat", QMD_SIDECAR_STATE="/state").real


def test_copies_and_links_of_it_are_passed_over(qmd: LookAlike, tmp_path: Path) -> None:
    shim.install(tmp_path / "second", sys.executable, [])
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "qmd").symlink_to(qmd.file)
    (tmp_path / "copies").mkdir()
    shutil.copy(qmd.file, tmp_path / "copies" / "qmd")
    (tmp_path / "folder" / "qmd").mkdir(parents=True)
    ours = [str(tmp_path / name) for name in ("links", "second", "copies", "folder", "missing")]
    assert qmd.run("update", path=":".join([*ours, str(qmd.file.parent), str(qmd.real.parent)])).real
    ended = qmd.run("update", path=":".join(ours))
    assert (ended.status, ended.stdout) == (127, "")
    assert "npm install -g @tobilu/qmd" in ended.stderr


def test_one_that_cannot_be_started_is_named_and_the_next_is_taken(qmd: LookAlike, tmp_path: Path) -> None:
    broken = tmp_path / "broken" / "qmd"
    broken.parent.mkdir()
    broken.write_text("#!/nowhere/node\n")
    broken.chmod(0o755)
    path = f"{broken.parent}:{qmd.real.parent}"
    ended = qmd.run("update", path=path)
    assert ended.real
    assert str(broken) in ended.stderr


def test_a_collection_that_others_left_no_place_is_for_the_real_one(qmd: LookAlike) -> None:
    qmd.environ["SIDECAR_AGENT"] = "many"
    assert qmd.run("search", "gull", "--json", "-c", "memory-root").real
    assert len(qmd.run("search", "gull", "--json", "-c", "memory-dir", "-n", "6").rows) == 6
    assert len(qmd.run("search", "gull", "--json", "-n", "60").rows) == 50


@pytest.fixture
def lone() -> Iterator[Daemon]:
    """A daemon with one agent, which says nothing else."""
    with tempfile.TemporaryDirectory(prefix="qs") as folder:
        fake = FakeDaemon(Path(folder) / "s.sock")
        fake.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "only"}]})
        with closing(Daemon([str(fake.path)])) as daemon:
            yield daemon
        fake.close()


def test_an_only_agent_is_meant(lone: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert agent_of(lone, {}) == "only"


def test_in_a_project_with_an_index_of_its_own_no_agent_is_guessed(
    lone: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".qmd").mkdir()
    (tmp_path / ".qmd" / "index.yml").write_text("")
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    with pytest.raises(HandOver):
        agent_of(lone, {})


@pytest.mark.parametrize("reply", [b"", b"[]", b"{", b"\xff", b'{"agents": 1}', b'{"agents": [1]}'])
def test_a_daemon_that_talks_nonsense_is_left_for_the_real_one(qmd: LookAlike, reply: bytes) -> None:
    with tempfile.TemporaryDirectory(prefix="qs") as folder:
        fake = FakeDaemon(Path(folder) / "s.sock")
        fake.routes["GET", "/v1/agents"] = (200, reply)
        assert qmd.run("search", "boat", SIDECAR_SOCKET=str(fake.path)).real
        fake.close()
