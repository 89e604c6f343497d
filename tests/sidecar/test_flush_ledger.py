"""The ledger of flushes: one grant a cycle, whatever dies, and whatever becomes of the file."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest

from sidecar.tools import flush_ledger
from sidecar.tools.flush_ledger import LEASE_S, MAX_FAILURES, Claim, Cycle, FlushLedger, LedgerError, Result, Stage
from tests.running import REPOSITORY

MAIN = Cycle.of("main", None, 0)
NOW = 1_800_000_000.0

CLAIM = """
import sys
from pathlib import Path
from sidecar.tools.flush_ledger import Cycle, FlushLedger
print("ready", flush=True)
sys.stdin.readline()
print(FlushLedger(Path(sys.argv[1])).claim(Cycle.of("main", None, 0), float(sys.argv[2])), flush=True)
sys.stdin.readline()
"""
HELD_OPEN = """
import sys
from pathlib import Path
from sidecar.tools.flush_ledger import Cycle, Entry, FlushLedger, Stage
ledger = FlushLedger(Path(sys.argv[1]))
def work(rows):
    rows.put(Cycle.of("main", None, 0), Entry(Stage.DONE, 0, 0.0))
    print("written", flush=True)
    sys.stdin.readline()
ledger._in_transaction(work)
"""


@pytest.fixture
def ledger(tmp_path: Path) -> FlushLedger:
    """A ledger in a folder that is not there yet."""
    return FlushLedger(tmp_path / "agent" / "flushes.sqlite")


def start(script: str, path: Path) -> subprocess.Popen[str]:
    """A process of its own that works on the ledger; it has printed its first line."""
    command = [sys.executable, "-c", script, str(path), str(NOW)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def go_on(process: subprocess.Popen[str]) -> str:
    """Let a process take its next step; what it prints then."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def end(process: subprocess.Popen[str], number: int = signal.SIGKILL) -> None:
    """Kill a process as a power cut would."""
    process.send_signal(number)
    process.communicate()


def test_a_cycle_is_granted_once(ledger: FlushLedger) -> None:
    """And from the next compaction on again."""
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW + 1) is Claim.UNDER_WAY
    assert ledger.settle(MAIN, Result.DONE)
    assert ledger.claim(MAIN, NOW + 2 * LEASE_S) is Claim.DONE
    assert ledger.claim(Cycle.of("main", None, 1), NOW) is Claim.GRANTED


def test_a_session_that_was_reset_begins_anew(ledger: FlushLedger) -> None:
    """Its key is the same and its count is back at 0; its id tells it apart."""
    first, second = (Cycle.of("main", name, 0) for name in ("a", "b"))
    assert ledger.claim(first, NOW) is Claim.GRANTED
    assert ledger.settle(first, Result.DONE)
    assert ledger.claim(second, NOW) is Claim.GRANTED
    assert ledger.claim(Cycle.of("main", "c", 4), NOW) is Claim.GRANTED


def test_a_count_that_went_back_is_another_cycle(ledger: FlushLedger) -> None:
    """Without an id of the conversation a lower count is the only trace of a reset."""
    assert ledger.claim(Cycle.of("main", None, 3), NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED


def test_a_failed_flush_may_be_tried_again_and_the_third_failure_ends_the_cycle(ledger: FlushLedger) -> None:
    """Until the next compaction."""
    for count in range(1, MAX_FAILURES + 1):
        assert ledger.claim(MAIN, NOW) is Claim.GRANTED
        entry = ledger.settle(MAIN, Result.FAILED)
        assert entry is not None
        assert entry.failures == count
    assert entry.stage is Stage.EXHAUSTED
    assert ledger.claim(MAIN, NOW + 10 * LEASE_S) is Claim.EXHAUSTED
    assert ledger.claim(Cycle.of("main", None, 1), NOW) is Claim.GRANTED


def test_a_failure_that_is_reported_twice_counts_once(ledger: FlushLedger) -> None:
    """A gateway repeats a request whose answer it did not get."""
    ledger.claim(MAIN, NOW)
    first, second = (ledger.settle(MAIN, Result.FAILED) for _ in range(2))
    assert first == second
    assert first is not None
    assert (first.stage, first.failures) == (Stage.RETRY, 1)


def test_a_flush_that_was_broken_off_is_no_failure(ledger: FlushLedger) -> None:
    """However often that happens."""
    for _ in range(MAX_FAILURES + 2):
        assert ledger.claim(MAIN, NOW) is Claim.GRANTED
        assert ledger.settle(MAIN, Result.ABORTED)


def test_a_success_that_comes_late_counts(ledger: FlushLedger) -> None:
    """Also after the flush was taken for lost, and after the last failure."""
    for _ in range(MAX_FAILURES):
        ledger.claim(MAIN, NOW)
        ledger.settle(MAIN, Result.FAILED)
    ledger.settle(MAIN, Result.DONE)
    assert ledger.claim(MAIN, NOW) is Claim.DONE


def test_a_flush_that_nobody_reports_is_tried_again_but_not_for_ever(ledger: FlushLedger) -> None:
    """Its gateway may have died of it."""
    for attempt in range(MAX_FAILURES):
        assert ledger.claim(MAIN, NOW + attempt * LEASE_S) is Claim.GRANTED
        assert ledger.claim(MAIN, NOW + (attempt + 1) * LEASE_S - 1) is Claim.UNDER_WAY
    assert ledger.claim(MAIN, NOW + MAX_FAILURES * LEASE_S) is Claim.EXHAUSTED


def test_a_clock_that_was_set_back_holds_nobody_up(ledger: FlushLedger) -> None:
    """By more than a moment: of two who ask at once, the later one may have looked at the clock first."""
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW - 0.001) is Claim.UNDER_WAY
    assert ledger.claim(MAIN, NOW - 86_400) is Claim.GRANTED


def test_a_report_about_what_was_never_granted_changes_nothing(ledger: FlushLedger) -> None:
    """Nor does one about a cycle that is over."""
    assert ledger.settle(MAIN, Result.DONE) is None
    later = Cycle.of("main", None, 1)
    assert ledger.claim(later, NOW) is Claim.GRANTED
    assert ledger.settle(MAIN, Result.DONE) is None
    assert ledger.claim(later, NOW) is Claim.UNDER_WAY


def test_of_all_threads_that_ask_at_once_one_is_granted_the_flush(ledger: FlushLedger) -> None:
    """Two gateways may serve one session."""
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda _: ledger.claim(MAIN, NOW), range(40)))
    assert sorted(claims) == [Claim.GRANTED] + [Claim.UNDER_WAY] * 39


def test_of_all_processes_that_ask_at_once_one_is_granted_the_flush(tmp_path: Path) -> None:
    """The file decides, and not the memory of one process."""
    processes = [start(CLAIM, tmp_path / "flushes.sqlite") for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        claims = list(pool.map(go_on, processes))
    for process in processes:
        end(process)
    assert sorted(claims) == ["granted", "under_way", "under_way", "under_way"]


def test_who_asks_while_another_writes_waits_for_what_that_one_writes(tmp_path: Path) -> None:
    """Nobody decides by what is about to be changed."""
    path = tmp_path / "flushes.sqlite"
    writer = start(HELD_OPEN, path)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(FlushLedger(path).claim, MAIN, NOW)
        with pytest.raises(TimeoutError):
            asked.result(timeout=0.2)
        go_on(writer)
        assert asked.result() is Claim.DONE
    end(writer)


def test_a_grant_survives_a_kill(tmp_path: Path) -> None:
    """It is on disk before anybody hears of it."""
    path = tmp_path / "flushes.sqlite"
    process = start(CLAIM, path)
    assert go_on(process) == "granted"
    end(process)
    assert FlushLedger(path).claim(MAIN, NOW) is Claim.UNDER_WAY


def test_a_kill_in_the_middle_leaves_the_flush_to_the_next_who_asks(tmp_path: Path) -> None:
    """Nobody was told of it, so nobody runs it."""
    path = tmp_path / "flushes.sqlite"
    end(start(HELD_OPEN, path))
    assert FlushLedger(path).claim(MAIN, NOW) is Claim.GRANTED


@pytest.mark.parametrize("damage", [b"no database at all" * 300, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_ledger_is_moved_aside_and_said_aloud(
    ledger: FlushLedger, tmp_path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """A flush too many is better than none."""
    path = tmp_path / "agent" / "flushes.sqlite"
    ledger.claim(MAIN, NOW)
    path.write_bytes(damage)
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW) is Claim.UNDER_WAY
    assert path.with_name("flushes.sqlite.damaged").read_bytes() == damage
    assert ["moved aside" in record.message for record in caplog.records] == [True]


def test_a_damaged_ledger_is_begun_anew_once_however_many_ask(ledger: FlushLedger, tmp_path: Path) -> None:
    """The second who sees the damage must not move the new file aside."""
    path = tmp_path / "agent" / "flushes.sqlite"
    ledger.claim(MAIN, NOW)
    for _ in range(20):
        path.write_bytes(b"no database at all" * 300)
        with ThreadPoolExecutor(4) as pool:
            claims = list(pool.map(lambda _: ledger.claim(MAIN, NOW), range(4)))
        assert sorted(claims) == [Claim.GRANTED] + [Claim.UNDER_WAY] * 3


def test_a_page_that_went_bad_costs_one_flush_at_most(ledger: FlushLedger, tmp_path: Path) -> None:
    """The header is whole; what is below is not."""
    path = tmp_path / "agent" / "flushes.sqlite"
    for number in range(200):
        ledger.claim(Cycle.of(f"telegram:direct:{number}", None, 0), NOW)
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW) is Claim.UNDER_WAY


@pytest.mark.parametrize(
    "statement",
    ["UPDATE session_flush SET stage = 'asleep'", "ALTER TABLE session_flush RENAME COLUMN stage TO state"],
)
def test_a_ledger_that_somebody_else_wrote_is_damaged_too(ledger: FlushLedger, tmp_path: Path, statement: str) -> None:
    """Rows or columns that we never write."""
    ledger.claim(MAIN, NOW)
    apsw.Connection(str(tmp_path / "agent" / "flushes.sqlite")).execute(statement)
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW) is Claim.UNDER_WAY


def test_a_ledger_that_is_gone_is_begun_anew(ledger: FlushLedger, tmp_path: Path) -> None:
    """Deleted under a running daemon."""
    ledger.claim(MAIN, NOW)
    (tmp_path / "agent" / "flushes.sqlite").unlink()
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED


def test_a_place_where_no_file_can_be_is_an_error_of_its_own(tmp_path: Path) -> None:
    """It names the kind of failure."""
    (tmp_path / "agent").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(LedgerError, match="Error"):
        FlushLedger(tmp_path / "agent" / "flushes.sqlite").claim(MAIN, NOW)


def test_the_ledger_is_private_and_names_no_session(ledger: FlushLedger, tmp_path: Path) -> None:
    """A session key may hold somebody's telephone number."""
    ledger.claim(Cycle.of("whatsapp:direct:+4915112345678", "conversation", 0), NOW)
    path = tmp_path / "agent" / "flushes.sqlite"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert b"4915112345678" not in path.read_bytes()


def test_sessions_that_are_long_gone_are_forgotten(ledger: FlushLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that are in use are kept, however many others there were before."""
    monkeypatch.setattr(flush_ledger, "MAX_WRITES_KEPT", 5)
    others = [Cycle.of(f"telegram:direct:{number}", None, 0) for number in range(6)]
    for cycle in (*others, MAIN):
        assert ledger.claim(cycle, NOW) is Claim.GRANTED
    assert ledger.claim(MAIN, NOW) is Claim.UNDER_WAY
    assert ledger.claim(others[2], NOW) is Claim.UNDER_WAY
    assert ledger.claim(others[0], NOW) is Claim.GRANTED


def test_a_ledger_of_a_newer_release_is_left_as_it_is(ledger: FlushLedger, tmp_path: Path) -> None:
    """It is not damaged, and the release that wrote it may come back."""
    path = tmp_path / "agent" / "flushes.sqlite"
    assert ledger.claim(MAIN, NOW) is Claim.GRANTED
    with apsw.Connection(str(path)) as database:
        database.execute("ALTER TABLE session_flush RENAME TO session_cycle")
        database.pragma("user_version", 2)
    database.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="NewerVersion"):
        ledger.claim(MAIN, NOW)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]
