"""Cutting a text into overlapping chunks of whole lines: the unit that is embedded and looked up by keyword."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from backends.builtin.structure import HEADING, ITEM, JOINED, PARAGRAPH, cuts
from backends.text.costs import CHARS_PER_TOKEN, fitting_end, token_cost

#: Stands in every index beside its chunk sizes: text that is cut differently must be cut again.
CHUNKING_VERSION = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines `start_line..end_line` (1-based, inclusive) and their text; part of one line when that is too long."""

    start_line: int
    end_line: int
    text: str


def chunk_lines(lines: Sequence[str], *, tokens: int, overlap: int) -> Iterator[Chunk]:
    """Chunks of at most about `tokens`, each beginning with up to `overlap` tokens of the one before.

    They end where the text allows it: see `structure`. A line longer than a chunk is split once into consecutive
    parts. Blank stretches give no chunk.
    """
    costs = _costs(lines)
    if sum(costs) <= tokens:
        # Most notes are short, and need no place to be cut at.
        text = "\n".join(lines)
        if text.strip():
            yield Chunk(1, len(lines), text)
        return
    cutting = _Cutting(lines, costs, tokens, overlap)
    first = 0
    for long in _above(tokens, costs):
        yield from cutting.chunks(first, long)
        yield from (Chunk(long + 1, long + 1, part) for part in _split(lines[long], tokens))
        first = long + 1
    yield from cutting.chunks(first, len(lines))


def _costs(lines: Sequence[str]) -> list[int]:
    if "".join(lines).isascii():
        # `token_cost`, without a call for each of a million lines.
        return [length // CHARS_PER_TOKEN + 1 for length in map(len, lines)]
    return [token_cost(line) for line in lines]


def _above(limit: int, costs: Sequence[int]) -> list[int]:
    return [at for at, cost in enumerate(costs) if cost > limit] if max(costs, default=0) > limit else []


class _Cutting:
    """One text with what its lines cost and what a cut before each is worth. Spans of lines are half open."""

    def __init__(self, lines: Sequence[str], costs: Sequence[int], tokens: int, overlap: int) -> None:
        self._lines = lines
        self._tokens = tokens
        self._overlap = overlap
        # before[n] is what the first n lines cost.
        self._before = list(accumulate(costs, initial=0))
        self._worth = cuts(lines, self._before, tokens)

    def chunks(self, first: int, stop: int) -> Iterator[Chunk]:
        """The chunks of a stretch in which every line fits into one."""
        begin = fresh = first
        while fresh < stop:
            end = self._end(begin, fresh, stop)
            # A chunk with nothing but blank lines of its own would only repeat.
            if self._lines[fresh].strip() or any(map(str.strip, self._lines[fresh:end])):
                yield Chunk(begin + 1, end, "\n".join(self._lines[begin:end]))
            begin, fresh = self._step_back(begin, end, stop), end

    def _end(self, begin: int, fresh: int, stop: int) -> int:
        """Where a chunk ends that begins at `begin` and whose first new line is `fresh`."""
        room_ends = self._before[begin] + self._tokens
        reach = bisect_right(self._before, room_ends, fresh + 1, stop + 1) - 1
        if reach >= stop:
            return stop
        # Better places than the last possible one are looked for in the last third.
        low = bisect_left(self._before, room_ends - self._tokens // 3, fresh + 1, reach)
        for worth in (HEADING, PARAGRAPH, ITEM):
            if (at := self._worth.rfind(worth, low, reach + 1)) >= 0:
                return at
        while self._worth[reach] == JOINED:
            reach -= 1
        return reach

    def _step_back(self, begin: int, end: int, stop: int) -> int:
        """Where the overlap of the chunk after `end` begins: at a cut, and later than the chunk before."""
        next_cut = end + 1
        while next_cut < stop and self._worth[next_cut] == JOINED:
            next_cut += 1
        # What is joined must still fit behind the overlap.
        room = min(self._overlap, self._tokens - (self._before[min(next_cut, stop)] - self._before[end]))
        start = max(begin + 1, bisect_left(self._before, self._before[end] - room, 0, end))
        while start < end and (self._worth[start] == JOINED or not self._lines[start].strip()):
            start += 1
        return start


def _split(line: str, tokens: int) -> Iterator[str]:
    """Consecutive parts of a long line that cost at most `tokens` as far as no cluster is torn; none of a blank one."""
    at = 0 if line.strip() else len(line)
    while at < len(line):
        end = fitting_end(line, at, tokens)
        yield line[at:end]
        at = end
