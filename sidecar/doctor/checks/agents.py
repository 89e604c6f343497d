"""The agents as callers meet them: what their status says, and a search and a read through the real path."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

from backends.corpus import Kind, Located
from sidecar.agents import Agent
from sidecar.doctor.catalogue import Code, Finding, Severity
from sidecar.doctor.checks.configuration import opened_in_editor
from sidecar.doctor.subject import Subject
from sidecar.gateway.view import DaemonView
from sidecar.tools import reading, recall
from sidecar.tools.paths import PathNotAllowedError, opened
from sidecar.wording import words
from sidecar.wording.problems import REMEDIES, command_of, of_agent

#: As many as there may be warm children of qmd: more at once would only wait for each other.
_AT_ONCE = 4
_MOST_LOOKED_AT = 20
_MOST_WORDS = 4
_HEAD_BYTES = 4096
#: Long words: the short ones may be such as every search leaves out.
_WORD = re.compile(r"[^\W\d_]{5,}")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
#: For a memory without any note: it proves that something answers, and not what.
_ANYTHING = "memory"


async def problems(subject: Subject) -> list[Finding]:
    """What `status` shows of every agent; that another engine answers is for the search to say."""
    assert subject.live is not None
    found = []
    for agent in subject.live.fleet:
        status = {key: value for key, value in agent.status().items() if key != "fallback"}
        for problem in of_agent(status) if agent.enabled else ():
            command = command_of(problem.remedy, agent.id)
            found.append(Code.AGENT_PROBLEM.found(f"{agent.id}: {problem.text}", command=command, agent=agent.id))
    return found


async def search(subject: Subject) -> list[Finding]:
    """Ask every agent for the words of one of its notes, as its operator would, and read that note."""
    assert subject.live is not None
    daemon, turn = subject.live, asyncio.Semaphore(_AT_ONCE)

    async def asked(agent: Agent) -> list[Finding]:
        async with turn:
            return await _tried(agent, daemon, subject)

    results = await asyncio.gather(*(asked(agent) for agent in daemon.fleet if agent.enabled))
    return [finding for result in results for finding in result]


async def _tried(agent: Agent, daemon: DaemonView, subject: Subject) -> list[Finding]:
    loop = asyncio.get_running_loop()
    note = await loop.run_in_executor(subject.pool, _note_of, agent)
    question = (await loop.run_in_executor(subject.pool, _question, note)) if note else ""
    key = f"agent:{agent.id}:cli:direct:doctor"
    asked = recall.SearchRequest(text=question or _ANYTHING, session_key=key, min_score=0.0, corpus="memory")
    reply = await recall.search(agent, asked, daemon.settings)
    found = _judged(agent, reply, subject, sought=bool(question))
    return [*found, *(await _read(agent, note, key, daemon) if note else ())]


def _note_of(agent: Agent) -> Located | None:
    """The first note with words in it, or the first without."""
    notes = (
        Located(root, found.relative)
        for root, found in agent.corpus.of_texts().files()
        if root.kind is not Kind.SESSION and found.size
    )
    looked_at = list(islice(notes, _MOST_LOOKED_AT))
    return next((note for note in looked_at if _question(note)), next(iter(looked_at), None))


def _question(note: Located) -> str:
    """Words of a note that a search for them must find; empty for a note without any, or one that cannot be read."""
    try:
        descriptor = opened(note)
    except (OSError, PathNotAllowedError):
        return ""
    if descriptor is None:
        return ""
    with os.fdopen(descriptor, "rb") as stream:
        text = stream.read(_HEAD_BYTES).decode("utf-8", errors="ignore")
    found = dict.fromkeys(_WORD.findall(_COMMENT.sub(" ", text)))
    return " ".join(sorted(found, key=len, reverse=True)[:_MOST_WORDS])


def _judged(agent: Agent, reply: Mapping[str, Any], subject: Subject, *, sought: bool) -> list[Finding]:
    if reply["outcome"] == "unavailable":
        why = reply.get("error") or "no engine answers"
        # No sync gives a provider what it lacks.
        command = opened_in_editor(subject) if "embeddingBootstrap" in reply["debug"] else None
        return [Code.SEARCH_UNAVAILABLE.found(f"{agent.id}: {why}", command=command, agent=agent.id)]
    found = []
    if fallen := reply.get("fallback"):
        found.append(_fallen(agent, reply, fallen))
    if sought and reply["outcome"] in ("no_match", "partial") and not reply.get("pending"):
        message = f"{agent.id}: the words of a note do not find any ({reply['outcome']})"
        found.append(Code.SEARCH_BLIND.found(message, agent=agent.id))
    return found


def _fallen(agent: Agent, reply: Mapping[str, Any], fallen: Mapping[str, Any]) -> Finding:
    breaker = agent.search.status().detail.get("breaker") or {}
    spared = breaker.get("optional") and fallen["reason"] == "missing"
    message = f"{agent.id}: {reply['backend']} answers {words.fallback(fallen)}"
    return Code.SEARCH_FALLBACK.found(
        message,
        severity=Severity.NOTE if spared else None,
        command=command_of(REMEDIES.get(fallen["reason"], ""), agent.id),
        agent=agent.id,
    )


async def _read(agent: Agent, note: Located, key: str, daemon: DaemonView) -> list[Finding]:
    request = reading.ReadRequest(path=note.path, lines=1, session_key=key)
    try:
        reply = await reading.get(agent, request, agent.threads.files)
    except (OSError, PathNotAllowedError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        return [Code.READ_FAILS.found(f"{agent.id}: {note.path}: {why}", path=note.file)]
    if "lines" in reply:
        return []
    return [Code.READ_FAILS.found(f"{agent.id}: {note.path} gives no text", path=note.file)]
