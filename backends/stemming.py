"""Porter's stemmer (1980), so that "painting", "painted" and "paints" are one word in English notes."""

from __future__ import annotations

from itertools import pairwise

_VOWELS = frozenset("aeiou")
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("bli", "ble"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word of at least three letters; shorter words stay."""
    if len(word) < 3:
        return word
    word = _past(_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _final(_derived(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        base = word.removesuffix(suffix)
        if base != word and _has_vowel(base):
            return _repaired(base)
    return word


def _repaired(base: str) -> str:
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _ends_double(base) and base[-1] not in "lsz":
        return base[:-1]
    return base + "e" if _measure(base) == 1 and _ends_short(base) else base


def _replaced(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            base = word[: -len(suffix)]
            return base + replacement if _measure(base) > 0 else word
    return word


def _derived(word: str) -> str:
    matching = [suffix for suffix in _STEP_4 if word.endswith(suffix)]
    if not matching:
        return word
    suffix = max(matching, key=len)
    base = word[: -len(suffix)]
    if suffix == "ion" and not base.endswith(("s", "t")):
        return word
    return base if _measure(base) > 1 else word


def _final(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _is_consonant(word: str, at: int) -> bool:
    letter = word[at]
    if letter == "y":
        return at == 0 or not _is_consonant(word, at - 1)
    return letter not in _VOWELS


def _measure(word: str) -> int:
    """How often a vowel is followed by a consonant."""
    kinds = [_is_consonant(word, at) for at in range(len(word))]
    return sum(not first and second for first, second in pairwise(kinds))


def _has_vowel(word: str) -> bool:
    return any(not _is_consonant(word, at) for at in range(len(word)))


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _is_consonant(word, len(word) - 1)


def _ends_short(word: str) -> bool:
    if len(word) < 3 or word[-1] in "wxy":
        return False
    return [_is_consonant(word, len(word) + at) for at in (-3, -2, -1)] == [True, False, True]
