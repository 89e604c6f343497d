"""Chunks of whole lines with overlap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backends.builtin.chunking import Chunk, chunk_lines, token_cost


def chunks(lines: list[str], tokens: int = 40, overlap: int = 8) -> list[Chunk]:
    return list(chunk_lines(lines, tokens=tokens, overlap=overlap))


def test_a_short_text_is_one_chunk() -> None:
    """Lines are numbered from one and kept whole."""
    assert chunks(["one", "", "three"]) == [Chunk(1, 3, "one\n\nthree")]


def test_neighbours_overlap() -> None:
    """Each chunk begins with the last lines of the one before."""
    first, second, *_ = chunks([f"line {at} is here" for at in range(40)])
    assert first.start_line < second.start_line <= first.end_line < second.end_line


def test_a_long_line_is_split_once() -> None:
    """The parts of one long line put together are the line, nothing twice."""
    line = "".join(f"word{at} " for at in range(300))
    assert "".join(chunk.text for chunk in chunks(["head", line, "tail"]) if chunk.start_line == 2) == line


def test_dense_scripts_cost_more() -> None:
    """A Chinese character is about a token, four Latin letters are one."""
    assert token_cost("项目评审会议" * 10) > 3 * token_cost("project" * 10)


@given(st.lists(st.text(alphabet="ab 项é\u0301", max_size=200), max_size=40), st.integers(10, 80), st.integers(0, 79))
def test_every_line_is_in_a_chunk(lines: list[str], tokens: int, overlap: int) -> None:
    """Nothing is lost, chunks advance, and each names the lines it holds."""
    made = chunks(lines, tokens, min(overlap, tokens - 1))
    covered = {at for chunk in made for at in range(chunk.start_line, chunk.end_line + 1)}
    assert {at for at, line in enumerate(lines, 1) if line.strip()} <= covered
    whole = [chunk for chunk in made if chunk.text == "\n".join(lines[chunk.start_line - 1 : chunk.end_line])]
    assert all(chunk.start_line == chunk.end_line for chunk in made if chunk not in whole)
    assert [chunk.end_line for chunk in made] == sorted(chunk.end_line for chunk in made)
