"""Both clients and a real daemon."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import psutil
import pytest

from sidecar.client import AsyncClient, Client, ClientError, NotRunningError, RefusedError
from tests.api.stage import stage
from tests.api.strict import undocumented
from tests.running import REPOSITORY, Running, alongside, until
from tests.sidecar.client.conftest import Ask

NOTE = "memory/2026-02-10.md"
KEY = "agent:main:main"
READER = {"sessionKey": KEY}
AGENT = "/v1/agents/main"
CALLS: dict[str, tuple[tuple[str, str], tuple[str, ...], dict[str, Any]]] = {
    "info": (("GET", "/v1/info"), (), {}),
    "status": (("GET", "/v1/status"), (), {}),
    "search": (("POST", f"{AGENT}/memory_search"), ("main",), {"query": "boat to Corvo", **READER}),
    "get": (("POST", f"{AGENT}/memory_get"), ("main",), {"path": "MEMORY.md", "from": 1, **READER}),
    "triggers": (("POST", f"{AGENT}/triggers"), ("main",), {"message": "walnuts", **READER}),
    "session_start": (("POST", f"{AGENT}/session_start"), ("main",), READER),
    "flush": (
        ("POST", f"{AGENT}/memory_flush"),
        ("main",),
        {"contextWindow": 200_000, "totalTokens": 10, "workspaceAccess": "rw", **READER},
    ),
    "explain_scope": (("POST", "/v1/scope/explain"), (), {"agent": "main", **READER}),
    "export": (("POST", f"{AGENT}/export"), ("main",), {"dryRun": True}),
    "purge": (("POST", f"{AGENT}/purge"), ("main",), {"pattern": "no such word", "dryRun": True}),
    "reload": (("POST", "/v1/reload"), (), {}),
}


def paths(reply: Mapping[str, Any]) -> set[str]:
    """Where the passages are."""
    return {result["path"] for result in reply["results"]}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with stage(tmp_path_factory.mktemp("clients")) as running:
        yield running


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_answered_as_documented(ask: Ask, daemon: Running, name: str) -> None:
    """By a daemon that takes every field."""
    (method, route), args, body = CALLS[name]
    reply = ask(daemon.client.path, name, *args, **body)
    assert undocumented(method, route, reply) == []


def test_what_is_no_object_is_answered_in_its_own_form(ask: Ask, daemon: Running) -> None:
    """A list of agents, and text for scrapers."""
    path = daemon.client.path
    assert [agent["id"] for agent in ask(path, "agents")] == ["main"]
    assert "# TYPE" in ask(path, "metrics")
    assert ask(path, "status", "main")["id"] == "main"


def test_a_refusal_says_what_to_do(ask: Ask, daemon: Running) -> None:
    """In the daemon's own words."""
    with pytest.raises(RefusedError) as caught:
        ask(daemon.client.path, "search", "mian", query="boat")
    assert (caught.value.code, caught.value.hint) == ("unknown_agent", "did you mean 'main'?")


def test_threads_share_a_client(daemon: Running) -> None:
    """Each call has a connection of its own."""

    def found(number: int) -> bool:
        return NOTE in paths(daemon.client.search("main", query=f"boat to Corvo {number}", sessionKey=KEY))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(found, range(40)))


def test_a_loop_asks_many_things_at_once(daemon: Running) -> None:
    """And goes on meanwhile."""
    client = AsyncClient(daemon.client.path)

    async def found(number: int) -> bool:
        return NOTE in paths(await client.search("main", query=f"boat to Corvo {number}", sessionKey=KEY))

    async def all_of_them() -> list[bool]:
        return await asyncio.gather(*map(found, range(8)))

    assert all(asyncio.run(all_of_them()))


def test_what_happens_is_heard_while_it_happens(daemon: Running) -> None:
    """By a listener that began before."""

    async def hear() -> list[str]:
        client, heard = AsyncClient(daemon.client.path), []
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            async for event in client.events(after=0):
                if not heard:
                    group.create_task(client.sync("main", force=True, wait=True))
                heard.append(event["type"])
                if heard.count("sync_ended") == 2:
                    return heard
        return heard

    assert "sync_began" in asyncio.run(hear())


def test_kept_events_are_heard_once(hear: Any, daemon: Running) -> None:
    """And a listener goes on behind the last that it knows."""
    events = hear(daemon.client.path, once=True)
    assert "sync_ended" in {event["type"] for event in events}
    behind = hear(daemon.client.path, after=events[-2]["id"], once=True)
    assert events[-1] in behind
    assert events[-2] not in behind


def test_the_page_listens_as_it_says(daemon: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loop prints what happens."""
    page = (REPOSITORY / "docs" / "clients.md").read_text(encoding="utf-8")
    monkeypatch.setenv("SIDECAR_SOCKET", str(daemon.client.path))
    over = Event()

    def syncs() -> None:
        while not over.is_set():
            daemon.sync("main", force=True)

    with alongside(syncs, over), pytest.raises(_HeardError, match="main"):
        exec(page.split("```python\n")[1].split("```")[0], {"print": _stop})


class _HeardError(Exception):
    """Something was printed."""


def _stop(*words: str) -> None:
    raise _HeardError(*words)


def test_a_daemon_is_started_anew_under_a_client(daemon: Running) -> None:
    """Calls are answered or told that nobody listens, then answered again; a stream ends with the daemon."""
    args, environ = daemon.process.args, psutil.Process(daemon.process.pid).environ()
    pid = daemon.client.info()["pid"]
    with ThreadPoolExecutor(2) as pool:
        stream = pool.submit(lambda: [event["type"] for event in daemon.client.events(after=0)])
        asking = pool.submit(_ask_until_restarted, daemon.client, pid)
        assert daemon.stop() == 0
        assert "draining" in stream.result(20)
        daemon.process = subprocess.Popen(args, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert {*map(type, asking.result(60))} <= {NotRunningError, RefusedError}
    until(daemon.ready, deadline_s=60, what="readiness")


def _ask_until_restarted(client: Client, pid: int) -> list[ClientError]:
    """The errors until another process answers."""
    errors: list[ClientError] = []

    def is_another() -> bool:
        try:
            return client.info()["pid"] != pid
        except ClientError as error:
            errors.append(error)
            return False

    until(is_another, deadline_s=60, what="the second daemon")
    return errors
