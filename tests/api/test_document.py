"""The OpenAPI document: whole, valid, and the one that the daemon serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from sidecar.gateway.errors import Code
from sidecar.gateway.openapi import document
from sidecar.gateway.routes import OPERATIONS, Operation
from tests.api.stage import stage
from tests.api.strict import undocumented

DESCRIBED = [operation for path in document()["paths"].values() for operation in path.values()]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: f"{operation.method} {operation.path}")
def test_every_route_says_what_it_takes_answers_and_refuses(operation: Operation) -> None:
    """A route without it could not be called by somebody who has only the document."""
    described = document()["paths"][operation.path][operation.method.lower()]
    assert described["summary"].endswith(".")
    assert ("requestBody" in described) == (operation.body is not None)
    assert {str(status) for status in operation.statuses} <= described["responses"].keys()
    assert {str(code.status) for code in operation.refusals} <= described["responses"].keys()


@pytest.mark.parametrize(("path", "required"), [("sync", False), ("memory_search", True), ("purge", True)])
def test_a_body_that_says_nothing_is_optional_where_nothing_has_to_be_said(path: str, required: bool) -> None:
    """A purge needs no field by itself, and one of two."""
    assert document()["paths"][f"/v1/agents/{{id}}/{path}"]["post"]["requestBody"]["required"] is required


def test_every_code_is_answered_by_some_route() -> None:
    """A code that nobody can meet is no part of the interface."""
    assert {code for operation in OPERATIONS for code in operation.refusals} == {*Code}


def test_every_route_has_a_name_of_its_own() -> None:
    """Clients that are generated from the document call their functions by it."""
    names = [operation["operationId"] for operation in DESCRIBED]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("name", document()["components"]["schemas"])
def test_every_shape_is_a_json_schema_that_says_what_it_is(name: str) -> None:
    """In words of the vocabulary alone: another one would be ignored by every reader, and promise nothing."""
    schema = document()["components"]["schemas"][name]
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    assert schema["description"]
    assert not unknown_words(schema)


WORDS = {
    "oneOf",
    *(
        "$ref",
        "additionalProperties",
        "anyOf",
        "const",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "maxItems",
    ),
    *("maxLength", "maximum", "minLength", "minimum", "pattern", "properties", "required", "title", "type"),
}


def unknown_words(schema: Any) -> set[str]:
    """The keywords of a schema, also inside, that are not of the vocabulary."""
    if not isinstance(schema, dict):
        return set()
    inside = [*schema.get("properties", {}).values(), *schema.get("anyOf", []), schema.get("items")]
    return (schema.keys() - WORDS).union(*map(unknown_words, [*inside, schema.get("additionalProperties")]))


def test_the_daemon_serves_it(tmp_path: Path) -> None:
    """The same document, from the first moment on."""
    with stage(tmp_path) as daemon:
        assert daemon.call("GET", "/v1/openapi.json") == document()


def test_a_field_that_the_document_does_not_name_is_seen() -> None:
    """What holds replies against the document has eyes."""
    assert undocumented("GET", "/livez", {"alive": True}) == []
    assert undocumented("GET", "/livez", {"alive": True, "more": 1})
    assert undocumented("GET", "/v1/agents?x=1", {"agents": [{"id": "main"}]})
