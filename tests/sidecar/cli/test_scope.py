"""`qmd-sidecar scope explain`."""

from __future__ import annotations

import json
from typing import Any

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon, error

ROUTE = ("POST", "/v1/scope/explain")
ROOM = "agent:main:discord:channel:9"


def reply(*, allowed: bool = False, rule: str = "default deny", **more: Any) -> dict[str, Any]:
    """What the daemon says about a Discord channel."""
    facts = {"channel": "discord", "chatType": "channel", "kind": "channel"}
    return {
        "decision": {"allowed": allowed, "rule": rule, **facts},
        "key": {"normalized": "discord:channel:9", "agent": "main", **facts, "valid": True, "problem": ""},
        "rules": [
            {"number": 1, "rule": "allow chatType direct", "matched": False, "why": "chatType is channel, not direct"}
        ],
        **more,
    }


def test_a_denial_is_explained_with_every_rule(run: Run, daemon: FakeDaemon) -> None:
    """The facts of the key, each rule with its reason, the decision last."""
    daemon.routes[ROUTE] = (200, reply())
    result = run("scope", "explain", "--session", ROOM)
    assert result.exit_code == 5
    assert result.stdout.splitlines() == [
        "agent      main",
        "channel    discord",
        "chat type  channel",
        "kind       channel",
        "key        discord:channel:9",
        "",
        "#  RULE                   MATCHES  WHY",
        "1  allow chatType direct  no       chatType is channel, not direct",
        "",
        "denied: default deny",
    ]
    assert daemon.bodies(ROUTE[1]) == [{"agent": "main", "sessionKey": ROOM}]


def test_an_allowed_session_is_success(run: Run, daemon: FakeDaemon) -> None:
    """Scripts can ask."""
    daemon.routes[ROUTE] = (200, reply(allowed=True, rule="default allow"))
    result = run("scope", "explain", "--session", ROOM)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "allowed: default allow")


def test_the_parent_is_explained_below_its_child(run: Run, daemon: FakeDaemon) -> None:
    """Which rule decided is to be seen where it matched."""
    daemon.routes[ROUTE] = (200, reply(rule="parent: default deny", parent=reply()))
    result = run("scope", "explain", "--session", "agent:main:subagent:1", "--parent", ROOM, "-a", "main")
    assert "the session that started it:\n  agent      main\n" in result.stdout
    assert result.stdout.splitlines()[-1] == "denied: parent: default deny"
    assert daemon.bodies(ROUTE[1])[0]["parentSessionKey"] == ROOM


def test_a_key_that_cannot_be_read_is_told_with_its_problem(run: Run, daemon: FakeDaemon) -> None:
    """And what is not known is not shown."""
    nothing = {"normalized": "", "agent": None, "channel": None, "chatType": None, "kind": "unknown"}
    key = {**nothing, "valid": False, "problem": "key doubled"}
    daemon.routes[ROUTE] = (200, reply(rule="key doubled", key=key, rules=[]))
    shown = run("scope", "explain", "--session", "agent:a:agent:a:main").stdout.splitlines()
    assert shown == [
        "kind       unknown",
        "problem    key doubled",
        "",
        "no rules, only the default",
        "",
        "denied: key doubled",
    ]


def test_a_key_cannot_take_over_the_terminal(run: Run, daemon: FakeDaemon) -> None:
    """Peers name themselves."""
    daemon.routes[ROUTE] = (200, reply(rule="deny keyPrefix \x1b[2J"))
    assert "\x1b" not in run("scope", "explain", "--session", ROOM).stdout


def test_programs_get_the_reply_as_it_is(run: Run, daemon: FakeDaemon) -> None:
    """With the same exit code."""
    daemon.routes[ROUTE] = (200, reply())
    result = run("scope", "explain", "--session", ROOM, "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (5, reply())


def test_without_a_daemon_nothing_is_guessed(run: Run) -> None:
    """The rules in force are the daemon's."""
    result = run("scope", "explain", "--session", ROOM)
    assert result.exit_code == 3
    assert "not running" in result.stderr


def test_an_unknown_agent_is_a_failure(run: Run, daemon: FakeDaemon) -> None:
    """Not a denial: nobody was asked."""
    daemon.routes[ROUTE] = (404, error("unknown_agent", "no agent of that id", "did you mean 'main'?"))
    result = run("scope", "explain", "--session", ROOM, "-a", "mian")
    assert result.exit_code == 1
    assert "did you mean 'main'?" in result.stderr


def test_a_session_must_be_named(run: Run) -> None:
    """There is no key to guess."""
    assert run("scope", "explain").exit_code == 2
