"""A day of agents in short: clients that ask for everything, files that change, a configuration that is read again."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.clients import Seen, at_once
from tests.fleet import agents
from tests.running import Running, alongside, until

NOTE = "memory/2026-02-10.md"
QUESTION = "what is the codeword of today?"
#: Of ten requests, how many ask for what.
MIX = {"search": 5, "get": 2, "triggers": 1, "status": 1, "fleet": 1}
#: How long the files rest between two changes, and the configuration between two reloads, in seconds.
CHANGE_S, RELOAD_S = 0.2, 4.0
#: How long an engine may go on to rest after a failure, and then catches up, in seconds.
SETTLING_S = 180.0
#: Files of an agent that come and go.
DIARIES = 20


@dataclass
class Load:
    """One daemon, its agents, and what was asked and answered. The last one comes and goes with each reload."""

    daemon: Running
    config: dict[str, Any]
    seen: Seen = field(default_factory=Seen)
    asked: Counter[str] = field(default_factory=Counter)
    reloads: int = 0

    @property
    def names(self) -> list[str]:
        """The agents that are always there: all but the last."""
        return [agent["id"] for agent in self.config["agents"]["list"][:-1]]

    def settle(self) -> None:
        """Have every agent back, and everything that was changed taken up, also by engines that failed to.

        The intervals of rest are those that nobody configured: a look at an index costs a page each time.
        """
        self.config["memory"]["qmd"]["update"].pop("interval", None)
        everybody = self.config["agents"]["list"]
        self._configure(everybody)
        self.daemon.call("POST", "/v1/reload", {})
        names = [agent["id"] for agent in everybody]
        until(lambda: all(self._is_current(name) for name in names), deadline_s=SETTLING_S, what="rest")

    def _is_current(self, agent: str) -> bool:
        if self._failures(agent):
            # After many failures the pause is longer than anybody wants to wait here.
            self.daemon.sync(agent, force=True)
        else:
            self.daemon.sync(agent)
        return not self._failures(agent)

    def _failures(self, agent: str) -> int:
        engines = self.daemon.call("GET", f"/v1/agents/{agent}/status")["engines"]
        return int(engines.get("qmd", {}).get("lastUpdate", {}).get("failures") or 0)

    def ask(self, draw: random.Random) -> None:
        """Ask one thing of one agent."""
        agent = draw.choice(self.names)
        (what,) = draw.choices([*MIX], [*MIX.values()])
        self.asked[what] += 1
        if what == "search":
            self.seen.search(self.daemon.client, agent, QUESTION, NOTE)
            return
        with self.seen.noting_errors():
            self._ask(what, agent)

    def _ask(self, what: str, agent: str) -> None:
        call, key = self.daemon.client.call, f"agent:{agent}:main"
        match what:
            case "get":
                read = call("POST", f"/v1/agents/{agent}/memory_get", {"path": NOTE, "sessionKey": key})
                if agents.codeword(agent) not in read["text"]:
                    self.seen.wrong.append(f"memory_get gave no note of {agent}")
            case "triggers":
                call(
                    "POST", f"/v1/agents/{agent}/triggers", {"message": "When does the boat leave?", "sessionKey": key}
                )
            case "status":
                call("GET", f"/v1/agents/{agent}/status")
            case _:
                call("GET", "/v1/status")

    def change(self, draw: random.Random) -> None:
        """Write a file anew, or remove it."""
        agent = draw.choice(self.config["agents"]["list"])
        diary = Path(agent["workspace"]) / "memory" / f"diary-{draw.randrange(DIARIES)}.md"
        if diary.exists() and draw.random() < 0.3:
            diary.unlink()
        else:
            diary.write_text(f"It rained for {draw.random()} hours.\n" * draw.randint(1, 50), encoding="utf-8")

    def reload(self) -> None:
        """Let the last agent come or go, and have the configuration read again."""
        self.reloads += 1
        listed = self.config["agents"]["list"]
        self._configure(listed[: len(listed) - self.reloads % 2])
        self.daemon.process.send_signal(signal.SIGHUP)

    def _configure(self, listed: list[dict[str, Any]]) -> None:
        config = {**self.config, "agents": {**self.config["agents"], "list": listed}}
        (self.daemon.folder / "config.json5").write_text(json.dumps(config), encoding="utf-8")


@contextmanager
def loaded(load: Load, clients: int, seed: int) -> Iterator[None]:
    """Everything at once inside the block."""
    over, draw = threading.Event(), random.Random(seed)

    def change() -> None:
        while not over.wait(CHANGE_S):
            load.change(draw)

    def reload() -> None:
        while not over.wait(RELOAD_S):
            load.reload()

    with ExitStack() as stack:
        for work in (change, reload):
            stack.enter_context(alongside(work, over))
        stack.enter_context(at_once(clients, load.ask, seed=seed))
        yield
