"""The look-alike beside the real qmd: the same notes, the same command lines, the same forms."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sidecar import shim
from tests.real_qmd.test_versions import program_of
from tests.running import QMD, real_qmd_path, running

pytestmark = pytest.mark.real_qmd

#: Each word that is asked for is in one note of one line, where both show the same.
NOTES = {
    "MEMORY.md": 'The zebracomet is "quoted", <tagged> & more',
    "memory/2026-01-02.md": '# Lunch, with "Ada"\n\nA heronstone, a spoon.\nAnd a fork.\n',
    "memory/Über My_Note, #1.md": "## Second level  \r\n\r\nThe saltmarsh hides a key.\r\n",
    "memory/no end.md": "- [x] quietlantern",
}
WORDS = ("zebracomet", "heronstone", "saltmarsh", "quietlantern")
FORMS = ("--json", "--csv", "--md", "--xml", "--files", "--format=cli")


@dataclass
class Both:
    """The two, on one index."""

    look_alike: Path
    environ: Mapping[str, str]
    folder: Path

    def ours(self, *words: str) -> str:
        """With no other qmd on PATH: what is printed is the daemon's."""
        return self._run(self.look_alike, words, PATH=os.defpath)

    def handed_over(self, *words: str) -> str:
        return self._run(self.look_alike, words)

    def theirs(self, *words: str) -> str:
        return self._run(QMD / ".bin" / "qmd", words)

    def _run(self, program: Path, words: Sequence[str], **extra: str) -> str:
        environ = {**self.environ, **extra}
        done = subprocess.run([program, *words], env=environ, cwd=self.folder, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("both")
    for name, text in NOTES.items():
        (folder / "ws" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "ws" / name).write_text(text, encoding="utf-8", newline="")
    config = {"memory": {"backend": "qmd"}, "agents": {"list": [{"id": "main", "workspace": str(folder / "ws")}]}}
    with running(folder / "daemon", config, path=real_qmd_path()) as daemon:
        daemon.sync("main")
        file = shim.install(folder / "bin", sys.executable, [daemon.client.path])
        environ = {"PATH": real_qmd_path(), "HOME": str(folder), **daemon.client.environment("main"), "NO_COLOR": "1"}
        yield Both(file, environ, folder)


def masked(printed: str) -> str:
    """Without what is known to differ: how relevant a note is, and which of its lines are shown."""
    printed = re.sub(r"(?m)^(#\w{6}),[01]\.\d+,", r"\1,SCORE,", printed)
    printed = re.sub(r"(?m)^Score: [ \d]{3}%$", "SCORE", printed)
    return re.sub(r'"score": (?:[01]|0\.\d{1,2}),', "SCORE", printed)


@pytest.mark.parametrize("form", FORMS)
def test_a_note_of_one_line_is_shown_to_the_character_as_qmd_shows_it(both: Both, form: str) -> None:
    ours, theirs = both.ours("search", "zebracomet", form), both.theirs("search", "zebracomet", form)
    assert "qmd://memory-root/MEMORY.md" in ours
    assert masked(ours) == masked(theirs)


@pytest.mark.parametrize("form", FORMS)
def test_a_whole_note_is_shown_to_the_character_as_qmd_shows_it(both: Both, form: str) -> None:
    words = ("search", "heronstone", form, "--full")
    assert masked(both.ours(*words)) == masked(both.theirs(*words))


@pytest.mark.parametrize("word", WORDS)
def test_a_row_agrees_key_by_key(both: Both, word: str) -> None:
    (ours,), (theirs,) = (json.loads(ask("search", word, "--json")) for ask in (both.ours, both.theirs))
    assert list(ours) == list(theirs)
    assert {key: type(value) for key, value in ours.items() if key != "score"} == {
        key: type(value) for key, value in theirs.items() if key != "score"
    }
    for key in ("docid", "file", "line", "title"):
        assert ours[key] == theirs[key], key
    header = re.compile(r"@@ -(\d+),(\d+) @@ \((\d+) before, (\d+) after\)\n(.*)", re.DOTALL)
    totals = set()
    for row in (ours, theirs):
        first, count, before, after, shown = header.fullmatch(row["snippet"]).groups()  # type: ignore[union-attr]
        assert int(first) == int(before) + 1
        assert shown.count("\n") + 1 == int(count)
        assert int(first) <= row["line"] < int(first) + int(count)
        totals.add(int(before) + int(count) + int(after))
    assert len(totals) == 1


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_said_as_qmd_says_it(both: Both, form: str) -> None:
    assert both.ours("search", "nowhereatall", form) == both.theirs("search", "nowhereatall", form)


def test_collections_are_called_alike(both: Both) -> None:
    for word, collection in (
        ("zebracomet", "memory-root"),
        ("heronstone", "memory-dir"),
        ("heronstone", "memory-root"),
    ):
        words = ("search", word, "--files", "-c", collection)
        assert masked(both.ours(*words)) == masked(both.theirs(*words))


def test_what_the_look_alike_hands_over_is_the_real_ones_answer(both: Both) -> None:
    for words in (["get", "qmd://memory-root/MEMORY.md"], ["search", "zebracomet", "--json", "--line-numbers"]):
        assert both.handed_over(*words) == both.theirs(*words)


@pytest.mark.parametrize("version", ["2.1.0", "1.0.7"])
def test_older_versions_had_no_key_that_is_missing(both: Both, tmp_path: Path, version: str) -> None:
    """They lack `line` and `docid`, and name files otherwise; what they had is there."""
    environ = {**both.environ, "XDG_CACHE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    environ["QMD_CONFIG_DIR"] = str(tmp_path / "qmd")

    def older(*words: str) -> str:
        done = subprocess.run([program_of(version), *words], env=environ, cwd=tmp_path, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    older("collection", "add", str(both.folder / "ws" / "memory"), "--name", "memory-dir", "--mask", "**/*.md")
    (theirs,) = json.loads(older("search", "heronstone", "--json"))
    (ours,) = json.loads(both.ours("search", "heronstone", "--json"))
    assert set(theirs) <= set(ours)
    same: list[Any] = [key for key in ("docid", "title") if key in theirs]
    assert [ours[key] for key in same] == [theirs[key] for key in same]
