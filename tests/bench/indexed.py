"""A daemon over an index of a wanted size: the ground of every part that asks how size matters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.conversation import Corpus, corpus
from tests.bench.daemons import config, place, warmed_up
from tests.running import Running, running

#: Notes as days of talks leave them: so many talks make about so many chunks.
TALKS, CHUNKS = 12, 10
#: The agent whose notes come later, for what is measured while an index is built.
SECOND = "second"
WARMING = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """The daemon, whose agent `main` has been indexed and searched, and the seconds that indexing took."""

    daemon: Running
    asked: Corpus
    built_s: float

    @property
    def file(self) -> Path:
        """The index itself."""
        return self.daemon.state / "memory" / "main.sqlite"

    @property
    def second_workspace(self) -> Path:
        """Where the agent `second` looks for notes; there are none yet."""
        return self.daemon.folder / SECOND

    def facts(self, agent: str = "main") -> dict[str, Any]:
        """What the status of an agent tells of its built-in index."""
        facts: dict[str, Any] = self.daemon.call("GET", f"/v1/agents/{agent}/status")["engines"]["builtin"]
        return facts


@contextmanager
def indexed(folder: Path, size: int, *, questions: int = 200) -> Iterator[Indexed]:
    """Index about `size` chunks of conversation and ask some questions, so that all that is loaded once is loaded."""
    asked = corpus(max(1, size // CHUNKS), talks=TALKS, questions=questions)
    main, second = folder / "main", folder / SECOND
    second.mkdir(parents=True)
    with running(folder, config(main, second)) as daemon:
        daemon.client.timeout_s = 900
        place(asked, main)
        started = time.perf_counter()
        daemon.sync("main")
        built_s = time.perf_counter() - started
        with warmed_up(daemon, "builtin", asked.questions[0]) as ask:
            for question in asked.questions[:WARMING]:
                ask(question)
        yield Indexed(daemon=daemon, asked=asked, built_s=built_s)
