"""Reading transcripts: which files count, what is text, and what damage is survived."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from exporter.transcript import MAX_LINE_BYTES, Message, Transcript, find_transcripts, open_transcript
from tests.exporter.conftest import said


def read(*lines: object, tail: str = "") -> tuple[list[Message], Transcript]:
    """Read records (or raw text) as one transcript."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines) + tail
    transcript = Transcript(io.BytesIO(text.encode()))
    return list(transcript.messages()), transcript


@pytest.mark.parametrize(
    "header", [{"type": "session", "id": "s"}, {"type": "session", "version": 2}, {"type": "session", "version": 3}]
)
def test_every_version_is_read(header: dict[str, object]) -> None:
    """The header's version does not change what a message is."""
    messages, _ = read(header, said("user", "hello"), said("assistant", [{"type": "text", "text": "hi"}]))
    assert [(message.line, message.role, message.text) for message in messages] == [
        (2, "user", "hello"),
        (3, "assistant", "hi"),
    ]


def test_only_text_blocks_are_text() -> None:
    """Thinking, tool calls and images are left out; text blocks are joined by line breaks."""
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "one"},
        {"type": "toolCall", "name": "exec", "arguments": {"text": "rm"}},
        {"type": "image", "data": "..."},
        {"type": "text", "text": "two"},
    ]
    messages, _ = read(said("assistant", blocks))
    assert [message.text for message in messages] == ["one\ntwo"]


@pytest.mark.parametrize(
    "record",
    [
        said("toolResult", "output"),
        said("custom", "context"),
        said("user", [{"type": "image"}]),
        said("user", 7),
        {"type": "message", "message": {"role": ["user"], "content": "x"}},
        {"type": ["message"], "message": {"role": {}, "content": "x"}},
        {"type": "compaction", "summary": "we spoke"},
        {"type": "branch_summary", "summary": "we spoke"},
        {"type": "custom_message", "content": "boot"},
        {"type": "message", "message": "text"},
        {"type": "message", "message": {"role": "user", "content": "x", "provenance": {"kind": "inter_session"}}},
    ],
)
def test_what_nobody_said_is_left_out(record: dict[str, object]) -> None:
    """Tool results, summaries, custom records and messages of other sessions are no conversation."""
    assert read(record)[0] == []


def test_bad_lines_are_counted_and_skipped() -> None:
    """Damage in the middle costs its own line only."""
    messages, transcript = read("{broken", said("user", "a"), "[1]", "", said("user", "b"))
    assert [message.line for message in messages] == [2, 5]
    assert (transcript.bad_lines, transcript.unfinished) == (2, False)


def test_a_half_written_last_line_is_left_for_later() -> None:
    """A line that is still being written is neither bad nor read."""
    messages, transcript = read(said("user", "a"), tail='{"type":"message","mess')
    assert len(messages) == 1
    assert (transcript.bad_lines, transcript.unfinished) == (0, True)


def test_a_complete_last_line_without_its_end_is_read() -> None:
    """A transcript that ends without a line break keeps its last word."""
    messages, transcript = read(tail=json.dumps(said("user", "a")))
    assert len(messages) == 1
    assert not transcript.unfinished


def test_a_monstrous_line_is_skipped() -> None:
    """A line beyond the limit is counted, and the lines behind it are read with their true numbers."""
    messages, transcript = read("x" * (MAX_LINE_BYTES + 10), said("user", "after"))
    assert [(message.line, message.text) for message in messages] == [(2, "after")]
    assert transcript.bad_lines == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-11-28T10:00:00Z", datetime(2026, 11, 28, 10, tzinfo=UTC)),
        ("2026-11-28T12:00:00+02:00", datetime(2026, 11, 28, 10, tzinfo=UTC)),
        ("2026-11-28T10:00:00", datetime(2026, 11, 28, 10, tzinfo=UTC)),
        (1795860000, datetime.fromtimestamp(1795860000, UTC)),
        (1795860000000, datetime.fromtimestamp(1795860000, UTC)),
        ("yesterday", None),
        (1e300, None),
        (True, None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-12:00", None),
        (253402300799000, None),
        (None, None),
    ],
)
def test_a_time_is_text_seconds_or_milliseconds(value: object, expected: datetime | None) -> None:
    """Each spelling of a time is understood, and nonsense is no time."""
    messages, _ = read(said("user", "a", at=value))
    assert messages[0].at == expected


def test_live_and_reset_transcripts_count(tmp_path: Path) -> None:
    """Sessions, topics and reset archives are found; backups, by-products and other files are not."""
    names = [
        "a1.jsonl",
        "a1-topic-7.jsonl",
        "a1.jsonl.reset.2026-11-01T00-00-00.000Z",
        "b.jsonl.bak.1",
        "c.checkpoint.5f2.jsonl",
        "d.trajectory.jsonl",
        "x.jsonl.reset.1.jsonl",
        "sessions.json",
        ".hidden.jsonl",
        "we ird.jsonl",
    ]
    for name in names:
        (tmp_path / name).write_text("{}\n")
    assert {file.name for file in find_transcripts(tmp_path).files} == set(names[:3])


def test_a_deleted_session_counts_in_none_of_its_files(tmp_path: Path) -> None:
    """The archive of a deletion takes the session's reset archive and a restored copy with it."""
    for name in ["a.jsonl", "a.jsonl.reset.1", "a.jsonl.deleted.2", "b.jsonl"]:
        (tmp_path / name).write_text("{}\n")
    assert [file.name for file in find_transcripts(tmp_path).files] == ["b.jsonl"]


def test_links_and_pipes_do_not_count(tmp_path: Path) -> None:
    """Only regular files are transcripts, and opening anything else fails at once."""
    (tmp_path / "real").write_text("{}\n")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert find_transcripts(tmp_path).files == ()
    for name in ["link.jsonl", "pipe.jsonl"]:
        with pytest.raises(OSError):
            open_transcript(tmp_path / name)


def test_half_an_emoji_costs_no_message() -> None:
    """JavaScript cuts texts between two surrogates and writes what is left."""
    messages, transcript = read(r'{"type":"message","message":{"role":"user","content":"cut \ud83d"}}')
    assert [message.text for message in messages] == ["cut ?"]
    assert transcript.bad_lines == 0


def test_what_stands_under_a_chores_key_is_left_out() -> None:
    """A record may name its session; the ones behind it are the same session's until one names another."""
    lines = [{**said("user", "a"), "sessionKey": "job"}, said("user", "b"), {**said("user", "c"), "sessionKey": "chat"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    transcript = Transcript(io.BytesIO(text.encode()), is_chore=lambda key: key == "job")
    assert [message.text for message in transcript.messages()] == ["c"]


def test_a_monstrous_line_that_is_being_written_is_left_for_later() -> None:
    """Neither bad nor done."""
    messages, transcript = read(said("user", "a"), tail="x" * (MAX_LINE_BYTES + 10))
    assert len(messages) == 1
    assert (transcript.bad_lines, transcript.unfinished) == (0, True)
