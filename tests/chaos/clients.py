"""Clients that ask without a break for as long as they are told, and write down what they got."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sidecar.client import Client, ClientError, RefusedError

#: A short pause between two searches of a client, in seconds: gateways think, and the machine is shared.
PAUSE_S = (0.01, 0.06)


@dataclass
class Seen:
    """What the clients of one run were answered.

    `wrong` are answers without the right file, or with a foreign one; `starved` those in which the built-in engine
    did not get the processor before the deadline either, which is late in another word.
    """

    took_ms: list[float] = field(default_factory=list)
    engines: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    starved: int = 0

    def note(self, reply: Mapping[str, Any], expected: str, took_ms: float) -> None:
        """Record one answer to a question that `expected` is the one right file for."""
        self.took_ms.append(took_ms)
        if (reply["outcome"], reply.get("reason")) == ("unavailable", "timeout"):
            self.starved += 1
            return
        self.engines[reply["backend"]] += 1
        self.outcomes[reply["outcome"]] += 1
        if reply["backend"] != "qmd":
            self.reasons[reply.get("fallback", {}).get("reason", "none given")] += 1
        paths = [row["path"] for row in reply["results"]]
        if expected not in paths or any("secret" in path for path in paths):
            told = f"{reply['outcome']} ({reply.get('reason')}), {took_ms:.0f} ms"
            self.wrong.append(f"{reply['backend']} gave {paths} instead of {expected}: {told}")

    @contextmanager
    def noting_errors(self) -> Iterator[None]:
        """Record an error of the client's call inside the block."""
        try:
            yield
        except RefusedError as error:
            self.errors.append(f"{error.status} {error.code}")
        except ClientError as error:
            self.errors.append(type(error).__name__)

    def search(self, client: Client, agent: str, question: str, expected: str) -> None:
        """Search an agent's memory with its operator's key, and record the answer."""
        body = {"query": question, "sessionKey": f"agent:{agent}:main"}
        started = time.perf_counter()
        with self.noting_errors():
            reply = client.call("POST", f"/v1/agents/{agent}/memory_search", body)
            self.note(reply, expected, (time.perf_counter() - started) * 1000)

    def late(self, promised_ms: float) -> int:
        """How many answers took longer, or came without results since time was up."""
        return self.starved + sum(took > promised_ms for took in self.took_ms)

    def table(self, promised_ms: float) -> str:
        """Everything on a few lines."""
        ordered = sorted(self.took_ms)
        p50, p99, most = (ordered[min(int(len(ordered) * share), len(ordered) - 1)] for share in (0.5, 0.99, 1.0))
        rows = {
            "searches": str(len(ordered)),
            "engines": _counted(self.engines),
            "outcomes": _counted(self.outcomes),
            "reasons": _counted(self.reasons),
            "latency": f"p50 {p50:.0f} ms, p99 {p99:.0f} ms, max {most:.0f} ms",
            "late": f"{self.late(promised_ms)} beyond {promised_ms:.0f} ms, {self.starved} of them starved",
            "errors": f"{len(self.errors)} {self.errors[:3] or ''}",
            "wrong": f"{len(self.wrong)} {self.wrong[:3] or ''}",
        }
        return "\n".join(f"  {name:<9} {value}" for name, value in rows.items())


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counter.most_common()) or "none"


@contextmanager
def clients(count: int, client: Client, questions: Mapping[str, str], *, seed: int) -> Iterator[Seen]:
    """Search with `count` clients inside the block. `questions` maps each question to the file that answers it."""
    seen = Seen()

    def ask(draw: random.Random) -> None:
        question, expected = draw.choice(list(questions.items()))
        seen.search(client, "main", question, expected)

    with at_once(count, ask, seed=seed):
        yield seen


@contextmanager
def at_once(count: int, ask: Callable[[random.Random], None], *, seed: int) -> Iterator[None]:
    """Have `count` threads ask again and again inside the block, each with a draw of its own."""
    over = threading.Event()
    draws = [random.Random(seed + number) for number in range(count)]
    threads = [threading.Thread(target=_ask_until, args=(over, ask, draw)) for draw in draws]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _ask_until(over: threading.Event, ask: Callable[[random.Random], None], draw: random.Random) -> None:
    while not over.wait(draw.uniform(*PAUSE_S)):
        ask(draw)
