"""Searches go on while the worker, or the whole daemon, is killed during indexing, embedding and exchanging.

    python -m tests.chaos.index [--kills 200] [--seed 20260211]

The promise: a note that was indexed once is found by every search from then on, and no error is answered; a kill
costs no more than the batch at hand; at the end the index is whole, small, and knows every note.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import psutil
import sqlite_vec

from sidecar.client import ClientError
from tests.chaos.clients import Seen, clients
from tests.running import Running, running, until

CLIENTS = 2
SEED = 20260211
FIRST_NOTES = 300
#: Notes that come with every round.
MORE_NOTES = 3
#: Rounds in which the notes are to be cut in another way: a successor is built, or the one begun is dropped.
CHANGED_SHARE = 0.3
#: Rounds that end with the death of the daemon and not only of its worker.
DAEMON_SHARE = 0.08
#: The moments that a round waits for, and how long after them the kill comes, in seconds.
DELAYS_S = {"indexing": (0.0, 0.6), "building": (0.0, 0.6), "exchange": (0.0, 0.01)}
#: How long a round waits for such a moment.
MOMENT_S = 8.0
CUTS = (100, 200, 300, 400)
#: What a search may take is not measured here: a machine busy with kills and starts is late.
PATIENCE_S = 120.0


class Family:
    """A daemon that is started again when it was killed, and a client that follows it.

    `call` is that of `Client`: while no daemon runs it waits for the next one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._life = ExitStack()
        self._lives = threading.Condition()
        self._daemon: Running | None = None
        self._tokens = CUTS[-1]
        self.workspace = folder / "workspace"

    @property
    def daemon(self) -> Running:
        """The one that runs. Waits for it."""
        with self._lives:
            assert self._lives.wait_for(lambda: self._daemon is not None, PATIENCE_S)
            assert self._daemon is not None
            return self._daemon

    @property
    def index(self) -> Path:
        return self._folder / "daemon" / "state" / "memory" / "main.sqlite"

    def start(self) -> None:
        """Start a daemon over what is there."""
        daemon = self._life.enter_context(running(self._folder / "daemon", self._config()))
        with self._lives:
            self._daemon = daemon
            self._lives.notify_all()

    def restart(self, *, tokens: int | None = None, kill: bool = False) -> None:
        """Start it again, in order or killed: its worker must end by itself, which `running` checks.

        With `tokens` the notes are cut in chunks of that size from then on.
        """
        self._tokens = tokens or self._tokens
        self.stop(kill=kill)
        self.start()

    def stop(self, *, kill: bool = False) -> None:
        """End it."""
        daemon = self.daemon
        with self._lives:
            self._daemon = None
        if kill:
            daemon.process.kill()
            daemon.process.wait()
        self._life.close()

    def close(self) -> None:
        """End whatever runs, if anything does."""
        self._life.close()

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One request to the daemon that runs, or to the next one."""
        while True:
            daemon = self.daemon
            try:
                return daemon.client.call(method, path, body)
            except ClientError:
                if self._daemon is daemon:
                    raise

    def sync(self) -> None:
        """Ask for a sync, and do not wait for it."""
        self.call("POST", "/v1/agents/main/sync", {"wait": False})

    def worker(self) -> psutil.Process | None:
        """The process that indexes."""
        try:
            for child in psutil.Process(self.daemon.process.pid).children():
                if "sidecar.worker" in child.cmdline():
                    return child
        except psutil.Error:
            return None
        return None

    def _config(self) -> dict[str, Any]:
        search = {
            "provider": "static",
            "chunking": {"tokens": self._tokens, "overlap": 20},
            "sync": {"watch": False, "onSearch": False},
        }
        defaults = {"workspace": str(self.workspace), "memorySearch": search}
        return {"memory": {"backend": "builtin"}, "agents": {"defaults": defaults}}


class Notes:
    """Notes with one word each that stands nowhere else, and the questions that only they answer."""

    def __init__(self, workspace: Path, draw: random.Random) -> None:
        self._folder = workspace / "memory"
        self._folder.mkdir(parents=True)
        self._draw = draw
        self._words: dict[str, str] = {}
        #: The questions whose notes were seen in the index.
        self.questions: dict[str, str] = {}

    def write(self, count: int) -> None:
        """Write more notes, of one to about ten chunks each."""
        for _ in range(count):
            name, word = f"note-{len(self._words)}.md", "".join(self._draw.choices("bdfgklmnprstvz", k=10))
            lines = [
                f"Entry {line} of an ordinary day, with bread and rain." for line in range(self._draw.randint(1, 80))
            ]
            lines.insert(self._draw.randint(0, len(lines)), f"The password of the lighthouse is {word}.")
            (self._folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
            self._words[f"memory/{name}"] = word

    def indexed(self, paths: set[str]) -> None:
        """Ask about these notes from now on."""
        for path in paths:
            self.questions[self._words[path]] = path

    @property
    def paths(self) -> set[str]:
        return set(self._words)


@dataclass(frozen=True, slots=True)
class Stock:
    """What an index file holds; `inode` 0 is none."""

    inode: int = 0
    cut: int = 0
    paths: frozenset[str] = frozenset()
    chunks: int = 0
    vectors: int = 0

    @classmethod
    def of(cls, index: Path) -> Stock:
        """Look, as another program would."""
        try:
            inode = index.stat().st_ino
            with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True, timeout=30)) as connection:
                paths = frozenset(path for (path,) in connection.execute("SELECT DISTINCT path FROM chunks"))
                ((chunks, vectors),) = connection.execute(
                    "SELECT count(*), count(*) FILTER (WHERE length(embedding) > 0) FROM chunks"
                )
                row = connection.execute("SELECT value FROM meta WHERE key = 'chunking'").fetchone()
        except (FileNotFoundError, sqlite3.OperationalError):
            return cls()
        return cls(inode, json.loads(row[0])[0] if row else 0, paths, chunks, vectors)


@dataclass
class Run:
    """The result of one run."""

    seen: Seen
    kills: Counter[str] = field(default_factory=Counter)
    exchanges: int = 0
    continued: int = 0
    lost: list[str] = field(default_factory=list)
    ends: dict[str, str] = field(default_factory=dict)

    def faults(self) -> list[str]:
        """Every broken promise, in words; none is the goal."""
        strange = {outcome for outcome in self.seen.outcomes if outcome not in ("hits", "partial")}
        checks = {
            "no search was answered": not self.seen.took_ms,
            "no index was exchanged: nothing was proven": not self.exchanges,
            f"errors: {sorted(set(self.seen.errors))}": bool(self.seen.errors),
            f"outcomes: {strange}": bool(strange),
            f"starved: {self.seen.starved}": bool(self.seen.starved),
            f"wrong answers: {self.seen.wrong[:3]}": bool(self.seen.wrong),
            f"lost: {self.lost[:3]}": bool(self.lost),
            **{f"at the end {what}: {fault}": True for what, fault in self.ends.items() if fault},
        }
        return [fault for fault, found in checks.items() if found]

    def table(self) -> str:
        """The figures of the run."""
        rows = {
            "kills": f"{self.kills.total()}: {dict(self.kills)}",
            "exchanges": str(self.exchanges),
            "continued": f"{self.continued} half-built successors were found again after a kill",
            "lost": f"{len(self.lost)} {self.lost[:3] or ''}",
            **{what: fault or "ok" for what, fault in self.ends.items()},
        }
        return "\n".join(
            [self.seen.table(PATIENCE_S * 1000), *(f"  {name:<9} {value}" for name, value in rows.items())]
        )


class Storm:
    """Kills at random moments, and what is left after each."""

    def __init__(self, family: Family, notes: Notes, run: Run, draw: random.Random) -> None:
        self._family = family
        self._notes = notes
        self._run = run
        self._draw = draw
        self._index = family.index
        self._successor = self._index.with_name(f"{self._index.name}.building")
        self._wanted = CUTS[-1]

    def round(self) -> None:
        """Change something, let the sync begin, kill it at a moment, and look at what is left."""
        if self._draw.random() < CHANGED_SHARE:
            self._wanted = self._draw.choice([cut for cut in CUTS if cut != self._wanted])
            self._family.restart(tokens=self._wanted)
        self._notes.write(MORE_NOTES)
        before, half = Stock.of(self._index), Stock.of(self._successor)
        self._family.sync()
        worker = until(self._family.worker, deadline_s=PATIENCE_S, what="a worker")
        moment = self._await_moment(before)
        # The length of a delay is what is drawn here; nothing is waited for.
        time.sleep(self._draw.uniform(*DELAYS_S[moment]))
        self._kill(worker, moment)
        self._judge(before, half)

    def _await_moment(self, before: Stock) -> str:
        moment = self._draw.choice(list(DELAYS_S)) if before.cut != self._wanted else "indexing"
        if moment == "building":
            self._soon(self._successor.exists)
        if moment == "exchange":
            self._soon(lambda: self._is_exchanging(before))
        return moment

    def _soon(self, condition: Callable[[], bool]) -> None:
        """Wait for a moment that need not come."""
        give_up_at = time.monotonic() + MOMENT_S
        while not condition() and time.monotonic() < give_up_at:
            time.sleep(0.0005)

    def _is_exchanging(self, before: Stock) -> bool:
        log = self._index.with_name(f"{self._index.name}-wal")
        return (self._successor.exists() and not log.exists()) or _inode(self._index) != before.inode

    def _kill(self, worker: psutil.Process, moment: str) -> None:
        if self._draw.random() < DAEMON_SHARE:
            self._family.restart(kill=True)
            self._run.kills["daemon"] += 1
            return
        try:
            worker.kill()
            worker.wait()
        except psutil.Error:
            self._run.kills["too late"] += 1
        self._run.kills[moment] += 1

    def _judge(self, before: Stock, half: Stock) -> None:
        after, rest = Stock.of(self._index), Stock.of(self._successor)
        if gone := before.paths - after.paths:
            self._run.lost.append(f"{len(gone)} notes of {len(before.paths)} left the index")
        if after.inode != before.inode:
            self._run.exchanges += 1
        elif half.inode and half.cut == self._wanted:
            self._run.continued += 1
            if (rest.inode, rest.cut) != (half.inode, half.cut) or rest.vectors < half.vectors:
                self._run.lost.append(f"a successor with {half.vectors} vectors was begun anew: {rest.vectors}")
        self._notes.indexed(set(after.paths))

    def end(self) -> None:
        """Let everything come to its end, and look at the index as a doctor would."""
        until(self._is_settled, deadline_s=PATIENCE_S, what="the last sync")
        self._notes.indexed(self._notes.paths)
        self._run.ends["searched"] = self._unfound()
        self._family.stop()
        self._run.ends |= examined(self._index)

    def _is_settled(self) -> bool:
        self._family.call("POST", "/v1/agents/main/sync", {"wait": True})
        stock = Stock.of(self._index)
        return stock.cut == self._wanted and stock.paths == self._notes.paths and stock.vectors == stock.chunks

    def _unfound(self) -> str:
        missing = []
        for word, path in self._notes.questions.items():
            body = {"query": word, "sessionKey": "agent:main:main"}
            results = self._family.call("POST", "/v1/agents/main/memory_search", body)["results"]
            if path not in [row["path"] for row in results]:
                missing.append(path)
        return f"{len(missing)} notes are not found, such as {missing[0]}" if missing else ""


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return 0


def examined(index: Path) -> dict[str, str]:
    """By what was looked at, what is wrong with it; empty for nothing."""
    with closing(apsw.Connection(str(index))) as connection:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone() or ("none",)
        connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('integrity-check')").fetchall()
        counts = dict(
            connection.execute(
                "SELECT 'chunks', count(*) FROM chunks UNION ALL SELECT 'words', count(*) FROM chunks_fts_docsize"
                " UNION ALL SELECT 'vectors', count(*) FROM chunks WHERE stamp > 0"
                " UNION ALL SELECT 'vec', count(*) FROM chunks_vec"
            )
        )
    left = sorted(file.name for file in index.parent.iterdir() if file.name.removeprefix(index.name) in LITTER)
    left += [file.name for file in index.parent.glob("*.damaged-*")]
    return {
        "integrity": "" if verdict == "ok" else verdict,
        "agreement": "" if len(set(counts.values())) == 1 else str(counts),
        "litter": ", ".join(left),
    }


LITTER = {".building", ".building-wal", ".building-shm", ".building.owner"}


@contextmanager
def stage(folder: Path, draw: random.Random, first: int) -> Iterator[tuple[Family, Notes]]:
    """A daemon whose first notes are indexed."""
    family = Family(folder)
    notes = Notes(family.workspace, draw)
    notes.write(first)
    family.start()
    try:
        family.daemon.sync("main")
        notes.indexed(notes.paths)
        yield family, notes
    finally:
        family.close()


def storm(folder: Path, *, kills: int, seed: int, notes: int = FIRST_NOTES) -> Run:
    """One run of that many kills, over so many notes at first."""
    draw = random.Random(seed)
    with stage(folder, draw, notes) as (family, written), ExitStack() as asking:
        client: Any = family
        run = Run(asking.enter_context(clients(CLIENTS, client, written.questions, seed=seed)))
        chaos = Storm(family, written, run, draw)
        for _ in range(kills):
            chaos.round()
        asking.close()
        chaos.end()
    return run


def main() -> int:
    """Run, print the table, and exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"chaos of {options.kills} kills with the seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        run = storm(Path(folder), kills=options.kills, seed=options.seed)
    print(run.table())
    for fault in run.faults():
        print(f"  BROKEN    {fault}")
    return 1 if run.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
