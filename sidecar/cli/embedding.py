"""How the embedding providers did that `status --deep` tried: a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sidecar.wording.terminal import Style, printable, took


def lines(agents: Sequence[Mapping[str, Any]], style: Style) -> list[str]:
    """What each agent's providers said; nothing where none was asked."""
    told = [_line(agent, tried, style) for agent in agents for tried in _tried(agent)]
    return ["", *told] if told else []


def fails(agent: Mapping[str, Any]) -> bool:
    """Whether a provider of the agent gave no vector that should have."""
    return any(tried.get("error") for tried in _tried(agent))


def _tried(agent: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The first choice, then the second."""
    tried = agent.get("embedding")
    while isinstance(tried, Mapping):
        yield tried
        tried = tried.get("second")


def _line(agent: Mapping[str, Any], tried: Mapping[str, Any], style: Style) -> str:
    who, provider, error = f"{agent.get('id')}: embedding", str(tried.get("provider")), tried.get("error")
    if error:
        text = f"{who} by {provider}: {error.get('message')} ({error.get('code')}; try: {error.get('action')})"
        return f"{style.warn(style.symbol('▲'))} {printable(text)}"
    if tried.get("detail"):
        return f"{style.dim(style.symbol('○'))} {printable(who)}: {tried['detail']}"
    text = f"{who} by {provider} {tried.get('model')}, {tried.get('dims')} dimensions, {took(tried.get('tookMs') or 0)}"
    return f"{style.good(style.symbol('●'))} {printable(text)}"
