"""Whether a message speaks of a phrase: whole words, any script, and how much of it is enough."""

from __future__ import annotations

import unicodedata

import pytest

from sidecar.tools.phrases import MAX_PHRASE_CHARS, Message, PhraseIndex, phrase_of


def strength(phrase: str, message: str) -> float:
    """How strongly a message speaks of one phrase."""
    known = phrase_of(phrase)
    assert known is not None
    return PhraseIndex([known]).strengths(Message(message)).get(0, 0.0)


@pytest.mark.parametrize(
    ("phrase", "message", "expected"),
    [
        ("trip to Lisbon", "How was the Trip  to\nLISBON?", 1.0),
        ("trip to Lisbon", "a Lisbon trip", 1.0),
        ("trip to Lisbon", "the trip to Rome", 0.5),
        ("Lisbon", "off to lisbon!", 0.85),
        ("the car", "is my car insured?", 0.85),
        ("deploy checklist production server", "the checklist to deploy a server", 0.8),
        ("deploy checklist server", "deploy the server", 2 / 3 * 0.8 + 0.2),
        ("deploy checklist server", "how to boil rice", 0.0),
    ],
)
def test_a_phrase_is_found_whole_or_by_the_words_that_carry_it(phrase: str, message: str, expected: float) -> None:
    """1 as it stands, 0.85 for one word, else `overlap / n * 0.8 + min(1, overlap / 2) * 0.2`."""
    assert strength(phrase, message) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("phrase", "message"),
    [
        ("art", "let us start with the smart parts"),
        ("cat", "concatenate"),
        ("her", "where"),
        ("10", "2010 and 100"),
        ("生日", "学生 日子"),
        ("か", "が"),
        ("น", "น้ำ"),
        ("день", "деньги"),
        ("C", "cc"),
    ],
)
def test_a_part_of_a_word_is_not_the_word(phrase: str, message: str) -> None:
    """Nor is a letter without its marks."""
    assert phrase_of(phrase) is None or strength(phrase, message) == 0.0


@pytest.mark.parametrize(
    ("phrase", "message"),
    [
        ("生日", "什么时候是我的生日？"),
        ("飞书插件", "请问飞书插件配置在哪"),
        ("VPN 设置", "VPN设置在哪"),
        ("ヴァイオリン", "ウ\u3099ァイオリンの練習"),
        ("ｶﾞｽ", "ガス料金"),
        ("생일", "내 생일은 언제야"),
        ("น้ำ", "อยากดื่มน้ำ"),
        ("день рождения", "Когда ДЕНЬ Рождения?"),
        ("عيد ميلاد", "متى عيد ميلاد ليلى"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("straße", "STRASSE"),
        ("café", "CAFE\u0301"),
        ("जन्मदिन", "मेरा जन्मदिन कब है"),
        ("mother's birthday", "my Mother’s birthday"),
        ("R", "is R any good?"),
        ("猫", "我的猫饿了"),
    ],
)
def test_every_script_is_read(phrase: str, message: str) -> None:
    """Case, width and composition do not matter; scripts without spaces are found inside of runs."""
    for form in ("NFC", "NFD"):
        assert strength(unicodedata.normalize(form, phrase), message) >= 0.85
        assert strength(phrase, unicodedata.normalize(form, message)) >= 0.85


@pytest.mark.parametrize(
    ("phrase", "message", "found"),
    [
        ("who are you", "So, who are you?", True),
        ("who are you", "are you the one who called?", False),
        ("how long", "it took so long, and how", False),
        ("how long", "how long is it", True),
        ("it", "is it late", False),
        ("it", "новости IT", True),
        ("it", "IT?", True),
        ("hat", "red hat", True),
        ("hat", "er hat es mir gesagt", False),
        ("hat", "where is my hat", True),
    ],
)
def test_words_of_grammar_count_only_in_a_phrase_as_it_stands(phrase: str, message: str, found: bool) -> None:
    """A word of grammar alone would stand in every message of its language, and in few of another one."""
    assert (strength(phrase, message) > 0) is found


@pytest.mark.parametrize(
    ("phrase", "message", "found"),
    [
        ("PIO-1384", "what about pio-1384?", True),
        ("PIO-1384", "what about PIO-1385?", False),
        ("2026-04-10", "notes of 2026-04-10", True),
        ("2026-04-10", "on 2026-04-11", False),
        ("v2026.4.10 release", "the 10th release of v2026.4.11", False),
        ("a@b.org", "mail to a@b.org.", True),
    ],
)
def test_an_identifier_is_found_as_typed(phrase: str, message: str, found: bool) -> None:
    """Another version or date shares nearly all of its parts."""
    assert (strength(phrase, message) >= 0.8) is found


@pytest.mark.parametrize("text", ["", " ", "?!", "-", "\0", "的", "我们", "x" * (MAX_PHRASE_CHARS + 1), "word " * 2000])
def test_what_says_nothing_or_too_much_is_no_phrase(text: str) -> None:
    """Nobody can be meant to type it."""
    assert phrase_of(text) is None


@pytest.mark.parametrize("message", ["", " ", "\0", "?", "\ud800", "a" * 100_000, "ﷺ" * 100_000, "\u0301" * 10_000])
def test_every_message_can_be_compared(message: str) -> None:
    """Without an error, and to no avail."""
    assert strength("trip to Lisbon", message) == 0.0


def test_a_word_that_a_message_is_cut_in_is_not_found() -> None:
    """The beginning of a long message counts, in whole words."""
    assert strength("start", "x " * 1995 + "starting") > 0
    assert strength("start", "x " * 1997 + " startled") == 0.0


def test_of_many_phrases_those_are_found_that_are_spoken_of() -> None:
    """By their numbers."""
    phrases = [phrase_of(text) for text in ("boat", "north pier", "walnuts", "boat to Corvo")]
    index = PhraseIndex(phrase for phrase in phrases if phrase)
    assert dict(index.strengths(Message("the boat at the north pier"))) == {0: 0.85, 1: 1.0, 3: pytest.approx(0.5)}
