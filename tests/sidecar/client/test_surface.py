"""What the package offers, and what it costs to have it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any, Required, get_origin, get_type_hints

import pytest

import sidecar.client
from sidecar.client import AsyncClient, Client, asked, calls
from sidecar.gateway import bodies
from sidecar.gateway.routes import OPERATIONS

HEAVY = {"asyncio", "dataclasses", "email", "http", "httpx", "inspect", "numpy", "pydantic", "ssl", "starlette"}
#: What is for supervisors and readers of schemas, and the second path of an agent's status.
WITHOUT_A_METHOD = {"/livez", "/readyz", "/v1/openapi.json", "/v1/agents/{id}"}
FIELDS = {
    asked.Caller: bodies.Caller,
    asked.Search: bodies.SearchBody,
    asked.Get: bodies.GetBody,
    asked.Triggers: bodies.TriggersBody,
    asked.Explain: bodies.ExplainBody,
    asked.Reader: bodies.SessionStartBody,
    asked.Flush: bodies.FlushBody,
    asked.FlushResult: bodies.FlushResultBody,
    asked.Sync: bodies.SyncBody,
    asked.Export: bodies.ExportBody,
    asked.Purge: bodies.PurgeBody,
    asked.Doctor: bodies.DoctorBody,
}


def test_the_surface_is_chosen() -> None:
    """A name that stands here stays."""
    assert sidecar.client.__all__ == [
        "AsyncClient",
        "BadReplyError",
        "Client",
        "ClientError",
        "DeadlineError",
        "NotAllowedError",
        "NotRunningError",
        "RefusedError",
        "find",
    ]
    assert all(getattr(sidecar.client, name) for name in sidecar.client.__all__)
    with pytest.raises(AttributeError, match="Nothing"):
        sidecar.client.Nothing  # noqa: B018


@pytest.mark.parametrize(
    ("name", "needed"), [("Client, find", set()), ("AsyncClient", {"asyncio", "dataclasses", "inspect", "ssl"})]
)
def test_what_is_not_needed_is_not_imported(name: str, needed: set[str]) -> None:
    """A command must answer at once; asyncio is for who asks for it."""
    code = f"from sidecar.client import {name}; import sys; print(*{HEAVY!r} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert {*done.stdout.split()} <= needed


@pytest.mark.parametrize(("fields", "body"), FIELDS.items(), ids=lambda each: each.__name__)
def test_a_call_takes_the_fields_of_its_body(fields: Any, body: type[bodies.Body]) -> None:
    """No more and no fewer, and the same of them must be given."""
    known = {field.alias or name: field.is_required() for name, field in body.model_fields.items()}
    hints = get_type_hints(fields, include_extras=True)
    assert {name: get_origin(hint) is Required for name, hint in hints.items()} == known


def test_every_body_has_its_fields() -> None:
    """A new route wants a new call."""
    taken = {operation.body for operation in OPERATIONS if operation.body}
    assert taken <= {*FIELDS.values()}


def test_both_clients_have_a_method_for_every_route() -> None:
    """They differ in how they wait."""
    names = {name for name in vars(Client) if not name.startswith("_")}
    assert names == {name for name in vars(AsyncClient) if not name.startswith("_")}
    made = [function() if not _names_agent(function) else function("{id}") for function in _calls(names)]
    reached = {(call.method, call.path.partition("?")[0].replace("%7Bid%7D", "{id}")) for call in made}
    assert reached == {(each.method, each.path) for each in OPERATIONS if each.path not in WITHOUT_A_METHOD}


def _calls(names: set[str]) -> list[Any]:
    plain = names - {"ask", "call", "status"}
    return [getattr(calls, name) for name in sorted(plain | {"agent_status", "daemon_status"})]


def _names_agent(function: Any) -> bool:
    return "agent" in inspect.signature(function).parameters
