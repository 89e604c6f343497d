"""`make bench`: what the daemon promises in figures, each held against its target; 1 when one is missed.

    python -m tests.bench [part ...] [--sizes 1000,10000] [--spawned 15] [--transcripts 2000] [--megabytes 2048]

parts:
  indexing    chunks a second, and when 2,000 small notes are found
  hosted      notes embedded by a provider elsewhere, against the time of its calls
  unchanged   a sync that finds nothing to do
  exports     the first export of gigabytes of transcripts, and one that finds nothing to do
  sessions    a search beside many conversations, of which its session sees one
  freshness   from an edit to the search that finds it
  redaction   megabytes a second without their secrets, and the text that takes longest
  load        many clients at once, against bare Starlette
  shim        the look-alike of qmd as a process, against the real one
  triggers    a message against the phrases of the curated notes
  plugin      what OpenClaw's plugin adds to a search
  search      a hybrid search at several sizes, against vec0, numpy and FTS5
  leaving     what scope, limits and citations cost a search
  memory      what the daemon and its worker take at these sizes
  beside      a search while another index is built
  growth      time and memory against size, in one table
  qmd         a search through the daemon against qmd itself, warm and spawned

What is compared is asked in turn, in one run, so that a noisy machine is noisy for all of it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from tests.bench import (
    against_qmd,
    beside_a_build,
    building,
    conversations,
    engine,
    freshness,
    growth,
    hosted,
    leaving,
    load,
    look_alike,
    memory,
    plugin,
    redaction,
    transcripts,
    triggers,
    unchanged,
)
from tests.bench.indexed import Indexed, indexed

ALONE = {
    "indexing": building.run,
    "hosted": hosted.run,
    "sessions": conversations.run,
    "unchanged": unchanged.run,
    "freshness": freshness.run,
    "leaving": leaving.run,
    "load": load.run,
    "redaction": redaction.run,
    "shim": look_alike.run,
    "triggers": triggers.run,
    "plugin": plugin.run,
}
OF_A_SIZE = ("search", "memory", "beside")
PARTS = (*ALONE, *OF_A_SIZE, "exports", "growth", "qmd")
#: In chunks.
SIZES = (1000, 10_000, 100_000)
#: Sizes that only the table of growth shows beside these.
BETWEEN = (3000, 30_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts that were asked for, or all; 0 when all targets were met."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__, formatter_class=raw)
    parser.add_argument("parts", nargs="*", metavar="part")
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")])
    parser.add_argument("--spawned", type=int, default=15, metavar="N", help="how often a qmd is spawned")
    parser.add_argument("--transcripts", type=int, metavar="N", help="how many transcripts are exported")
    parser.add_argument("--megabytes", type=float, metavar="N", help="how much they are together")
    options = parser.parse_args(arguments)
    if unknown := {*options.parts} - {*PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    parts = options.parts or PARTS
    print(_machine())
    met = [run() for part, run in ALONE.items() if part in parts]
    if "exports" in parts:
        met.append(transcripts.run(options.transcripts, options.megabytes))
    met.append(at_sizes({*parts} & {*OF_A_SIZE, "growth"}, options.sizes))
    if "qmd" in parts:
        met.append(against_qmd.run(options.sizes, options.spawned))
    print(_machine())
    return 0 if all(met) else 1


def _machine() -> str:
    """What the figures must be read with: somebody else's load slows all of them."""
    return f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n"


def at_sizes(parts: Collection[str], sizes: Sequence[int] | None) -> bool:
    """The parts that look at an index of some size, which is built once for all of them."""
    met, rows = [], []
    between = BETWEEN if sizes is None and "growth" in parts else ()
    for size in sorted((*(sizes or SIZES), *between)) if parts else ():
        with tempfile.TemporaryDirectory(prefix="bench-") as folder, indexed(Path(folder), size) as index:
            if "growth" in parts:
                rows.append(growth.measure(index))
            if size not in between:
                # In this order: the last one leaves a second index behind.
                met += [of_a_size(part, size, index) for part in OF_A_SIZE if part in parts]
    if rows:
        met.append(growth.report(rows))
    return all(met)


def of_a_size(part: str, size: int, index: Indexed) -> bool:
    """Measure and print one part over an index."""
    match part:
        case "search":
            return engine.report(size, engine.measure(index))
        case "memory":
            return memory.report(size, memory.measure(index))
        case _:
            return beside_a_build.report(beside_a_build.measure(index))


if __name__ == "__main__":
    sys.exit(main())
