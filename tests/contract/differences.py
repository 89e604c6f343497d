"""Where an engine does not keep the contract, and why. An entry that does not hold any more fails the suite."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """A test, the engines and the cases it fails for (empty: all of them), and the reason."""

    test: str
    reason: str
    engines: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()


_BY_QMD = ("resident", "command", "failover")

DIFFERENCES = (
    Difference(
        test="test_a_word_is_found_in_its_script",
        engines=_BY_QMD,
        cases=("russian-without-a-mark", "greek-without-accents"),
        reason="qmd indexes accents of other scripts than Latin as letters: without them it finds no such word",
    ),
    Difference(
        test="test_a_word_is_found_in_its_script",
        engines=_BY_QMD,
        cases=("thai-inside-a-run",),
        reason="qmd cuts Thai at its vowel signs and not into characters: a word that begins elsewhere is not found",
    ),
)


def why(test: str, engine: str, case: str) -> str | None:
    """Why this case of a test is expected to fail with this engine; None when it is not."""
    for difference in DIFFERENCES:
        if difference.test != test or (difference.engines and engine not in difference.engines):
            continue
        if not difference.cases or case in difference.cases:
            return difference.reason
    return None
