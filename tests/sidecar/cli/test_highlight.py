"""The words of a question in a text."""

from __future__ import annotations

import pytest

from sidecar.cli.highlight import marked


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        ("An island of 港 boats", "boat of 港", "An island of [港] [boats]"),
        ("Painted walls, Painting them", "who paints?", "[Painted] walls, [Painting] them"),
        ("今日は港に行きました", "港に行く", "今日は[港に行]きました"),
        ("Zürich, ZU\u0308RICH und Zurich", "zürich", "[Zürich], [ZU\u0308RICH] und [Zurich]"),
        ("see PIO-1384 and PIO-13", "PIO-1384", "see [PIO-1384] and PIO-13"),
        ("the ﬁrst", "first", "the [ﬁrst]"),
        ("STRASSE straße", "straße", "[STRASSE] [straße]"),
        ("cost (x)", "(.*)", "cost (x)"),
        ("", "boat", ""),
        ("boat", "", "boat"),
    ],
)
def test_words_are_marked_as_the_engines_find_them(text: str, question: str, told: str) -> None:
    """By stem, in any script and spelling; a question is text and no pattern."""
    assert marked(text, question, "[{}]".format) == told


def test_what_is_seen_as_one_character_is_not_torn() -> None:
    """A mark inside it would take it apart on the screen."""
    text = "한글 e\u0301te\u0301 👩\u200d👩\u200d👧 港\ufe0f"
    for question in ("ete", "港", "글", "e"):
        torn = marked(text, question, "[{}]".format)
        assert torn.replace("[", "").replace("]", "") == text
        assert "港]\ufe0f" not in torn
        assert "e]\u0301" not in torn


def test_a_long_line_is_marked_to_its_end() -> None:
    """Longer than any passage; all of it, as far as the engines count."""
    assert marked("boat " * 5_000, "boat", lambda word: "").strip() == ""
