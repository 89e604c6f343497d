"""Columns that are aligned, and that make room."""

from __future__ import annotations

from sidecar.cli.columns import Column, cell_width, fit, lines, shortened, table, total_width


def test_table_aligns_columns() -> None:
    """Every column is as wide as its widest cell, and lines have no tail of blanks."""
    assert table([("A", "B"), ("long", "x")]) == ["A     B", "long  x"]


def test_numbers_stand_to_the_right() -> None:
    """Digits of one weight stand below each other."""
    assert lines([Column(title="N", cells=["7", "1,200"], right=True)]) == ["    N", "    7", "1,200"]


def test_wide_scripts_take_two_cells_and_marks_none() -> None:
    """Counting characters would bend every row behind such an id."""
    assert [cell_width(text) for text in ("ab", "漢字", "e\u0301", "")] == [2, 4, 1, 0]
    assert lines([Column(title="ID", cells=["漢字", "ab"]), Column(title="X", cells=["1", "2"])])[1:] == [
        "漢字  1",
        "ab    2",
    ]


def test_a_cut_is_marked_and_never_too_wide() -> None:
    """Half of a wide character does not fit either."""
    assert shortened("abcdef", 4, "…") == "abc…"
    assert shortened("漢字漢字", 4, "…") == "漢…"
    assert shortened("abcd", 4, "…") == "abcd"


def test_columns_give_way_in_their_order_and_no_more_than_needed() -> None:
    """First the one that is named first; what has a least width is shortened, what has none leaves."""
    columns = [
        Column(title="ID", cells=["abcdefghij"], least=4),
        Column(title="WHY", cells=["0123456789"], least=6),
        Column(title="N", cells=["1"]),
    ]

    def titles_and_cells(width: int | None) -> list[tuple[str, str]]:
        fitted = fit(columns, width, giving_way=("WHY", "N", "ID"), ellipsis="~")
        assert width is None or width < 8 or total_width(fitted) <= width
        return [(column.title, column.cells[0]) for column in fitted]

    assert titles_and_cells(None) == [("ID", "abcdefghij"), ("WHY", "0123456789"), ("N", "1")]
    assert titles_and_cells(23) == [("ID", "abcdefghij"), ("WHY", "0123456~"), ("N", "1")]
    assert titles_and_cells(20) == [("ID", "abcdefghij"), ("WHY", "01234~")]
    assert titles_and_cells(14) == [("ID", "abcde~"), ("WHY", "01234~")]
    assert titles_and_cells(5) == [("ID", "abc~"), ("WHY", "01234~")]


def test_a_painted_cell_is_as_wide_as_a_plain_one() -> None:
    """Colour comes after the padding."""
    column = Column(title="S", cells=["a", "bb"], paint=[str.upper, lambda text: f"<{text}>"])
    assert lines([column, Column(title="X", cells=["1", "2"])]) == ["S   X", "A   1", "<bb>  2"]
