"""The explanation of a running daemon: the decision of its tools, with every step, and nothing about the memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings

from scope import Policy, decide
from sidecar.client import RefusedError
from tests.running import Running, running
from tests.scope import making, verdicts

POLICY = verdicts.MISSION
RULES = [
    {"action": "allow", "match": {"chatType": "direct"}},
    {"action": "deny", "match": {"keyPrefix": "discord:channel:"}},
    {"action": "deny", "match": {"rawKeyPrefix": "agent:main:discord:"}},
]
SHAPES = {key for policy, key, _, _ in verdicts.ALONE if policy is verdicts.DEFAULT_POLICY}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One daemon with two agents and the documented scope."""
    folder = tmp_path_factory.mktemp("scope")
    agents = [{"id": name, "workspace": str(folder / name)} for name in making.AGENTS]
    for agent in agents:
        (folder / agent["id"]).mkdir()
        (folder / agent["id"] / "MEMORY.md").write_text("# Facts\n\nThe boat leaves at nine.\n", encoding="utf-8")
    scope = {"default": POLICY.default, "rules": RULES}
    config = {"memory": {"backend": "builtin", "qmd": {"scope": scope}}, "agents": {"list": agents}}
    with running(folder, config) as daemon:
        yield daemon


def sendable(key: str | None) -> bool:
    """Whether JSON can carry the key: half a surrogate pair is no text."""
    return key is None or key.encode("utf-8", "ignore").decode() == key


def check(daemon: Running, policy: Policy, agent: str, key: str | None, parent: str | None = None) -> None:
    """Hold the daemon's explanation against the decision that is made here."""
    expected = decide(policy, agent_id=agent, session_key=key, parent_session_key=parent)
    told = daemon.client.explain_scope(agent=agent, sessionKey=key, parentSessionKey=parent)["decision"]
    assert told == {
        "allowed": expected.allowed,
        "rule": expected.rule,
        "channel": expected.channel,
        "chatType": expected.chat_type,
        "kind": expected.kind,
    }


def test_an_explanation_shows_the_facts_and_every_rule(daemon: Running) -> None:
    """All that an operator needs to find out why a chat gets nothing."""
    told = daemon.client.explain_scope(agent="main", sessionKey="agent:main:Discord:direct:1")
    facts = {"channel": "discord", "chatType": "direct", "kind": "direct"}
    assert told == {
        "decision": {"allowed": False, "rule": "rule 3: deny rawKeyPrefix agent:main:discord:", **facts},
        "key": {"normalized": "discord:direct:1", "agent": "main", **facts, "valid": True, "problem": ""},
        "rules": [
            {"number": 1, "rule": "allow chatType direct", "matched": True, "why": "every condition holds"},
            {
                "number": 2,
                "rule": "deny keyPrefix discord:channel:",
                "matched": False,
                "why": "the key does not start with discord:channel:",
            },
            {
                "number": 3,
                "rule": "deny rawKeyPrefix agent:main:discord:",
                "matched": True,
                "why": "every condition holds",
            },
        ],
    }


def test_the_parent_of_a_sub_agent_is_explained_too(daemon: Running) -> None:
    """It is the parent's rules that decided."""
    told = daemon.client.explain_scope(agent="main", sessionKey="subagent:1", parentSessionKey="slack:channel:1")
    assert told["decision"]["rule"] == "parent: default deny"
    assert told["parent"]["decision"]["rule"] == "default deny"
    assert told["parent"]["key"]["channel"] == "slack"


@pytest.mark.parametrize("key", sorted(filter(sendable, SHAPES), key=str))
def test_explaining_deciding_and_searching_agree_on_every_shape(daemon: Running, key: str | None) -> None:
    """In process, over the socket, and at the door of the search itself."""
    check(daemon, POLICY, "main", key)
    told = daemon.client.explain_scope(agent="main", sessionKey=key)["decision"]
    found: dict[str, Any] = daemon.client.search("main", query="boat", sessionKey=key)
    assert (found["outcome"] != "denied") is told.pop("allowed")
    assert found.get("denied", told) == told


@settings(max_examples=60)
@given(making.agents, making.keys.filter(sendable), making.keys.filter(sendable))
def test_explaining_and_deciding_agree_on_any_key(
    daemon: Running, agent: str, key: str | None, parent: str | None
) -> None:
    """Whatever a gateway sends, and for each agent."""
    check(daemon, POLICY, agent, key, parent)


def test_an_unknown_agent_is_an_error_and_no_denial(daemon: Running) -> None:
    """With the nearest id; and ids are exact."""
    for name in ("mian", "Main", "main "):
        with pytest.raises(RefusedError) as caught:
            daemon.client.explain_scope(agent=name, sessionKey="main")
        assert caught.value.code == "unknown_agent"
        assert "'main'" in caught.value.hint


@pytest.mark.parametrize(
    "body",
    [{}, {"agent": ""}, {"agent": "main", "sessionKey": 5}, {"agent": "main", "session": "x"}, {"agent": ["main"]}],
    ids=json.dumps,
)
def test_a_wrong_body_is_refused(daemon: Running, body: dict[str, Any]) -> None:
    """A key under another name would be explained as a missing one."""
    with pytest.raises(RefusedError) as caught:
        daemon.client.explain_scope(**body)
    assert caught.value.code == "invalid_request"


@pytest.mark.parametrize(
    "asked",
    [
        {"sessionKey": "agent:main:cli:direct:test"},
        {"sessionKey": "agent:main:subagent:1", "parentSessionKey": "agent:main:cli:direct:test"},
    ],
    ids=["operator", "sub-agent of the operator"],
)
def test_the_operator_is_let_in_and_logged(daemon: Running, asked: dict[str, str]) -> None:
    """The one key that no rule can deny leaves a trace."""
    before = daemon.logged().count("operator at the command line")
    daemon.search("main", "boat", **asked)
    assert daemon.logged().count("operator at the command line") == before + 1


def test_the_log_does_not_hold_the_key(daemon: Running) -> None:
    """Peers are people; and an explanation is not a denial that somebody met."""
    before = daemon.logged().count("denied by scope")
    daemon.client.explain_scope(agent="main", sessionKey="agent:main:discord:channel:whistleblower")
    log = daemon.logged()
    assert "/v1/scope/explain" in log
    assert "whistleblower" not in log
    assert log.count("denied by scope") == before
