"""What codes mean, in words: outcomes of a search, and why the first engine did not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sidecar.wording.terminal import duration, printable

#: The failure classes of an engine.
REASONS = {
    "missing": "qmd was not found on PATH",
    "broken_install": "the installed qmd does not start",
    "timeout": "qmd did not answer in time",
    "exited": "qmd ended before it answered",
    "bad_output": "qmd answered with something unreadable",
    "locked": "qmd's index is locked by another process",
    "model_missing": "qmd lacks the model that this mode needs",
    "index_lost": "qmd's index is not built yet, or gone",
    "disk_full": "the disk is full",
    "unsupported_flags": "this version of qmd does not know this kind of search",
}

_PHASES = {"waiting": "waits for another index", "calibration": "measuring the vectors"}

_OUTCOMES = {
    "hits": "Found, but nothing of it fits the character limit.",
    "no_match": "Nothing relevant: everything was searched.",
    "partial": "Nothing found yet: a part of the search missed its deadline. Try again, or raise --timeout-ms.",
    "disabled": "Memory search is turned off in the configuration.",
}


def outcome(reply: Mapping[str, Any]) -> str:
    """A sentence for a search that brought nothing."""
    match code := str(reply.get("outcome", "no_match")):
        case "denied":
            return f"Denied by scope: {denial(reply.get('denied'))}."
        case "unavailable":
            parts = (reply.get("warning") or "No engine can answer.", reply.get("error"), reply.get("action"))
            return " ".join(str(part) for part in parts if part)
        case "no_match" if files := (reply.get("pending") or {}).get("files"):
            return f"Nothing relevant in what is indexed; {counted(files, 'file')} not indexed yet."
        case "no_match" if reply.get("notices"):
            return "Nothing relevant was found, but see below."
        case _:
            return _OUTCOMES.get(code, f"Nothing ({code}).")


def denial(denied: Any) -> str:
    """Which rule denied which kind of chat, and where the others are to be seen."""
    facts = denied if isinstance(denied, Mapping) else {}
    chat = " ".join(str(facts[key]) for key in ("channel", "chatType") if facts.get(key)) or "this session"
    return f"{chat} (rule: {facts.get('rule', 'default')}). Every rule: qmd-sidecar scope explain --session KEY"


def fallback(given: Any) -> str:
    """Why another engine answered than the first choice; empty when the first choice did."""
    if not isinstance(given, Mapping):
        return ""
    return f"instead of {given.get('from', 'qmd')}: {reason(given.get('reason'))}"


def reason(code: Any) -> str:
    """A failure class in words."""
    return REASONS.get(str(code), str(code or "unknown reason"))


def counted(number: int, noun: str) -> str:
    """`1 result`, `2 results`, `1,234 results`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def progress(told: Any) -> str:
    """How far a sync is: `vectors 1,280 of 10,000, 320/s, 27s left`; empty when none is under way."""
    if not isinstance(told, Mapping):
        return ""
    phase = _PHASES.get(str(told.get("phase")), str(told.get("phase")))
    if "total" not in told:
        return phase
    counted_so_far = f"{phase} {told['done']:,} of {told['total']:,}"
    if not (rate := told.get("perSecond")):
        return counted_so_far
    left = duration((told["total"] - told["done"]) / rate)
    return f"{counted_so_far}, {rate:,.0f}/s, {left} left" if rate >= 1 else f"{counted_so_far}, {left} left"


def listed(names: Sequence[str], most: int) -> str:
    """`a, b, c and 4 more`: at most `most` names, unless one more is all there is."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def held(entry: Mapping[str, Any]) -> str:
    """A folder whose update is held back: `vault (missing)`, `vault (shrunk, 12 files left)`."""
    left = counted(entry["filesLeft"], "file") + " left" if entry.get("filesLeft") else ""
    why = ", ".join(filter(None, (str(entry.get("reason") or ""), left)))
    return f"{entry.get('name')} ({why})" if why else str(entry.get("name"))


def notice_line(notice: Mapping[str, Any]) -> str:
    """A notice with what to do about it."""
    action = notice.get("action")
    return printable(f"note: {notice.get('message', notice.get('code', ''))}" + (f" ({action})" if action else ""))
