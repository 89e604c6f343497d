"""When a growing conversation is exported: after so many bytes or lines, and at once where one begins or ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sidecar.config.search import SessionSync
from sidecar.sessions.conversations import Conversations
from sidecar.sessions.following import UNCLEAR, Following
from tests.exporter.conftest import Place, said


class Followed:
    """A folder of transcripts that is followed, and how often an export was due."""

    def __init__(self, place: Place, following: Following, due: list[int]) -> None:
        self.place = place
        self._following = following
        self._due = due

    def say(self, name: str, lines: int = 1, chars: int = 5) -> None:
        """Let a transcript grow."""
        with (self.place.source / name).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(said("user", "x" * chars)) + "\n" for _ in range(lines))

    async def is_due(self, *names: str) -> bool:
        """Whether an export is due after events for these, once they were looked at."""
        self._due.clear()
        self._following.heard(names)
        while self._following.is_busy:
            await asyncio.sleep(0.005)
        return bool(self._due)


Scenario = Callable[[Followed], Awaitable[None]]


@pytest.fixture
def follow(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Runs a scenario beside transcripts `old.jsonl` and `cron.jsonl`, which were exported."""
    place, due = Place(tmp_path), list[int]()

    def run(scenario: Scenario, *, debounce_s: float = 0.0, **thresholds: int) -> None:
        place.write("old.jsonl", [said("user", "hello")])
        place.write("cron.jsonl", [said("user", "hello")])
        store = {"agent:main:cron:1": {"sessionId": "cron"}}
        (place.source / "sessions.json").write_text(json.dumps(store), encoding="utf-8")
        place.export()

        async def main() -> None:
            with ThreadPoolExecutor(1) as pool:
                conversations = Conversations("main", place.job, "tree", pool)
                following = Following(
                    place.source,
                    conversations,
                    SessionSync.model_validate(thresholds),
                    lambda: due.append(1),
                    pool,
                    debounce_s=debounce_s,
                )
                conversations.book()
                async with asyncio.timeout(20):
                    await scenario(Followed(place, following, due))

        asyncio.run(main())

    yield run


def test_a_conversation_that_grew_by_enough_lines_is_due(follow: Callable[..., None]) -> None:
    """Counted since its last export, over any number of events."""

    async def scenario(followed: Followed) -> None:
        followed.say("old.jsonl", 2)
        assert not await followed.is_due("old.jsonl")
        followed.say("old.jsonl")
        assert await followed.is_due("old.jsonl")

    follow(scenario, deltaMessages=3)


def test_a_line_that_is_not_ended_does_not_count(follow: Callable[..., None]) -> None:
    """It is being written."""

    async def scenario(followed: Followed) -> None:
        with (followed.place.source / "old.jsonl").open("a") as file:
            file.write('{"type": "mess')
            file.flush()
            assert not await followed.is_due("old.jsonl")
            file.write('age"}\n')
        assert await followed.is_due("old.jsonl")

    follow(scenario, deltaMessages=1)


def test_a_conversation_that_grew_by_enough_bytes_is_due(follow: Callable[..., None]) -> None:
    """However few lines they are."""

    async def scenario(followed: Followed) -> None:
        followed.say("old.jsonl", chars=300)
        assert not await followed.is_due("old.jsonl")
        followed.say("old.jsonl", chars=800)
        assert await followed.is_due("old.jsonl")

    follow(scenario, deltaBytes=1000)


def test_of_two_conversations_neither_counts_for_the_other(follow: Callable[..., None]) -> None:
    """Each waits for its own."""

    async def scenario(followed: Followed) -> None:
        followed.say("more.jsonl")
        followed.place.export()
        followed.say("old.jsonl", 2)
        followed.say("more.jsonl", 2)
        assert not await followed.is_due("old.jsonl", "more.jsonl")

    follow(scenario, deltaMessages=3)


def test_an_export_that_failed_is_not_asked_for_again_until_there_is_more(follow: Callable[..., None]) -> None:
    """A full disk must not be exported to every few seconds."""

    async def scenario(followed: Followed) -> None:
        followed.say("old.jsonl", 3)
        assert await followed.is_due("old.jsonl")
        assert not await followed.is_due("old.jsonl")
        followed.say("old.jsonl", 3)
        assert await followed.is_due("old.jsonl")

    follow(scenario, deltaMessages=3)


def test_growth_counts_from_the_export_whoever_made_it(follow: Callable[..., None]) -> None:
    """One at an interval takes what was waiting along."""

    async def scenario(followed: Followed) -> None:
        followed.say("old.jsonl", 2)
        assert not await followed.is_due("old.jsonl")
        followed.place.export()
        followed.say("old.jsonl", 2)
        assert not await followed.is_due("old.jsonl")

    follow(scenario, deltaMessages=3)


def test_one_that_became_shorter_was_written_anew(follow: Callable[..., None]) -> None:
    """All of it counts."""

    async def scenario(followed: Followed) -> None:
        followed.say("old.jsonl", 9, chars=100)
        followed.place.export()
        followed.place.write("old.jsonl", [])
        followed.say("old.jsonl", 2)
        assert not await followed.is_due("old.jsonl")
        followed.say("old.jsonl")
        assert await followed.is_due("old.jsonl")

    follow(scenario, deltaMessages=3)


@pytest.mark.parametrize("thresholds", [{"deltaBytes": 0}, {"deltaMessages": 0}])
def test_without_a_threshold_any_line_is_enough(follow: Callable[..., None], thresholds: dict[str, int]) -> None:
    """And nothing is not."""

    async def scenario(followed: Followed) -> None:
        assert not await followed.is_due("old.jsonl")
        followed.say("old.jsonl")
        assert await followed.is_due("old.jsonl")

    follow(scenario, **thresholds)


def test_a_session_that_begins_is_reset_or_deleted_waits_for_nothing(follow: Callable[..., None]) -> None:
    """Neither for more, nor for the time that growth is given."""

    async def scenario(followed: Followed) -> None:
        followed.say("new.jsonl")
        assert await followed.is_due("new.jsonl")
        followed.place.export()
        path = followed.place.source / "old.jsonl"
        archive = path.rename(path.with_name("old.jsonl.reset.2026"))
        assert await followed.is_due("old.jsonl", archive.name)
        followed.place.export()
        archive.rename(archive.with_name("old.jsonl.deleted.2026"))
        assert await followed.is_due("old.jsonl.deleted.2026")

    follow(scenario, debounce_s=3600)


def test_what_is_no_conversation_is_never_due(follow: Callable[..., None]) -> None:
    """Cron runs grow every minute, and the gateway writes more files than transcripts."""

    async def scenario(followed: Followed) -> None:
        for name in ("cron.jsonl", "old.jsonl.bak.1", "old.trajectory.jsonl", "old.jsonl.tmp"):
            followed.say(name, 100)
            assert not await followed.is_due(name), name

    follow(scenario, deltaMessages=1)


def test_when_anything_may_have_happened_everything_is_looked_at(follow: Callable[..., None]) -> None:
    """Where events were lost."""

    async def scenario(followed: Followed) -> None:
        assert not await followed.is_due(UNCLEAR)
        followed.say("old.jsonl", 3)
        assert await followed.is_due(UNCLEAR)
        (followed.place.source / "cron.jsonl").unlink()
        followed.say("new.jsonl")
        assert await followed.is_due(UNCLEAR)

    follow(scenario, deltaMessages=3)


def test_growth_is_given_time_to_gather(follow: Callable[..., None]) -> None:
    """Two events are one look; and a stream of them does not put it off."""

    async def scenario(followed: Followed) -> None:
        loop = asyncio.get_running_loop()
        followed.say("old.jsonl", 3)
        started = loop.time()
        assert await followed.is_due("old.jsonl")
        assert loop.time() - started >= 0.3

    follow(scenario, debounce_s=0.3, deltaMessages=3)
