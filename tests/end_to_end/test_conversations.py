"""Whose conversations a session finds and reads, under every rule, through every engine and door of a real daemon."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidecar.client import ClientError
from tests.exporter.conftest import said
from tests.running import QMD, Running, path_without_qmd, real_qmd_path, running, until

ALICE, BOB, ROOM = (f"agent:main:telegram:{chat}" for chat in ("direct:alice", "direct:bob", "group:9"))
HELPER, WORKER = "agent:main:acp:helper", "agent:main:subagent:worker"
STORE = {
    ALICE: {"sessionId": "alice"},
    BOB: {"sessionId": "bob"},
    ROOM: {"sessionId": "room"},
    HELPER: {"sessionId": "helper", "spawnedBy": ALICE},
    WORKER: {"sessionId": "worker", "spawnedBy": ALICE},
}
OWN = {"alice.md", "alice0.jsonl.reset.2026.md"}
TREE = OWN | {"helper.md"}
ALL = TREE | {"bob.md", "room.md", "nobody.md"}
SEEN = {"self": OWN, "tree": TREE, "agent": ALL, "all": ALL}
SHOWN = "qmd/sessions/"


def talk(folder: Path, *names: str) -> None:
    """Transcripts in which the same is said, each with a line that is nobody's words before it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        lines = [
            {"type": "session", "version": 3},
            said("user", f"The zebracomet of {name}", at="2026-03-05T10:00:00Z"),
        ]
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def gateway(folder: Path) -> None:
    """What a gateway has written: three chats, one of them reset once, what one of them started, and a stray."""
    main = folder / "main"
    talk(main, "alice0.jsonl")
    (main / "sessions.json").write_text(json.dumps({ALICE: {"sessionId": "alice0"}}), encoding="utf-8")


def reset(folder: Path) -> None:
    """Alice begins anew, and the others come."""
    main = folder / "main"
    (main / "alice0.jsonl").rename(main / "alice0.jsonl.reset.2026")
    talk(main, "alice.jsonl", "bob.jsonl", "room.jsonl", "helper.jsonl", "worker.jsonl", "nobody.jsonl")
    (main / "sessions.json").write_text(json.dumps(STORE), encoding="utf-8")
    talk(folder / "other", "secret.jsonl")
    store = {"agent:other:telegram:direct:alice": {"sessionId": "secret"}}
    (folder / "other" / "sessions.json").write_text(json.dumps(store), encoding="utf-8")


class House(NamedTuple):
    """A daemon, and the rule that it was given."""

    daemon: Running
    rule: str

    def found(self, key: str = ALICE, **more: Any) -> set[str]:
        """The exports that a search by a session of agent main finds."""
        reply = self.daemon.search("main", "zebracomet", sessionKey=key, maxResults=50, **more)
        return {hit["path"].removeprefix(SHOWN) for hit in reply["results"] if hit["source"] == "sessions"}

    def read(self, key: str = ALICE, **more: Any) -> set[str]:
        """The exports that it can read, among all that there are and one that there is not."""
        return {name for name in (*ALL, "secret.md", "worker.md", "ghost.md") if self._text(name, key, more)}

    def _text(self, name: str, key: str, more: Mapping[str, Any]) -> str:
        try:
            return str(self.daemon.get("main", SHOWN + name, sessionKey=key, **more)["text"])
        except ClientError as error:
            assert error.code == "path_not_allowed"
            return ""


#: Every rule, and the one that needs most on the real qmd: which rule it is, no engine knows.
CASES = [
    *(pytest.param(("builtin", rule), id=f"builtin-{rule}") for rule in SEEN),
    pytest.param(("qmd", "tree"), id="qmd-tree", marks=[pytest.mark.real_qmd]),
]


@pytest.fixture(scope="module", params=CASES)
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A daemon with two agents that remember conversations. Only read."""
    engine, rule = request.param
    if engine == "qmd" and not (QMD / ".bin" / "qmd").exists():
        pytest.skip("the real qmd is not here: run `make qmd`")
    folder = tmp_path_factory.mktemp("house")
    gateway(folder / "transcripts")
    for agent in ("main", "other"):
        (folder / agent / "memory").mkdir(parents=True)
        (folder / agent / "memory/2026-01-01.md").write_text("A zebracomet was drawn.\n")
    agents = [{"id": agent, "workspace": str(folder / agent)} for agent in ("main", "other")]
    sessions = {"enabled": True}
    scope = {"default": "allow"}
    config = {
        "memory": {"backend": engine, "fallback": "none", "qmd": {"sessions": sessions, "scope": scope}},
        "agents": {"list": agents},
        "sidecar": {"transcripts": str(folder / "transcripts" / "{agentId}")},
        "tools": {"sessions": {"visibility": rule}},
    }
    path = real_qmd_path() if engine == "qmd" else path_without_qmd(folder)
    with running(folder / "daemon", config, path=path) as daemon:
        daemon.sync("main")
        reset(folder / "transcripts")
        for agent in ("main", "other"):
            daemon.sync(agent)
        found = House(daemon, rule)
        cli = "agent:main:cli:direct:test"
        until(lambda: found.found(cli) == ALL, what="all conversations")
        yield found


def test_both_doors_show_what_the_rule_allows(house: House) -> None:
    """What can be found can be read, and nothing else; a sub-agent's work is no conversation."""
    assert house.found() == SEEN[house.rule]
    assert house.read() == SEEN[house.rule]


def test_notes_are_not_concerned(house: House) -> None:
    """And stand beside the conversations."""
    reply = house.daemon.search("main", "zebracomet", sessionKey=ALICE, maxResults=50)
    assert "memory/2026-01-01.md" in {hit["path"] for hit in reply["results"]}


def test_a_chat_never_finds_what_it_was_not_part_of(house: House) -> None:
    """The room sees itself alone, unless every session may see all."""
    expected = ALL if house.rule in ("agent", "all") else {"room.md"}
    assert house.found(ROOM) == house.read(ROOM) == expected


def test_what_the_gateway_names_is_seen_in_the_tree(house: House) -> None:
    """Through both doors alike."""
    named = {"visibleSessions": ["telegram:group:9", "agent:other:telegram:direct:alice"]}
    expected = SEEN[house.rule] | ({"room.md"} if house.rule == "tree" else set())
    assert house.found(**named) == house.read(**named) == expected


def test_a_sandbox_narrows_both_doors(house: House) -> None:
    """To the tree at most."""
    sandboxed = {"caller": {"sandboxed": True}}
    expected = OWN if house.rule == "self" else TREE
    assert house.found(**sandboxed) == house.read(**sandboxed) == expected


def test_the_operator_sees_all_of_the_agent_and_nothing_of_another_one(house: House) -> None:
    """At the command line, under any rule."""
    operator = "agent:main:cli:direct:test"
    assert house.found(operator) == house.read(operator) == ALL


def test_what_was_not_searched_is_counted_and_not_named(house: House) -> None:
    """By the rule that hid it; the count is the same whatever was asked."""
    for question in ("zebracomet", "xylophone"):
        notices = house.daemon.search("main", question, sessionKey=ALICE, maxResults=50)["notices"]
        told = [notice for notice in notices if notice["code"] == "sessions_hidden"]
        hidden = len(ALL - SEEN[house.rule])
        assert [re.findall(r"\d+", notice["message"]) for notice in told] == ([[str(hidden)]] if hidden else [])
        assert not any(name in str(told) for name in ("bob", "room", "nobody"))


def test_a_hit_cites_its_conversation(house: House) -> None:
    """The session, the day, and the line of the transcript; the key is for the operator alone."""
    for key, extra in ((ALICE, {}), ("agent:main:cli:direct:test", {"key": ALICE})):
        results = house.daemon.search("main", "zebracomet", sessionKey=key, maxResults=50)["results"]
        cited = {hit["path"]: hit["session"] for hit in results if "session" in hit}
        assert cited[f"{SHOWN}alice.md"] == {"id": "alice", "date": "2026-03-05", "line": 2, **extra}
        assert cited[f"{SHOWN}alice0.jsonl.reset.2026.md"]["id"] == "alice0"
        assert all(path.startswith(SHOWN) for path in cited)


def test_no_other_root_leads_to_a_hidden_conversation(tmp_path: Path) -> None:
    """A configured path around the exports makes nothing of them a note, by whatever name they are asked for."""
    gateway(tmp_path / "transcripts")
    reset(tmp_path / "transcripts")
    (tmp_path / "workspace").mkdir()
    (tmp_path / "around").mkdir()
    (tmp_path / "around/note.md").write_text("A zebracomet was drawn.\n", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "around")
    sessions = {"enabled": True, "exportDir": str(tmp_path / "around" / "talk")}
    paths = [{"path": str(tmp_path / "link"), "name": "wide"}]
    config = {
        "memory": {"backend": "builtin", "qmd": {"sessions": sessions, "paths": paths, "scope": {"default": "allow"}}},
        "agents": {"defaults": {"workspace": str(tmp_path / "workspace")}},
        "sidecar": {"transcripts": str(tmp_path / "transcripts" / "main")},
    }
    with running(tmp_path / "daemon", config, path=path_without_qmd(tmp_path)) as daemon:
        daemon.sync("main")
        house = House(daemon, "tree")
        shown = until(lambda: house.found(ROOM), what="the room's own conversation")
        assert shown == {"room.md"}
        assert daemon.get("main", "qmd/wide/note.md", sessionKey=ROOM)["text"]
        for prefix in ("qmd/wide/talk/main/", f"{tmp_path}/around/talk/main/", f"{tmp_path}/link/talk/main/", SHOWN):
            assert daemon.get("main", f"{prefix}room.md", sessionKey=ROOM)["text"]
            for name in ("alice.md", "ghost.md"):
                with pytest.raises(ClientError, match="not part of the agent's memory"):
                    daemon.get("main", f"{prefix}{name}", sessionKey=ROOM)
