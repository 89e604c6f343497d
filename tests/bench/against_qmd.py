"""How a search through the daemon does against qmd itself: warm, spawned, and with its breaker open.

All ways answer the same questions over the same notes, one chunk each. What counts are the ratios.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench.asking import direct, spawned
from tests.bench.conversation import Corpus, corpus
from tests.bench.daemons import config, warmed_up
from tests.bench.timing import Timed, Way, in_turn, verdict
from tests.running import QMD, Running, real_qmd_path, running

SIZES = (1000, 10_000)
BUILTIN, OPEN = "built-in through the socket", "built-in, breaker of qmd open"
WARM, DIRECT, SPAWNED = "warm resident through the socket", "warm resident, called directly", "qmd, spawned"
WARM_WORD, SPAWNED_WORD = "one word: warm, through the socket", "one word: qmd search, spawned"
WARM_AGAINST_SPAWNED = 30
OPEN_AGAINST_BUILTIN = 1.2
WARM_AGAINST_DIRECT = 1.5
#: For reading the files again and cutting the passages, which a direct call leaves to others.
REREADING_MS = 3.0


def measure(folder: Path, asked: Corpus, *, spawns: int, with_qmd: bool) -> Mapping[str, Timed]:
    """Ask every way in turn."""
    workspace = folder / "main"
    asked.write(workspace)
    with contextlib.ExitStack() as stack:

        def start(name: str, backend: str, path: str | None = None) -> Running:
            daemon = stack.enter_context(running(folder / name, config(workspace, backend=backend), path=path))
            daemon.client.timeout_s = 900
            daemon.sync("main")
            return daemon

        # There is no qmd on the path of `broken`: its breaker opens at the first search and stays open.
        builtin, broken = start("builtin", "builtin"), start("broken", "qmd")
        qmd = start("qmd", "qmd", real_qmd_path()) if with_qmd else None

        def ask(daemon: Running, engine: str) -> Callable[[str], object]:
            return stack.enter_context(warmed_up(daemon, engine, asked.questions[0]))

        # Connected only now: a connection on which nothing is asked for some seconds is closed.
        ways = [Way(BUILTIN, ask(builtin, "builtin")), Way(OPEN, ask(broken, "builtin"))]
        if qmd is None:
            return in_turn(ways, asked.questions)
        warm = ask(qmd, "qmd")
        ways += [
            Way(WARM, warm),
            Way(DIRECT, stack.enter_context(direct(qmd)).search),
            Way(SPAWNED, lambda question: spawned(qmd, question), most=spawns),
        ]
        lookups = [Way(WARM_WORD, warm), Way(SPAWNED_WORD, lambda word: spawned(qmd, word), most=spawns)]
        return {**in_turn(ways, asked.questions), **in_turn(lookups, asked.words)}


def report(notes: int, times: Mapping[str, Timed]) -> bool:
    """Print the table of one size and say whether the targets were met."""
    print(f"qmd: {notes:,} notes, one chunk each; whole questions")
    for way in reversed(times.values()):
        print(way.row())
    p50 = {name: way.p50 for name, way in times.items()}
    ratio = p50[OPEN] / p50[BUILTIN]
    met = verdict(
        f"breaker open: {ratio:.2f} times built-in", f"at most {OPEN_AGAINST_BUILTIN}", ratio <= OPEN_AGAINST_BUILTIN
    )
    if WARM in p50:
        met = _report_warm(p50) and met
    print(flush=True)
    return met


def _report_warm(p50: Mapping[str, float]) -> bool:
    limit_ms = WARM_AGAINST_DIRECT * p50[DIRECT] + REREADING_MS
    met = verdict(
        f"warm: {p50[WARM]:.2f} ms, directly {p50[DIRECT]:.2f} ms",
        f"at most {WARM_AGAINST_DIRECT} times plus {REREADING_MS:.0f} ms: {limit_ms:.2f} ms",
        p50[WARM] <= limit_ms,
    )
    for what, slow, fast in (("questions", SPAWNED, WARM), ("one word", SPAWNED_WORD, WARM_WORD)):
        faster = p50[slow] / p50[fast]
        fact = f"warm against spawned, {what}: {faster:.1f} times faster"
        met = verdict(fact, f"{WARM_AGAINST_SPAWNED}", faster >= WARM_AGAINST_SPAWNED) and met
    return met


def run(sizes: Sequence[int] | None, spawns: int) -> bool:
    """Measure and print every size; whether all targets were met."""
    with_qmd = QMD.exists()
    if not with_qmd:
        print("no qmd here (npm is missing): only the built-in engine is measured", file=sys.stderr)
    met = True
    for notes in sizes or SIZES:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            times = measure(Path(folder), corpus(notes), spawns=spawns, with_qmd=with_qmd)
        met = report(notes, times) and met
    return met
