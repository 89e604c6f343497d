"""What any engine finds can be opened: the path of every hit, and its lines hold what was quoted."""

from __future__ import annotations

import pytest

from backends.base import Hit
from sidecar.tools.paths import locate
from sidecar.tools.reading import read
from tests.contract.conftest import Make
from tests.contract.desk import Desk
from tests.contract.notes import ODD_NAMES, SCRIPTS

QUESTIONS = ["room with a window", "wifi", "quasarfish", "avocet", *(written.query for written in SCRIPTS)]


@pytest.fixture(scope="module")
def odd(shared: Make) -> Desk:
    """Notes with odd names, each with one word of its own. Only read."""
    text = "# Note\n\nFirst line.\nThe {word} is lit.\nLast line.\n"
    return shared({f"memory/{name}": text.format(word=word) for word, name in ODD_NAMES.items()})


def is_read_back(desk: Desk, hit: Hit) -> bool:
    """Whether reading the lines of a hit gives its snippet, and calls the file by the same name."""
    located = locate(desk.corpus, hit.path)
    found = read(located, start=hit.start_line, lines=hit.end_line - hit.start_line + 1, column=hit.column or 1)
    assert found is not None
    shown = found.text[: len(hit.snippet)] if hit.partial else found.text
    return located.path == hit.path and hit.snippet == shown


@pytest.mark.parametrize("word", ODD_NAMES)
def test_a_note_is_found_and_opened_whatever_its_name(odd: Desk, word: str) -> None:
    """The one note that holds the word, and every other hit beside it."""
    hits = odd.answer(word, min_score=0.0).hits
    assert f"memory/{ODD_NAMES[word]}" in [hit.path for hit in hits if word in hit.snippet]
    assert all(is_read_back(odd, hit) for hit in hits)


def test_a_note_that_is_asked_for_by_its_name_can_be_opened(odd: Desk) -> None:
    """Hits for a name are hits as others."""
    hits = [
        hit for name in ("A.md", "my_file.md", "what?.md") for hit in odd.answer(f"memory/{name}", min_score=0.0).hits
    ]
    assert {hit.path for hit in hits} >= {"memory/A.md", "memory/my_file.md"}
    assert all(is_read_back(odd, hit) for hit in hits)


def test_every_hit_of_a_library_can_be_opened(library: Desk) -> None:
    """Notes of every sort and script, also by long lines of which a part is quoted."""
    answers = library.answers(QUESTIONS, min_score=0.0, max_results=20, max_chars=300)
    hits = {(hit.path, hit.start_line, hit.end_line, hit.snippet): hit for answer in answers for hit in answer.hits}
    assert len({path for path, *_ in hits}) > 10
    assert all(is_read_back(library, hit) for hit in hits.values())
