"""A daemon whose notes are embedded behind HTTP: what it asks, what it says, and what it keeps to itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.backends.embedding.remote.serving import Answer, Asked, Provider, Speech, fails, serving
from tests.backends.embedding.remote.speeches import OpenAISpeech
from tests.running import running, until

KEY = "sk-canary-0123456789abcdef"
DEADLINE_S = 60.0
NOTES = 30


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving(OpenAISpeech()) as provider:
        yield provider


def workspace(folder: Path, notes: int = NOTES) -> Path:
    """Notes of different texts."""
    memory = folder / "memory"
    memory.mkdir(parents=True)
    for number in range(notes):
        (memory / f"{number}.md").write_text(f"# Note {number}\n\nThe boat number {number} leaves at nine.\n")
    return folder


def hosted(provider: Provider, **more: Any) -> dict[str, Any]:
    remote = {"baseUrl": f"{provider.url}/v1", "apiKey": KEY}
    return {"provider": "openai", "model": "some-model", "remote": remote, **more}


def config(folder: Path, search: dict[str, Any]) -> dict[str, Any]:
    return {
        "memory": {"backend": "builtin"},
        "agents": {"defaults": {"workspace": str(folder), "memorySearch": search}},
    }


def notes_sent(provider: Provider) -> list[str]:
    """The notes that were sent; not the lines that an index is measured with, nor questions."""
    return [text for texts in provider.batches for text in texts if text.startswith("# Note")]


def test_notes_and_questions_go_to_the_provider_with_the_key(tmp_path: Path, provider: Provider) -> None:
    """Each note once; the answer names the provider and its model."""
    with running(tmp_path / "daemon", config(workspace(tmp_path / "notes"), hosted(provider))) as daemon:
        daemon.sync("main")
        reply = daemon.search("main", "when does boat number 3 leave?")
    assert (reply["outcome"], reply["provider"], reply["model"]) == ("hits", "openai", "some-model")
    assert len(notes_sent(provider)) == NOTES
    assert {asked.headers["authorization"] for asked in provider.asked} == {f"Bearer {KEY}"}
    assert provider.batches[-1] == ["when does boat number 3 leave?"]


def test_after_a_restart_no_unchanged_note_is_sent_again(tmp_path: Path, provider: Provider) -> None:
    """Not even when everything is to be indexed anew."""
    settings = config(workspace(tmp_path / "notes"), hosted(provider))
    with running(tmp_path / "daemon", settings) as daemon:
        daemon.sync("main")
    provider.forget()
    with running(tmp_path / "daemon", settings) as daemon:
        daemon.sync("main", force=True)
        assert daemon.search("main", "boat")["provider"] == "openai"
    assert notes_sent(provider) == []


def test_an_empty_account_is_told_and_words_are_indexed_all_the_same(tmp_path: Path, provider: Provider) -> None:
    """It is not asked for every note, and used again once it is filled."""
    provider.always.append(fails(429, "insufficient_quota", "You exceeded your current quota."))
    with running(tmp_path / "daemon", config(workspace(tmp_path / "notes"), hosted(provider))) as daemon:
        daemon.sync("main")
        reply = daemon.search("main", "boat")
        assert (reply["outcome"], reply["reason"]) == ("unavailable", "embedding_quota")
        assert "quota is exhausted" in reply["warning"]
        (agent,) = daemon.call("GET", "/v1/status")["agents"]
        assert "embedding_quota" in {notice["code"] for notice in agent["notices"]}
        assert len(provider.asked) < 8
        provider.always.clear()

        def recovered() -> bool:
            daemon.sync("main")
            return bool(daemon.search("main", "boat")["provider"] == "openai")

        until(recovered, deadline_s=DEADLINE_S, what="the provider's return")
    assert len(notes_sent(provider)) >= NOTES


def test_the_second_provider_answers_with_vectors_of_its_own(tmp_path: Path, provider: Provider) -> None:
    """The answer says from which, to which, and why."""
    provider.always.append(fails(401, "invalid_api_key", "Incorrect API key provided."))
    search = hosted(provider, fallback="static")
    with running(tmp_path / "daemon", config(workspace(tmp_path / "notes"), search)) as daemon:
        daemon.sync("main")
        reply = daemon.search("main", "when does boat number 3 leave?")
    assert (reply["outcome"], reply["provider"]) == ("hits", "static")
    told = reply["embeddingFallback"]
    assert (told["from"], told["to"], told["reason"]) == ("openai", "static", "embedding_key_refused")


def test_a_provider_that_hangs_holds_up_nobody_else(tmp_path: Path, provider: Provider) -> None:
    """Another agent is indexed and answered while this one's notes wait at their provider."""
    asked, go_on = threading.Event(), threading.Event()

    def hangs(request: Asked, speech: Speech) -> Answer | None:
        asked.set()
        go_on.wait(DEADLINE_S)
        return None

    agents = [
        {"id": "slow", "workspace": str(workspace(tmp_path / "slow")), "memorySearch": hosted(provider)},
        {"id": "quick", "workspace": str(tmp_path / "quick"), "memorySearch": {"provider": "static"}},
    ]
    provider.always.append(hangs)
    with running(tmp_path / "daemon", {"memory": {"backend": "builtin"}, "agents": {"list": agents}}) as daemon:
        try:
            assert asked.wait(DEADLINE_S)
            workspace(tmp_path / "quick")
            daemon.sync("quick")
            assert daemon.search("quick", "boat number 3")["provider"] == "static"
            assert not go_on.is_set()
        finally:
            go_on.set()


def test_the_key_stays_with_the_daemon(tmp_path: Path, provider: Provider) -> None:
    """Neither replies, nor the log, nor any file of the state folder hold it; nor is a question or a note logged."""
    provider.script.append(fails(500, "server_error", f"Internal error for key {KEY}"))
    provider.script.append(fails(401, "invalid_api_key", f"Incorrect API key provided: {KEY}."))
    settings = config(workspace(tmp_path / "notes"), hosted(provider))
    settings["sidecar"] = {"log": {"level": "debug"}}
    with running(tmp_path / "daemon", settings) as daemon:
        replies = [daemon.sync("main"), daemon.search("main", "boat zanzibar"), daemon.call("GET", "/v1/status")]
    assert KEY not in str(replies)
    log = daemon.log.read_text(encoding="utf-8")
    assert KEY not in log
    assert "zanzibar" not in log
    held = [path for path in daemon.state.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert held == []
