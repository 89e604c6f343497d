"""Chunks of whole lines with overlap, cut where the text allows it."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.builtin.chunking import Chunk, chunk_lines
from backends.text.costs import token_cost
from backends.text.graphemes import MAX_CLUSTER_CHARS, is_boundary

#: Lines of every sort that cutting tells apart, and lines too long for a small chunk.
LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("", "", "  ", "# Head", "## Sub", "Title", "=====", "---", "- item", "  2. item", "plain words here"),
                *("```", "```sh", "~~~~", "~~~", "````", "| a | b |", "|---|---|", "* * *", "#tag", "2024 was long"),
            ]
        ),
        st.text(alphabet="ab 项é\u0301", max_size=200),
    ),
    max_size=60,
)
CLUSTERS = ("a", " ", "é", "e\u0301", "项", "👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "각", "\u1100\u1161\u11a8", "\r")
HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")


def chunks(lines: list[str], tokens: int = 40, overlap: int = 8) -> list[Chunk]:
    return list(chunk_lines(lines, tokens=tokens, overlap=overlap))


def is_title(lines: list[str], at: int) -> bool:
    """Whether a line is a heading by its own mark or by the line below it."""
    return bool(HEADING.match(lines[at]) or UNDERLINE.fullmatch("".join(lines[at + 1 : at + 2])))


def words(count: int, *, cost: int = 5) -> list[str]:
    """Lines of prose that cost `cost` tokens each."""
    return [f"word{at}".ljust(cost * 4 - 1, ".") for at in range(count)]


def cost(lines: list[str]) -> int:
    return sum(map(token_cost, lines))


def test_a_short_text_is_one_chunk() -> None:
    """Lines are numbered from one and kept whole."""
    assert chunks(["one", "", "three"]) == [Chunk(1, 3, "one\n\nthree")]


def test_neighbours_overlap() -> None:
    """Each chunk begins with the last lines of the one before."""
    first, second, *_ = chunks([f"line {at} is here" for at in range(40)])
    assert first.start_line < second.start_line <= first.end_line < second.end_line


@pytest.mark.parametrize("heading", [["## Next"], ["Next", "===="], ["Next", "---"], ["# Next", "", "## And below"]])
def test_a_chunk_ends_before_a_heading_rather_than_later(heading: list[str]) -> None:
    """A section begins a chunk, even where blank lines and items come after it."""
    lines = [*words(6), "", *heading, "", "- item", *words(6)]
    assert chunks(lines, overlap=0)[0].end_line == 7


def test_a_chunk_ends_after_a_paragraph_rather_than_before_an_item() -> None:
    """A blank line before items wins over the last item that fits."""
    assert chunks([*words(6), "", *["- item"] * 9], overlap=0)[0].end_line == 7


def test_a_chunk_ends_before_an_item_rather_than_inside_it() -> None:
    """An item of two lines stays whole."""
    lines = [*words(6), "- item", "  of two lines", *words(5, cost=3)]
    assert chunks(lines, overlap=0)[0].end_line == 6


def test_a_better_place_to_cut_is_not_looked_for_too_far_back() -> None:
    """A heading at the start of a full chunk does not make a tiny one."""
    assert chunks(["intro", "# Head", *words(9)], overlap=0)[0].end_line > 6


@pytest.mark.parametrize("heading", [["## Head"], ["Head", "----"], ["# A", "", "## B", "### C"], ["# Head", "", ""]])
@pytest.mark.parametrize("lead", range(12))
def test_a_heading_stays_with_its_text(heading: list[str], lead: int) -> None:
    """Wherever it falls, the chunk that holds it holds the line after it."""
    lines = [*words(lead, cost=4), *heading, "The text of it.", *words(12, cost=4)]
    text_line = lead + len(heading) + 1
    holding = [chunk for chunk in chunks(lines) if chunk.start_line <= lead + 1 <= chunk.end_line]
    assert holding
    assert all(chunk.end_line >= text_line for chunk in holding)


@pytest.mark.parametrize(
    "block",
    [
        ["```", "code", "", "# comment", "more", "```"],
        ["~~~ python title", "``` inside", "- no item", "~~~"],
        ["````markdown", "```", "nested", "```", "````"],
        ["  ```sh", "  in an item", "  ```"],
        ["| a | b |", "|---|---|", "| 1 | 2 |", "| 3 | 4 |"],
    ],
)
@pytest.mark.parametrize("lead", range(12))
def test_a_block_that_fits_is_not_torn(block: list[str], lead: int) -> None:
    """Fenced code and tables are whole in every chunk that touches them, overlaps included."""
    lines = [*words(lead, cost=4), *block, *words(12, cost=4)]
    touching = [c for c in chunks(lines) if c.start_line <= lead + len(block) and c.end_line > lead]
    assert touching
    assert all("\n".join(block) in chunk.text for chunk in touching)


def test_a_fence_that_nobody_closed_is_one_block() -> None:
    """It reaches to the end of the text."""
    lines = [*words(7), "```", "code", "", "# no heading", "code"]
    assert chunks(lines, overlap=0)[1].start_line == 8


@pytest.mark.parametrize("block", [["```", *words(30), "```"], [f"| row {at} | of many |" for at in range(60)]])
def test_a_block_larger_than_a_chunk_is_cut_at_lines(block: list[str]) -> None:
    """And fills its chunks."""
    made = chunks(block)
    assert len(made) <= 2 * cost(block) / 40
    assert all(chunk.text == "\n".join(block[chunk.start_line - 1 : chunk.end_line]) for chunk in made)


def test_blank_lines_at_the_end_do_not_repeat_the_last_chunk() -> None:
    """A chunk that would hold nothing new is none."""
    lines = [*words(7), *[""] * 200]
    assert [chunk.end_line >= 7 for chunk in chunks(lines)] == [True]


def test_a_long_line_is_split_once() -> None:
    """The parts of one long line put together are the line, nothing twice."""
    line = "".join(f"word{at} " for at in range(300))
    assert "".join(chunk.text for chunk in chunks(["head", line, "tail"]) if chunk.start_line == 2) == line


@given(st.lists(st.sampled_from(CLUSTERS), min_size=30, max_size=300), st.integers(1, 30))
def test_the_parts_of_a_long_line_tear_no_character(clusters: list[str], tokens: int) -> None:
    """They are consecutive, whole clusters, and bounded."""
    line = "".join(clusters)
    parts = [chunk.text for chunk in chunks([line], tokens, 0)]
    if token_cost(line) > tokens and line.strip():
        assert "".join(parts) == line
    ends = [sum(map(len, parts[: at + 1])) for at in range(len(parts))]
    assert all(is_boundary(line, end) for end in ends)
    assert all(token_cost(part) <= tokens or len(part) <= MAX_CLUSTER_CHARS for part in parts)


def test_dense_scripts_cost_more() -> None:
    """A Chinese character is about a token, four Latin letters are one."""
    assert token_cost("项目评审会议" * 10) > 3 * token_cost("project" * 10)


@given(LINES, st.integers(1, 80), st.integers(0, 79))
def test_every_line_is_in_a_chunk_that_names_it(lines: list[str], tokens: int, overlap: int) -> None:
    """Nothing is lost, chunks advance, and each is the lines it names, or a part of a single long one."""
    made = chunks(lines, tokens, min(overlap, tokens - 1))
    covered = {at for chunk in made for at in range(chunk.start_line, chunk.end_line + 1)}
    assert {at for at, line in enumerate(lines, 1) if line.strip()} <= covered
    for chunk in made:
        named = lines[chunk.start_line - 1 : chunk.end_line]
        assert chunk.text == "\n".join(named) or (len(named) == 1 and chunk.text in named[0])
    assert [chunk.end_line for chunk in made] == sorted(chunk.end_line for chunk in made)


@given(LINES, st.integers(8, 80), st.integers(0, 79))
def test_chunks_and_overlaps_are_bounded(lines: list[str], tokens: int, overlap: int) -> None:
    """Whole lines cost at most `tokens` together, and a chunk repeats at most `overlap` of the one before."""
    overlap = min(overlap, tokens - 1)
    made = [chunk for chunk in chunks(lines, tokens, overlap) if token_cost(lines[chunk.start_line - 1]) <= tokens]
    assert all(cost(lines[chunk.start_line - 1 : chunk.end_line]) <= tokens for chunk in made)
    for one, other in pairwise(made):
        assert one.start_line < other.start_line
        assert cost(lines[other.start_line - 1 : one.end_line]) <= overlap
        assert any(line.strip() for line in lines[one.end_line : other.end_line])


@given(LINES, st.integers(8, 80), st.integers(0, 20))
def test_no_chunk_ends_with_a_heading_whose_text_has_room(lines: list[str], tokens: int, overlap: int) -> None:
    """Only where the next line does not fit beside it, or there is none."""
    fenced = any("`" in line or "~" in line for line in lines)
    for chunk in [] if fenced else chunks(lines, tokens, min(overlap, tokens - 1)):
        held = [at for at in range(chunk.start_line - 1, chunk.end_line) if lines[at].strip()]
        following = next((at for at in range(chunk.end_line, len(lines)) if lines[at].strip()), None)
        if following is not None and HEADING.match(lines[held[-1]]) and not is_title(lines, following):
            assert cost(lines[held[-1] : following + 1]) > tokens


@pytest.mark.alone
@pytest.mark.parametrize(
    "lines",
    [
        ["# Head"] * 4000,
        ["# Head", "", ""] * 2000,
        ["```"] * 4001,
        ["text", "---"] * 2000,
        ["| row |"] * 4000,
        ["", "- item"] * 2000,
        ["", "~~~", "`````"] * 1500,
        ["项" * 200_000],
        ["\U0001f1e9" * 100_000],
        ["e" + "\u0301" * 100_000],
        ["👨‍👩‍👧‍👦" * 20_000],
        [" " * 200_000],
    ],
    ids=lambda lines: repr(lines[0][:3]),
)
def test_four_times_the_text_takes_about_four_times_as_long(lines: list[str]) -> None:
    """Whatever the text is made of; twelve times would be on the way to sixteen."""

    def seconds(text: list[str]) -> float:
        taken = []
        for _ in range(3):
            started = time.process_time()
            chunks(text, 400, 80)
            taken.append(time.process_time() - started)
        return min(taken)

    longer = [lines[0] * 4] if len(lines) == 1 else lines * 4
    assert seconds(longer) < 12 * seconds(lines) + 0.05
