"""Cutting a text into overlapping chunks of whole lines: the unit that is embedded and looked up by keyword."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from backends.graphemes import cut_before

#: Stands in every index beside its chunk sizes: text that is cut differently must be cut again.
CHUNKING_VERSION = 1

_CHARS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines `start_line..end_line` (1-based, inclusive) and their text; part of one line when that is too long."""

    start_line: int
    end_line: int
    text: str


def chunk_lines(lines: Sequence[str], *, tokens: int, overlap: int) -> Iterator[Chunk]:
    """Chunks of at most about `tokens`, each beginning with up to `overlap` tokens of the one before.

    A line longer than a chunk is split once into consecutive parts. Blank stretches give no chunk.
    """
    costs = [token_cost(line) for line in lines]
    first = 0
    while first < len(lines):
        if costs[first] > tokens:
            yield from (Chunk(first + 1, first + 1, part) for part in _split(lines[first], tokens))
            first += 1
            continue
        end = _reach(costs, first, tokens)
        text = "\n".join(lines[first:end])
        if text.strip():
            yield Chunk(first + 1, end, text)
        if end == len(lines):
            return
        first = end if costs[end] > tokens else _step_back(costs, first, end, tokens, overlap)


def token_cost(line: str) -> int:
    """About how many model tokens a line costs: four ASCII characters or one other character are one token."""
    wide = 0 if line.isascii() else sum(character > "\u02ff" for character in line)
    return wide + (len(line) - wide) // _CHARS_PER_TOKEN + 1


def _reach(costs: Sequence[int], first: int, tokens: int) -> int:
    total, end = costs[first], first + 1
    while end < len(costs) and total + costs[end] <= tokens:
        total += costs[end]
        end += 1
    return end


def _step_back(costs: Sequence[int], first: int, end: int, tokens: int, overlap: int) -> int:
    # The next line must still fit behind the overlap, or the chunk would only repeat lines.
    room = min(overlap, tokens - costs[end])
    start, total = end, 0
    while start - 1 > first and total + costs[start - 1] <= room:
        start -= 1
        total += costs[start]
    return start


def _split(line: str, tokens: int) -> Iterator[str]:
    at = 0
    while at < len(line):
        end = _fitting(line, at, tokens)
        yield line[at:end]
        at = end


def _fitting(line: str, at: int, tokens: int) -> int:
    end = min(len(line), at + tokens * _CHARS_PER_TOKEN)
    while end - at > tokens and token_cost(line[at:end]) > tokens:
        end = at + (end - at) * 3 // 4
    if end < len(line):
        space = line.rfind(" ", at + (end - at) // 2, end)
        end = space + 1 if space > 0 else max(at + 1, cut_before(line, end))
    return end
