"""Aligned columns that fit a screen: some give up part of their width, then some leave, before a line is too long."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A title and one cell per row, plain text yet.

    `least` is the width in cells down to which it may be shortened; with 0 it can only leave as a whole. `paint`
    colours the padded cell of a row: its functions follow the rows.
    """

    title: str
    cells: Sequence[str]
    right: bool = False
    least: int = 0
    paint: Sequence[Callable[[str], str]] = ()

    @property
    def width(self) -> int:
        """The widest of title and cells, in terminal cells."""
        return max(map(cell_width, (self.title, *self.cells)))


def fit(columns: Sequence[Column], width: int | None, *, giving_way: Sequence[str], ellipsis: str) -> list[Column]:
    """The columns in at most `width` cells, as far as those titled in `giving_way`, first ones first, make room."""
    fitted = list(columns)
    for title in giving_way:
        over = 0 if width is None else total_width(fitted) - width
        at = next((at for at, column in enumerate(fitted) if column.title == title), None)
        if over <= 0 or at is None:
            continue
        column = fitted[at]
        if column.least:
            limit = max(column.least, column.width - over)
            fitted[at] = replace(column, cells=[shortened(cell, limit, ellipsis) for cell in column.cells])
        else:
            del fitted[at]
    return fitted


def total_width(columns: Sequence[Column]) -> int:
    """The width of a line, in terminal cells."""
    return sum(column.width for column in columns) + len(GAP) * (len(columns) - 1)


def lines(columns: Sequence[Column]) -> list[str]:
    """The heading, then one line per row."""
    widths = [column.width for column in columns]
    heading = [_padded(column, column.title, width) for column, width in zip(columns, widths, strict=True)]
    rows = [
        [_painted(column, row, width) for column, width in zip(columns, widths, strict=True)]
        for row in range(len(columns[0].cells))
    ]
    return [GAP.join(cells).rstrip() for cells in (heading, *rows)]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with aligned columns; the first row is the heading."""
    heading, *body = rows
    return lines([Column(title=title, cells=[row[number] for row in body]) for number, title in enumerate(heading)])


def shortened(text: str, width: int, ellipsis: str) -> str:
    """The text in at most `width` cells; a cut is marked, and the end is what goes."""
    if cell_width(text) <= width:
        return text
    room = width - cell_width(ellipsis)
    kept = text
    while kept and cell_width(kept) > room:
        kept = kept[:-1]
    return f"{kept}{ellipsis}"


def cell_width(text: str) -> int:
    """How many cells a terminal gives to the text: wide scripts take two each, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _padded(column: Column, text: str, width: int) -> str:
    blanks = " " * (width - cell_width(text))
    return f"{blanks}{text}" if column.right else f"{text}{blanks}"


def _painted(column: Column, row: int, width: int) -> str:
    padded = _padded(column, column.cells[row], width)
    return column.paint[row](padded) if column.paint else padded
