"""One row per agent: what an operator wants to see of all of them at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sidecar.cli import columns
from sidecar.cli.columns import Column
from sidecar.wording.terminal import Style, ago, one_line, size, upcoming

_SIGNS = {"ready": "●", "indexing": "◐", "degraded": "▲", "unavailable": "✖", "disabled": "○"}
#: Who makes room on a narrow screen, in this order; what leaves stands in `status AGENT` as well.
_GIVING_WAY = ("NEXT", "BACKEND", "RAM", "AGENT", "UPDATED", "DOCS", "PENDING")


def agent_table(agents: Sequence[Mapping[str, Any]], now: dt.datetime, style: Style, width: int | None) -> list[str]:
    """A dim heading and one line per agent, in at most `width` cells."""
    if not agents:
        return ["no agents"]
    fitted = columns.fit(_columns(agents, now, style), width, giving_way=_GIVING_WAY, ellipsis=style.symbol("…"))
    heading, *rows = columns.lines(fitted)
    return [style.dim(heading), *rows]


def _columns(agents: Sequence[Mapping[str, Any]], now: dt.datetime, style: Style) -> list[Column]:
    def column(title: str, cell: Callable[[Mapping[str, Any]], str], *, least: int = 0, right: bool = False) -> Column:
        return Column(title=title, cells=[one_line(cell(agent)) for agent in agents], least=least, right=right)

    states = [str(agent.get("state")) for agent in agents]
    return [
        column("AGENT", lambda agent: str(agent.get("id")), least=8),
        Column(
            title="STATE",
            cells=[f"{style.symbol(_SIGNS.get(state, '▲'))} {state}" for state in states],
            paint=[_painter(state, style) for state in states],
        ),
        column("BACKEND", lambda agent: backend(agent, style), least=19),
        column("DOCS", lambda agent: _count(agent.get("documents")), right=True),
        column("PENDING", lambda agent: _count((agent.get("pending") or {}).get("files", 0)), right=True),
        column("UPDATED", lambda agent: ago((agent.get("lastSync") or {}).get("at"), now=now)),
        column("NEXT", lambda agent: upcoming(agent.get("nextUpdateAt"), now=now)),
        column("RAM", lambda agent: _memory(agent), right=True),
    ]


def _painter(state: str, style: Style) -> Callable[[str], str]:
    colours = {"ready": style.good, "indexing": style.busy, "unavailable": style.bad, "disabled": style.dim}
    return colours.get(state, style.warn)


def backend(agent: Mapping[str, Any], style: Style) -> str:
    """The engine in use with its version, or why it is not the first choice: `builtin <- timeout`."""
    name = str(agent.get("backend") or "-")
    if fallen := agent.get("fallback"):
        return f"{name} {style.symbol('←')} {str(fallen.get('reason')).replace('_', ' ')}"
    version = ((agent.get("engines") or {}).get(name) or {}).get("version")
    return f"{name} {version}" if version else name


def memory_bytes(agent: Mapping[str, Any]) -> int:
    """The memory of an agent's own processes, as far as its engines tell."""
    residents = [facts.get("resident") or {} for facts in (agent.get("engines") or {}).values()]
    return sum(resident.get("rssBytes") or 0 for resident in residents)


def _memory(agent: Mapping[str, Any]) -> str:
    return size(count) if (count := memory_bytes(agent)) else "-"


def _count(number: Any) -> str:
    return f"{number:,}" if isinstance(number, int) else "-"
