"""Whatever is printed gives rows or a typed failure: no exception, and no row that was not printed."""

from __future__ import annotations

import json
import string
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.base import Failure
from backends.qmd.child import Completed
from backends.qmd.output import Row, read, rows_in

ROWS = [{"docid": "#abc123", "score": 0.5, "file": "qmd://notes/a.md", "line": 3, "title": "A", "snippet": "@@ -1 @@"}]
ONE = (Row("qmd://notes/a.md", 3, 0.5),)


def done(stdout: str | bytes = b"", stderr: str = "", status: int = 0, *, timed_out: bool = False) -> Completed:
    data = stdout.encode() if isinstance(stdout, str) else stdout
    return Completed(status=status, stdout=data, stderr=stderr.encode(), timed_out=timed_out)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({"results": ROWS, "took": 3}),
        json.dumps(ROWS[0]) + "\n",
        f"[node-llama-cpp] falling back to [cpu]\n[{{oops\n{json.dumps(ROWS)}\n[done]\n",
        f"\x1b[?25lExpanding query...\r{json.dumps(ROWS)}\x1b[?25h",
        f"\x1b]8;;http://x\x07[]\n{json.dumps([{'level': 'info'}])}\n{json.dumps(ROWS)}",
        f"\ufeff{json.dumps(ROWS)}",
        json.dumps([{"file": "old.md", "score": 1}]) + "\n" + json.dumps(ROWS),
    ],
    ids=["compact", "pretty", "object", "one a line", "log lines", "ansi", "several", "bom", "last wins"],
)
def test_rows_are_found_in_whatever_surrounds_them(text: str) -> None:
    """Noise before, after and around the JSON changes nothing."""
    assert read(done(text)).rows == ONE


@pytest.mark.parametrize(
    ("stdout", "stderr"),
    [
        ("[]", ""),
        ("[]\n", "Warning: 2 documents (100%) need embeddings."),
        ('{"results": []}', ""),
        ("No results found.\n", ""),
        ("No results found above minimum score threshold.\n", ""),
        ("", "No results found.\n"),
        ("\x1b[2mNo results found.\x1b[0m\n", ""),
    ],
)
def test_nothing_found_is_an_answer(stdout: str, stderr: str) -> None:
    """Every form of "nothing" on either stream is an empty list, not a failure."""
    reading = read(done(stdout, stderr))
    assert (reading.rows, reading.failure) == ((), None)


@pytest.mark.parametrize("cut", range(1, len(json.dumps(ROWS * 2))))
def test_truncated_json_is_refused(cut: int) -> None:
    """Half an answer is no answer, wherever it was cut."""
    reading = read(done(json.dumps(ROWS * 2)[:cut]))
    assert reading.failure is not None
    assert reading.failure.failure is Failure.BAD_OUTPUT


def test_truncated_pretty_json_is_refused() -> None:
    """The complete rows inside a list that was cut are not taken for the list."""
    text = json.dumps(ROWS * 3, indent=2)
    assert {rows_in(text[:cut]) for cut in range(1, len(text) - 1)} == {None}


def test_a_crash_after_the_answer_is_used_and_told() -> None:
    """Complete rows count although the process ended badly afterwards."""
    reading = read(done(json.dumps(ROWS), "GGML_ASSERT", status=134))
    assert (reading.rows, [notice.code for notice in reading.notices]) == (ONE, ["qmd_crashed_at_exit"])


@pytest.mark.parametrize(
    ("completed", "failure"),
    [
        (done(timed_out=True), Failure.TIMEOUT),
        (done(status=1), Failure.EXITED),
        (done("[]", status=139), Failure.EXITED),
        (done("Segmentation of [memory] was {fine}"), Failure.BAD_OUTPUT),
        (done(), Failure.BAD_OUTPUT),
        (done(b"\xff\xfe\x00\x80"), Failure.BAD_OUTPUT),
        (done(stderr="SqliteError: database is locked", status=1), Failure.LOCKED),
        (done(stderr="SqliteError: database or disk is full", status=1), Failure.DISK_FULL),
        (done(stderr="Error: ENOSPC: no space left on device, write", status=1), Failure.DISK_FULL),
        (done(stderr="was compiled against NODE_MODULE_VERSION 115", status=1), Failure.BROKEN_INSTALL),
        (done(stderr="code: 'ERR_DLOPEN_FAILED'", status=1), Failure.BROKEN_INSTALL),
        (done(stderr="Error: Cannot find module '/x/dist/qmd.js'", status=1), Failure.BROKEN_INSTALL),
        (done(stderr="code: 'SQLITE_NOTADB'", status=1), Failure.INDEX_LOST),
        (done(stderr="Collection not found: x", status=1), Failure.INDEX_LOST),
        (done(stderr="error: unknown option '--no-rerank'", status=1), Failure.UNSUPPORTED_FLAGS),
        (done("Usage: qmd search [options] <query>", status=1), Failure.UNSUPPORTED_FLAGS),
        (done(stderr="Error: failed to load model", status=1), Failure.MODEL_MISSING),
        (done(stderr="qmd-leash: 1: /x/qmd: not found", status=127), Failure.MISSING),
        (done(stderr="Permission denied", status=126), Failure.BROKEN_INSTALL),
    ],
)
def test_failures_are_told_apart(completed: Completed, failure: Failure) -> None:
    """Each kind of failure has its class, and text to act on."""
    found = read(completed).failure
    assert found is not None
    assert found.failure is failure
    assert found.message.endswith(".")


def test_messages_hold_neither_colours_nor_the_query() -> None:
    """What qmd says about an error is capped and stripped of the words that were asked for."""
    stderr = "\x1b[31mError: bad token near 'Zebracomet' in zebracomet salary\x1b[0m" + " x" * 9999
    error = read(done(stderr=stderr, status=1), secret="zebracomet salary").failure
    assert error is not None
    assert "bad token" in error.message
    assert "zebracomet" not in error.message.casefold()
    assert "salary" not in error.message
    assert "\x1b" not in error.message
    assert len(error.message) < 300


def test_hostile_brackets_cost_bounded_work() -> None:
    """Megabytes of openings that lead nowhere are given up, not tried one by one."""
    assert rows_in('[{"a":' * 600_000) is None


@given(st.binary(max_size=400), st.binary(max_size=200), st.sampled_from([0, 1, 134]))
def test_any_bytes_give_rows_or_a_failure(stdout: bytes, stderr: bytes, status: int) -> None:
    """No byte string raises, and rows never come together with a failure."""
    reading = read(Completed(status=status, stdout=stdout, stderr=stderr))
    assert not (reading.rows and reading.failure)


_NOISE = st.text(alphabet=string.ascii_letters + '[]{}:," \n\r\x1b\\0123', max_size=80)
_FILES = st.lists(st.text(min_size=1, max_size=12).filter(lambda text: "\0" not in text), max_size=4)


@given(_NOISE, _FILES, _NOISE)
def test_rows_are_never_invented(before: str, files: list[str], after: str) -> None:
    """Between any noise the rows are the printed ones, or none at all."""
    text = f"{before}\n{json.dumps([{'file': file} for file in files])}\n{after}"
    rows = rows_in(text)
    assert rows is None or [row.file for row in rows] in (files, [])


@pytest.mark.alone
@pytest.mark.parametrize(
    "piece",
    [
        "=====\n",
        "[\n",
        "\n",
        " ",
        " \n",
        "[ ",
        "[{",
        '[{"',
        "{",
        '{"a":',
        "\x1b]",
        "\x1b[",
        "x",
        "No results ",
        "|\t",
        "\r",
    ],
)
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_reading_hostile_output_takes_time_in_proportion(piece: str, stream: str) -> None:
    """One slow pattern holds the interpreter, and with it every search of every agent."""

    def took_s(repeats: int) -> float:
        noise = (piece * repeats + "end").encode()
        completed = Completed(**{"status": 1, "stdout": b"", "stderr": b"", stream: noise})
        best = float("inf")
        for _ in range(3):
            started = time.process_time()
            read(completed)
            best = min(best, time.process_time() - started)
        return best

    small = 60_000 // len(piece)
    # Four times as much may take eight times as long (caches, collections); a quadratic reader takes sixteen.
    assert took_s(small * 4) <= 8 * took_s(small) + 0.05


@pytest.mark.parametrize(
    "line", [b"[flood] words and words\n", b"\n", b'{"a": 1}\n'], ids=["words", "blank", "objects"]
)
def test_megabytes_of_noise_are_read_within_a_few_times_their_size(line: bytes) -> None:
    """The daemon keeps for ever what it once needed; each line as an object of its own takes ten times the room."""
    noise = line * (2**20 // len(line))
    tracemalloc.start()
    try:
        assert read(done(noise)).failure is not None
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 3 * len(noise)


def test_a_row_is_one_line_whatever_its_title_holds() -> None:
    """JSON may hold a line separator of Unicode as it is."""
    row = json.dumps({**ROWS[0], "title": "a\u2028b"}, ensure_ascii=False)
    assert rows_in(f"{row}\n{row}\n") == ONE * 2
