"""Files that turn over, and pipes whose other end does not read."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.logs.entry import as_json
from sidecar.logs.pipe import LOST, Pipe
from sidecar.logs.sinks import Descriptor, RotatedFile
from tests.running import until


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RotatedFile]:
    """A log of at most a hundred bytes, with two older ones."""
    rotated = RotatedFile(tmp_path / "x.log", max_bytes=100, kept=2)
    yield rotated
    rotated.close()


def line(number: int) -> bytes:
    """A line of ten bytes."""
    return f"line {number:04}\n".encode()


def test_a_log_has_a_largest_size(file: RotatedFile, tmp_path: Path) -> None:
    """What is full gets a number, what is oldest goes, and no line is torn."""
    for number in range(45):
        file.write(line(number))
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert kept == {
        "x.log": b"".join(map(line, range(40, 45))),
        "x.log.1": b"".join(map(line, range(30, 40))),
        "x.log.2": b"".join(map(line, range(20, 30))),
    }


def test_a_line_longer_than_the_file_may_be_is_written(file: RotatedFile, tmp_path: Path) -> None:
    """Alone in its file."""
    for text in (b"a\n", b"x" * 300 + b"\n", b"b\n"):
        file.write(text)
    assert [len((tmp_path / name).read_bytes()) for name in ("x.log", "x.log.1", "x.log.2")] == [2, 301, 2]


def test_a_log_that_logrotate_moved_is_begun_anew(file: RotatedFile, tmp_path: Path) -> None:
    """With the next line, signal or not; a folder that comes back later is waited for."""
    file.write(b"one\n")
    (tmp_path / "x.log").rename(tmp_path / "moved")
    file.write(b"two\n")
    assert (tmp_path / "moved").read_bytes() == b"one\n"
    assert (tmp_path / "x.log").read_bytes() == b"two\n"
    (tmp_path / "x.log").unlink()
    (tmp_path / "x.log").mkdir()
    with pytest.raises(IsADirectoryError):
        file.write(b"three\n")
    (tmp_path / "x.log").rmdir()
    file.write(b"four\n")
    assert (tmp_path / "x.log").read_bytes() == b"four\n"


def test_a_log_that_was_truncated_goes_on_at_its_beginning(file: RotatedFile, tmp_path: Path) -> None:
    """`copytruncate` leaves the same file; no hole of zeros may stand in it."""
    file.write(line(1) * 9)
    os.truncate(tmp_path / "x.log", 0)
    file.write(line(2) * 2)
    assert (tmp_path / "x.log").read_bytes() == line(2) * 2


def test_half_a_line_of_a_daemon_that_was_killed_is_ended(file: RotatedFile, tmp_path: Path) -> None:
    """It must not swallow the first line of the next one."""
    (tmp_path / "x.log").write_bytes(b'{"event":"hal')
    file.write(b"whole\n")
    assert (tmp_path / "x.log").read_bytes() == b'{"event":"hal\nwhole\n'


def test_a_pipe_that_nobody_reads_costs_lines_and_no_waiting(tmp_path: Path) -> None:
    """The oldest lines are kept, and where the others are missing it says how many."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    capacity = 0
    with pytest.raises(BlockingIOError):
        while True:
            capacity += os.write(writing, b"\n" * 4096)
    pipe = Pipe("stderr", Descriptor(writing), as_json, most=10)
    for number in range(100):
        pipe.put(20, {"event": str(number)})
    received = b""
    while received.count(b"}\n") < 10:
        received += os.read(reading, 65536)
    pipe.put(20, {"event": "after"})
    pipe.close()
    os.close(writing)
    with os.fdopen(reading, "rb") as rest:
        received += rest.read()
    told = [json.loads(each) for each in received.split(b"\n") if each]
    (lost,) = [each for each in told if each["event"] == LOST]
    numbers = [each["event"] for each in told if each["event"].isdigit()]
    assert numbers == [str(number) for number in range(len(numbers))]
    assert lost["lines"] == 100 - len(numbers)
    assert told[-1]["event"] == "after"


class Kept:
    """A sink in memory; `wakes` is how often its thread had to wait for something, known at its end."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.wakes = 0

    def write(self, line: bytes) -> None:
        """Keep it."""
        self.lines.append(line)

    def reopen(self) -> None:
        """Nothing: it has no name."""

    def close(self) -> None:
        """Count."""
        self.wakes = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


@pytest.mark.skipif(not hasattr(resource, "RUSAGE_THREAD"), reason="counted by Linux alone")
def test_lines_that_come_one_by_one_do_not_each_wake_the_thread_that_writes() -> None:
    """Whoever answers requests would take turns with it."""
    sink = Kept()
    pipe = Pipe("kept", sink, as_json)
    for number in range(400):
        pipe.put(20, {"event": str(number)})
        time.sleep(0.0005)
    pipe.close()
    assert [json.loads(line)["event"] for line in sink.lines] == [str(number) for number in range(400)]
    assert sink.wakes < 100


def test_closing_does_not_wait_for_a_reader_that_never_reads() -> None:
    """A daemon has to end although the terminal of its log is stopped."""
    reading, writing = os.pipe()
    pipe = Pipe("stderr", Descriptor(writing), as_json)
    pipe.put(20, {"event": "x" * 200_000})
    pipe.close(timeout_s=0.01)
    os.close(reading)
    until(lambda: not pipe.is_alive)
    os.close(writing)


def test_a_reader_that_went_away_costs_its_own_lines_alone() -> None:
    """`qmd-sidecar run 2>&1 | head`."""
    reading, writing = os.pipe()
    os.close(reading)
    pipe = Pipe("stderr", Descriptor(writing), as_json)
    for number in range(3):
        pipe.put(20, {"event": str(number)})
    pipe.close()
    assert not pipe.is_alive
    os.close(writing)


def test_reopening_begins_a_new_file(tmp_path: Path) -> None:
    """After SIGHUP, with the next line."""
    pipe = Pipe("file", RotatedFile(tmp_path / "x.log"), as_json)
    pipe.put(20, {"event": "before"})
    until(lambda: (tmp_path / "x.log").exists() and (tmp_path / "x.log").read_bytes())
    (tmp_path / "x.log").rename(tmp_path / "x.log.1")
    pipe.reopen()
    pipe.put(20, {"event": "after"})
    pipe.close()
    assert [json.loads((tmp_path / name).read_bytes())["event"] for name in ("x.log.1", "x.log")] == ["before", "after"]
