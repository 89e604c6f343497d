"""An answer for a person: passages on standard output, the circumstances on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sidecar.cli.exits import say
from sidecar.cli.links import Addresses, linked, nowhere
from sidecar.wording import words
from sidecar.wording.terminal import Style, one_line, printable

_PARTS = {"words": "textScore", "vectors": "vectorScore"}
_LEFT_OUT = {"belowMinScore": "below the least relevance", "lowerThanTheHits": "less relevant than these"}
_INDENT = "    "

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """How passages are shown: what is marked, where links lead, and whether all stays as a chat would get it."""

    question: str
    style: Style
    address: Addresses = nowhere
    as_sent: bool = False


def show(reply: Mapping[str, Any], showing: Showing, *, scope: str = "") -> None:
    """Print an answer. `scope` is the rule that lets the asker read, where that was asked."""
    results = reply.get("results") or []
    for first, others in [(result, []) for result in results] if showing.as_sent else _alike(results):
        print("\n".join(_shown(first, others, str(reply.get("backend") or "?"), showing)), end="\n\n", flush=True)
    if not results:
        say(words.outcome(reply))
    talk = Style.of(sys.stderr)
    dot = talk.symbol("·")
    for line in (circumstances(reply, scope, dot=dot), candidates(reply.get("explain"), dot=dot)):
        if line:
            say(talk.dim(one_line(line)))
    for notice in reply.get("notices") or []:
        say(words.notice_line(notice))


def _alike(results: Sequence[Result]) -> list[tuple[Result, list[Result]]]:
    """Each passage with the later ones that say word for word the same."""
    by_text: dict[str, tuple[Result, list[Result]]] = {}
    for result in results:
        # An image has no text: two of them are not the same for that.
        text = " ".join(_text(result).split()) or f"\0{result.get('path')}"
        by_text.setdefault(text, (result, []))[1].append(result)
    return [(first, every[1:]) for first, every in by_text.values()]


def _shown(result: Result, others: Sequence[Result], engine: str, showing: Showing) -> Iterator[str]:
    style = showing.style
    yield heading(result, engine, style, showing.address)
    for line in remarks(result, style.symbol("·")):
        yield f"{_INDENT}{style.dim(one_line(line))}"
    for other in others:
        yield f"{_INDENT}{style.dim('the same:')} {_place(other, style.dim, showing.address)}"
    text = printable(str(result.get("snippet", ""))).splitlines() if showing.as_sent else passage(result)
    for line in highlighted(text, showing.question, style):
        yield f"{_INDENT}{line}".rstrip()


def heading(result: Result, engine: str, style: Style, address: Addresses = nowhere) -> str:
    """`path:first-last  score  engine` of one passage; an image or a recording has no lines."""
    return f"{_place(result, style.bold, address)}  {float(result.get('score') or 0):.2f}  {style.dim(engine)}"


def _place(result: Result, paint: Callable[[str], str], address: Addresses) -> str:
    first, last = result.get("startLine"), result.get("endLine")
    lines = "" if result.get("media") else f":{first}" if first == last else f":{first}-{last}"
    path = str(result.get("path", "?"))
    return linked(paint(f"{one_line(path)}{lines}"), address(path))


def remarks(result: Result, dot: str = "·") -> Iterator[str]:
    """What is said of a passage: that there is newer word on it, and why it was found, when that was asked."""
    if newer := result.get("newer"):
        yield f"newer: {newer}"
    if why := result.get("explain"):
        legs = ", ".join(f"{name} {why[key]:.2f}" for name, key in _PARTS.items() if why[key] is not None)
        found_by = why["window"]["reason"]
        parts = (
            f"relevance {why['relevance']:.2f}" + (f" ({legs})" if legs else ""),
            f"age and importance: factor {why['factor']:.2f}" if why["factor"] != 1 else "",
            f"found by its {found_by}" + (f": {', '.join(why['matchedWords'])}" if why["matchedWords"] else ""),
        )
        yield f" {dot} ".join(filter(None, parts))


def passage(result: Result) -> list[str]:
    """The lines of a passage, without the citation that a heading makes redundant."""
    return printable(_text(result)).splitlines()


def _text(result: Result) -> str:
    return str(result.get("snippet", "")).removesuffix(f"\n\nSource: {result.get('citation')}")


def highlighted(lines: Sequence[str], question: str, style: Style) -> Iterator[str]:
    """The lines with the words of the question marked, where there is colour to do it."""
    if not style.colour:
        yield from lines
        return
    # Only who sees colour pays for the stemmer.
    from sidecar.cli.highlight import marked

    yield from (marked(line, question, style.found) for line in lines)


def circumstances(reply: Mapping[str, Any], scope: str = "", *, dot: str = "·") -> str:
    """One line: how many, how fast, by which engine and why by that one, what is not indexed yet, and who may read."""
    return f" {dot} ".join(filter(None, _circumstances(reply, scope)))


def _circumstances(reply: Mapping[str, Any], scope: str) -> Iterator[str]:
    yield words.counted(len(reply.get("results") or []), "result")
    yield f"{reply['tookMs']:.0f} ms" if isinstance(reply.get("tookMs"), int | float) else ""
    yield " ".join(str(reply[key]) for key in ("backend", "mode") if reply.get(key))
    yield words.fallback(reply.get("fallback"))
    pending = reply.get("pending") or {}
    yield f"{words.counted(pending['files'], 'file')} not indexed yet" if pending.get("files") else ""
    yield f"scope: {scope}" if scope else ""


def candidates(explain: Any, *, dot: str = "·") -> str:
    """One line: what the engine looked at before it chose, as far as it tells."""
    return f" {dot} ".join(_candidates(explain))


def _candidates(explain: Any) -> Iterator[str]:
    told: Mapping[str, Any] = explain if isinstance(explain, Mapping) else {}
    if looked_at := [f"{number:,} by {leg}" for leg, number in (told.get("candidates") or {}).items()]:
        yield f"candidates: {', '.join(looked_at)}"
    left_out = told.get("leftOut") or {}
    yield from (f"{left_out[key]:,} {why}" for key, why in _LEFT_OUT.items() if left_out.get(key))
