"""The plugin in a Node of its own, without its host: `harness.mjs` with a pipe to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.openclaw.node import NODE, PLUGIN

HARNESS = Path(__file__).parent / "harness.mjs"
DIRECT = {"agentId": "main", "sessionKey": "agent:main:main"}


class ThrownError(Exception):
    """What the plugin threw."""


@dataclass(frozen=True)
class Plugin:
    """One registered plugin."""

    process: subprocess.Popen[str]

    def step(self, **step: Any) -> Any:
        """One step of the harness. Raises `ThrownError`."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(step) + "\n")
        self.process.stdin.flush()
        outcome = json.loads(self.process.stdout.readline())
        if "thrown" in outcome:
            raise ThrownError(f"{outcome['name']}: {outcome['thrown']}")
        return outcome["value"]

    def tool(self, tool: str, ctx: Mapping[str, Any] = DIRECT, **args: Any) -> dict[str, Any]:
        """What a tool answers, in a direct chat where no other context is given."""
        answer: dict[str, Any] = self.step(tool=tool, ctx=dict(ctx), args=args)
        return answer


@contextmanager
def plugin(**config: Any) -> Iterator[Plugin]:
    """A plugin with these settings of the host."""
    assert NODE is not None
    command = [str(NODE), str(HARNESS), str(PLUGIN), json.dumps(config)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        yield Plugin(process)
        assert process.stdin is not None
        process.stdin.close()
