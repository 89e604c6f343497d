"""Annotations: the factor of an importance, the phrases of a trigger, and the lines that they are said of."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from backends.text.annotations import Triggered, factor_of, importances, triggers


def ranges(text: str) -> list[tuple[int, int, float]]:
    return [(said.first, said.last, round(said.factor, 2)) for said in importances(text.splitlines())]


@pytest.mark.parametrize(("importance", "factor"), [(1, 0.8), (5, 1.0), (10, 1.25), (0, 1.0), (11, 1.0)])
def test_importance_is_a_factor_around_one(importance: int, factor: float) -> None:
    """`0.75 + 0.05 n` for 1..10; other numbers say nothing."""
    assert factor_of(importance) == pytest.approx(factor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n- b <!-- importance: 9 -->\n  more of b\n- c\n", (2, 3, 1.2)),
        ("- a\n  - b <!-- importance: 9 -->\n    deep\n  - c\n", (2, 3, 1.2)),
        ("- a\n  - b\n    deep <!-- importance: 9 -->\n  - c\n", (2, 3, 1.2)),
        ("one\ntwo <!-- importance: 9 -->\nthree\n\nfour\n", (1, 3, 1.2)),
        ("# A\n\n## B <!-- importance: 9 -->\ntext\n### C\ntext\n## D\n", (3, 6, 1.2)),
        ("# A\n<!-- importance: 9 -->\ntext\n\nmore\n# B\n", (1, 5, 1.2)),
        ("- a\n- b\n  <!-- importance: 9 -->\n- c\n", (2, 3, 1.2)),
        ("text\n\n<!-- importance: 9 -->\nsaid of this\n", (3, 4, 1.2)),
        ("<!-- importance: 9 -->", (1, 1, 1.2)),
    ],
    ids=[
        "item",
        "inner item",
        "rest of an inner item",
        "paragraph",
        "section",
        "under a heading",
        "end of an item",
        "before",
        "nothing",
    ],
)
def test_an_annotation_belongs_to_what_it_stands_in(text: str, expected: tuple[int, int, float]) -> None:
    """The list item, paragraph or heading section, whichever is around it."""
    assert ranges(text) == [expected]


@pytest.mark.parametrize(
    "annotation",
    ["importance: 5", "importance: high", "importance 9", "importance: 100", "importance: ²", "importance: -9", ""],
)
def test_neutral_and_broken_annotations_say_nothing(annotation: str) -> None:
    """An importance of 5, none, or one that is no number of 1..10."""
    assert ranges(f"a <!-- {annotation} -->\n") == []


def test_an_annotation_in_backticks_is_an_example() -> None:
    """Notes tell how notes are written."""
    assert ranges("Write `<!-- importance: 9 -->` behind what matters.\n") == []
    assert list(triggers(["Write `<!-- trigger: a -->` behind it."])) == []


def test_the_narrower_annotation_comes_last() -> None:
    """An item in a section has an importance of its own; whoever reads in order ends with that."""
    assert ranges("# A <!-- importance: 9 -->\n- a\n- b <!-- importance: 1 -->\n") == [(1, 3, 1.2), (3, 3, 0.8)]


def test_a_paragraph_has_one_importance() -> None:
    """The first one that is said of it, however often it is said."""
    assert ranges("a <!-- importance: 9 -->\nb <!-- importance: 1 -->\n" * 3) == [(1, 6, 1.2)]


def triggered(text: str) -> list[Triggered]:
    return list(triggers(text.splitlines()))


def phrases(text: str) -> list[tuple[str, ...]]:
    return [entry.phrases for entry in triggered(text)]


def test_an_entry_has_its_lines_without_annotations_its_phrases_and_its_importance() -> None:
    """Annotations are for machines; what people read is what is shown."""
    text = "- a\n- b <!-- trigger: one, two words --> <!-- importance: 9 --> c\n  d <!-- mine -->\n- e\n"
    (entry,) = triggered(text)
    assert (entry.first, (*entry.lines(),)) == (2, ("- b c", "  d <!-- mine -->"))
    assert (entry.phrases, round(entry.factor, 2)) == (("one", "two words"), 1.2)


def test_phrases_of_the_same_lines_come_together() -> None:
    """Each once, in order; blank ones are none, and commas of other scripts part them, too."""
    assert phrases("a <!-- trigger: x,, y , -->\nb <!-- TRIGGER:y，生日、z، w -->\n") == [("x", "y", "生日", "z", "w")]


@pytest.mark.parametrize(
    "text",
    [
        "a <!-- trigger: -->",
        "a <!-- trigger -->",
        "a <!-- trigger: x",
        "a <!-- trigger: x ->",
        "a <!-- trigger: ,, -->",
        "<!-- trigger: x -->",
        "\n<!-- trigger: x -->\n\n",
        "",
    ],
)
def test_what_has_no_phrase_or_no_words_is_no_entry(text: str) -> None:
    """There is nothing to recall, or nothing to recall it by."""
    assert triggered(text) == []


def test_blank_lines_around_an_entry_are_not_its_lines() -> None:
    """An annotation that stood alone leaves one behind."""
    (entry,) = triggered("text\n\n<!-- trigger: x -->\nsaid of this\n\n")
    assert (entry.first, (*entry.lines(),)) == (4, ("said of this",))


def test_a_section_has_the_importance_said_of_it_and_not_that_of_an_item_in_it() -> None:
    """The nearest that holds all of it counts."""
    text = "# A <!-- trigger: a -->\n- b <!-- importance: 9 -->\n- c <!-- trigger: c --> <!-- importance: 1 -->\n"
    assert [(entry.phrases, round(entry.factor, 2)) for entry in triggered(text)] == [(("a",), 1.0), (("c",), 0.8)]


@pytest.mark.parametrize(
    "code",
    [
        "```\n{}\n```",
        "~~~ md\n{}\n~~~",
        "````\n```\n{}\n```\n````",
        "- ```sh\n  {}\n  ```",
        "   ```\n``\n~~~\n{}\n   ````",
    ],
)
def test_code_in_a_fence_triggers_nothing(code: str) -> None:
    """Whatever its fence is made of; what stands behind it does."""
    text = code.replace("{}", "x <!-- trigger: code -->")
    assert phrases(f"{text}\n\na <!-- trigger: behind -->\n") == [("behind",)]


def test_a_fence_that_is_not_closed_goes_on_to_the_end() -> None:
    """As it is shown."""
    assert phrases("a <!-- trigger: before -->\n\n```\nx\n\nb <!-- trigger: code -->\n") == [("before",)]


def test_three_backticks_around_words_open_no_fence() -> None:
    """They are code within a line."""
    assert phrases("```x``` is code\n\na <!-- trigger: behind -->\n") == [("behind",)]


def test_code_belongs_to_its_section_as_it_stands() -> None:
    """A comment of a shell is no heading, and one of HTML no annotation."""
    code = ("```sh", "# install", "", "- x <!-- trigger: y -->", "```")
    (entry,) = triggered("\n".join(["# A <!-- trigger: a -->", "text", *code, "# B"]))
    assert (*entry.lines(),) == ("# A", "text", *code)


@pytest.mark.alone
@pytest.mark.parametrize("piece", ["<!--", "<!-- trigger: a ", "<!-- -", "<", " "])
def test_a_line_of_comments_that_nobody_closed_is_read_once(piece: str) -> None:
    """Eight times as many cost about eight times as much."""

    def cost_s(pieces: int) -> float:
        started = time.thread_time()
        triggered(f"a <!-- {piece * pieces}")
        return time.thread_time() - started

    assert min(cost_s(16_000) for _ in range(3)) < 25 * min(cost_s(2000) for _ in range(3))


@pytest.mark.alone
def test_a_paragraph_full_of_annotations_is_read_once() -> None:
    """Eight times as many lines cost about eight times as much."""

    def cost_s(lines: int) -> float:
        text = "a <!-- importance: 9 -->\n" * lines
        started = time.thread_time()
        ranges(text)
        return time.thread_time() - started

    assert min(cost_s(4000) for _ in range(3)) < 25 * min(cost_s(500) for _ in range(3))


@pytest.mark.alone
@pytest.mark.parametrize(
    "text",
    [
        lambda pieces: "a <!-- trigger: b -->" * pieces,
        lambda pieces: "".join(f"{' ' * at}- a <!-- trigger: b -->\n" for at in range(pieces // 32)) + "c\n" * pieces,
    ],
    ids=["on one line", "in a deep list"],
)
def test_many_annotations_of_the_same_lines_are_read_once(text: Callable[[int], str]) -> None:
    """Eight times as many cost about eight times as much."""

    def cost_s(pieces: int) -> float:
        written = text(pieces)
        started = time.thread_time()
        triggered(written)
        return time.thread_time() - started

    assert min(cost_s(4000) for _ in range(3)) < 25 * min(cost_s(500) for _ in range(3))


def test_entries_that_stand_in_each_other_keep_no_lines_of_their_own() -> None:
    """Five hundred of them in one long list would take a gigabyte."""
    outer, inner = triggered("- a <!-- trigger: b -->\n  - c <!-- trigger: d -->\n")
    assert outer.text is inner.text


def test_lists_end_where_they_ended_for_the_first_of_their_items() -> None:
    """Items of any depth, asked in order, each with what belongs to it."""
    text = "- a {}\n    - b {}\n  - c {}\n    rest\n- d {}\n\n- e {}\n".replace("{}", "<!-- trigger: x -->")
    assert [(entry.first, entry.last) for entry in triggered(text)] == [(1, 4), (2, 2), (3, 4), (5, 5), (7, 7)]
