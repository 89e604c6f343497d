"""A real agent of a configuration, without engines, for the tools that need none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

from sidecar.agents import Agent
from sidecar.config import Settings, load, resolve_corpus
from tests.sidecar.test_recall import Engine, answer

Scenario: TypeAlias = Callable[[Agent, Settings, Executor], Awaitable[dict[str, Any]]]


def configured(folder: Path, config: str) -> Settings:
    """The settings of this configuration, with home and state in `folder`."""
    file = folder / "config.json5"
    file.write_text(config, encoding="utf-8")
    (folder / ".openclaw" / "workspace").mkdir(parents=True, exist_ok=True)
    return load(file, environ={"HOME": str(folder)}, state_dir=folder / "state")


def with_agent(folder: Path, scenario: Scenario, *, config: str = "{}", agent: str = "main") -> dict[str, Any]:
    """What a scenario with an agent that has just started gives."""
    settings = configured(folder, config)

    async def run() -> dict[str, Any]:
        corpus, _ = resolve_corpus(settings, settings.agents[agent])
        made = Agent(settings.agents[agent], corpus=corpus, policy=settings.policy, search=Engine(answer()), engines={})
        with ThreadPoolExecutor(2) as pool:
            try:
                return await scenario(made, settings, pool)
            finally:
                await made.close()

    return asyncio.run(run())
