"""What OpenClaw's plugin adds to a search: its tool beside a bare exchange over a kept connection, in one Node."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.bench.indexed import Indexed, indexed
from tests.bench.timing import Timed, at_most
from tests.openclaw.node import NODE, PLUGIN

SCRIPT = Path(__file__).with_suffix(".mjs")
SIZE = 1000
ADDS_MS = 2.0
#: Asked first and not counted: Node compiles what it runs often.
WARMING = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """The times of both ways, and how many results each found in all."""

    tool: Timed
    socket: Timed
    found: dict[str, int]


def measure(index: Indexed) -> Asked:
    """Every question by both ways in turn."""
    assert NODE is not None, "there is no node on this machine: make qmd"
    command = [str(NODE), str(SCRIPT), str(PLUGIN), str(index.daemon.client.path)]
    done = subprocess.run(command, input=json.dumps(index.asked.questions).encode(), capture_output=True, check=True)
    told = json.loads(done.stdout)
    times = {name: took[WARMING:] for name, took in told["times"].items()}
    return Asked(Timed("the plugin's tool", times["tool"]), Timed("the bare socket", times["socket"]), told["found"])


def report(asked: Asked) -> bool:
    """Print the figures and say whether the target was met."""
    print(asked.tool.row())
    print(asked.socket.row())
    return at_most("the plugin adds, at the median", asked.tool.p50 - asked.socket.p50, ADDS_MS, "ms")


def run() -> bool:
    """Measure and print."""
    print("plugin: a search by OpenClaw's tool")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, indexed(Path(folder), SIZE) as index:
        met = report(measure(index))
    print(flush=True)
    return met
