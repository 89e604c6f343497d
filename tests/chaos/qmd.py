"""Four clients search while qmd hangs, dies, floods, lies and locks at random.

    python -m tests.chaos.qmd [--seconds 600] [--seed 20260211]

The promise: every search is answered in time, with the right file and a right reason; nothing is left behind; and
qmd is used again by the first probe that meets it honest.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from backends.failover import PROBE_TIMEOUT_S
from tests.chaos.clients import Seen, clients
from tests.chaos.holdings import Holdings
from tests.chaos.mischief import MISCHIEF, REASONS, VERBS, mischief
from tests.fake_qmd import FakeQmd
from tests.running import Running, path_without_qmd, running, until

TIMEOUT_MS = 1500
#: What the promise adds to the time-out for the way through the socket.
PROMISED_MS = TIMEOUT_MS + 100
#: Share of answers that a machine busy with other work may deliver late: the clients are measured, too.
LATE_SHARE = 0.01
CLIENTS = 4
SEED = 20260211
NOTES = {
    "memory/boat.md": ("The boat to Corvo leaves at nine from the north pier.", "when does the boat to Corvo leave?"),
    "memory/key.md": ("The spare key lies under the heronstone.", "where does the spare key lie?"),
    "memory/walnut.md": ("Ravi is allergic to walnuts.", "who is allergic to walnuts?"),
    "memory/deposit.md": ("Maya paid the deposit of 340 euros.", "what deposit did Maya pay?"),
}
QUESTIONS = {question: path for path, (_, question) in NOTES.items()}


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one run: what the clients saw, and what the daemon held before and after."""

    seen: Seen
    before: Holdings
    after: Holdings
    recovery_s: float

    def faults(self) -> list[str]:
        """Every broken promise, in words; none is the goal."""
        late, allowed = self.seen.late(PROMISED_MS), len(self.seen.took_ms) * LATE_SHARE
        strange = sorted(self.seen.reasons.keys() - REASONS)
        checks = {
            "no search was answered": not self.seen.took_ms,
            "qmd never answered: nothing was proven": not self.seen.engines["qmd"],
            "qmd never failed: nothing was proven": not self.seen.engines["builtin"],
            f"errors: {sorted(set(self.seen.errors))}": bool(self.seen.errors),
            f"outcomes other than hits: {dict(self.seen.outcomes)}": set(self.seen.outcomes) != {"hits"},
            f"wrong answers: {self.seen.wrong[:3]}": bool(self.seen.wrong),
            f"reasons that cannot be true: {strange}": bool(strange),
            f"{late} late answers, more than {allowed:.0f}": late > allowed,
            f"left behind: {self.after}, before {self.before}": not self.after.within(self.before),
        }
        return [fault for fault, found in checks.items() if found]

    def table(self) -> str:
        """The figures of the run."""
        rows = (f"  before    {self.before}", f"  after     {self.after}", f"  recovery  {self.recovery_s:.2f} s")
        return "\n".join((self.seen.table(PROMISED_MS), *rows))


@contextmanager
def stage(folder: Path) -> Iterator[tuple[Running, FakeQmd]]:
    """A daemon over a few notes that a fake qmd has already answered for."""
    fake = FakeQmd.install(folder / "fake")
    for path, (text, _) in NOTES.items():
        note = folder / "workspace" / path
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{text}\n", encoding="utf-8")
    qmd = {
        "command": str(fake.path),
        "limits": {"timeoutMs": TIMEOUT_MS},
        "update": {"interval": "2s", "debounceMs": 0, "updateTimeoutMs": 1000},
    }
    config = {
        "memory": {"backend": "qmd", "qmd": qmd},
        "agents": {"defaults": {"workspace": str(folder / "workspace")}},
    }
    with running(folder / "daemon", config, path=path_without_qmd(folder)) as daemon:
        daemon.sync("main")
        until(lambda: _asks_qmd(daemon), what="the fake's first answer")
        yield daemon, fake


def storm(daemon: Running, fake: FakeQmd, *, seconds: float, seed: int) -> Run:
    """One run of `seconds`."""
    _rehearse(daemon, fake, seed)
    before = Holdings.of(daemon)
    with clients(CLIENTS, daemon.client, QUESTIONS, seed=seed) as seen, mischief(fake, seed), _writing(daemon):
        # The length of the run, not a wait for anything.
        time.sleep(seconds)
    recovery_s = _recover(daemon)
    _settle(daemon, before)
    return Run(seen, before, Holdings.of(daemon), recovery_s)


def _rehearse(daemon: Running, fake: FakeQmd, seed: int) -> None:
    """Meet every misbehaviour once, so that pools have grown to their size and every module is loaded."""
    for behaviour in MISCHIEF:
        fake.behave(**dict.fromkeys(VERBS, behaviour))
        with clients(CLIENTS * 2, daemon.client, QUESTIONS, seed=seed) as seen:
            until(
                lambda seen=seen: len(seen.took_ms) >= CLIENTS * 4, what=f"answers beside a qmd that does {behaviour}"
            )
    fake.behave()
    _recover(daemon)


def _recover(daemon: Running) -> float:
    """Seconds until qmd answers again. A sync that went well wakes the probe: the first one has to succeed."""
    started = time.monotonic()
    daemon.sync("main")
    until(lambda: _asks_qmd(daemon), deadline_s=PROBE_TIMEOUT_S, what="recovery by the first probe")
    return time.monotonic() - started


def _settle(daemon: Running, before: Holdings) -> None:
    """Wait for children to end that were being ended, or go on without: the table tells what is left."""
    try:
        until(lambda: Holdings.of(daemon).within(before), deadline_s=15)
    except AssertionError:
        return


def _asks_qmd(daemon: Running) -> bool:
    return bool(daemon.search("main", "boat")["backend"] == "qmd")


@contextmanager
def _writing(daemon: Running) -> Iterator[None]:
    """A note that changes all the time, so that updates run under the searches."""
    over = threading.Event()
    diary = daemon.folder.parent / "workspace" / "memory" / "diary.md"

    def write() -> None:
        count = 0
        while not over.wait(1):
            count += 1
            diary.write_text(f"Day {count}: nothing happened.\n", encoding="utf-8")

    thread = threading.Thread(target=write, name="diary")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> int:
    """Run, print the table, and exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"chaos for {options.seconds:.0f} s with the seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, stage(Path(folder)) as (daemon, fake):
        run = storm(daemon, fake, seconds=options.seconds, seed=options.seed)
    print(run.table())
    for fault in run.faults():
        print(f"  BROKEN    {fault}")
    return 1 if run.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
