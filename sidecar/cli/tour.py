"""What `run --tour` shows: one real question, its answer, and how to ask the next one.

Somebody who starts the daemon for the first time may have no notes. Then the tour writes a few into the state
folder, never into a workspace, and points the first agent at them for this run.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from backends.presence import is_there
from sidecar.cli.answer import heading, highlighted, passage
from sidecar.client import Client, ClientError, DeadlineError
from sidecar.places import SAMPLE_FOLDER
from sidecar.wording import words
from sidecar.wording.terminal import Style, printable

if TYPE_CHECKING:
    from sidecar.config import AgentSettings, Settings

#: How long the tour waits for the first index before it asks anyway.
FIRST_INDEX_S = 60.0
SAMPLE_QUESTION = "Why did we move the nightly backup to half past two?"
_MAX_QUESTION_CHARS = 200

_LONG_TERM = """# Long-term memory

## People
- Marta runs the harbour office. She prefers short messages before nine in the morning.
- Jonas repairs the tide gauge and is allergic to walnuts.

## Decisions
- Invoices go out on the first working day of a month, never on a Friday.
- The ferry timetable is kept in the shared calendar; paper copies are out of date.
"""
_NOTES = (
    """# Tide gauge

Jonas replaced the float of the tide gauge. The old one had a crack below the water line.
The new serial number is TG-4417; the warranty ends in three years.
""",
    """# Backups

The nightly backup collided with the database vacuum and took four hours.
We moved the backup to half past two, because the vacuum is always finished by two o'clock.
First run after the change: 38 minutes.
""",
    """# Boat to the island

The summer boat leaves at 06:40 from pier three. Dogs travel free, bicycles cost four euros.
Marta booked the cabin with the blue door for the second weekend.
""",
)


def with_sample(settings: Settings) -> Settings:
    """The settings, with the first agent on sample notes if it has none: no configuration file and no workspace."""
    agent = first_agent(settings)
    if settings.path is not None or is_there(agent.workspace):
        return settings
    sample = make_sample(settings.state_dir, today=dt.datetime.now(agent.timezone).date())
    return replace(settings, agents=settings.agents | {agent.id: replace(agent, workspace=sample)})


def first_agent(settings: Settings) -> AgentSettings:
    """The agent that the tour asks: `main`, else the first of the configuration."""
    return settings.agents.get("main") or next(iter(settings.agents.values()))


def make_sample(state_dir: Path, *, today: dt.date) -> Path:
    """Write the sample workspace unless it is there already, and return its folder."""
    workspace = state_dir / SAMPLE_FOLDER
    if (workspace / "MEMORY.md").exists():
        return workspace
    for folder in (state_dir, workspace, workspace / "memory"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for age_days, text in enumerate(_NOTES, start=1):
        _write(workspace / "memory" / f"{today - dt.timedelta(days=age_days)}.md", text)
    # Last, since it says that the sample is complete.
    _write(workspace / "MEMORY.md", _LONG_TERM)
    return workspace


def _write(note: Path, text: str) -> None:
    """Closed to others, as is everything in the state folder."""
    note.touch(mode=0o600)
    note.write_text(text, encoding="utf-8")


def ask(settings: Settings) -> None:
    """Ask the running daemon one question about the agent's notes, and print the answer and what to try next.

    Runs in a thread beside the daemon; a failure is told and ends only the tour.
    """
    agent = first_agent(settings)
    question = question_about(agent.workspace)
    try:
        lines = list(_answer(settings, agent.id, question)) if question else _no_notes(agent.workspace)
    except ClientError as error:
        lines = [f"The tour could not ask its question: {error.message}", f"try: {error.hint or 'qmd-sidecar status'}"]
    places = [*_notes_line(agent.workspace), f"Socket    {settings.socket}"]
    print("\n".join([*lines, "", *places, *_next_steps(settings, agent.id, question)]))
    print("Ctrl-C stops the daemon.", flush=True)


def _answer(settings: Settings, agent: str, question: str) -> Iterator[str]:
    with contextlib.suppress(DeadlineError):
        Client(settings.socket, timeout_s=FIRST_INDEX_S).sync(agent, wait=True)
    client = Client(settings.socket)
    reply = client.search(agent, query=question, maxResults=3, sessionKey=_session(agent))
    style = Style.of(sys.stdout)
    yield f"Question  {style.bold(printable(question))}"
    yield f"Answer    by {engine(reply, client.status(agent))}"
    yield ""
    results = reply.get("results") or []
    for result in results:
        yield f"  {heading(result, str(reply.get('backend')), style)}"
        yield from (f"      {line}" for line in highlighted(passage(result), question, style))
    if not results:
        yield f"  {words.outcome(reply)}"
    yield from (f"  {words.notice_line(notice)}" for notice in reply.get("notices") or [])


def engine(reply: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """The engine that answered, and why it was not qmd. `status` is the agent's."""
    why = words.fallback(reply.get("fallback")) or _why_no_qmd(reply, status)
    return f"{reply.get('backend')} in {float(reply.get('tookMs') or 0):.0f} ms" + (f" ({why})" if why else "")


def _why_no_qmd(reply: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """With `auto`, a qmd that is not there is no fallback; a newcomer wants to know it all the same."""
    qmd = (status.get("engines") or {}).get("qmd") or {}
    error = qmd.get("lastError") or {}
    return words.reason(error["code"]) if reply.get("backend") != "qmd" and error.get("code") else ""


def _no_notes(workspace: Path) -> list[str]:
    today = dt.datetime.now().astimezone().date()
    return [f"There are no notes in {workspace} yet.", f"Write one, for example {workspace}/memory/{today}.md"]


def _notes_line(workspace: Path) -> Iterator[str]:
    """Of a sample: that it is one, and where notes of one's own belong."""
    from sidecar.config.agents import WORKSPACE

    if workspace.name == SAMPLE_FOLDER:
        yield f"Notes     samples in {workspace}; your own belong into {WORKSPACE}/memory, from the next start on"


def _next_steps(settings: Settings, agent: str, question: str | None) -> list[str]:
    body = json.dumps({"query": question or "what did we decide?", "sessionKey": _session(agent)}, ensure_ascii=False)
    url = f"http://localhost/v1/agents/{quote(agent, safe='')}/memory_search"
    whose = f" -a {shlex.quote(agent)}" if len(settings.agents) > 1 else ""
    return [
        f"Try       {_command()} search{whose} --socket {shlex.quote(str(settings.socket))} 'your own question'",
        f"          curl -s --unix-socket {shlex.quote(str(settings.socket))} {url} -d {shlex.quote(body)}",
    ]


def _command() -> str:
    """How to call us: by name where that is found, else by the path that was used."""
    return "qmd-sidecar" if shutil.which("qmd-sidecar") else shlex.quote(sys.argv[0])


def _session(agent: str) -> str:
    return f"agent:{agent}:cli:direct:tour"


def question_about(workspace: Path) -> str | None:
    """A question that the workspace can answer: the sample's own, else the first line of the newest note."""
    if workspace.name == SAMPLE_FOLDER:
        return SAMPLE_QUESTION
    newest = sorted(_notes(workspace), reverse=True)[:20]
    return next((line for _, path in newest if (line := first_line(path))), None)


def _notes(workspace: Path) -> Iterator[tuple[float, Path]]:
    """The notes with their times; one that vanishes meanwhile is no note."""
    for path in (workspace / "MEMORY.md", workspace / "memory.md", *(workspace / "memory").rglob("*.md")):
        with contextlib.suppress(OSError):
            yield path.stat().st_mtime, path


def first_line(path: Path) -> str | None:
    """The first heading or line of a note that says something, without its Markdown; None when there is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            plain = (line.strip().strip("#*->_` ") for line in lines)
            found = next((line for line in plain if len(line) > 3), None)
    except OSError:
        return None
    return found[:_MAX_QUESTION_CHARS] if found else None
