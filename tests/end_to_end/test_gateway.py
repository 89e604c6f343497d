"""The socket as a gateway sees it: answers, errors with a next step, and nothing that crashes it."""

from __future__ import annotations

import http.client
import json
import socket
import stat
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.client import RefusedError
from tests.running import Running, running, until

NOTE = """# 2026-02-10

- The boat to Corvo leaves at nine from the north pier.
- Maya paid the deposit of 340 euros.
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One daemon with one agent and one note, on the built-in engine."""
    folder = tmp_path_factory.mktemp("gateway")
    workspace = folder / "workspace"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "memory" / "2026-02-10.md").write_text(NOTE, encoding="utf-8")
    (workspace / "MEMORY.md").write_text("# Facts\n\nRavi is allergic to walnuts.\n", encoding="utf-8")
    config = {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(workspace)}}}
    with running(folder, config) as daemon:
        daemon.sync("main")
        yield daemon


def raw(daemon: Running, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any, dict[str, str]]:
    """One request as bytes: status, JSON body, headers."""
    connection = http.client.HTTPConnection("localhost", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(daemon.client.path))
    try:
        connection.request(method, path, body, {"content-type": "application/json", **headers})
        response = connection.getresponse()
        return response.status, json.loads(response.read()), {k.lower(): v for k, v in response.getheaders()}
    finally:
        connection.close()


def test_a_question_is_answered_with_the_passage_and_its_lines(daemon: Running) -> None:
    """The main job."""
    reply = daemon.search("main", "when does the boat leave?")
    assert (reply["outcome"], reply["backend"]) == ("hits", "builtin")
    first = reply["results"][0]
    assert first["path"] == "memory/2026-02-10.md"
    assert "nine from the north pier" in first["snippet"]
    lines = first["endLine"] - first["startLine"] + 1
    read = daemon.get("main", first["path"], **{"from": first["startLine"], "lines": lines})
    assert read["text"].strip() == first["snippet"].split("\n\nSource: ")[0].strip()


def test_a_nonsense_query_is_no_match(daemon: Running) -> None:
    """Nothing relevant is an answer."""
    reply = daemon.search("main", "xylophone quantum zebra taxonomy")
    assert (reply["outcome"], reply["results"]) == ("no_match", [])


def test_a_missing_note_reads_as_empty(daemon: Running) -> None:
    """Today's note before its first line."""
    assert daemon.get("main", "memory/2031-01-01.md") == {"path": "memory/2031-01-01.md", "text": ""}


def test_a_group_is_denied_at_both_doors(daemon: Running) -> None:
    """Search and read share one decision."""
    key = "agent:main:discord:channel:9"
    assert daemon.search("main", "boat", sessionKey=key)["outcome"] == "denied"
    read = daemon.get("main", "MEMORY.md", sessionKey=key)
    assert (read["text"], read["outcome"]) == ("", "denied")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_request"),
        (b"{}", "invalid_request"),
        (b"[]", "invalid_request"),
        (b"not json", "invalid_json"),
        (b'{"query": ""}', "invalid_request"),
        (b'{"query": " \\u0000 "}', "invalid_request"),
        (b'{"query": 5}', "invalid_request"),
        (b'{"query": ["a"]}', "invalid_request"),
        (b'{"query": "a", "maxResults": "6"}', "invalid_request"),
        (b'{"query": "a", "maxResults": 0}', "invalid_request"),
        (b'{"query": "a", "maxResults": 51}', "invalid_request"),
        (b'{"query": "a", "minScore": 2}', "invalid_request"),
        (b'{"query": "a", "after": "yesterday"}', "invalid_request"),
        (b'{"query": "a", "after": 0}', "invalid_request"),
        (b'{"query": "a", "after": "2026-01-02", "before": "2026-01-01"}', "invalid_request"),
        (b'{"query": "a", "max_results": 3}', "invalid_request"),
        (b'{"query": "a", "nope": 1}', "invalid_request"),
        (b'{"query": "\\ud800"}', "invalid_json"),
        (b'{"query": "\xff"}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
    ],
)
def test_a_wrong_body_gets_a_code_and_a_hint(daemon: Running, body: bytes, code: str) -> None:
    """4xx, never 5xx, and the value is not echoed."""
    status, reply, headers = raw(daemon, "POST", "/v1/agents/main/memory_search", body)
    assert (status, reply["error"]["code"]) == (400, code)
    assert reply["error"]["hint"]
    assert reply["error"]["requestId"] == headers["x-request-id"]


@pytest.mark.parametrize(
    "query",
    [
        "-v",
        "--help",
        "--collection=private boat",
        "- boat\n- deposit",
        '"boat',
        "boat OR (deposit",
        "boat*",
        "NEAR(boat, 2)",
        "boat\0deposit",
        "text:boat",
        "boat " * 40_000,
        "🛥️ boat ＢＯＡＴ",
    ],
)
def test_an_odd_query_is_text(daemon: Running, query: str) -> None:
    """Options, operators, quotes, NUL bytes and 200,000 characters."""
    reply = daemon.search("main", query, minScore=0)
    assert reply["outcome"] in {"hits", "no_match"}


def test_a_body_of_two_megabytes_is_refused(daemon: Running) -> None:
    """Before it is read."""
    body = json.dumps({"query": "x" * 2**21}).encode()
    status, reply, _ = raw(daemon, "POST", "/v1/agents/main/memory_search", body)
    assert (status, reply["error"]["code"]) == (413, "body_too_large")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/", 404, "not_found"),
        ("GET", "/v1/nope", 404, "not_found"),
        ("GET", "/v1/status/", 404, "not_found"),
        ("DELETE", "/v1/status", 405, "method_not_allowed"),
        ("GET", "/v1/agents/main/memory_search", 405, "method_not_allowed"),
        ("GET", "/v1/agents/mian/status", 404, "unknown_agent"),
        ("GET", "/v1/agents/MAIN/status", 404, "unknown_agent"),
        ("GET", "/v1/agents/main%20/status", 404, "unknown_agent"),
        ("GET", "/v1/agents/..%2Fmain/status", 404, "not_found"),
    ],
)
def test_a_wrong_address_gets_a_code(daemon: Running, method: str, path: str, status: int, code: str) -> None:
    """In the same envelope as every other error."""
    got, reply, _ = raw(daemon, method, path)
    assert (got, reply["error"]["code"]) == (status, code)


def spoken(daemon: Running, *pieces: bytes) -> bytes:
    """What comes back until the daemon hangs up; each piece is sent when something came back for the one before."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(30)
        connection.connect(str(daemon.client.path))
        heard = b""
        for piece in pieces:
            connection.sendall(piece)
            heard += connection.recv(65536)
        while more := connection.recv(65536):
            heard += more
        return heard


@pytest.mark.parametrize(
    "request_",
    [
        b"nonsense\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
        b"GET /liv\xc3\xa9z HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/agents/main/sync HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_the_same_envelope(daemon: Running, request_: bytes) -> None:
    """Also where no route was reached."""
    head, _, body = spoken(daemon, request_).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    error = json.loads(body)["error"]
    assert error["code"] == "invalid_http"
    assert f"x-request-id: {error['requestId']}" in head.decode().lower()


def test_what_is_no_http_behind_an_answer_ends_the_connection(daemon: Running) -> None:
    """The answer was given; there is nothing more to say, and nothing to crash."""
    head = b"POST /livez HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert spoken(daemon, head, b"zz\r\n").count(b"HTTP/1.1") == 1
    assert b"Traceback" not in daemon.log.read_bytes()


def test_an_unknown_agent_gets_the_nearest_name(daemon: Running) -> None:
    """`mian` is `main`."""
    with pytest.raises(RefusedError) as caught:
        daemon.search("mian", "boat")
    assert caught.value.hint == "did you mean 'main'?"


@pytest.mark.parametrize(
    "path", ["../../etc/passwd", "/etc/passwd", "memory/../../x.md", "memory\\x.md", "MEMORY.md\0"]
)
def test_a_path_outside_memory_is_not_allowed(daemon: Running, path: str) -> None:
    """With a code of its own."""
    with pytest.raises(RefusedError) as caught:
        daemon.get("main", path)
    assert (caught.value.status, caught.value.code) == (403, "path_not_allowed")


def test_a_request_id_is_echoed_and_a_hostile_one_replaced(daemon: Running) -> None:
    """The id stands in logs."""
    assert raw(daemon, "GET", "/livez", **{"X-Request-Id": "abc-1"})[2]["x-request-id"] == "abc-1"
    assert raw(daemon, "GET", "/livez", **{"X-Request-Id": "x" * 500})[2]["x-request-id"] != "x" * 500


def test_status_and_info_say_what_runs(daemon: Running) -> None:
    """For operators."""
    info = daemon.call("GET", "/v1/info")
    assert (info["name"], info["pid"]) == ("qmd-sidecar", daemon.process.pid)
    status = daemon.call("GET", "/v1/status")
    assert status["state"] == "ready"
    agent = status["agents"][0]
    assert (agent["id"], agent["backend"], agent["documents"]) == ("main", "builtin", 2)
    assert daemon.call("GET", "/v1/agents")["agents"][0]["id"] == "main"


def test_everything_on_disk_is_private(daemon: Running) -> None:
    """Whatever the mask of whoever started the daemon."""
    assert stat.S_IMODE(daemon.client.path.stat().st_mode) == 0o600
    for path in [daemon.state, *daemon.state.rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_no_query_and_no_memory_text_is_logged(daemon: Running) -> None:
    """A log is read by more people than a memory."""
    daemon.search("main", "walnuts allergic secretquestion")
    until(lambda: b"memory_search" in daemon.log.read_bytes())
    log = daemon.logged()
    assert "secretquestion" not in log
    assert "walnuts" not in log


def test_a_written_and_a_deleted_file_reach_the_next_searches(daemon: Running) -> None:
    """Without a restart and without a call to sync."""
    note = daemon.folder / "workspace" / "memory" / "2026-02-11.md"
    note.write_text("The codeword is zebracomet.\n", encoding="utf-8")
    until(lambda: daemon.search("main", "zebracomet")["outcome"] == "hits", what="the new note")
    note.unlink()
    until(lambda: daemon.search("main", "zebracomet")["outcome"] == "no_match", what="the end of the old note")


def test_a_citation_can_be_read_as_it_stands(daemon: Running) -> None:
    """What a snippet's footer names is what `memory_get` takes."""
    hit = daemon.search("main", "when does the boat leave?")["results"][0]
    read = daemon.get("main", hit["citation"])
    assert (read["path"], read["from"]) == (hit["path"], hit["startLine"])
    assert read["text"] in hit["snippet"]


def test_senders_of_half_a_request_take_no_place_from_others(daemon: Running) -> None:
    """More of them than there are places."""
    head = b"POST /v1/agents/main/memory_search HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{"
    slow = [socket.socket(socket.AF_UNIX) for _ in range(80)]
    try:
        for connection in slow:
            connection.connect(str(daemon.client.path))
            connection.sendall(head)
        assert daemon.search("main", "boat")["outcome"] == "hits"
    finally:
        for connection in slow:
            connection.close()


def test_a_socket_that_somebody_removed_is_laid_anew(daemon: Running) -> None:
    """The daemon would otherwise live on and be out of reach."""
    daemon.client.path.unlink()
    until(daemon.client.path.exists, deadline_s=60, what="a new socket")
    until(daemon.ready)


def test_forced_syncs_are_joined_and_not_piled_up(daemon: Running) -> None:
    """One runs, one waits for all the others."""
    for _ in range(50):
        daemon.call("POST", "/v1/agents/main/sync", {"force": True})
    assert daemon.sync("main", force=True)["reports"][0]["ran"]
    synced = daemon.logged().count('"reason":"request"')
    assert synced < 25
