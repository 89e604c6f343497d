"""What the look-alike prints when the daemon answers."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sidecar import shim
from sidecar.shim.qmd import read, title
from tests.running import Running
from tests.sidecar.shim.conftest import LookAlike

pytestmark = pytest.mark.together("look-alike")


def test_a_row_has_what_a_row_of_qmd_has(qmd: LookAlike) -> None:
    (row,) = qmd.run("search", "boat ten", "--json", "-n", "1").rows
    assert list(row) == ["docid", "score", "file", "line", "title", "snippet"]
    assert (row["file"], row["line"], row["title"]) == ("qmd://memory-root/MEMORY.md", 3, "Harbour")
    assert row["snippet"] == "@@ -1,3 @@ (0 before, 1 after)\n# Harbour\n\nThe boat leaves at ten."
    assert 0 < row["score"] <= 1
    assert row["score"] == round(row["score"], 2)


def test_full_gives_the_whole_file(qmd: LookAlike) -> None:
    (row,) = qmd.run("--json", "--full", "search", "boat ten", "-n", "1").rows
    assert list(row) == ["docid", "score", "file", "line", "title", "body"]
    assert row["body"] == "# Harbour\n\nThe boat leaves at ten.\n"


@pytest.mark.parametrize("verb", ["search", "vsearch", "query"])
def test_every_way_of_searching_is_answered(qmd: LookAlike, verb: str) -> None:
    assert "qmd://memory-dir/no heading_ü.md" in qmd.run(verb, "heron codeword", "--format=json").stdout


def test_only_the_collections_that_were_named_are_shown(qmd: LookAlike) -> None:
    assert len(qmd.run("search", "boat", "--json").rows) == 2
    (row,) = qmd.run("search", "boat", "--json", "-c", "memory-root").rows
    assert row["file"] == "qmd://memory-root/MEMORY.md"
    both = qmd.run("search", "boat", "--json", "-c", "memory-root", "--collection=memory-dir").rows
    assert len(both) == 2


def test_a_score_that_is_too_low_is_not_shown(qmd: LookAlike) -> None:
    assert qmd.run("search", "boat", "--json", "--min-score", "1").rows == []


EMPTY = {
    "json": "[]\n",
    "csv": "docid,score,file,title,context,line,snippet\n",
    "xml": "<results></results>\n",
    "md": "",
    "files": "",
}


@pytest.mark.parametrize("form", EMPTY)
def test_nothing_is_said_in_the_form_that_was_asked_for(qmd: LookAlike, form: str) -> None:
    assert qmd.run("search", "nowhereatall", f"--{form}").stdout == EMPTY[form]


def test_nothing_is_said_in_words_to_people(qmd: LookAlike) -> None:
    assert qmd.run("search", "nowhereatall").stdout == "No results found.\n"


HOSTILE = {
    "an option behind the end of options": ["--", "search", "boat", "--collection=private"],
    "a newline": ["search", "boat\nten"],
    "an open quote": ["search", 'boat "ten'],
    "bytes that are not UTF-8": ["search", b"boat \xff\xfe"],
    "100 KB": ["search", "boat " * 20_000],
    "a control character": ["search", "boat \x01\x1b[31m"],
    "a bullet": ["search", "--", "- boat"],
    "several words": ["search", "the", "boat", "", "leaves"],
}


@pytest.mark.parametrize("words", HOSTILE.values(), ids=HOSTILE)
def test_any_text_is_a_question(qmd: LookAlike, words: list[str | bytes]) -> None:
    assert "MEMORY.md" in qmd.run(*(words if "--" in words[:1] else ["--json", *words])).stdout


def test_the_locale_of_the_caller_does_not_matter(qmd: LookAlike) -> None:
    (row,) = qmd.run("search", "heron", "--json", LC_ALL="C").rows
    assert row["file"].endswith("no heading_ü.md")


def test_the_callers_python_settings_do_not_matter(qmd: LookAlike, tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('not this one')")
    assert qmd.run("search", "boat", "--json", PYTHONPATH=str(tmp_path), PYTHONHOME="/nowhere").rows


def test_the_agent_is_known_by_the_index_that_the_caller_chose(qmd: LookAlike, daemon: Running) -> None:
    qmd.environ.clear()
    chosen = daemon.call("GET", "/v1/agents/%C3%B6ps/env")["environment"]
    (row,) = qmd.run("search", "codeword", "--json", QMD_CONFIG_DIR=chosen["QMD_CONFIG_DIR"]).rows
    assert "saltmarsh" in row["snippet"]
    assert qmd.run("search", "codeword", "--json", XDG_CONFIG_HOME=chosen["XDG_CONFIG_HOME"]).rows == [row]


def test_a_denial_is_an_answer_and_no_reason_to_ask_another_qmd(qmd: LookAlike) -> None:
    ended = qmd.run("search", "codeword", "--json", SIDECAR_AGENT="two words")
    assert (ended.status, ended.stdout) == (1, "")
    assert "denied" in ended.stderr


def test_a_reader_that_has_gone_ends_it_quietly(qmd: LookAlike) -> None:
    here, there = os.pipe()
    os.close(here)
    environ = {"PATH": "/usr/bin:/bin", **qmd.environ}
    done = subprocess.run([qmd.file, "search", "boat"], env=environ, stdout=there, stderr=subprocess.PIPE, timeout=60)
    os.close(there)
    assert (done.returncode, done.stderr) == (1, b"")


class Listening(socketserver.StreamRequestHandler):
    """Answers a search as a daemon would, and keeps what comes after it."""

    replies = (
        {"agents": [{"id": "main"}]},
        {"roots": [{"name": "memory-root", "path": "/", "shown": ""}]},
        {"outcome": "no_match", "results": [], "notices": []},
    )

    def handle(self) -> None:
        for reply in self.replies:
            length = 0
            while (line := self.rfile.readline()) not in {b"\r\n", b""}:
                length = int(line.split()[1]) if line.startswith(b"Content-Length") else length
            self.rfile.read(length)
            body = json.dumps(reply).encode()
            self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        self.server.later = self.rfile.read()  # type: ignore[attr-defined]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_without_a_standard_output_the_daemon_is_not_sent_the_answer(qmd: LookAlike, closed: str) -> None:
    with tempfile.TemporaryDirectory(prefix="qs") as folder:
        path = f"{folder}/s.sock"
        with socketserver.UnixStreamServer(path, Listening) as server:
            environ = {"PATH": "/usr/bin:/bin", **qmd.environ, "SIDECAR_SOCKET": path}
            command = ["/bin/sh", "-c", f'exec "$0" search boat {closed}', qmd.file]
            with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
                server.timeout = 60
                server.handle_request()
            assert (process.returncode, server.later) == (0, b"")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["py thon", "it's one", "p" * 130])
def test_an_interpreter_that_no_first_line_can_name_is_started(
    qmd: LookAlike, daemon: Running, tmp_path: Path, name: str
) -> None:
    python = tmp_path / name / "python3"
    python.parent.mkdir()
    python.symlink_to(Path(sys.executable).resolve())
    shim.install(qmd.file.parent, str(python), [daemon.client.path])
    assert qmd.file.read_text(encoding="utf-8").startswith("#!/bin/sh\n")
    assert qmd.run("search", "boat", "--json").rows


TITLES = {
    "# One\n": "One",
    "text\n## Two  \n": "Two",
    "### Three\n": "a note.x",
    "# Notes\n\n## Inside\n": "Inside",
    "# 📝 Notes\n": "📝 Notes",
    "#\n\nBelow\n": "Below",
    "": "a note.x",
}


@pytest.mark.parametrize("text", TITLES)
def test_a_title_is_the_first_heading_else_the_name(text: str) -> None:
    assert title(text, "qmd://memory-dir/sub.d/a note.x.md") == TITLES[text]


def test_a_link_below_a_root_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.md").symlink_to(tmp_path / "secret")
    (tmp_path / "root" / "out").symlink_to(tmp_path)
    for relative in ("a.md", "out/secret"):
        with pytest.raises(OSError, match=r"symbolic|directory"):
            read(str(tmp_path / "root"), relative)


def test_a_pipe_in_the_place_of_a_note_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(OSError):
        read(str(tmp_path), "a.md")
