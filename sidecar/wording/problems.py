"""What is wrong, told once with the command or setting that mends it, however many agents it concerns."""

from __future__ import annotations

import datetime as dt
import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sidecar.wording import words
from sidecar.wording.terminal import Style, ago, duration, printable

_Kind = Callable[[Mapping[str, Any]], Iterable["Problem"]]

#: What stands in a remedy for the ids of the agents that it is for.
_AGENTS = "{agents}"
#: So many names are told before "and 3 more"; `status AGENT` and `--json` have all.
SHOWN_NAMES = 3

#: What mends each class of failure, where the engine itself has no better advice.
REMEDIES = {
    "missing": 'npm install -g @tobilu/qmd, or set memory.backend: "auto"',
    "broken_install": "npm install -g @tobilu/qmd@latest, or see what qmd --version says",
    "timeout": "raise memory.qmd.limits.timeoutMs",
    "exited": f"qmd-sidecar sync {_AGENTS} --wait",
    "bad_output": "npm install -g @tobilu/qmd@latest",
    "locked": "end the other process that writes this index",
    "model_missing": 'qmd pull, or set memory.qmd.searchMode: "search"',
    "index_lost": f"qmd-sidecar sync {_AGENTS} --force",
    "disk_full": "free space on the disk of the state folder; the next sync goes on",
    "unsupported_flags": "npm install -g @tobilu/qmd@latest",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong, of some agents or (without any) of the daemon.

    `since` is when it began, `at` when it was last seen, `next_probe_at` when that changes; Unix seconds.
    """

    text: str
    remedy: str = ""
    since: float | None = None
    at: float | None = None
    next_probe_at: float | None = None
    agents: tuple[str, ...] = ()


_COMMAND = re.compile(r"`((?:npm|qmd|qmd-sidecar) [^`]+)`|^((?:npm|qmd|qmd-sidecar) .+?)(?=, or |$)")


def of_daemon(reply: Mapping[str, Any]) -> list[Problem]:
    """Every problem in the daemon's status: the gravest kinds first, the daemon's own last."""
    agents = reply.get("agents") or []
    found = gathered(problem for kind in _KINDS for agent in agents for problem in _named(kind, agent))
    return [*found, *map(_of_notice, reply.get("notices") or [])]


def of_agent(agent: Mapping[str, Any]) -> list[Problem]:
    """Every problem in one agent's status, the gravest first."""
    return [problem for kind in _KINDS for problem in _named(kind, agent)]


def gathered(problems: Iterable[Problem]) -> list[Problem]:
    """Thirty agents with one trouble are one problem: it began with the first of them."""
    by_text: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        key = problem.text, problem.remedy
        known = by_text.get(key)
        by_text[key] = problem if known is None else _joined(known, problem)
    return list(by_text.values())


def command_of(remedy: str, agent: str) -> str | None:
    """The command that a remedy begins with or quotes, for one agent; None for one that is not for a shell."""
    found = _COMMAND.search(remedy)
    return (found[1] or found[2]).replace(_AGENTS, shlex.quote(agent)) if found else None


def told(problem: Problem, now: dt.datetime, style: Style, *, width: int | None) -> list[str]:
    """The lines of one problem: what and since when, then what to do, which is never broken across lines."""
    who = words.listed(problem.agents, SHOWN_NAMES)
    text = printable(f"{who}: {problem.text}" if who else problem.text)
    moments = _moments(problem, now)
    wrapped = textwrap.wrap(
        f"{text} ({moments})" if moments else text,
        width=max(40, (width or 10_000) - 2),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    mark = style.warn(style.symbol("▲"))
    lines = [f"{mark} {wrapped[0]}", *(f"  {line}" for line in wrapped[1:])]
    return [*lines, f"  {style.dim('try:')} {printable(remedy)}"] if (remedy := _remedy(problem)) else lines


def _named(kind: _Kind, agent: Mapping[str, Any]) -> Iterator[Problem]:
    for problem in kind(agent):
        yield replace(problem, agents=(str(agent.get("id")),))


def _joined(one: Problem, other: Problem) -> Problem:
    return replace(
        one,
        agents=(*one.agents, *other.agents),
        since=_earliest(one.since, other.since),
        at=max(filter(None, (one.at, other.at)), default=None),
        next_probe_at=_earliest(one.next_probe_at, other.next_probe_at),
    )


def _earliest(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)


def _moments(problem: Problem, now: dt.datetime) -> str:
    since = f"for {duration(now.timestamp() - problem.since)}" if problem.since else ""
    seen = ago(problem.at, now=now) if problem.at else ""
    left_s = (problem.next_probe_at or 0) - now.timestamp()
    # Within the second it is under way before anybody has read of it.
    probe = f"next probe in {duration(left_s)}" if left_s >= 1 else ""
    return ", ".join(filter(None, (since, seen, probe)))


def _remedy(problem: Problem) -> str:
    few = len(problem.agents) <= SHOWN_NAMES
    return problem.remedy.replace(_AGENTS, " ".join(map(shlex.quote, problem.agents)) if few else "AGENT")


def _fallen(agent: Mapping[str, Any]) -> Iterator[Problem]:
    """The first choice does not answer; the breaker knows when it is asked again."""
    fallen = agent.get("fallback")
    if fallen and not (fallen.get("reason") == "missing" and (agent.get("breaker") or {}).get("optional")):
        yield Problem(
            text=f"{agent.get('backend')} answers {words.fallback(fallen)}",
            remedy=REMEDIES.get(str(fallen.get("reason")), ""),
            since=fallen.get("since"),
            next_probe_at=(agent.get("breaker") or {}).get("nextProbeAt"),
        )


def _not_synced(agent: Mapping[str, Any]) -> Iterator[Problem]:
    """Syncs that failed, but for what is already told and for an engine that was only wanted if present."""
    fallen, breaker = agent.get("fallback") or {}, agent.get("breaker") or {}
    told_already = {(fallen.get("from"), fallen.get("reason"))}
    if breaker.get("optional"):
        told_already.add((breaker.get("of"), "missing"))
    for name, facts in _engines(agent):
        error = facts.get("lastError")
        if not isinstance(error, Mapping) or (name, error.get("code")) in told_already:
            continue
        why = error.get("message") or words.reason(error.get("code"))
        yield Problem(
            text=f"{name} could not be brought up to date: {why}",
            remedy=str(error.get("action") or REMEDIES.get(str(error.get("code")), "")),
            at=error.get("at"),
        )


def _silent(agent: Mapping[str, Any]) -> Iterator[Problem]:
    """Nothing answers, and no engine says why."""
    errors = any(facts.get("lastError") for _, facts in _engines(agent))
    if agent.get("state") == "unavailable" and not errors and not agent.get("fallback"):
        yield Problem(text="no engine can answer", remedy=f"qmd-sidecar sync {_AGENTS} --wait")


def _held(agent: Mapping[str, Any]) -> Iterator[Problem]:
    """Folders whose loss looks like an accident: their documents are kept, and no update runs over them."""
    codes = {notice.get("code") for notice in agent.get("notices") or []}
    held = [words.held(entry) for _, facts in _engines(agent) for entry in facts.get("held") or []]
    if held and "source_missing" not in codes:
        yield Problem(
            text=f"updates are held back for {words.listed(held, SHOWN_NAMES)}",
            remedy=f"bring the folder back, or accept its loss: qmd-sidecar sync {_AGENTS} --force",
        )


def _skipped(agent: Mapping[str, Any]) -> Iterator[Problem]:
    for name, facts in _engines(agent):
        skipped = facts.get("skipped") or {}
        if isinstance(skipped, Mapping) and skipped:
            files = words.listed([f"{path} ({why})" for path, why in skipped.items()], SHOWN_NAMES)
            count = words.counted(len(skipped), "file")
            yield Problem(
                text=f"{name} skipped {count}: {files}", remedy="mend what was skipped, or move it out of the folders"
            )


def _notices(agent: Mapping[str, Any]) -> Iterator[Problem]:
    yield from map(_of_notice, agent.get("notices") or [])


def _of_notice(notice: Mapping[str, Any]) -> Problem:
    text = str(notice.get("message") or notice.get("code") or "")
    return Problem(text=text, remedy=str(notice.get("action") or ""))


def _engines(agent: Mapping[str, Any]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    return [(name, facts) for name, facts in (agent.get("engines") or {}).items() if isinstance(facts, Mapping)]


#: What can be wrong with an agent, the gravest first.
_KINDS: tuple[_Kind, ...] = (_fallen, _not_synced, _silent, _held, _notices, _skipped)
