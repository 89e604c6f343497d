"""The words of a question in a text, as the engines find them: stems, identifiers, pairs of dense scripts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from backends.text.graphemes import is_boundary
from backends.text.occurrences import find
from backends.text.tokens import normalize, query_terms


def marked(text: str, question: str, mark: Callable[[str], str]) -> str:
    """The text with every word of the question passed through `mark`. What is seen as one character is never torn."""
    clusters = list(_clusters(text))
    normalized = [normalize(cluster) for cluster in clusters]
    # Where each cluster ends in normalised text, which may be longer or shorter than what stands there.
    ends = list(accumulate(map(len, normalized)))
    wanted = {
        at
        for number, term in enumerate(query_terms(question))
        for place in find("".join(normalized), term, number)
        for at in range(bisect_right(ends, place.start), bisect_right(ends, place.end - 1) + 1)
    }
    return "".join(mark(run) if is_word else run for is_word, run in _runs(clusters, wanted))


def _clusters(text: str) -> Iterator[str]:
    start = 0
    for at in range(1, len(text) + 1):
        if is_boundary(text, at):
            yield text[start:at]
            start = at


def _runs(clusters: list[str], wanted: set[int]) -> Iterator[tuple[bool, str]]:
    """Clusters that follow each other and are alike, joined: a word is marked once."""
    start = 0
    for at in range(1, len(clusters) + 1):
        if at == len(clusters) or (at in wanted) != (start in wanted):
            yield start in wanted, "".join(clusters[start:at])
            start = at
