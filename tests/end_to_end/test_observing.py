"""Numbers and events of a running daemon: over its socket, and at the port for scrapers."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar.client import RefusedError
from sidecar.gateway.places import MAX_LISTENERS
from tests.api.strict import undocumented
from tests.running import Running, running, until

DEADLINE_S = 30.0


def free_port() -> int:
    """A port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


def config(folder: Path, port: int) -> dict[str, Any]:
    """One agent with one note, scraped at a port."""
    notes = folder / "workspace" / "memory"
    notes.mkdir(parents=True)
    (notes / "2026-02-10.md").write_text("- The boat to Corvo leaves at nine.\n", encoding="utf-8")
    return {
        "memory": {"backend": "builtin"},
        "agents": {"defaults": {"workspace": str(notes.parent)}},
        "sidecar": {"metrics": {"listen": f"127.0.0.1:{port}"}},
    }


@pytest.fixture(scope="module")
def port() -> int:
    """Where it listens for scrapers."""
    return free_port()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, port: int) -> Iterator[Running]:
    """A daemon that remembers something."""
    folder = tmp_path_factory.mktemp("observing")
    with running(folder / "daemon", config(folder, port)) as daemon:
        daemon.sync("main")
        yield daemon


class Listener:
    """A client of `/v1/events` that reads when it wants to."""

    def __init__(self, connection: socket.socket, path: str) -> None:
        connection.settimeout(DEADLINE_S)
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        self._response = http.client.HTTPResponse(connection)
        self._response.begin()
        self.status = self._response.status
        self.media = self._response.headers["content-type"]

    def event(self) -> Any:
        """The next one; None at the end."""
        line = self._response.readline()
        return json.loads(line) if line else None

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The events up to the first of a kind."""
        heard = [self.event()]
        while heard[-1]["type"] != kind:
            heard.append(self.event())
        return heard


@contextmanager
def listening(daemon: Running, path: str = "/v1/events") -> Iterator[Listener]:
    """A client that listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(daemon.client.path))
        yield Listener(connection, path)


def scraped(port: int, path: str = "/metrics", **headers: str) -> tuple[int, str]:
    """Status and text of what is answered at the port."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_search_is_counted_where_a_scraper_sees_it(daemon: Running, port: int) -> None:
    """The same numbers at both doors, and no word of what was asked."""
    daemon.search("main", "when does the zeppelin leave?")
    status, text = scraped(port)
    assert status == 200
    assert 'qmd_sidecar_requests_total{route="/v1/agents/{id}/memory_search",status="200"}' in text
    assert 'qmd_sidecar_child_starts_total{verb="worker"} 1.0' in text
    assert "zeppelin" not in text
    assert str(daemon.folder) not in text
    assert "qmd_sidecar_search_seconds_count" in daemon.client.metrics()
    assert "qmd_sidecar_metric_failures_total{" not in text


def test_health_is_told_at_the_port(port: int) -> None:
    """For a supervisor that has no socket."""
    assert [scraped(port, path)[0] for path in ("/livez", "/readyz")] == [200, 200]


@pytest.mark.parametrize("path", ["/v1/status", "/v1/info", "/v1/agents", "/v1/openapi.json", "/v1/events", "/"])
def test_nothing_else_is_at_the_port(port: int, path: str) -> None:
    """Whoever is on the machine may read it."""
    assert scraped(port, path)[0] == 404


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_a_page_in_a_browser_learns_nothing(port: int, headers: dict[str, str]) -> None:
    """Neither by a name that leads here, nor from elsewhere."""
    status, text = scraped(port, **headers)
    assert status == 403
    assert "qmd_sidecar" not in text


def test_a_listener_hears_a_sync(daemon: Running) -> None:
    """Its beginning and its end, each as it is documented."""
    with listening(daemon) as listener:
        assert (listener.status, listener.media) == (200, "application/x-ndjson")
        daemon.sync("main", force=True)
        heard = listener.until("sync_ended")
    began = next(event for event in heard if event["type"] == "sync_began")
    assert (began["agent"], began["engine"], began["reason"]) == ("main", "builtin", "request")
    assert heard[-1]["changed"] == 1
    for event in heard:
        assert undocumented("GET", "/v1/events", event) == []


def test_a_listener_goes_on_where_it_was(daemon: Running) -> None:
    """What happened while it was away is told first."""
    with listening(daemon) as listener:
        daemon.sync("main")
        last = listener.until("sync_ended")[-1]["id"]
    daemon.sync("main")
    with listening(daemon, f"/v1/events?after={last}&once=true") as listener:
        first = listener.event()
    assert (first["id"], first["type"]) == (last + 1, "sync_began")


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=", "after=1e3", f"after={10**30}", "once=maybe"])
def test_what_is_no_number_is_refused(daemon: Running, query: str) -> None:
    """As on every route."""
    with pytest.raises(RefusedError) as caught:
        daemon.client.call("GET", f"/v1/events?{query}")
    assert caught.value.code == "invalid_request"


def test_listeners_are_bounded_and_take_no_place_of_a_request(daemon: Running) -> None:
    """The one too many is refused; who leaves makes room; searches go on all the while."""
    with ExitStack() as stack:
        for _ in range(MAX_LISTENERS):
            assert stack.enter_context(listening(daemon)).status == 200
        with listening(daemon) as late:
            assert late.status == 503
        assert daemon.search("main", "when does the boat leave?")["results"]
        assert "qmd_sidecar_places_in_use 0.0" in daemon.client.metrics()

    def there_is_room() -> bool:
        with listening(daemon, "/v1/events?once=true") as listener:
            return listener.status == 200

    until(there_is_room, what="room for a listener")


def test_the_head_of_a_stream_ends(daemon: Running) -> None:
    """It has no body to wait for."""
    connection = socket.socket(socket.AF_UNIX)
    with connection:
        connection.settimeout(DEADLINE_S)
        connection.connect(str(daemon.client.path))
        connection.sendall(b"HEAD /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        said = b""
        while more := connection.recv(2**16):
            said += more
    assert said.startswith(b"HTTP/1.1 200")


def test_listeners_do_not_hold_up_the_stop(daemon: Running) -> None:
    """They hear of it and the stream ends, although nobody has hung up. The last test: it ends the daemon of all."""
    with ExitStack() as stack:
        listeners = [stack.enter_context(listening(daemon)) for _ in range(3)]
        assert daemon.stop() == 0
        for listener in listeners:
            assert listener.until("draining")
            assert listener.event() is None
    # What uvicorn says when requests have not ended in the time that they are given.
    assert "graceful" not in daemon.log.read_text(encoding="utf-8")
