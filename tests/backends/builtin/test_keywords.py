"""What is the keyword leg's own: a verb in another form, and rare words among common ones.

What every engine finds is in `tests/contract`.
"""

from __future__ import annotations

from tests.backends.builtin.conftest import Desk


def test_another_form_of_a_verb_is_found(desk: Desk) -> None:
    desk.write("memory/right.md", "She painted the fence\n")
    desk.write("memory/wrong.md", "Quarterly numbers are due on Friday.\n")
    desk.sync()
    assert desk.paths("painting a fence") == ["memory/right.md"]


def test_common_words_do_not_hide_the_rare_one(desk: Desk) -> None:
    """The note with the rare word comes first though every note holds the common ones."""
    for number in range(300):
        desk.write(f"memory/{number}.md", "the meeting with the team about the project plan\n")
    desk.write("memory/rare.md", "the meeting about the zebracomet\n")
    desk.sync()
    assert desk.paths("project team meeting plan zebracomet", max_results=1) == ["memory/rare.md"]
