"""A transcript that is exported while it is written ends up as if it had been exported once, at the end."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.exporter.conftest import Place, said

TEXTS = st.sampled_from(["hello", "two\nlines", "password: hunter2", "字" * 30, "word " * 200, "HEARTBEAT_OK", "🙂"])
TIMES = st.sampled_from(["2026-11-27T23:30:00Z", "2026-11-28T10:00:00Z", "never", 1795860000])
MESSAGES = st.builds(
    lambda role, text, at: json.dumps(said(role, text, at=at), ensure_ascii=False),
    st.sampled_from(["user", "assistant", "toolResult"]),
    TEXTS,
    TIMES,
)
KEYS = st.sampled_from(["agent:main:main", "agent:main:cron:x", ""]).map(lambda key: json.dumps({"sessionKey": key}))
LINES = st.one_of(MESSAGES, MESSAGES, MESSAGES, KEYS, st.sampled_from(["", " ", "{broken", "[]", "\0\0", "{}\r"]))


@settings(max_examples=30, deadline=None)
@given(st.lists(LINES, max_size=12), st.lists(st.floats(0, 1), max_size=4), st.booleans())
def test_exports_on_the_way_change_nothing(lines: list[str], cuts: list[float], ended: bool) -> None:
    """Wherever the gateway was in its writing, also within a line and within a character."""
    raw = "\n".join(lines).encode() + (b"\n" if ended else b"")
    with tempfile.TemporaryDirectory() as name:
        growing, whole = _place(name, "growing"), _place(name, "whole")
        for cut in sorted(int(share * len(raw)) for share in cuts):
            _grow(growing, raw[:cut])
        _grow(growing, raw)
        (whole.source / "s1.jsonl").write_bytes(raw)
        whole.export()
        assert _seen(growing) == _seen(whole)


def _place(name: str, kind: str) -> Place:
    folder = Path(name) / kind
    folder.mkdir()
    return Place(folder)


def _grow(place: Place, raw: bytes) -> None:
    path = place.source / "s1.jsonl"
    size = path.stat().st_size if path.exists() else 0
    with path.open("ab") as file:
        file.write(raw[size:])
    place.export()


def _seen(place: Place) -> list[tuple[str, int | None]]:
    if not (place.exports / "s1.md").exists():
        return []
    lines = place.read("s1.md").split("\n")
    return [(line, place.line(number)) for number, line in enumerate(lines, start=1)]
