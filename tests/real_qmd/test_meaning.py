"""Search by meaning with the real qmd and a real model, through the socket; and without the model, in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.running import MODEL, Running, real_qmd_path, running, until

TIMEOUT_MS = 4000
#: No content word of the question stands in the note that answers it.
QUESTION = "which illness must the cook pay attention to?"
ANSWER = "memory/guests.md"
NOTES = {
    ANSWER: "Ravi is allergic to walnuts; keep nuts out of his dinner.\n",
    "memory/boat.md": "The ferry to Corvo leaves at nine from the north pier.\n",
    "memory/garden.md": "The tomatoes were planted along the southern wall.\n",
    "memory/money.md": "Maya transferred the deposit of 340 euros to the landlord.\n",
}

pytestmark = [
    pytest.mark.real_qmd,
    pytest.mark.skipif(not MODEL.exists(), reason="the real model is not here: make qmd"),
]


@contextmanager
def searching(folder: Path, model: Path) -> Iterator[Running]:
    """A daemon in a mode that wants meaning, synced."""
    for path, text in NOTES.items():
        note = folder / "workspace" / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(text, encoding="utf-8")
    qmd = {"searchMode": "query", "limits": {"timeoutMs": TIMEOUT_MS}, "update": {"embedTimeoutMs": 60_000}}
    config = {
        "memory": {"backend": "qmd", "qmd": qmd},
        "agents": {"defaults": {"workspace": str(folder / "workspace")}},
    }
    with running(folder / "daemon", config, path=real_qmd_path(), QMD_EMBED_MODEL=str(model)) as daemon:
        daemon.sync("main")
        yield daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon with a whole model, which its qmd has loaded."""
    with searching(tmp_path_factory.mktemp("meaning"), MODEL) as daemon:
        answered_by_qmd(daemon, "when does the ferry leave?", "query")
        yield daemon


def answered_by_qmd(daemon: Running, question: str, mode: str) -> dict[str, Any]:
    """The first answer that qmd gives; until its model is loaded others answer."""

    def ask() -> dict[str, Any] | None:
        reply = daemon.search("main", question, mode=mode)
        return reply if reply["backend"] == "qmd" and reply["outcome"] != "partial" else None

    reply: dict[str, Any] = until(ask, deadline_s=60, what="an answer of qmd")
    return reply


@pytest.mark.parametrize("mode", ["vsearch", "query"])
def test_a_question_is_answered_by_meaning(daemon: Running, mode: str) -> None:
    """Keywords alone find nothing for it."""
    reply = answered_by_qmd(daemon, QUESTION, mode)
    assert (reply["outcome"], reply["mode"]) == ("hits", mode)
    assert reply["results"][0]["path"] == ANSWER
    words = daemon.search("main", QUESTION, mode="search")
    assert (words["backend"], words["results"]) == ("qmd", [])


def test_words_still_count_beside_meaning(daemon: Running) -> None:
    """`query` finds what is named, too."""
    assert answered_by_qmd(daemon, "ferry to Corvo", "query")["results"][0]["path"] == "memory/boat.md"


@pytest.mark.alone
@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_without_its_model_meaning_is_switched_off_with_a_notice(tmp_path: Path, damage: str) -> None:
    """Every search is answered in time, with words, and says what is wrong."""
    model = tmp_path / "minilm.gguf"
    if damage == "truncated":
        model.write_bytes(half_of(MODEL))
    with searching(tmp_path, model) as daemon:
        assert_words_answer_in_time(daemon)


@pytest.mark.alone
def test_a_model_that_breaks_after_its_vectors_were_made_hangs_no_search(tmp_path: Path) -> None:
    """The vectors are there, and nothing that a question could be turned into one with."""
    model = tmp_path / "minilm.gguf"
    model.write_bytes(MODEL.read_bytes())
    with searching(tmp_path, model) as daemon:
        answered_by_qmd(daemon, "when does the ferry leave?", "query")
    model.write_bytes(half_of(MODEL))
    with searching(tmp_path, model) as daemon:
        assert_words_answer_in_time(daemon)


def assert_words_answer_in_time(daemon: Running) -> None:
    """Whatever way to search by meaning is asked for; and each answer says why words are all there is."""
    for mode in ["vsearch", "query"] * 3:
        reply = daemon.search("main", "when does the ferry leave?", mode=mode)
        assert reply["tookMs"] < TIMEOUT_MS + 100
        assert reply["results"][0]["path"] == "memory/boat.md"
        assert said_so(reply), (mode, reply["notices"])


def half_of(file: Path) -> bytes:
    """What a download leaves that stopped in the middle: a good head, and tensors that are not there."""
    content = file.read_bytes()
    return content[: len(content) // 2]


def said_so(reply: dict[str, Any]) -> bool:
    """Whether an answer tells that the model is the reason for less than was asked."""
    codes = {notice["code"] for notice in reply["notices"]}
    return bool(codes & {"semantic_off", "model_missing"}) or reply.get("fallback", {}).get("reason") == "model_missing"
