"""`make bench`: a search by a spawned `qmd`, by the warm resident and by the built-in engine, side by side.

    python -m tests.bench [--notes 1000,10000] [--spawned 15]

All three answer the same questions over the same notes in one run, in turn, so that a noisy machine is noisy for
all of them. What counts are the ratios.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.conversation import Corpus, corpus
from tests.running import QMD, Running, real_qmd_path, running

WARM_AGAINST_SPAWNED = 30
BUILTIN_P50_MS = {10_000: 6.0}
#: Long enough that the clock is not the limit; the figures are what is looked at.
TIMEOUT_MS = 60_000
#: The daemon asks qmd for this many rows whatever the caller wants: rows are files, passages are cut from them.
ROWS = 50


class Session:
    """One connection to the daemon, kept open as a gateway would."""

    def __init__(self, daemon: Running) -> None:
        self._connection = http.client.HTTPConnection("localhost", timeout=120)
        self._connection.sock = socket.socket(socket.AF_UNIX)
        self._connection.sock.connect(str(daemon.client.path))

    def search(self, question: str) -> dict[str, Any]:
        """One search with the default limits."""
        body = json.dumps({"query": question, "sessionKey": "agent:main:main"})
        route = "/v1/agents/main/memory_search"
        self._connection.request("POST", route, body, {"content-type": "application/json"})
        reply: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return reply


@dataclass
class Timed:
    """Milliseconds of one way of searching."""

    name: str
    took_ms: list[float]

    @property
    def p50(self) -> float:
        """The median."""
        return statistics.median(self.took_ms)

    def row(self) -> str:
        """One line of the table."""
        ordered = sorted(self.took_ms)
        p95 = ordered[int(len(ordered) * 0.95)]
        return f"  {self.name:<34} p50 {self.p50:8.2f} ms   p95 {p95:8.2f} ms   n {len(ordered)}"


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds that `work` takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def spawned(daemon: Running, question: str) -> None:
    """The same search by a process of its own, on the index of the daemon's agent."""
    home = daemon.state / "agents" / "main" / "qmd"
    command = ["qmd", "search", "--json", "-n", str(ROWS), "-c", "memory-dir", "--", question]
    environ = {
        **os.environ,
        "PATH": real_qmd_path(),
        "XDG_CONFIG_HOME": str(home / "xdg-config"),
        "XDG_CACHE_HOME": str(home / "xdg-cache"),
        "QMD_CONFIG_DIR": str(home / "xdg-config" / "qmd"),
        "NO_COLOR": "1",
    }
    # Found on that PATH: `subprocess` itself looks along our own.
    command[0] = shutil.which("qmd", path=environ["PATH"]) or "qmd"
    work = home / "work"
    subprocess.run(
        command, env=environ, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60
    )


def config(workspace: Path, backend: str) -> dict[str, Any]:
    """The default configuration but for the engine and the time-out."""
    return {
        "memory": {
            "backend": backend,
            "qmd": {"limits": {"timeoutMs": TIMEOUT_MS}, "update": {"updateTimeoutMs": 600_000, "interval": "6h"}},
        },
        "agents": {"defaults": {"workspace": str(workspace), "memorySearch": {"sync": {"onSearch": False}}}},
    }


def measure(folder: Path, asked: Corpus, *, spawns: int, with_qmd: bool) -> list[Timed]:
    """Ask every way in turn."""
    asked.write(folder / "workspace")
    ways = {"built-in through the socket": Timed("built-in through the socket", [])}
    with contextlib.ExitStack() as daemons:
        builtin = daemons.enter_context(running(folder / "builtin", config(folder / "workspace", "builtin")))
        builtin.client.timeout_s = 900
        builtin.sync("main")
        mine = Session(builtin)
        if with_qmd:
            path = real_qmd_path()
            warm_daemon = daemons.enter_context(running(folder / "qmd", config(folder / "workspace", "qmd"), path=path))
            warm_daemon.client.timeout_s = 900
            warm_daemon.sync("main")
            warm = Session(warm_daemon)
            warm_ms = ways["warm"] = Timed("warm resident through the socket", [])
            spawned_ms = ways["spawned"] = Timed("qmd search, spawned", [])
            assert warm.search(asked.questions[0])["backend"] == "qmd"
        mine.search(asked.questions[0])
        for number, question in enumerate(asked.questions):
            ways["built-in through the socket"].took_ms.append(timed(lambda q=question: mine.search(q)))
            if with_qmd:
                warm_ms.took_ms.append(timed(lambda q=question: warm.search(q)))
                if number < spawns:
                    spawned_ms.took_ms.append(timed(lambda q=question: spawned(warm_daemon, q)))
    return list(ways.values())


def report(notes: int, ways: list[Timed]) -> bool:
    """Print the table of one size and say whether the targets were met."""
    print(f"{notes} notes, one chunk each; whole questions; medians of one run")
    for way in reversed(ways):
        print(way.row())
    by_name = {way.name: way.p50 for way in ways}
    met = True
    if "qmd search, spawned" in by_name:
        ratio = by_name["qmd search, spawned"] / by_name["warm resident through the socket"]
        met = verdict(
            f"warm against spawned: {ratio:.1f} times faster", f"{WARM_AGAINST_SPAWNED}", ratio >= WARM_AGAINST_SPAWNED
        )
    if notes in BUILTIN_P50_MS:
        p50, limit = by_name["built-in through the socket"], BUILTIN_P50_MS[notes]
        met = verdict(f"built-in p50: {p50:.2f} ms", f"at most {limit} ms", p50 <= limit) and met
    print()
    return met


def verdict(fact: str, target: str, met: bool) -> bool:
    """Print one target."""
    print(f"  {'ok  ' if met else 'MISS'} {fact} (target {target})")
    return met


def main() -> int:
    """Run every size; 0 when all targets were met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", default="1000,10000")
    parser.add_argument("--spawned", type=int, default=15)
    options = parser.parse_args()
    with_qmd = QMD.exists()
    if not with_qmd:
        print("no qmd here (npm is missing): only the built-in engine is measured", file=sys.stderr)
    met = True
    for notes in map(int, options.notes.split(",")):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            ways = measure(Path(folder), corpus(notes), spawns=options.spawned, with_qmd=with_qmd)
        met = report(notes, ways) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
