"""The proof of a purge reads every byte, and says what it could not read."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from sidecar.sessions.scanning import ScanJob, Scanned, scan

WORD = "swordfish"


def looked(folder: Path, pattern: str = WORD, **more: Any) -> Scanned:
    """Scan a folder."""
    empty: dict[str, Any] = {"telling": (), "files": (), "notes": (), "exports": ()}
    return scan(ScanJob(pattern=pattern, folders=[str(folder)], **(empty | more)))


@pytest.mark.parametrize("before", [0, 1, (1 << 20) - 5, (1 << 20) - 9, (1 << 20), (1 << 21) - 1])
def test_a_match_is_found_once_wherever_it_stands(tmp_path: Path, before: int) -> None:
    """Also across the blocks that are read."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"\xff" * before + WORD.encode() + b"\0" * 99)
    found = looked(tmp_path)
    assert found.remaining == {f"{tmp_path}/deep/file": 1}
    assert (found.files, found.bytes) == (1, before + len(WORD) + 99)


def test_links_and_pipes_are_not_read(tmp_path: Path) -> None:
    """A link leads to somebody else's file, and a pipe would be waited for."""
    outside = tmp_path / "outside"
    outside.write_text(WORD)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link").symlink_to(outside)
    os.mkfifo(inside / "pipe")
    assert looked(inside).remaining == {}
    assert looked(inside).unread == []


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(WORD)
    (tmp_path / "file").chmod(0)
    assert looked(tmp_path).unread == [f"{tmp_path}/file"]


def test_lines_of_notes_are_counted(tmp_path: Path) -> None:
    """Each once."""
    note = tmp_path / "note.md"
    note.write_text(f"{WORD} {WORD}\n\n{WORD}\n")
    assert looked(tmp_path / "none", notes=[str(note)]).notes == {str(note): 2}


def test_a_turn_that_also_stands_elsewhere_tells_nothing(tmp_path: Path) -> None:
    """The same words of a note, or of a conversation that stays, are not the session's."""
    state = tmp_path / "state"
    state.mkdir()
    (state / "index").write_text("first (turn) second turn third turn")
    note, export = tmp_path / "note.md", tmp_path / "export.md"
    note.write_text("second turn")
    export.write_text("third turn")
    telling = ["first (turn)", "second turn", "third turn"]
    found = looked(state, "", telling=telling, notes=[str(note)], exports=[str(export)])
    assert found.remaining == {f"{state}/index": 1}
    assert looked(state, "", telling=()).remaining == {}


@pytest.mark.alone
def test_lines_that_all_match_are_counted_in_time(tmp_path: Path) -> None:
    """A note eight times as long takes about eight times as long."""
    note = tmp_path / "note.md"

    def seconds(lines: int) -> float:
        note.write_text("swordfish and chips\n" * lines)
        started = time.process_time()
        assert looked(tmp_path / "none", "[a-z]", notes=[str(note)]).notes == {str(note): lines}
        return time.process_time() - started

    short, long = (min(seconds(lines) for _ in range(2)) for lines in (1_000, 8_000))
    assert long < 16 * short
