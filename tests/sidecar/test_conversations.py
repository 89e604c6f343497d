"""What the daemon knows of exported conversations: as new as the ledger, and nothing where that cannot be read."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from backends.base import Hit
from backends.corpus import Corpus, Kind, Root
from sidecar.sessions.conversations import Conversations
from sidecar.sessions.visibility import Asker, Visible
from tests.exporter.conftest import Place, said

ME = "agent:main:telegram:direct:me"


@pytest.fixture
def talked(tmp_path: Path) -> Place:
    """A place with one exported conversation of ours, and one of somebody else."""
    place = Place(tmp_path)
    place.write("mine.jsonl", [said("user", "hello")])
    place.write("other.jsonl", [said("user", "hello")])
    tell(place, {ME: {"sessionId": "mine"}})
    place.export()
    return place


def tell(place: Place, store: dict[str, dict[str, str]]) -> None:
    """Write the gateway's store."""
    (place.source / "sessions.json").write_text(json.dumps(store), encoding="utf-8")


def run(place: Place, scenario: Callable[[Conversations, ThreadPoolExecutor], Awaitable[None]]) -> None:
    """A scenario with the conversations of agent main, under the rule `tree`."""

    async def main() -> None:
        with ThreadPoolExecutor(1) as pool:
            await scenario(Conversations("main", place.job, "tree", pool), pool)

    asyncio.run(main())


def test_what_was_just_exported_is_seen(talked: Place) -> None:
    """And a conversation that turns out to be ours, without a new export of it."""

    async def scenario(conversations: Conversations, _: ThreadPoolExecutor) -> None:
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == {"mine.md"}
        talked.write("new.jsonl", [said("user", "hello")])
        tell(talked, {ME: {"sessionId": "new"}})
        talked.export()
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == {"mine.md", "new.md"}
        tell(talked, {ME: {"sessionId": "other"}})
        talked.export()
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == {"mine.md", "new.md", "other.md"}

    run(talked, scenario)


def test_a_ledger_that_cannot_be_read_hides_everything_until_it_can(talked: Place) -> None:
    """Unsure means hidden; the next export makes a new one."""
    ledger = Path(talked.job.ledger)

    async def scenario(conversations: Conversations, _: ThreadPoolExecutor) -> None:
        for file in ledger.parent.glob(f"{ledger.name}*"):
            file.unlink()
        ledger.write_bytes(b"no database" * 1000)
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == frozenset()
        ledger.unlink()
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == frozenset()
        talked.export()
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == {"mine.md"}

    run(talked, scenario)


def test_a_disk_that_does_not_answer_leaves_what_was_known(talked: Place) -> None:
    """A search is not kept waiting for it."""

    async def scenario(conversations: Conversations, pool: ThreadPoolExecutor) -> None:
        answered = threading.Event()
        pool.submit(answered.wait)
        try:
            assert (await conversations.visible_to(Asker(session_key=ME))).paths == frozenset()
            assert await conversations.visible_to(Asker(session_key=ME, operator=True)) == Visible(paths=None)
        finally:
            answered.set()
        assert (await conversations.visible_to(Asker(session_key=ME))).paths == {"mine.md"}
        pool.submit((later := threading.Event()).wait)
        try:
            assert (await conversations.visible_to(Asker(session_key=ME))).paths == {"mine.md"}
        finally:
            later.set()

    run(talked, scenario)


def test_a_line_that_the_ledger_cannot_tell_is_left_out_of_a_citation(talked: Place) -> None:
    """The session and the day are known all the same."""
    with apsw.Connection(talked.job.ledger) as ledger:
        ledger.execute("UPDATE exported_session SET line_map = x'00'")
    root = Root(name="sessions", kind=Kind.SESSION, path=talked.exports, patterns=("**/*.md",), shown="qmd/sessions/")
    corpus = Corpus("main", talked.exports, (root,))
    where = {"root": "sessions", "relative": "mine.md", "path": "qmd/sessions/mine.md", "kind": Kind.SESSION}
    hit = Hit(**where, trusted=False, start_line=5, end_line=5, snippet="User: hello", score=0.9)  # type: ignore[arg-type]

    async def scenario(conversations: Conversations, _: ThreadPoolExecutor) -> None:
        assert await conversations.cited([hit], corpus, with_key=False) == [{"id": "mine", "date": "2026-11-28"}]

    run(talked, scenario)
