"""Lines of one file: whole, counted as the engines count them, and honest about what is left out."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.corpus import split_lines
from sidecar.tools.passage import MAX_CHARS, MAX_SCANNED_BYTES, Passage, passage


def lines_of(data: bytes, start: int = 1, wanted: int = 200, column: int = 1) -> Passage:
    """Lines of a file with these bytes."""
    return passage(io.BytesIO(data), start, wanted, column)


def test_a_small_file_is_read_whole() -> None:
    """Nothing follows."""
    assert lines_of(b"one\ntwo\n") == Passage("one\ntwo", 2, goes_on=False)


@given(st.lists(st.sampled_from(["", "a", "é", "x" * 4_000, "日" * 3_999, "\r", "b\r"])), st.integers(1, 9))
def test_reading_on_gives_every_line_once(lines: list[str], wanted: int) -> None:
    """The pieces are the file, whatever ends a piece: the number of lines or that of characters."""
    text = "\n".join(lines)
    read: list[str] = []
    goes_on = True
    while goes_on:
        piece = lines_of(text.encode(), len(read) + 1, wanted)
        read += piece.text.split("\n") if piece.lines else []
        assert len(piece.text) <= MAX_CHARS
        assert piece.lines <= wanted
        goes_on = piece.goes_on
    assert read == split_lines(text)


@pytest.mark.parametrize("data", [b"", b"one\n", b"one", b"\xef\xbb\xbf"])
def test_a_start_beyond_the_end_is_empty(data: bytes) -> None:
    """No error, no lines."""
    assert lines_of(data, start=2) == Passage("", 0, goes_on=False)


def test_line_ends_and_byte_order_marks_are_not_text() -> None:
    """CR LF and the mark are the file's packaging; a CR of its own ends no line."""
    assert lines_of(b"\xef\xbb\xbfone\r\ntwo\rthree\r\n").text == "one\ntwo\rthree"


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_is_told_and_not_shown_as_rubbish(codec: str) -> None:
    """Its lines end elsewhere, and searches do not know it either."""
    with pytest.raises(OSError, match="UTF-16") as caught:
        lines_of("\ufeffone\n".encode(codec))
    assert caught.value.errno == errno.EILSEQ


def test_bytes_that_are_not_utf8_are_shown_as_replacement() -> None:
    """A wrong encoding is no error, and costs no line."""
    assert lines_of(b"caf\xe9\n\xe3\nnext").text == "caf\ufffd\n\ufffd\nnext"


def test_other_line_separators_do_not_shift_line_numbers() -> None:
    """Only a newline ends a line, for us as for the engines."""
    assert lines_of("a\u2028b\x0cc\x85\nd".encode(), start=2).text == "d"


def test_the_character_limit_cuts_at_a_line() -> None:
    """Whole lines only; exactly the limit still fits."""
    assert lines_of(b"x" * 5_999 + b"\n" + b"y" * 6_000 + b"\n") == Passage(
        "x" * 5_999 + "\n" + "y" * 6_000, 2, goes_on=False
    )
    assert lines_of(b"x" * 6_000 + b"\n" + b"y" * 6_000) == Passage("x" * 6_000, 1, goes_on=True)


@pytest.mark.parametrize(("tail", "goes_on"), [(b"", False), (b"\n", False), (b"\nafter", True), (b"\n\n", True)])
@pytest.mark.parametrize("length", [MAX_CHARS + 1, 24_001, 2_500_000])
def test_a_line_longer_than_the_limit_is_cut_and_says_so(length: int, tail: bytes, goes_on: bool) -> None:
    """What follows can be reached, and so can the rest of the line."""
    whole = "ü".encode() * length + tail
    assert lines_of(whole) == Passage("ü" * MAX_CHARS, 1, goes_on=goes_on, partial=True, next_column=MAX_CHARS + 1)
    assert lines_of(whole, column=length) == Passage("ü", 1, goes_on=goes_on, partial=True)
    assert lines_of(whole, column=length + 1) == Passage("", 0, goes_on=goes_on, partial=True)


@given(st.lists(st.sampled_from(["a", "é", "👩‍👩‍👧", "日" * 7_000, "\r", "x" * 9_000, "\ufffd"]), max_size=12))
def test_reading_on_in_a_line_gives_every_character_once(parts: list[str]) -> None:
    """The pieces are the line, also where bytes that are not UTF-8 stand in it."""
    line = "".join(parts).rstrip("\r")
    data = b"first\n" + line.encode().replace("\ufffd".encode(), b"\xe9") + b"\r\nlast"
    text, column = "", 1
    while column is not None:
        piece = lines_of(data, 2, 1, column)
        assert piece.goes_on
        text, column = text + piece.text, piece.next_column
    assert text == line


def test_a_place_far_too_deep_in_a_line_is_not_looked_for(tmp_path: Path) -> None:
    """A terabyte of one line, and the one character behind it."""
    (tmp_path / "a.md").touch()
    os.truncate(tmp_path / "a.md", 2**40)
    with (tmp_path / "a.md").open("rb") as stream:
        with pytest.raises(OSError) as caught:
            passage(stream, 1, 1, 2**39)
        assert caught.value.errno == errno.EFBIG


@pytest.mark.parametrize("cluster", ["👩\u200d👩\u200d👧", "e\u0301", "🇵🇹", "\u1112\u1161\u11ab", "👍🏽"])
def test_a_cut_tears_no_character(cluster: str) -> None:
    """As readers see characters; so many of them that the limit falls inside of one."""
    for shift in range(len(cluster)):
        text = lines_of(("x" * shift + cluster * MAX_CHARS).encode()).text
        assert MAX_CHARS - len(cluster) < len(text) <= MAX_CHARS
        assert text == "x" * shift + cluster * ((len(text) - shift) // len(cluster))


def test_lines_far_down_a_long_file_are_reached(tmp_path: Path) -> None:
    """Ten million of them are passed in whole blocks."""
    file = tmp_path / "log.md"
    file.write_bytes(b"a line\n" * 10_000_000 + b"the end\n")
    with file.open("rb") as stream:
        assert passage(stream, 10_000_001, 5) == Passage("the end", 1, goes_on=False)


def test_a_file_that_is_far_too_large_is_not_searched_through(tmp_path: Path) -> None:
    """A terabyte of nothing must not keep a thread from its work, and its beginning can be read."""
    (tmp_path / "a.md").touch()
    os.truncate(tmp_path / "a.md", 2**40)
    with (tmp_path / "a.md").open("rb") as stream:
        with pytest.raises(OSError) as caught:
            passage(stream, 10, 1)
        assert caught.value.errno == errno.EFBIG
        assert stream.tell() < 2 * MAX_SCANNED_BYTES
        stream.seek(0)
        assert passage(stream, 1, 1) == Passage(
            "\0" * MAX_CHARS, 1, goes_on=True, partial=True, next_column=MAX_CHARS + 1
        )


def test_a_short_line_before_an_endless_one_costs_nothing_of_it(tmp_path: Path) -> None:
    """Whether there is a next line is asked of its first byte."""
    (tmp_path / "a.md").write_bytes(b"first\n")
    os.truncate(tmp_path / "a.md", 5 * 2**30)
    with (tmp_path / "a.md").open("rb") as stream:
        assert passage(stream, 1, 1) == Passage("first", 1, goes_on=True)
        assert stream.tell() < 2**20
