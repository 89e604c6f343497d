"""How much text leaves, whichever engine answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sidecar.config.schema import Limits

#: Room for the footer of a citation when a snippet would fill the whole budget.
FOOTER_CHARS = 200


def snippet_chars(limits: Limits, *, cite: bool) -> int:
    """How long a snippet may be, in code points, so that at least one fits together with its footer."""
    most = limits.max_injected_chars
    # Never more than half: with a very small budget a long path is left out rather than every snippet cut to nothing.
    footer = min(FOOTER_CHARS, most // 2) if cite else 0
    return min(limits.max_snippet_chars, most - footer)


def within(max_chars: int, results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The leading results whose snippets, footers included, fit together into `max_chars` code points."""
    used = 0
    for number, result in enumerate(results):
        used += len(result["snippet"])
        if used > max_chars:
            return list(results[:number])
    return list(results)
