"""The set itself: what it promises to hold, and that each question can be answered from what it names."""

from __future__ import annotations

from collections import Counter

from tests.quality.questions import NOTES, Passage, Question, collapsed, load

QUESTIONS = load()
LANGUAGES = ("en", "zh", "ja", "ko", "de", "ru")
LONG_NOTE_LINES = 60
MAX_EVIDENCE_CHARS = 120


def lines(path: str) -> list[str]:
    """The lines of a note."""
    return (NOTES / path).read_text(encoding="utf-8").splitlines()


def test_there_are_enough_notes_and_long_ones_among_them() -> None:
    """A long note is one of which a snippet must be chosen."""
    notes = [str(file.relative_to(NOTES)) for file in NOTES.rglob("*.md")]
    assert len(notes) >= 80
    assert sum(len(lines(note)) >= LONG_NOTE_LINES for note in notes) >= 5


def test_there_are_enough_questions_in_each_language() -> None:
    """Six languages in earnest, others by the way."""
    languages = Counter(question.language for question in QUESTIONS)
    assert len(QUESTIONS) >= 150
    assert all(languages[language] >= 20 for language in LANGUAGES), languages


def test_each_language_has_questions_without_an_answer() -> None:
    """An engine that always answers must not look good in any of them."""
    unanswerable = Counter(question.language for question in QUESTIONS if not question.evidence)
    assert unanswerable.total() >= 20
    assert set(unanswerable) == {question.language for question in QUESTIONS}


def test_no_question_is_asked_twice() -> None:
    """Each counts once."""
    asked = Counter(collapsed(question.text).casefold() for question in QUESTIONS)
    assert [text for text, times in asked.items() if times > 1] == []


def test_every_passage_stands_in_one_line_of_its_note() -> None:
    """Otherwise it could never be found."""
    passages = {passage for question in QUESTIONS for passage in question.passages()}
    assert [passage for passage in passages if not _stands(passage)] == []


def test_the_kind_tells_whether_there_is_an_answer() -> None:
    """Two kinds have no evidence, and no others."""
    assert {question.kind for question in QUESTIONS if not question.evidence} == {"unanswerable", "unrelated"}
    assert {"unanswerable", "unrelated"}.isdisjoint(question.kind for question in QUESTIONS if question.evidence)


def test_no_question_repeats_a_passage_that_answers_it() -> None:
    """A question that copies its answer asks for nothing but itself."""
    assert [question.text for question in QUESTIONS if _copies(question)] == []


def test_what_is_outdated_stands_in_another_note_than_what_holds() -> None:
    """In one snippet neither would come first."""
    dated = [question for question in QUESTIONS if question.outdated]
    assert len(dated) >= 10
    for question in dated:
        newer = {passage.path for group in question.evidence for passage in group}
        assert newer and newer.isdisjoint(passage.path for passage in question.outdated), question.text


def _stands(passage: Passage) -> bool:
    short = passage.text == collapsed(passage.text) and len(passage.text) <= MAX_EVIDENCE_CHARS
    return short and any(passage.text in collapsed(line) for line in lines(passage.path))


def _copies(question: Question) -> bool:
    asked = collapsed(question.text).casefold()
    return any(passage.text.casefold() in asked for passage in question.passages())
