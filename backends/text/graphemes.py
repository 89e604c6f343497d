"""Where text may be cut without tearing what a reader sees as one character."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
#: No cluster of natural text is longer; stacked-mark jokes are cut after this many code points.
MAX_CLUSTER_CHARS = 64
#: So much of a cut text is given up to begin and end with whole words.
NEAR_CHARS = 40


def cut_before(text: str, at: int) -> int:
    """The last safe cut at or before `at`. Returns `at` itself for a pathological cluster, so that cutting advances."""
    at = min(at, len(text))
    lowest = max(0, at - MAX_CLUSTER_CHARS)
    return next((position for position in range(at, lowest - 1, -1) if is_boundary(text, position)), at)


def cut_after(text: str, at: int) -> int:
    """The first safe cut at or after `at`."""
    at = min(max(at, 0), len(text))
    highest = min(len(text), at + MAX_CLUSTER_CHARS)
    return next((position for position in range(at, highest + 1) if is_boundary(text, position)), at)


def word_before(text: str, at: int) -> int:
    """The last border between words at or before `at`, as far as one is near, else `cut_before`."""
    if at >= len(text) or text[at].isspace():
        return min(at, len(text))
    lowest = max(0, at - NEAR_CHARS)
    space = next((position for position in range(at, lowest, -1) if text[position - 1].isspace()), 0)
    return len(text[:space].rstrip()) if space and text[lowest:space].strip() else cut_before(text, at)


def word_after(text: str, at: int) -> int:
    """The first beginning of a word at or after `at`, as far as one is near, else `cut_after`."""
    if at <= 0 or (text[at - 1 : at].isspace() and not text[at : at + 1].isspace()):
        return max(at, 0)
    ends = range(at, min(len(text) - 1, at + NEAR_CHARS))
    begin = next((end + 1 for end in ends if text[end].isspace() and not text[end + 1].isspace()), None)
    return cut_after(text, at) if begin is None else begin


def is_boundary(text: str, at: int) -> bool:
    """Whether `text[:at]` and `text[at:]` hold whole clusters."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if before == _JOINER or after == _JOINER or _extends(after):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, at) % 2 == 0
    return not _is_hangul_pair(before, after)


def _extends(character: str) -> bool:
    code = ord(character)
    return (
        unicodedata.combining(character) != 0
        or unicodedata.category(character) in ("Mn", "Me", "Mc")
        or 0xFE00 <= code <= 0xFE0F
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start


def _is_hangul_pair(before: str, after: str) -> bool:
    lead, vowel, tail = "\u1100" <= before <= "\u115f", "\u1160" <= after <= "\u11a7", "\u11a8" <= after <= "\u11ff"
    if lead:
        return "\u1100" <= after <= "\u11a7" or "\uac00" <= after <= "\ud7a3"
    syllable = "\uac00" <= before <= "\ud7a3"
    open_syllable = syllable and (ord(before) - 0xAC00) % 28 == 0
    if open_syllable or "\u1160" <= before <= "\u11a7":
        return vowel or tail
    return (syllable or "\u11a8" <= before <= "\u11ff") and tail
