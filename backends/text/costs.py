"""About how many tokens of a model a text costs, without the model."""

from __future__ import annotations

import re

from backends.text.graphemes import MAX_CLUSTER_CHARS, cut_after, cut_before

CHARS_PER_TOKEN = 4
_WIDE = re.compile("[\u0300-\U0010ffff]+")


def token_cost(text: str) -> int:
    """About how many model tokens a text costs: four ASCII characters or one other character are one token."""
    wide = 0 if text.isascii() else sum(map(len, _WIDE.findall(text)))
    return wide + (len(text) - wide) // CHARS_PER_TOKEN + 1


def fitting_end(text: str, at: int, tokens: int) -> int:
    """Where a part ends that begins at `at` and costs at most `tokens`, as far as no cluster is torn.

    It ends behind a space where one stands in its second half, and is never empty.
    """
    end = min(len(text), at + tokens * CHARS_PER_TOKEN)
    while end - at > 1 and token_cost(text[at:end]) > tokens:
        end = at + (end - at) * 3 // 4
    if end == len(text):
        return end
    # Clusters are looked for from `at` on: in a line of flags, telling pairs apart from its beginning takes for ever.
    part = text[at : end + MAX_CLUSTER_CHARS + 1]
    space = part.rfind(" ", (end - at) // 2, end - at)
    return at + (cut_before(part, space + 1 if space > 0 else end - at) or cut_after(part, end - at))
