"""What happens is told to whoever listens, and never waits for one of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from sidecar.events import Bus, Event, EventType

SYNC = EventType.SYNC_BEGAN


def bus(kept: int = 8, start: float = 1.0) -> Bus:
    """A bus whose first id is 1000."""
    return Bus(kept=kept, wall=lambda: start)


async def collected(events: AsyncIterator[Event]) -> list[Event]:
    """All of a stream that ends."""
    async with asyncio.timeout(30):
        return [event async for event in events]


def read(source: Bus, after: int | None = None) -> list[tuple[int, Any]]:
    """Ids and types of what is kept behind an id."""
    events = asyncio.run(collected(source.follow(after, once=True)))
    return [(event["id"], event["type"]) for event in events]


def test_an_event_has_an_id_a_time_a_type_its_agent_and_its_facts() -> None:
    """One flat object."""
    source = bus()
    source.publish(SYNC, "main", engine="builtin")
    (event,) = asyncio.run(collected(source.follow(once=True)))
    assert event == {"id": 1000, "time": 1.0, "type": "sync_began", "agent": "main", "engine": "builtin"}


def test_a_reader_goes_on_behind_an_id() -> None:
    """Each event once."""
    source = bus()
    for _ in range(3):
        source.publish(SYNC)
    assert read(source, 1000) == [(1001, SYNC), (1002, SYNC)]
    assert read(source, 1002) == []


def test_what_is_kept_no_longer_is_counted() -> None:
    """The reader knows that it has to look at the status."""
    source = bus(kept=2)
    for _ in range(5):
        source.publish(SYNC)
    (dropped, *rest) = asyncio.run(collected(source.follow(1000, once=True)))
    assert (dropped["type"], dropped["events"], dropped["id"]) == (EventType.DROPPED, 2, 1002)
    assert [event["id"] for event in rest] == [1003, 1004]


def test_an_id_of_an_earlier_daemon_gives_all_of_this_one() -> None:
    """Ids go on from one start to the next; nothing is dropped where nothing was missed."""
    source = bus(start=2.0)
    source.publish(SYNC)
    assert read(source, 1500) == [(2000, SYNC)]


def test_an_id_from_ahead_misses_nothing_to_come() -> None:
    """The clock was set back between two starts."""

    async def scenario() -> Event:
        source = bus()
        events = source.follow(10**9)
        first = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        source.publish(SYNC)
        async with asyncio.timeout(30):
            return await first

    assert asyncio.run(scenario())["id"] == 1000


def test_without_an_id_only_what_is_to_come_is_told() -> None:
    """And the end of the bus ends the stream, behind what was told before it."""

    async def scenario() -> list[Event]:
        source = bus()
        source.publish(SYNC)
        reading = asyncio.create_task(collected(source.follow()))
        await asyncio.sleep(0)
        source.publish(EventType.DRAINING)
        source.close()
        source.publish(SYNC)
        return await reading

    assert [event["type"] for event in asyncio.run(scenario())] == [EventType.DRAINING]


def test_a_slow_reader_is_told_what_it_missed_and_holds_nothing_up() -> None:
    """It reads one event, and sleeps while ten times as many happen as are kept."""

    async def scenario() -> list[Event]:
        source = bus(kept=4)
        source.publish(SYNC)
        events = source.follow(999)
        first = await anext(events)
        for _ in range(40):
            source.publish(SYNC)
        source.close()
        return [first, *await collected(events)]

    first, dropped, *rest = asyncio.run(scenario())
    assert (first["id"], dropped["type"], dropped["events"]) == (1000, EventType.DROPPED, 36)
    assert [event["id"] for event in rest] == [1037, 1038, 1039, 1040]


def test_what_comes_just_before_the_end_is_told_to_a_reader_that_is_busy() -> None:
    """It has not asked for more yet when the bus is closed."""

    async def scenario() -> list[Event]:
        source = bus()
        source.publish(SYNC)
        events = source.follow(999)
        await anext(events)
        source.publish(EventType.DRAINING)
        source.close()
        return await collected(events)

    assert [event["type"] for event in asyncio.run(scenario())] == [EventType.DRAINING]


def test_silence_is_broken_by_a_heartbeat_with_the_id_to_go_on_from() -> None:
    """A listener tells a quiet daemon from a dead one."""

    async def scenario() -> Event:
        source = bus()
        source.publish(SYNC)
        async with asyncio.timeout(30):
            return await anext(source.follow(heartbeat_s=0.001))

    assert asyncio.run(scenario()) == {"id": 1000, "time": 1.0, "type": EventType.HEARTBEAT}
