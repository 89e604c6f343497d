"""The script that a text is written in. Vectors of one script are alike among themselves, whatever they mean."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class Script(StrEnum):
    """Scripts that embedding models tell apart. Japanese is Han with kana."""

    LATIN = "latin"
    CYRILLIC = "cyrillic"
    GREEK = "greek"
    ARABIC = "arabic"
    HEBREW = "hebrew"
    INDIC = "indic"
    THAI = "thai"
    HANGUL = "hangul"
    JAPANESE = "japanese"
    HAN = "han"
    OTHER = "other"


_RANGES = (
    (0x0041, 0x024F, Script.LATIN),
    (0x0370, 0x03FF, Script.GREEK),
    (0x0400, 0x052F, Script.CYRILLIC),
    (0x0590, 0x05FF, Script.HEBREW),
    (0x0600, 0x06FF, Script.ARABIC),
    (0x0900, 0x0DFF, Script.INDIC),
    (0x0E00, 0x0EFF, Script.THAI),
    (0x1E00, 0x1EFF, Script.LATIN),
    (0x3041, 0x30FF, Script.JAPANESE),
    (0x3400, 0x9FFF, Script.HAN),
    (0xAC00, 0xD7A3, Script.HANGUL),
)
_KANA_SHARE = 0.1
#: As much of a text tells its script.
_LOOKED_AT = 400


def script_of(text: str) -> Script:
    """The script of most letters at the beginning of a text; Latin where there are none."""
    if text.isascii():
        return Script.LATIN
    counts = Counter(_script(ord(letter)) for letter in text[:_LOOKED_AT] if letter.isalpha())
    if not counts:
        return Script.LATIN
    script, _ = counts.most_common(1)[0]
    kana = counts[Script.JAPANESE] / counts.total()
    return Script.JAPANESE if script is Script.HAN and kana >= _KANA_SHARE else script


def _script(code: int) -> Script:
    return next((script for first, last, script in _RANGES if first <= code <= last), Script.OTHER)
