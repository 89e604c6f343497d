"""What stands in the log, and what must not."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

import pytest

from sidecar.logs.crashes import loop_crashed
from sidecar.logs.entry import as_json, parsed
from sidecar.logs.redaction import LazyRedactor
from tests.running import until
from tests.sidecar.logs.writing import events, lines, log, settings, tell, written

SECRET = "sk-proj-" + "Ab3" * 16
QUOTED = "the walnuts of Ravi"


def crash(error: Exception) -> None:
    """Raise an error as deep as errors are."""
    try:
        raise ValueError(QUOTED)
    except ValueError:
        raise error from None


def crash_logged(event: str, error: Exception) -> None:
    """Raise an error, and log it where it is caught."""
    try:
        crash(error)
    except (KeyError, ValueError, OSError, ExceptionGroup):
        log.exception(event)


def test_a_secret_is_replaced_wherever_it_stands(tmp_path: Path) -> None:
    """In the event, a field, and a field of a field; the rest of the line stays."""
    with written(tmp_path):
        log.warning("a text could not be embedded: %s", f"bad key {SECRET}")
        tell("request", code=f"Authorization: Bearer {SECRET}", caller={"owner": [SECRET]}, results=3)
    told = (tmp_path / "stderr").read_text(encoding="utf-8")
    assert SECRET not in told
    assert SECRET not in (tmp_path / "state" / "log" / "sidecar.log").read_text(encoding="utf-8")
    assert lines(tmp_path / "stderr")[0]["event"].startswith("a text could not be embedded: bad key [redacted:")
    assert lines(tmp_path / "stderr")[1]["results"] == 3


def test_the_operators_patterns_hold_in_the_log(tmp_path: Path) -> None:
    """And those of a reload after it; a time is never taken for a secret."""
    with written(tmp_path, redact={"patterns": ["PRJ-[0-9]+"]}) as logs:
        tell("synced", detail="PRJ-77")
        logs.apply(settings(tmp_path, redact={"patterns": ["[0-9]{2}"]}))
        tell("synced", detail="PRJ-77")
    first, second = lines(tmp_path / "state" / "log" / "sidecar.log")
    assert second["detail"] == "PRJ-[redacted:custom]"
    assert second["time"].startswith("20")
    assert first["event"] == "synced"


def test_what_was_no_secret_is_one_under_other_rules() -> None:
    """Short texts that were looked at before are not looked at again, until the rules change."""
    redact = LazyRedactor()
    assert [redact("PRJ-77"), redact("PRJ-77")] == ["PRJ-77"] * 2
    redact.become(["PRJ-[0-9]+"], [])
    assert redact("PRJ-77") == "[redacted:custom]"


@pytest.mark.parametrize("odd", ["\ud800", 2**70, {1: "one"}, Path("x")], ids=["surrogate", "large", "key", "path"])
def test_a_field_of_any_kind_has_its_line(odd: object) -> None:
    """A log that refuses what it is told hides why."""
    assert set(json.loads(as_json({"event": "e", "field": odd}))) == {"event", "field"}


@pytest.mark.parametrize("line", ["null", "[1]", "junk", '{"a":' + "[" * 100_000], ids=["null", "list", "junk", "deep"])
def test_a_line_that_is_no_entry_is_shown_as_it_is(line: str) -> None:
    """What another program wrote into the file ends no `logs`."""
    assert parsed(line) == {"event": line}


def test_a_traceback_says_where_and_what_kind_but_never_what_it_quotes(tmp_path: Path) -> None:
    """SQLite quotes the query, pydantic the body, a parser the note; the name of a missing thing helps nobody."""
    with written(tmp_path):
        for error in (KeyError(QUOTED), ExceptionGroup(QUOTED, [TypeError(QUOTED)]), OSError(28, "No space", QUOTED)):
            crash_logged("job failed", error)
    traces = [line["traceback"] for line in lines(tmp_path / "stderr")]
    assert not [trace for trace in traces if QUOTED in trace]
    assert [trace.splitlines()[-1] for trace in traces] == [
        "builtins.KeyError",
        "builtins.TypeError",
        "builtins.OSError: No space",
    ]
    assert all("in crash" in trace for trace in traces)


def test_the_cause_of_an_exception_comes_before_it(tmp_path: Path) -> None:
    """As Python prints them; a circle of causes ends."""
    first, second = KeyError("a"), TypeError("b")
    first.__cause__, second.__cause__ = second, first
    with written(tmp_path):
        log.error("job failed", exc_info=first)
    kinds = [line for line in lines(tmp_path / "stderr")[0]["traceback"].splitlines() if "builtins" in line]
    assert kinds == ["builtins.TypeError", "builtins.KeyError"]


def test_a_field_can_hold_what_json_cannot(tmp_path: Path) -> None:
    """A name that is no UTF-8, a path, a key that is a number; and no field takes the place of the event."""
    with written(tmp_path):
        fields = {"name": "caf\udce9", "path": Path("/a"), 7: 8, "event": "forged", "level": "debug"}
        log.info("root held", extra={"fields": fields})
    (line,) = lines(tmp_path / "state" / "log" / "sidecar.log")
    assert (line["name"], line["path"], line["7"]) == ("caf?", "/a", 8)
    assert (line["event"], line["level"]) == ("root held", "info")


def test_a_line_end_in_a_field_ends_no_line(tmp_path: Path) -> None:
    """A channel is somebody else's text."""
    with written(tmp_path):
        tell("denied by scope", channel="a\nb\r\u2028c")
    assert len((tmp_path / "stderr").read_bytes().split(b"\n")) == 2


def test_what_nobody_caught_is_logged(tmp_path: Path) -> None:
    """In a thread, a task, a callback or a finalizer; what it was called with stays out."""

    class Finalized:
        def __del__(self) -> None:
            raise ValueError(QUOTED)

    async def forget() -> None:
        asyncio.get_running_loop().set_exception_handler(loop_crashed)
        asyncio.get_running_loop().call_soon(crash, KeyError(QUOTED))
        task = asyncio.create_task(asyncio.to_thread(crash, KeyError(QUOTED)))
        await asyncio.wait({task})

    with written(tmp_path):
        thread = threading.Thread(target=crash, args=(ValueError(QUOTED),), name="reader-1")
        thread.start()
        thread.join()
        Finalized()
        asyncio.run(forget())
        until(lambda: (gc.collect(), len(events(tmp_path / "stderr")))[1] == 4, what="the collector")
    told = lines(tmp_path / "stderr")
    assert sorted(line["event"] for line in told) == ["finalizer crashed", *["task crashed"] * 2, "thread crashed"]
    assert QUOTED not in str(told)
    assert {line["level"] for line in told} == {"error"}


def test_a_daemon_that_crashes_says_so_and_ends_with_one(tmp_path: Path) -> None:
    """Python would print the message of the exception."""
    with pytest.raises(SystemExit) as ended, written(tmp_path):
        crash(RuntimeError(QUOTED))
    assert ended.value.code == 1
    (line,) = lines(tmp_path / "stderr")
    assert (line["event"], line["level"]) == ("daemon crashed", "critical")


class Formatted:
    """Something that tells how often it was made into text."""

    made = 0

    def __str__(self) -> str:
        Formatted.made += 1
        return "x"


def test_what_is_below_the_level_costs_no_formatting(tmp_path: Path) -> None:
    """`worker: %s` is on the way of every line that the worker says."""
    with written(tmp_path):
        log.debug("worker: %s", Formatted())
    assert Formatted.made == 0


def test_the_same_warning_is_said_once_and_counted(tmp_path: Path) -> None:
    """By text and facts; numbers and the id of the request make no difference, and another agent's is another."""
    with written(tmp_path):
        for number in range(50):
            for agent in ("one", "two"):
                warn("search failed", agent=agent, reason="timeout", calls=number, requestId=str(number))
        warn("search failed", agent="one", reason="exited")
    assert [(line["agent"], line["reason"]) for line in lines(tmp_path / "stderr")] == [
        ("one", "timeout"),
        ("two", "timeout"),
        ("one", "exited"),
    ]


def test_what_is_news_each_time_is_never_passed_over(tmp_path: Path) -> None:
    """Nor is what is no warning, nor a crash at another place."""
    with written(tmp_path):
        for _ in range(3):
            warn("engine failed over", reason="timeout")
            tell("synced", agent="main")
        for error in (KeyError(1), ValueError(2), ValueError(3)):
            crash_logged("request crashed", error)
    told = events(tmp_path / "stderr")
    assert {event: told.count(event) for event in told} == {
        "engine failed over": 3,
        "synced": 3,
        "request crashed": 2,
    }


def warn(event: str, **fields: Any) -> None:
    """Log a warning."""
    tell(event, level=logging.WARNING, **fields)


class Owner:
    """Logs when it is collected, inside whatever the thread does then."""

    def __init__(self) -> None:
        self.myself: Self = self

    def __del__(self) -> None:
        tell("collected")


def test_an_object_that_logs_at_its_end_does_not_wait_for_itself(tmp_path: Path) -> None:
    """asyncio does so for tasks; the collector runs in the middle of anything."""
    with written(tmp_path):
        before = gc.get_threshold()
        gc.set_threshold(1)
        try:
            for _ in range(200):
                Owner()
                tell("synced")
        finally:
            gc.set_threshold(*before)
        gc.collect()
    assert events(tmp_path / "stderr").count("synced") == 200


FAULT = """
import os, sys
from sidecar.logs.crashes import crashes_logged
with crashes_logged(2):
    os.abort()
"""


def test_a_fault_of_machine_code_leaves_its_stacks_on_standard_error() -> None:
    """Where journald and the container's log find them; no handler of ours runs any more."""
    ended = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGABRT
    assert ended.stderr.startswith("Fatal Python error: Aborted")
