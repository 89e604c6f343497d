"""Everything about one agent: what each engine says of itself, in words. What is not reported is not shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sidecar.cli.columns import table
from sidecar.wording import words
from sidecar.wording.terminal import Style, ago, duration, printable, size, took, upcoming

Facts = Mapping[str, Any]

#: So many files are listed on a screen; `--json` has all.
SHOWN_FILES = 20
_LABEL_WIDTH = 11


def fact_lines(agent: Facts, now: dt.datetime, style: Style) -> list[str]:
    """The agent's own facts, then a block for each engine, then its folders."""
    lines = list(_labelled(_AGENT_FACTS, agent, now, ""))
    for name, facts in (agent.get("engines") or {}).items():
        lines += ["", style.bold(printable(str(name))), *_labelled(_ENGINE_FACTS, facts, now, "  ")]
    roots = [
        (str(root.get("name")), str(root.get("kind")), f"{root.get('path')}/{root.get('pattern')}")
        for root in agent.get("roots") or []
    ]
    if not roots:
        return lines
    heading, *rows = map(printable, table([("ROOT", "KIND", "FILES"), *roots]))
    return [*lines, "", style.dim(heading), *rows]


def _labelled(
    told: Mapping[str, Callable[[Facts, dt.datetime], str]], facts: Facts, now: dt.datetime, indent: str
) -> Iterator[str]:
    for label, tell in told.items():
        if text := tell(facts, now):
            first, *more = text.split("\n")
            yield printable(f"{indent}{label.ljust(_LABEL_WIDTH)}{first}")
            yield from (printable(f"{indent}{' ' * _LABEL_WIDTH}{line}") for line in more)


def _plain(key: str) -> Callable[[Facts, dt.datetime], str]:
    """The value itself, if there is one."""
    return lambda facts, _: "" if facts.get(key) in (None, "") else str(facts[key])


def _updated(agent: Facts, now: dt.datetime) -> str:
    last = agent.get("lastSync")
    if not last:
        return ""
    when, engine = ago(last.get("at"), now=now), last.get("engine")
    if not last.get("ran"):
        return (
            f"{when} by {engine}: {words.REASONS.get(str(last.get('detail')), last.get('detail') or 'nothing changed')}"
        )
    counts = f"{last.get('changed', 0)} changed, {last.get('removed', 0)} removed"
    detail = f" ({last['detail']})" if last.get("detail") else ""
    return f"{when} by {engine}: {counts}, {took(last.get('tookMs') or 0)}{detail}"


def _pending(agent: Facts, now: dt.datetime) -> str:
    pending = agent.get("pending")
    if not pending:
        return ""
    oldest = duration(pending.get("oldestSeconds") or 0)
    return f"{words.counted(pending.get('files', 0), 'file')}, the oldest for {oldest}"


def _breaker(agent: Facts, now: dt.datetime) -> str:
    breaker = agent.get("breaker") or {}
    at, since = breaker.get("nextProbeAt"), breaker.get("since")
    state = str(breaker.get("state") or "")
    parts = (
        f"{state} for {duration(now.timestamp() - since)}: {words.reason(breaker.get('reason'))}" if since else state,
        f"next probe {upcoming(at, now=now)}" if at else "",
    )
    return "; ".join(filter(None, parts))


def _ready(facts: Facts, now: dt.datetime) -> str:
    if "ready" not in facts:
        return ""
    parts = (
        "yes" if facts["ready"] else "no",
        "syncing" if facts.get("syncing") else "",
        words.progress(facts.get("progress")),
    )
    return ", ".join(filter(None, parts))


def _index(facts: Facts, now: dt.datetime) -> str:
    parts = (
        words.counted(facts["documents"], "document") if facts.get("documents") is not None else "",
        words.counted(facts["chunks"], "chunk") if facts.get("chunks") is not None else "",
        size(facts["sizeBytes"]) if facts.get("sizeBytes") else "",
    )
    return ", ".join(filter(None, parts))


def _vectors(facts: Facts, now: dt.datetime) -> str:
    stored, waiting = facts.get("vectors"), facts.get("vectorsPending")
    dims = f" of {facts['dims']} dimensions in {facts.get('vectorStore')}" if stored and facts.get("dims") else ""
    parts = (
        f"{stored:,}{dims}" if isinstance(stored, int) else "",
        f"{waiting:,} pending" if isinstance(waiting, int) else "",
    )
    return ", ".join(filter(None, parts))


def _embedding(facts: Facts, now: dt.datetime) -> str:
    """Whose vectors are in the index, which are wanted where that differs, and how they were chosen."""
    choice = facts.get("embedding") or {}
    stored, wanted = _provider_and_model(facts), _provider_and_model(choice)
    differ = any(facts.get(key) and choice.get(key) and facts[key] != choice[key] for key in ("provider", "model"))
    why = f": {choice['reason']}" if choice.get("reason") else ""
    lines = (
        stored or wanted,
        f"wanted: {wanted}" if differ else "",
        f"chosen by {choice['requested']}{why}" if choice.get("chosenBy") == "auto" else "",
        f"fallback: {choice['fallback']}" if choice.get("fallback") else "",
    )
    return "\n".join(filter(None, lines))


def _provider_and_model(facts: Facts) -> str:
    return " ".join(str(facts[key]) for key in ("provider", "model") if facts.get(key))


def _version(facts: Facts, now: dt.datetime) -> str:
    version = str(facts.get("version") or "")
    return f"{version} (newer than all that were tried)" if version and facts.get("tried") is False else version


def _resident(facts: Facts, now: dt.datetime) -> str:
    resident = facts.get("resident")
    if not resident:
        return ""
    state = str(resident.get("state") or ("running" if resident.get("pid") else "none"))
    told = "not running" if state == "none" else state
    parts = (
        f"{told}: {words.reason(resident['reason'])}" if resident.get("reason") else told,
        f"pid {resident['pid']}" if resident.get("pid") else "",
        size(resident["rssBytes"]) if resident.get("rssBytes") else "",
        f"started {ago(resident['startedAt'], now=now)}" if resident.get("startedAt") else "",
        words.counted(resident["calls"], "call") if resident.get("calls") is not None else "",
    )
    return ", ".join(filter(None, parts))


def _processes(facts: Facts, now: dt.datetime) -> str:
    return ", ".join(map(str, facts.get("processes") or []))


def _run_of(key: str) -> Callable[[Facts, dt.datetime], str]:
    """The last run of a writer: when, how it ended, the last good one, and the next attempt."""

    def tell(facts: Facts, now: dt.datetime) -> str:
        run = facts.get(key) or {}
        good_at, at = run.get("lastGoodAt"), run.get("at")
        result = str(run.get("result") or "")
        parts = (
            f"{ago(at, now=now)}: {result.replace('_', ' ') or 'done'}" if at else "",
            f"last good {ago(good_at, now=now)}" if good_at and result != "ok" else "",
            f"next attempt {upcoming(run['nextAttemptAt'], now=now)}" if run.get("nextAttemptAt") else "",
        )
        return "; ".join(filter(None, parts))

    return tell


def _models(facts: Facts, now: dt.datetime) -> str:
    models = facts.get("models")
    if not isinstance(models, Mapping):
        return ""
    return ", ".join(f"{kind} {'present' if there else 'missing'}" for kind, there in models.items())


def _held(facts: Facts, now: dt.datetime) -> str:
    return "\n".join(map(words.held, facts.get("held") or []))


def _ignored(facts: Facts, now: dt.datetime) -> str:
    ignored = facts.get("ignored") or {}
    if not ignored.get("count"):
        return ""
    count = ("at least " if ignored.get("atLeast") else "") + words.counted(ignored["count"], "file")
    sample = ", ".join(map(str, ignored.get("sample") or []))
    return f"{count} by rule, such as {sample}" if sample else f"{count} by rule"


def _skipped(facts: Facts, now: dt.datetime) -> str:
    skipped = facts.get("skipped") or {}
    shown = [f"{path}: {why}" for path, why in list(skipped.items())[:SHOWN_FILES]]
    left = len(skipped) - len(shown)
    return "\n".join([*shown, *([f"and {left} more"] if left else [])])


def _last_error(facts: Facts, now: dt.datetime) -> str:
    error = facts.get("lastError")
    if not isinstance(error, Mapping):
        return ""
    return f"{ago(error.get('at'), now=now)}: {error.get('message') or words.reason(error.get('code'))}"


_AGENT_FACTS: Mapping[str, Callable[[Facts, dt.datetime], str]] = {
    "workspace": _plain("workspace"),
    "updated": _updated,
    "pending": _pending,
    "breaker": _breaker,
}

_ENGINE_FACTS: Mapping[str, Callable[[Facts, dt.datetime], str]] = {
    "ready": _ready,
    "version": _version,
    "binary": _plain("binary"),
    "mode": _plain("mode"),
    "index": _index,
    "vectors": _vectors,
    "embedding": _embedding,
    "models": _models,
    "resident": _resident,
    "processes": _processes,
    "synced": lambda facts, now: ago(at, now=now) if (at := facts.get("lastSync")) else "",
    "update": _run_of("lastUpdate"),
    "embed": _run_of("lastEmbed"),
    "held": _held,
    "ignored": _ignored,
    "skipped": _skipped,
    "failed": _last_error,
}
