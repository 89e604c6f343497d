"""Every question asked through the socket of a real daemon, with the default configuration, on a copy of the notes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.quality.questions import NOTES, Question, collapsed
from tests.quality.scoring import Shown, Verdict
from tests.running import Running, real_qmd_path, running, until

#: Long enough that a busy machine costs no leg of a search: what is found is measured here, not how fast.
TIMEOUT_MS = 30_000


def ask_all(folder: Path, questions: Iterable[Question], *, engine: str = "builtin") -> list[Verdict]:
    """Start a daemon on `engine` with its files in `folder`, wait until all is indexed, and ask every question."""
    shutil.copytree(NOTES, folder / "workspace")
    config = {
        "memory": {"backend": engine},
        "agents": {"defaults": {"workspace": str(folder / "workspace")}},
    }
    with running(folder / "daemon", config, path=real_qmd_path() if engine == "qmd" else None) as daemon:
        daemon.sync("main", embed=True)
        until(lambda: _indexed(daemon), what="the end of indexing")
        until(lambda: _complete(_asked(daemon, "Kranich"), engine), what="a complete answer")
        return [_verdict(daemon, question, engine) for question in questions]


def _indexed(daemon: Running) -> bool:
    builtin = daemon.call("GET", "/v1/agents/main/status")["engines"]["builtin"]
    return bool(builtin["chunks"] and builtin["vectors"] == builtin["chunks"])


def _verdict(daemon: Running, question: Question, engine: str) -> Verdict:
    reply = _asked(daemon, question.text)
    assert _complete(reply, engine), {name: value for name, value in reply.items() if name != "results"}
    results = reply["results"]
    return Verdict(question, tuple(Shown(hit["path"], collapsed(hit["snippet"]), hit["score"]) for hit in results))


def _asked(daemon: Running, text: str) -> dict[str, Any]:
    return daemon.search("main", text, timeoutMs=TIMEOUT_MS)


def _complete(reply: dict[str, Any], engine: str) -> bool:
    """Whether the engine that is measured has answered with all that it can."""
    by_meaning = engine == "qmd" or reply["provider"]
    complete = reply["outcome"] in ("hits", "no_match") and not reply.get("pending")
    return bool(reply["backend"] == engine and by_meaning and complete)
