"""Twenty agents on two daemons, one with a qmd that crashes and one with the built-in engine alone, and eight clients.

    python -m tests.soak [--seconds 600] [--idle 60] [--seed 20260211]

The promise: no error and no wrong answer; nothing grows from the first fifth to the end; write-ahead logs stay small;
and daemons that are left alone write next to nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.mischief import MISCHIEF, mischief
from tests.fake_qmd import FakeQmd
from tests.fleet import agents
from tests.running import path_without_qmd, running
from tests.soak.load import Load, loaded
from tests.soak.watching import MB, ROOM, Watched, watched, written_bytes

SEED = 20260211
#: By engine: how many agents, and how many clients ask for them.
FLEET = {"qmd": (14, 6), "builtin": (6, 2)}
#: The share of the run in which pools fill up and caches are warmed.
WARMING_SHARE = 0.2
SAMPLES = 120
#: A little more than the thousand pages after which SQLite empties a log, with what one transaction adds.
WAL_MB = 8.0
IDLE_MB_AN_HOUR = 5.0
#: The allocator keeps what a flood takes for a moment: as much as ever came at once, which is no leak.
CRASHES = [kind for kind in MISCHIEF if kind != "flood"]
#: How long one mood of qmd lasts: long enough that it is trusted again in between.
MOOD_S = (0.5, 3.0)
PROMISED_MS = 4500.0


@dataclass(frozen=True, slots=True)
class Soak:
    """One daemon after its run: `idle_mb` is what it would write in an hour in which nobody asks."""

    engine: str
    load: Load
    watched: Watched
    since_s: float
    idle_mb: float

    def faults(self, **room: float) -> list[str]:
        """Every broken promise, in words. `room` is for a run so short that something still fills up."""
        seen, wal_mb = self.load.seen, self.watched.wal_bytes / MB
        trends = self.watched.trends(self.since_s)
        checks = {
            "no search was answered": not seen.took_ms,
            f"errors: {sorted(set(seen.errors))}": bool(seen.errors),
            f"wrong answers: {seen.wrong[:3]}": bool(seen.wrong),
            f"a write-ahead log of {wal_mb:.1f} MB": wal_mb > WAL_MB,
            f"{self.idle_mb:.1f} MB an hour written for nobody": self.idle_mb > IDLE_MB_AN_HOUR,
            **{f"{name} grew: {trends[name]}": trends[name].grew(most) for name, most in (ROOM | room).items()},
        }
        return [f"{self.engine}: {fault}" for fault, found in checks.items() if found]

    def table(self) -> str:
        """The figures of the run."""
        rows = [
            f"  {name:<12} {trend.per_minute:+7.2f} a minute, {trend.by_line:+7.2f} in all,"
            f" medians {trend.by_medians:+7.2f}, from {trend.least:.0f} to {trend.most:.0f}"
            for name, trend in self.watched.trends(self.since_s).items()
        ]
        asked = ", ".join(f"{what} {count}" for what, count in self.load.asked.most_common())
        return "\n".join(
            (
                f"{self.engine}: {asked}, reloads {self.load.reloads}",
                self.load.seen.table(PROMISED_MS),
                *rows,
                f"  logs         {self.watched.wal_bytes / MB:.1f} MB at most",
                f"  idle writes  {self.idle_mb:.2f} MB an hour",
            )
        )


def soak(folder: Path, *, seconds: float, idle_s: float, seed: int, warming: float = WARMING_SHARE) -> list[Soak]:
    """One run: load for `seconds`, of which the first share is not judged, and then rest."""
    fake = FakeQmd.install(folder / "fake")
    with ExitStack() as stack:
        loads = {engine: stack.enter_context(stage(folder / engine, engine, fake)) for engine in FLEET}
        with ExitStack() as busy:
            seen = {
                engine: busy.enter_context(watched(load.daemon, max(0.5, seconds / SAMPLES)))
                for engine, load in loads.items()
            }
            busy.enter_context(mischief(fake, seed, kinds=CRASHES, mood_s=MOOD_S))
            for engine, load in loads.items():
                busy.enter_context(loaded(load, FLEET[engine][1], seed))
            # The length of the run, not a wait for anything.
            time.sleep(seconds)
        return [
            Soak(engine, load, seen[engine], warming * seconds, _idle_mb(load, idle_s))
            for engine, load in loads.items()
        ]


@contextmanager
def stage(folder: Path, engine: str, fake: FakeQmd) -> Iterator[Load]:
    """A daemon whose agents are indexed, each with the note that it is asked for."""
    count, _ = FLEET[engine]
    update = {"interval": "20s", "debounceMs": 1000, "updateTimeoutMs": 2000}
    config = agents.config(folder, count, command=str(fake.path), update=update)
    config["memory"]["backend"] = engine
    with running(folder / "daemon", config, path=path_without_qmd(folder)) as daemon:
        load = Load(daemon, config)
        for name in load.names:
            daemon.sync(name)
        yield load


def _idle_mb(load: Load, seconds: float) -> float:
    """Megabytes that would be written in an hour of rest, once everything that was changed has been taken up."""
    load.settle()
    return written_bytes(load.daemon, seconds) / MB * 3600 / seconds


def main() -> int:
    """Run, print the tables, and exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--idle", type=float, default=60)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"soak for {options.seconds:.0f} s with the seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        runs = soak(Path(folder), seconds=options.seconds, idle_s=options.idle, seed=options.seed)
    faults = [fault for run in runs for fault in run.faults()]
    print("\n".join([*(run.table() for run in runs), *(f"  BROKEN    {fault}" for fault in faults)]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
