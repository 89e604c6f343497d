"""The interface as an OpenAPI document, made from the table of routes and the types of bodies and replies."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema

import sidecar
from sidecar.gateway.bodies import MAX_WHOLE, Body
from sidecar.gateway.errors import Code
from sidecar.gateway.replies.errors import Refusal
from sidecar.gateway.routes import JSON, OPERATIONS, Operation

Json: TypeAlias = dict[str, Any]
Direction: TypeAlias = Literal["validation", "serialization"]
Key: TypeAlias = tuple[str, Direction]

REQUEST_ID = "X-Request-Id"
_DESCRIPTION = (
    "HTTP/1.1 and JSON over a Unix socket. A body is read as JSON whatever its content type, and a field that a body"
    " does not know is refused. Clients ignore fields of replies that they do not know. What takes GET takes HEAD, too."
)


class _Untitled(GenerateJsonSchema):
    """Titles would only repeat the names that they stand beside."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


@cache
def document() -> Json:
    """The document, OpenAPI 3.1. Made at the first call: it takes a tenth of a second."""
    shapes, components = _shapes()
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _described(operation, shapes)
    return {
        "openapi": "3.1.0",
        "info": {"title": "qmd-sidecar", "version": sidecar.__version__, "description": _DESCRIPTION},
        "servers": [{"url": "http://localhost", "description": "over the daemon's Unix socket"}],
        "paths": paths,
        "components": {"schemas": components},
    }


def _shapes() -> tuple[dict[Key, Json], Json]:
    """Schemas of every body and reply by name and direction, and the components that they refer to."""
    bodies = [operation.body for operation in OPERATIONS if operation.body]
    replies = [Refusal, *(operation.reply for operation in OPERATIONS)]
    wanted: dict[Key, TypeAdapter[Any]] = {
        **{(str(body), "validation"): TypeAdapter(body) for body in bodies},
        **{(str(reply), "serialization"): TypeAdapter(reply) for reply in replies},
    }
    found, definitions = TypeAdapter.json_schemas(
        [(name, direction, adapter) for (name, direction), adapter in wanted.items()],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    return {(str(name), direction): schema for (name, direction), schema in found.items()}, definitions["$defs"]


def _described(operation: Operation, shapes: dict[Key, Json]) -> Json:
    summary, _, more = inspect.cleandoc(operation.handler.__doc__ or "").partition("\n")
    return {
        "summary": summary,
        **({"description": more.strip()} if more.strip() else {}),
        "operationId": _identifier(operation),
        "tags": [operation.handler.__module__.rpartition(".")[2]],
        "parameters": list(_parameters(operation)),
        **({"requestBody": _request_body(operation.body, shapes)} if operation.body else {}),
        "responses": dict(_responses(operation, shapes)),
    }


def _identifier(operation: Operation) -> str:
    """`post_agents_id_memory_search`."""
    path = operation.path.removeprefix("/v1").replace("{id}", "id").replace(".", "_")
    return operation.method.lower() + path.replace("/", "_")


def _parameters(operation: Operation) -> Iterator[Json]:
    if operation.names_agent:
        yield {
            "name": "id",
            "in": "path",
            "required": True,
            "description": "The agent.",
            "schema": {"type": "string", "minLength": 1},
        }
    for name, meaning in operation.flags.items():
        yield {"name": name, "in": "query", "description": meaning, "schema": {"type": "boolean", "default": False}}
    for name, meaning in operation.numbers.items():
        number = {"type": "integer", "minimum": 0, "maximum": MAX_WHOLE}
        yield {"name": name, "in": "query", "description": meaning, "schema": number}
    yield {
        "name": REQUEST_ID,
        "in": "header",
        "description": "Comes back with the reply and stands in the log: 1 to 128 visible characters of ASCII.",
        "schema": {"type": "string"},
    }


def _request_body(body: type[Body], shapes: dict[Key, Json]) -> Json:
    content = {JSON: {"schema": shapes[str(body), "validation"]}}
    return {"required": not _may_be_empty(body), "content": content}


def _may_be_empty(body: type[Body]) -> bool:
    """Whether a request without a body is one: it is read as `{}`."""
    try:
        body.model_validate({})
    except ValidationError:
        return False
    return True


def _responses(operation: Operation, shapes: dict[Key, Json]) -> Iterator[tuple[str, Json]]:
    for status in sorted({*operation.statuses, *(code.status for code in operation.refusals)}):
        content: dict[str, list[Json]] = {}
        if status in operation.statuses:
            content.setdefault(operation.media, []).append(shapes[str(operation.reply), "serialization"])
        codes = tuple(code for code in operation.refusals if code.status == status)
        if codes:
            content.setdefault(JSON, []).append(_refusal(shapes[str(Refusal), "serialization"], codes))
        yield str(status), _response(status, codes, content)


def _refusal(schema: Json, codes: tuple[Code, ...]) -> Json:
    labels = [code.label for code in codes]
    return {"allOf": [schema, {"properties": {"error": {"properties": {"code": {"enum": labels}}}}}]}


def _response(status: int, codes: tuple[Code, ...], content: dict[str, list[Json]]) -> Json:
    told = [f"`{code.label}`: {code.meaning}" for code in codes] or [HTTPStatus(status).phrase]
    return {
        "description": " ".join(told),
        "headers": dict(_headers(status)),
        "content": {media: {"schema": _either(schemas)} for media, schemas in content.items()},
    }


def _either(schemas: list[Json]) -> Json:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _headers(status: int) -> Iterator[tuple[str, Json]]:
    yield REQUEST_ID, {"required": True, "schema": {"type": "string", "minLength": 1, "maxLength": 128}}
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        yield "Allow", {"required": True, "schema": {"type": "string"}}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        yield "Retry-After", {"required": True, "description": "Seconds.", "schema": {"type": "integer"}}
