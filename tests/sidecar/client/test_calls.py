"""What calls send, and what they make of replies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.client import BadReplyError, RefusedError
from tests.sidecar.cli.fake_daemon import FakeDaemon, error
from tests.sidecar.client.conftest import Ask


@pytest.fixture
def server(folder: Path) -> Iterator[FakeDaemon]:
    """A fake daemon."""
    fake = FakeDaemon(folder / "s.sock")
    yield fake
    fake.close()


def test_fields_of_the_body_that_are_none_are_left_out(ask: Ask, server: FakeDaemon) -> None:
    """The daemon's defaults hold for whatever the caller did not say; false and zero are said."""
    server.routes["POST", "/v1/agents/a%20b/sync"] = (200, {})
    ask(server.path, "sync", "a b", force=False, wait=None)
    assert server.bodies("/v1/agents/a%20b/sync") == [{"force": False}]


@pytest.mark.parametrize(("typed", "asked"), [(b"caf\xe9", "caf\ufffd"), ("港".encode(), "港")])
def test_what_the_locale_cannot_spell_is_asked_all_the_same(
    ask: Ask, server: FakeDaemon, typed: bytes, asked: str
) -> None:
    """A command line is bytes, and JSON is text."""
    server.routes["POST", "/v1/agents/%E9/memory_search"] = (200, {})
    agent, query = (arg.decode("ascii", "surrogateescape") for arg in (b"\xe9", typed))
    ask(server.path, "search", agent, query=query)
    assert server.bodies("/v1/agents/%E9/memory_search") == [{"query": asked}]


@pytest.mark.parametrize("agent", ["\ud800", "a/../b", "a?b#c", "a\r\nX: y", ""])
def test_any_text_may_be_asked_for_as_an_agent(ask: Ask, server: FakeDaemon, agent: str) -> None:
    """The daemon says that it knows none, and nobody stumbles."""
    with pytest.raises(RefusedError) as caught:
        ask(server.path, "status", agent)
    assert caught.value.code == "not_found"
    ((_, path, _),) = server.requests
    assert path.count("/") == 4


def test_an_error_envelope_is_raised_with_its_fields(ask: Ask, server: FakeDaemon) -> None:
    """Code, hint and details survive the way."""
    rows = [{"field": "query", "message": "empty"}]
    server.routes["POST", "/v1/agents/a/memory_search"] = (400, error("invalid_request", "wrong", "look", rows))
    with pytest.raises(RefusedError) as caught:
        ask(server.path, "search", "a", query="")
    refused = caught.value
    assert (refused.status, refused.code, refused.hint, refused.request_id) == (400, "invalid_request", "look", "r-1")
    assert refused.details == ["query: empty"]


def test_an_environment_holds_text(ask: Ask, server: FakeDaemon) -> None:
    """A reply without one is none of this daemon's."""
    server.routes["GET", "/v1/agents/a/env"] = (200, {"environment": {"XDG_CACHE_HOME": "/c"}})
    server.routes["GET", "/v1/agents/b/env"] = (200, {"environment": 3})
    assert ask(server.path, "environment", "a") == {"XDG_CACHE_HOME": "/c"}
    with pytest.raises(BadReplyError):
        ask(server.path, "environment", "b")
