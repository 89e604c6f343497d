"""Where the cosines of an index lie, per script: between unrelated texts, and between a line and its own chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from backends.embedding import Vectors
from backends.relevance import Spread
from backends.text.scripts import Script, script_of

#: How many sampled chunks weigh as much as what is usual for the model.
PRIOR_CHUNKS = 30
_LEAST_WIDTH = 0.05
_LINE_CHARS = 200


def typical_line(text: str) -> str:
    """A line of middling length: as a question about the text might be."""
    lines = sorted((line.strip() for line in text.splitlines() if line.strip()), key=len)
    return lines[len(lines) // 2][:_LINE_CHARS] if lines else ""


def measured(
    texts: Sequence[str], lines: Vectors, chunks: Vectors, usual: Callable[[Script], Spread]
) -> Mapping[Script, Spread]:
    """The spread of each script that is among `texts`; `lines` (n x dims) are the vectors of their typical lines."""
    scripts = [script_of(text) for text in texts]
    found: dict[Script, Spread] = {}
    for script in dict.fromkeys(scripts):
        here = np.array([at for at, each in enumerate(scripts) if each is script])
        found[script] = _spread(lines[here] @ chunks[here].T, usual(script))
    return found


def _spread(cosines: Vectors, usual: Spread) -> Spread:
    """`cosines` (n x n) of lines with chunks: their own on the diagonal, others beside it."""
    count = len(cosines)
    if count < 2:
        return usual
    share = count / (count + PRIOR_CHUNKS)
    others = cosines[~np.eye(count, dtype=bool)]
    background = usual.background + share * (float(others.mean()) - usual.background)
    best = usual.best + share * (float(np.percentile(np.diag(cosines), 90)) - usual.best)
    return Spread(background, max(best, background + _LEAST_WIDTH))
