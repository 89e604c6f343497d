"""Every door to an agent's memory, whatever state its engines are in, asked with keys that may and may not enter.

A new door is one more row of `DOORS`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from scope import DEFAULT_POLICY, decide
from tests.fake_qmd import FakeQmd
from tests.running import Running, path_without_qmd, running, until

SECRET = "The boat to Corvo leaves at nine."
NOTE = "memory/2026-02-10.md"
TICKETS = "Tickets are in the blue drawer."
TIMEOUT_MS = 1500


@dataclass(frozen=True)
class Door:
    """One way to ask: its route, the rest of its body, all fields of its denial, and what it shows to the admitted.

    `shows` must stand in a reply while the agent's memory is on, `off` in any other one.
    """

    route: str
    body: Mapping[str, Any]
    denial: frozenset[str]
    shows: str
    off: str = '"disabled": true'
    needs_engine: bool = False


DOORS = {
    "search": Door(
        "memory_search",
        {"query": "when does the boat leave?"},
        frozenset("results outcome backend provider model mode citations notices denied tookMs requestId".split()),
        SECRET,
        needs_engine=True,
    ),
    "get": Door("memory_get", {"path": NOTE}, frozenset({"path", "text", "outcome", "denied"}), SECRET),
    "triggers": Door(
        "triggers", {"message": "are there tickets left?"}, frozenset({"entries", "denied", "requestId"}), TICKETS
    ),
    "session_start": Door(
        "session_start", {}, frozenset({"load", "memoryMd", "sync", "denied"}), '"load": [{"path":', '"sync": "off"'
    ),
    # Writing down what was said is no search: it goes on where searching is turned off.
    "flush": Door(
        "memory_flush",
        {"contextWindow": 100_000, "totalTokens": 99_000, "workspaceAccess": "ro"},
        frozenset({"flush", "reason", "denied"}),
        '"flush": false',
        '"flush": false',
    ),
}


@dataclass(frozen=True)
class State:
    """What an agent's engines are like: `fake` is what the qmd does once the daemon has been answered by it."""

    memory: Mapping[str, Any] = field(default_factory=lambda: {"backend": "qmd"})
    fake: str = "honest"
    enabled: bool = True


STATES = {
    "qmd": State(),
    "builtin": State({"backend": "builtin"}),
    "merged": State({"backend": "qmd", "merge": True}),
    "qmd dies": State(fake="exit"),
    "qmd hangs": State(fake="hang"),
    "disabled": State(enabled=False),
    "unavailable": State({"backend": "qmd", "fallback": "none"}, fake="exit"),
}

#: Session key and, for a sub-agent, its parent's.
ADMITTED = {
    "main": ("agent:main:main", None),
    "direct": ("agent:main:telegram:direct:1", None),
    "sub-agent of a direct chat": ("agent:main:subagent:7", "agent:main:telegram:direct:1"),
    "operator": ("agent:main:cli:me", None),
}
DENIED = {
    "missing": (None, None),
    "blank": ("", None),
    "group": ("agent:main:discord:group:9", None),
    "channel": ("agent:main:discord:channel:9", None),
    "sub-agent alone": ("agent:main:subagent:7", None),
    "sub-agent of a group": ("agent:main:subagent:7", "agent:main:discord:group:9"),
    "sub-agent of another agent's chat": ("agent:main:subagent:7", "agent:other:telegram:direct:1"),
    "foreign": ("agent:other:main", None),
    "doubled": ("agent:main:agent:main:main", None),
}


@dataclass(frozen=True)
class House:
    """A daemon in one state."""

    state: State
    daemon: Running

    def ask(self, door: Door, key: str | None, parent: str | None) -> dict[str, Any]:
        """Knock once."""
        keys = {"sessionKey": key, "parentSessionKey": parent}
        body = {**door.body, **{name: given for name, given in keys.items() if given is not None}}
        reply: dict[str, Any] = self.daemon.call("POST", f"/v1/agents/main/{door.route}", body)
        return reply

    def warnings(self) -> list[tuple[Any, ...]]:
        """What tells the denials apart that were logged."""
        lines = [json.loads(line) for line in self.daemon.logged().splitlines()]
        denials = [line for line in lines if line["event"] == "denied by scope"]
        assert {line["level"] for line in denials} <= {"warning"}
        return [tuple(line[name] for name in ("door", "channel", "chatType", "rule")) for line in denials]


@pytest.fixture(scope="module", params=STATES)
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A daemon whose engines both know the note, and whose qmd begins to misbehave only then."""
    state, folder = STATES[request.param], tmp_path_factory.mktemp("doors")
    fake = FakeQmd.install(folder / "fake")
    note = folder / "workspace" / NOTE
    note.parent.mkdir(parents=True)
    note.write_text(SECRET + "\n", encoding="utf-8")
    curated = f"# Memory\n\n- {TICKETS} <!-- trigger: tickets -->\n"
    (folder / "workspace" / "MEMORY.md").write_text(curated, encoding="utf-8")
    qmd = {"command": str(fake.path), "limits": {"timeoutMs": TIMEOUT_MS}}
    defaults = {"workspace": str(folder / "workspace"), "memorySearch": {"enabled": state.enabled}}
    config = {"memory": {**state.memory, "qmd": qmd}, "agents": {"defaults": defaults}}
    with running(folder / "daemon", config, path=path_without_qmd(folder)) as daemon:
        daemon.sync("main")
        if state.enabled:
            wanted = "builtin" if state.memory["backend"] == "builtin" else "qmd"
            until(lambda: daemon.search("main", "boat")["backend"] == wanted, what="the first answer")
        fake.behave(search=state.fake, query=state.fake, mcp=state.fake)
        yield House(state, daemon)


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("keys", DENIED.values(), ids=DENIED)
def test_who_is_denied_learns_the_rule_and_nothing_else(
    house: House, door: Door, keys: tuple[str | None, str | None]
) -> None:
    """The same fields in every state, also for a caller who is turned away while an engine fails."""
    key, parent = keys
    decision = decide(DEFAULT_POLICY, agent_id="main", session_key=key, parent_session_key=parent)
    reply = house.ask(door, key, parent)
    assert {*reply} == door.denial
    assert reply["denied"] == {
        "rule": decision.rule,
        "channel": decision.channel,
        "chatType": decision.chat_type,
        "kind": decision.kind,
    }
    told = json.dumps(reply)
    assert not [text for text in (SECRET, TICKETS, '"exists"', "2026-02-10.md#") if text in told]


def test_a_denial_is_logged_once_for_each_door_and_kind_of_chat(house: House) -> None:
    """Whoever asks every second fills no disk."""
    for door in DOORS.values():
        for key, parent in DENIED.values():
            house.ask(door, key, parent)
    told = until(house.warnings, what="the warnings")
    assert sorted(map(str, told)) == sorted(map(str, set(told)))
    assert {warning[0] for warning in told} == {*DOORS}
    assert {warning[1:3] for warning in told} >= {("discord", "group"), ("discord", "channel"), (None, None)}


def test_a_denial_is_the_same_in_the_middle_of_a_call_of_somebody_else(house: House) -> None:
    """An engine that is just being replaced opens no door."""
    with ThreadPoolExecutor(1) as beside:
        searching = beside.submit(house.ask, DOORS["search"], *ADMITTED["direct"])
        for door in DOORS.values():
            assert "denied" in house.ask(door, *DENIED["group"])
        assert searching.result()["outcome"] != "denied"


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
@pytest.mark.parametrize("keys", ADMITTED.values(), ids=ADMITTED)
def test_who_is_admitted_is_shown_what_there_is_or_why_not(
    house: House, door: Door, keys: tuple[str, str | None]
) -> None:
    """Whichever engine answers; a file can be read without any."""
    reply = house.ask(door, *keys)
    assert "denied" not in reply
    if not house.state.enabled:
        assert door.off in json.dumps(reply)
    elif door.needs_engine and house.state.memory.get("fallback") == "none":
        assert (reply["outcome"], reply["reason"]) == ("unavailable", "exited")
    else:
        assert door.shows in json.dumps(reply)
