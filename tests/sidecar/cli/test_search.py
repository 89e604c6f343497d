"""`qmd-sidecar search`."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon, error
from tests.sidecar.cli.pseudo_terminal import on_terminal

ROUTE = ("POST", "/v1/agents/main/memory_search")
HIT = {
    "path": "memory/2026-11-27.md",
    "startLine": 3,
    "endLine": 4,
    "score": 0.817,
    "snippet": "The boat leaves at 06:40.\nDogs travel free.",
    "source": "memory",
}


def answer(**changes: Any) -> dict[str, Any]:
    """A reply of `memory_search`."""
    usual = {"results": [HIT], "outcome": "hits", "backend": "qmd", "mode": "search", "notices": [], "tookMs": 12.4}
    return usual | changes


def test_a_hit_shows_path_lines_score_engine_and_text(run: Run, daemon: FakeDaemon) -> None:
    """A passage is headed by where it stands, how relevant it is and who found it."""
    daemon.routes[ROUTE] = (200, answer())
    result = run("search", "boat")
    assert result.exit_code == 0
    assert result.stdout == (
        "memory/2026-11-27.md:3-4  0.82  qmd\n    The boat leaves at 06:40.\n    Dogs travel free.\n\n"
    )


def test_the_circumstances_are_talk(run: Run, daemon: FakeDaemon) -> None:
    """Count, time, engine, reason of the fallback, pending files and notices go to standard error."""
    notice = {"code": "model_missing", "message": "no reranking model", "action": "qmd pull"}
    daemon.routes[ROUTE] = (
        200,
        answer(
            backend="builtin",
            fallback={"from": "qmd", "reason": "timeout", "since": 1.0},
            pending={"files": 2, "oldestSeconds": 3},
            notices=[notice],
        ),
    )
    assert run("search", "boat").stderr == (
        "1 result · 12 ms · builtin search · instead of qmd: qmd did not answer in time · 2 files not indexed yet\n"
        "note: no reranking model (qmd pull)\n"
    )


def test_options_become_fields_of_the_request(run: Run, daemon: FakeDaemon) -> None:
    """Every option reaches the daemon under its own name."""
    daemon.routes["POST", "/v1/agents/ops%2F1/memory_search"] = (200, answer())
    options = [
        "-a",
        "ops/1",
        "-n",
        "3",
        "--mode",
        "query",
        "--min-score",
        "0.5",
        "--session",
        "k",
        "--timeout-ms",
        "900",
    ]
    assert run("search", *options, "--", "-v").exit_code == 0
    assert daemon.bodies("/v1/agents/ops%2F1/memory_search") == [
        {"query": "-v", "maxResults": 3, "mode": "query", "minScore": 0.5, "sessionKey": "k", "timeoutMs": 900}
    ]


def test_what_is_not_given_is_not_sent(run: Run, daemon: FakeDaemon) -> None:
    """The daemon's own defaults hold; only the operator's session key is added."""
    daemon.routes[ROUTE] = (200, answer())
    run("search", "boat")
    assert daemon.bodies(ROUTE[1]) == [{"query": "boat", "sessionKey": "agent:main:cli:direct:search"}]


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"outcome": "no_match"}, 0, "Nothing relevant"),
        ({"outcome": "hits"}, 0, "character limit"),
        ({"outcome": "partial"}, 4, "missed its deadline"),
        (
            {"outcome": "denied", "denied": {"rule": "default", "channel": "slack", "chatType": "group"}},
            5,
            "slack group",
        ),
        ({"outcome": "disabled"}, 69, "turned off"),
        (
            {"outcome": "unavailable", "warning": "Out of quota.", "action": "Add credit."},
            69,
            "Out of quota. Add credit.",
        ),
    ],
)
def test_an_empty_answer_is_explained(
    run: Run, daemon: FakeDaemon, changes: dict[str, Any], code: int, told: str
) -> None:
    """Each outcome without passages has its own words and exit code."""
    daemon.routes[ROUTE] = (200, answer(results=[], **changes))
    result = run("search", "boat")
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr


def test_json_is_the_reply_itself(run: Run, daemon: FakeDaemon) -> None:
    """Programs get what the daemon said, fields unknown to this client included."""
    daemon.routes[ROUTE] = (200, answer(novelty=[1]))
    assert json.loads(run("search", "boat", "--json").stdout) == answer(novelty=[1])


def test_words_of_the_query_are_highlighted_in_colour(run: Run, daemon: FakeDaemon) -> None:
    """With colour on, the words stand out whatever their case."""
    daemon.routes[ROUTE] = (200, answer())
    out = run("search", "BOAT or dogs leaving", NO_COLOR="", FORCE_COLOR="1").stdout
    assert "The \x1b[1;33mboat\x1b[0m \x1b[1;33mleaves\x1b[0m" in out
    assert "\x1b[1;33mDogs\x1b[0m" in out


def test_an_explained_passage_says_why_it_stands_there(run: Run, daemon: FakeDaemon) -> None:
    """Asked for, each passage has a line with its parts, its words, and what is newer."""
    why = {"relevance": 0.8, "textScore": 0.8, "vectorScore": None, "factor": 1.2, "matchedWords": ["boat"]}
    why |= {"window": {"reason": "words", "lines": [1]}}
    daemon.routes[ROUTE] = (200, answer(results=[HIT | {"newer": "memory/b.md#L2", "explain": why}]))
    out = run("search", "boat", "--explain", "--after", "2026-01-01").stdout
    assert "newer: memory/b.md#L2" in out
    assert "relevance 0.80 (words 0.80) · age and importance: factor 1.20 · found by its words: boat\n" in out
    assert daemon.bodies(ROUTE[1])[0]["explain"] is True
    assert daemon.bodies(ROUTE[1])[0]["after"] == "2026-01-01"


def test_what_was_looked_at_is_explained_below(run: Run, daemon: FakeDaemon) -> None:
    """How many by each leg, and what was left out."""
    explain = {"candidates": {"words": 1, "vectors": 1200}, "leftOut": {"lowerThanTheHits": 0, "belowMinScore": 2}}
    daemon.routes[ROUTE] = (200, answer(explain=explain))
    err = run("search", "boat", "--explain").stderr
    assert "candidates: 1 by words, 1,200 by vectors · 2 below the least relevance\n" in err


def test_passages_that_say_the_same_are_shown_once(run: Run, daemon: FakeDaemon) -> None:
    """With the other places; images have no text that could be the same."""
    copy = HIT | {"path": "copy.md", "startLine": 9, "endLine": 10, "snippet": HIT["snippet"].replace("\n", " \n")}
    images = [HIT | {"path": f"{name}.png", "snippet": "", "media": "image/png"} for name in "ab"]
    daemon.routes[ROUTE] = (200, answer(results=[HIT, *images, copy]))
    out = run("search", "boat").stdout
    assert "memory/2026-11-27.md:3-4  0.82  qmd\n    the same: copy.md:9-10\n    The boat" in out
    assert out.count("The boat") == 1
    assert out.count(".png  0.82") == 2


def test_a_session_is_shown_what_it_would_get(run: Run, daemon: FakeDaemon) -> None:
    """By which rule, with every source and every repetition; its key names the agent."""
    key = "agent:main:slack:direct:u1"
    cited = HIT | {"snippet": "The boat leaves.\n\nSource: m.md#L3", "citation": "m.md#L3"}
    daemon.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "main"}, {"id": "ops"}]})
    daemon.routes[ROUTE] = (200, answer(results=[cited, cited]))
    daemon.routes["POST", "/v1/scope/explain"] = (200, {"decision": {"allowed": True, "rule": "rule 1: direct"}})
    result = run("search", "boat", "--session", key)
    assert result.stdout.count("    The boat leaves.\n\n    Source: m.md#L3\n") == 2
    assert result.stderr == "2 results · 12 ms · qmd search · scope: rule 1: direct\n"


def test_on_a_terminal_a_place_is_a_link_to_its_file(environ: dict[str, str], daemon: FakeDaemon, folder: Path) -> None:
    """Where there is such a file; outside the workspace by the folder that shows it."""
    (folder / "my notes").mkdir()
    (folder / "my notes" / "a\x1b.md").touch()
    roots = [{"path": str(folder), "shown": ""}, {"path": str(folder / "my notes"), "shown": "qmd/notes/"}]
    daemon.routes["GET", "/v1/agents/main/status"] = (200, {"id": "main", "roots": roots})
    daemon.routes[ROUTE] = (200, answer(results=[HIT | {"path": "qmd/notes/a\x1b.md"}, HIT | {"snippet": "gone"}]))
    with on_terminal(environ, "search", "boat") as terminal:
        assert terminal.ended() == 0
    address = f"file://{socket.gethostname()}{quote(str(folder))}/my%20notes/a%1B.md"
    assert f"\x1b]8;;{address}\x1b\\\x1b[1mqmd/notes/a\ufffd.md:3-4\x1b[0m\x1b]8;;\x1b\\  0.82" in terminal.written
    assert terminal.written.count("\x1b]8;;file") == 1


def test_signs_of_the_talk_fall_back_to_ascii(environ: dict[str, str], daemon: FakeDaemon) -> None:
    """Where the locale spells nothing else."""
    daemon.routes[ROUTE] = (200, answer())
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", "search", "boat"],
        env=environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        timeout=60,
    )
    assert done.stderr == b"1 result | 12 ms | qmd search\n"


def test_memory_text_cannot_command_the_terminal(run: Run, daemon: FakeDaemon) -> None:
    """Escape sequences inside a note are shown, not obeyed."""
    daemon.routes[ROUTE] = (200, answer(results=[HIT | {"snippet": "a\x1b]0;owned\x07b", "path": "x\x1b[2J.md"}]))
    assert "\x1b" not in run("search", "boat").stdout


def test_a_citation_is_not_shown_twice(run: Run, daemon: FakeDaemon) -> None:
    """The heading says where a passage stands; the citation in its text is for chats."""
    cited = HIT | {"snippet": "The boat leaves.\n\nSource: m.md#L3", "citation": "m.md#L3"}
    daemon.routes[ROUTE] = (200, answer(results=[cited]))
    assert run("search", "boat").stdout.endswith("qmd\n    The boat leaves.\n\n")


def test_a_refusal_tells_code_details_and_next_step(run: Run, daemon: FakeDaemon) -> None:
    """An error envelope is told with everything that helps to mend the call."""
    detail = {"field": "mode", "message": "unknown mode"}
    daemon.routes[ROUTE] = (400, error("invalid_request", "wrong shape", "see details", [detail]))
    result = run("search", "boat")
    assert result.exit_code == 1
    assert result.stderr == (
        "error: wrong shape\n       mode: unknown mode\n       (invalid_request, request r-1)\ntry: see details\n"
    )


def test_a_detail_that_is_the_message_is_told_once(run: Run, daemon: FakeDaemon) -> None:
    """Of one wrong field the daemon makes both."""
    detail = {"field": "query", "message": "is missing"}
    daemon.routes[ROUTE] = (400, error("invalid_request", "query: is missing", "", [detail]))
    assert run("search", "boat").stderr == "error: query: is missing\n       (invalid_request, request r-1)\n"


def test_what_is_no_day_is_a_wrong_usage(run: Run) -> None:
    """Nobody needs to be asked for that."""
    result = run("search", "boat", "--after", "tomorrow")
    assert (result.exit_code, "Invalid value for '--after'" in result.stderr) == (2, True)


@pytest.mark.parametrize(("status", "code"), [(403, 5), (503, 69), (504, 4), (404, 1), (500, 1)])
def test_the_class_of_a_refusal_is_the_exit_code(run: Run, daemon: FakeDaemon, status: int, code: int) -> None:
    """Scripts can tell a denial from an engine that is gone."""
    daemon.routes[ROUTE] = (status, error("some_code", "no"))
    result = run("search", "boat", "--json")
    assert result.exit_code == code
    assert json.loads(result.stdout)["error"]["code"] == "some_code"


@pytest.mark.parametrize("known", [["ops", "main"], ["a", "b"]])
def test_with_several_agents_one_must_be_named(run: Run, daemon: FakeDaemon, known: list[str]) -> None:
    """A guess would search the wrong memory and call it "nothing relevant"."""
    daemon.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": name} for name in known]})
    result = run("search", "boat")
    assert result.exit_code == 2
    assert ", ".join(known) in result.stderr


def test_the_names_of_agents_cannot_command_the_terminal(run: Run, daemon: FakeDaemon) -> None:
    """Not in an error, nor in a table, where a tabulator would move what is right of it."""
    daemon.routes["GET", "/v1/agents"] = (200, {"agents": [{"id": "a\x1b[2J\tb", "state": "ready"}, {"id": "main"}]})
    assert "\x1b" not in run("search", "boat").stderr
    assert run("agents").stdout.splitlines()[1].startswith("a\ufffd[2J\ufffdb  ready")


def test_the_agent_may_come_from_the_environment(run: Run, daemon: FakeDaemon) -> None:
    """For shells that work for one agent."""
    daemon.routes[ROUTE] = (200, answer())
    assert run("search", "boat", SIDECAR_AGENT="main").exit_code == 0


def test_an_empty_query_is_a_usage_error(run: Run, daemon: FakeDaemon) -> None:
    """Told before the daemon is asked."""
    assert run("search", " ").exit_code == 2


def test_nothing_found_while_files_are_pending_says_so(run: Run, daemon: FakeDaemon) -> None:
    """ "Everything was searched" would be a lie."""
    reply = {**answer(), "results": [], "outcome": "no_match", "pending": {"files": 2, "oldestSeconds": 1}}
    daemon.routes[ROUTE] = (200, reply)
    assert "2 files not indexed yet" in run("search", "boat").stderr


def test_a_count_out_of_range_is_a_usage_error(run: Run, daemon: FakeDaemon) -> None:
    """What no daemon would accept is refused before it is asked."""
    assert run("search", "boat", "-n", "51").exit_code == 2
    assert daemon.requests == []
