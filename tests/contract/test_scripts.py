"""Every script and every spelling: what was written in one is found by a person who types it."""

from __future__ import annotations

import unicodedata

import pytest

from tests.contract.desk import Desk
from tests.contract.notes import COMPOSED, DECOMPOSED, SCRIPTS


@pytest.mark.parametrize("number", range(len(SCRIPTS)), ids=[written.script.replace(" ", "-") for written in SCRIPTS])
def test_a_word_is_found_in_its_script(library: Desk, number: int) -> None:
    """A word, or a part of a run without spaces."""
    assert library.paths(SCRIPTS[number].query)[:1] == [f"memory/script-{number}.md"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("note", "query"), [(COMPOSED, "Épernay"), (DECOMPOSED, "Châlons")], ids=["composed", "apart"])
def test_composed_and_decomposed_text_are_one(library: Desk, note: str, query: str, form: str) -> None:
    """Both ways of writing an accent find both."""
    assert library.paths(unicodedata.normalize(form, query)) == [note]
