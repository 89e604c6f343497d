"""The daemon is killed at every stage of its start, its reload and its end.

    python -m tests.chaos.lifecycle [--kills 36] [--seed 20260211]

The promise: the next daemon is ready at once, with no lock, socket, pointer, file or process of the dead one in its
way; every note is found, every export is whole, and no session is told twice to flush.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.holdings import Holdings
from tests.chaos.house import AGENTS, House
from tests.chaos.index import examined
from tests.running import Running, path_without_qmd, running, until

SEED = 20260211
#: How many of six kills each stage gets; importing is the interpreter's own time, and the least of ours.
STAGES = ("starting", "stopping", "importing", "starting", "reloading", "stopping")
REHEARSALS = 3
#: The last kill of a stage comes a little after its end.
LAST_SHARE = 1.1


@dataclass(frozen=True, slots=True)
class Point:
    """A kill after this share of a stage's length."""

    stage: str
    share: float


def points(kills: int) -> list[Point]:
    """So many kills, spread over each stage."""
    stages = list(itertools.islice(itertools.cycle(STAGES), kills))
    seen: Counter[str] = Counter()
    found = []
    for stage in stages:
        found.append(Point(stage, LAST_SHARE * (seen[stage] + 0.5) / stages.count(stage)))
        seen[stage] += 1
    return found


@dataclass
class Storm:
    """Kills of one daemon after the other on the same folders, and what was wrong after each."""

    house: House
    #: Of the socket; its path has to be short.
    runtime: Path
    lengths_s: dict[str, float] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    #: The last event in the log when the kill came, by stage.
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)
    ready_s: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def rehearse(self) -> None:
        """Learn how long each stage takes when nobody is killed: the least, since a busy machine draws any out."""
        lives = [self._life() for _ in range(REHEARSALS)]
        self.lengths_s = {stage: min(life[stage] for life in lives) for stage in lives[0]}

    def _life(self) -> dict[str, float]:
        """The seconds of each stage of one daemon."""
        started = time.monotonic()
        with self._daemon(wait=False) as daemon:
            until(lambda: self._owns(daemon), what="the lock")
            locked = time.monotonic()
            until(daemon.ready, what="readiness")
            ready = time.monotonic()
            self._busy(daemon)
            self._reload(daemon)
            until(lambda: "configuration reloaded" in _events(daemon), what="a reload")
            reloaded = time.monotonic()
            daemon.stop()
        return {
            "importing": locked - started,
            "starting": ready - locked,
            "reloading": reloaded - ready,
            "stopping": time.monotonic() - reloaded,
        }

    def kill_at(self, point: Point) -> None:
        """Look at what the last kill left, let the memory grow, and kill at the next point."""
        with self._judged(f"before {point.stage} {point.share:.2f}") as daemon:
            self.house.grow(daemon)
            match point.stage:
                case "reloading":
                    self._busy(daemon)
                    self._reload(daemon)
                    self._kill(daemon, point)
                case "stopping":
                    self._busy(daemon)
                    daemon.process.send_signal(signal.SIGTERM)
                    self._kill(daemon, point)
                case _:
                    daemon.stop()
        if point.stage in ("importing", "starting"):
            with self._daemon(wait=False) as daemon:
                if point.stage == "starting":
                    until(lambda: self._owns(daemon), what="the lock")
                self._kill(daemon, point)

    def end(self) -> None:
        """Let the last daemon come to its end, and look at everything once more."""
        with self._judged("at the end") as daemon:
            self.faults += [f"at the end: {fault}" for fault in self.house.missing(daemon)]
        for index in sorted((self.house.state / "memory").glob("*.sqlite")):
            self.faults += [f"{index.name}, {what}: {fault}" for what, fault in examined(index).items() if fault]
        left = [file.name for file in self.house.state.rglob(".*")]
        if left:
            self.faults.append(f"left behind: {left[:5]}")

    def table(self) -> str:
        """The figures of the run."""
        lengths = ", ".join(f"{stage} {length_s:.2f} s" for stage, length_s in self.lengths_s.items())
        reached = (f"  {stage:<10} {event}: {count}" for (stage, event), count in sorted(self.reached.items()))
        rows = (
            f"  kills      {self.kills.total()}: {dict(self.kills)}",
            f"  stages     {lengths}",
            *reached,
            f"  next ready median {sorted(self.ready_s)[len(self.ready_s) // 2]:.2f} s, most {max(self.ready_s):.2f} s",
        )
        return "\n".join(rows)

    def _daemon(self, *, wait: bool = True) -> AbstractContextManager[Running]:
        home = self.house.folder
        path = path_without_qmd(home)
        return running(home / "daemon", self.house.config(), path=path, wait=wait, runtime=self.runtime)

    @contextmanager
    def _judged(self, when: str) -> Iterator[Running]:
        """The next daemon, ready and looked at."""
        started = time.monotonic()
        with self._daemon() as daemon:
            self.ready_s.append(time.monotonic() - started)
            until(lambda: not Holdings.of(daemon).strays, what="the end of what the last daemon left")
            self.faults += [f"{when}: {fault}" for fault in self.house.faults(daemon)]
            yield daemon

    def _owns(self, daemon: Running) -> bool:
        try:
            return bool(json.loads((daemon.state / "sidecar.lock").read_bytes())["pid"] == daemon.process.pid)
        except (OSError, ValueError):
            return False

    def _busy(self, daemon: Running) -> None:
        """Let every agent be indexed anew meanwhile."""
        for agent in AGENTS:
            daemon.call("POST", f"/v1/agents/{agent}/sync", {"force": True})

    def _reload(self, daemon: Running) -> None:
        self.house.reloads += 1
        (daemon.folder / "config.json5").write_text(json.dumps(self.house.config()), encoding="utf-8")
        daemon.process.send_signal(signal.SIGHUP)

    def _kill(self, daemon: Running, point: Point) -> None:
        """Kill after the point's share of its stage: its length is what is drawn here; nothing is waited for."""
        already = len(_events(daemon))
        time.sleep(point.share * self.lengths_s[point.stage])
        daemon.process.kill()
        daemon.process.wait()
        told = _events(daemon)
        self.reached[point.stage, told[-1] if len(told) > already else "nothing yet"] += 1
        self.kills[point.stage] += 1


def _events(daemon: Running) -> list[str]:
    """The events in the log, but for requests. The last line may be half of one."""
    found = []
    for line in daemon.log.read_text(encoding="utf-8").splitlines():
        with suppress(ValueError):
            found.append(json.loads(line)["event"])
    return [event for event in found if event != "request"]


def storm(folder: Path, *, kills: int, seed: int) -> Storm:
    """One run of so many kills."""
    with tempfile.TemporaryDirectory(prefix="qs-") as runtime:
        chaos = Storm(House(folder, random.Random(seed)), Path(runtime))
        chaos.rehearse()
        for point in points(kills):
            chaos.kill_at(point)
        chaos.end()
    return chaos


def main() -> int:
    """Run, print what was seen, and exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=36)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        chaos = storm(Path(folder), kills=options.kills, seed=options.seed)
    print(chaos.table())
    for fault in chaos.faults:
        print(f"  BROKEN    {fault}")
    return 1 if chaos.faults else 0


if __name__ == "__main__":
    sys.exit(main())
