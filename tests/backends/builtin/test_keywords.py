"""What the keyword leg finds: questions, identifiers as typed, and every script."""

from __future__ import annotations

import unicodedata

import pytest

from tests.backends.builtin.conftest import Desk


def test_a_question_finds_its_answer(desk: Desk) -> None:
    """Words of grammar that the note does not hold do not hide it."""
    desk.write("memory/a.md", "The deploy codeword is zebracomet, kept by Ines.\n")
    desk.write("memory/b.md", "Bread needs flour, water and time.\n")
    desk.sync()
    assert desk.paths("what is the deploy codeword")[0] == "memory/a.md"
    assert desk.paths("where is deploy codeword stored please")[0] == "memory/a.md"


@pytest.mark.parametrize(
    "query",
    [
        "PIO-1384", '"PIO-1384"', "apply_secrets", "v2026.4.10", "/etc/foo.conf", "alice@example.com",
        "- item PIO-1384", "-v PIO-1384", 'open "quote PIO-1384', "PIO-1384 OR NOT (", "lex: PIO-1384\nvec: now",
        "NEAR(PIO-1384", "PIO-1384*",
    ],
)  # fmt: skip
def test_identifiers_are_found_as_typed(desk: Desk, query: str) -> None:
    """Dashes, dots, slashes, quotes and operators in a query are text."""
    desk.write(
        "memory/ids.md", "Ticket PIO-1384: run apply_secrets v2026.4.10 with /etc/foo.conf, ask alice@example.com.\n"
    )
    for number in range(20):
        desk.write(f"memory/{number}.md", f"Notes of day {number}, nothing about tickets.\n")
    desk.sync()
    assert desk.paths(query)[:1] == ["memory/ids.md"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("明天下午三点开项目评审会议讨论排期", "项目评审"),
        ("飞书的插件配置", "飞书插件配置"),
        ("她去年怀孕了", "怀孕"),
        ("家里有一只猫", "猫"),
        ("会議は東京タワーで行われました", "東京タワー"),
        ("회의는 서울에서 열렸습니다", "서울"),
        ("ประชุมโครงการที่กรุงเทพ", "กรุงเทพ"),
        ("Встреча в Москве была долгой", "москве"),
        ("اجتماع الفريق في القاهرة", "القاهرة"),
        ("重跑gen-itgc后检查", "gen-itgc"),
        ("Das Café in Zürich schließt um acht", "cafe zurich"),
        ("I keep three parakeets", "parakeet"),
        ("She painted the fence", "painting a fence"),
        ("Vitamin C helps", "C"),
    ],
)
def test_every_script_is_searchable(desk: Desk, text: str, query: str) -> None:
    """A word or part of an unspaced run finds its note, whatever the script."""
    desk.write("memory/right.md", text + "\n")
    desk.write("memory/wrong.md", "Quarterly numbers are due on Friday.\n")
    desk.sync()
    assert desk.paths(query) == ["memory/right.md"]


def test_composed_and_decomposed_text_are_one(desk: Desk) -> None:
    """A note written in NFD is found by a query in NFC."""
    desk.write("memory/nfd.md", unicodedata.normalize("NFD", "Très fatigué après Zürich\n"))
    desk.sync()
    assert desk.paths("fatigué Zürich") == ["memory/nfd.md"]


def test_a_note_is_found_by_its_name(desk: Desk) -> None:
    """The words of a file's name count, though the text does not repeat them."""
    desk.write("memory/router-setup.md", "Password: swordfish\n")
    desk.write("memory/other.md", "Nothing here.\n")
    desk.sync()
    assert desk.paths("router password") == ["memory/router-setup.md"]


def test_nonsense_finds_nothing(desk: Desk) -> None:
    """A query that nothing in the notes speaks of has no hit at the default threshold."""
    desk.write("memory/a.md", "The deploy codeword is zebracomet.\n")
    desk.sync()
    answer = desk.answer("frumious bandersnatch quantum chromodynamics")
    assert answer.hits == ()
    assert not answer.partial


@pytest.mark.parametrize("others", [1, 400])
def test_a_score_means_the_same_in_small_and_large_corpora(desk: Desk, others: int) -> None:
    """A word that one note alone holds scores high with two notes and with hundreds."""
    desk.write("memory/a.md", "The codeword is zebracomet.\n")
    for number in range(others):
        desk.write(f"memory/n{number}.md", f"Day {number}: the weather was fine.\n")
    desk.sync()
    assert desk.answer("zebracomet").hits[0].score > 0.9
    assert desk.answer("zebracomet bandersnatch").hits[0].score == pytest.approx(0.65, abs=0.1)


def test_common_words_do_not_hide_the_rare_one(desk: Desk) -> None:
    """The note with the rare word comes first though every note holds the common ones."""
    for number in range(300):
        desk.write(f"memory/{number}.md", "the meeting with the team about the project plan\n")
    desk.write("memory/rare.md", "the meeting about the zebracomet\n")
    desk.sync()
    assert desk.paths("project team meeting plan zebracomet", max_results=1) == ["memory/rare.md"]
