"""docs/api.md, made from the OpenAPI document.

    python -m tests.api.reference

It is for people; programs read the document itself.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, TypeAlias

from sidecar.gateway.errors import Code
from sidecar.gateway.openapi import document
from sidecar.gateway.routes import JSON
from tests.running import REPOSITORY

Json: TypeAlias = dict[str, Any]

PAGE = REPOSITORY / "docs" / "api.md"
HEAD = """# The interface

Made by `python -m tests.api.reference` from what `GET /v1/openapi.json` answers. `make schema-fuzz` holds the daemon
to it.

{description} `{request_id}` comes back with every reply; a request without a usable one is given one.

A field marked `?` may be left out."""
LIMITS = {
    "minimum": "from {:,}",
    "maximum": "to {:,}",
    "minLength": "at least {:,} characters",
    "maxLength": "at most {:,} characters",
    "maxItems": "at most {:,}",
}
#: What every route can answer and none is about.
EVERYWHERE = (Code.INVALID_HTTP, Code.METHOD_NOT_ALLOWED, Code.INTERNAL)


def page() -> str:
    """The whole page."""
    described = document()
    head = HEAD.format(description=described["info"]["description"], request_id="X-Request-Id")
    return "\n\n".join([head, *_operations(described), *_shapes(described), *_codes()]) + "\n"


def _operations(described: Json) -> Iterator[str]:
    yield "## Routes"
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            yield f"### {method.upper()} {path}"
            yield from _operation(operation)


def _operation(operation: Json) -> Iterator[str]:
    yield " ".join([operation["summary"], *operation.get("description", "").split("\n")]).strip()
    asked = [row for row in operation["parameters"] if row["in"] == "query"]
    rows = [f"{_kind(row['schema'])} `{row['name']}`: {row['description']}" for row in asked]
    if body := operation.get("requestBody"):
        rows.append(f"Body: {word(_content(body))}{'' if body['required'] else ', or none'}.")
    responses = operation["responses"]
    answers = {status: (_answer(_content(row)), next(iter(row["content"]))) for status, row in responses.items()}
    rows += [f"{status}: {answer}{_as(media)}." for status, (answer, media) in answers.items() if answer]
    yield "\n".join(f"- {row}" for row in [*rows, *_refusals(operation)])


def _kind(schema: Json) -> str:
    return "Flag" if schema["type"] == "boolean" else "Number"


def _as(media: str) -> str:
    return "" if media == JSON else f", as `{media}`"


def _refusals(operation: Json) -> Iterator[str]:
    common = {code.label for code in EVERYWHERE}
    schemas = [_content(response) for response in operation["responses"].values()]
    codes = [code for schema in schemas for code in _labels(schema) if code not in common]
    if codes:
        yield "Refused with: " + ", ".join(f"`{code}`" for code in codes) + "."


def _content(holder: Json) -> Json:
    """The schema of a body or a reply: the first, and where there are two the other one is of refusals."""
    return next(media["schema"] for media in holder["content"].values())


def _alternatives(schema: Json) -> list[Json]:
    return schema.get("anyOf") or [schema]


def _answer(schema: Json) -> str:
    """The shape of an answer; empty where there are only refusals."""
    return " or ".join(word(one) for one in _alternatives(schema) if "allOf" not in one)


def _labels(schema: Json) -> Iterator[str]:
    for one in _alternatives(schema):
        for part in one.get("allOf", [])[1:]:
            yield from part["properties"]["error"]["properties"]["code"]["enum"]


def _shapes(described: Json) -> Iterator[str]:
    yield "## Shapes"
    for name, schema in sorted(described["components"]["schemas"].items()):
        yield f"### {name}"
        yield schema["description"]
        if "enum" in schema:
            yield word(schema)
        elif fields := list(_fields(schema)):
            yield "\n".join(["| field | type | |", "|---|---|---|", *fields])


def _fields(schema: Json) -> Iterator[str]:
    """The rows of a shape, first of what must be there."""
    required = schema.get("required", [])
    for name, value in sorted(schema["properties"].items(), key=lambda field: field[0] not in required):
        mark = "" if name in required else "?"
        meaning = " ".join(filter(None, [value.get("description", "").replace("|", "\\|"), _limits(value)]))
        yield f"| `{name}`{mark} | {word(value).replace('|', chr(92) + '|')} | {meaning} |"


def word(schema: Json) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(word(one) for one in schema["anyOf"])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{as_json(value)}`" for value in schema.get("enum") or [schema["const"]])
    if schema.get("type") == "array":
        return f"list of {word(schema['items'])}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"object, by name: {word(values)}"
    return str(schema.get("format") or schema.get("type", "anything"))


def as_json(value: Any) -> str:
    """A value as it stands in a file; texts without their quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def _limits(schema: Json) -> str:
    """The limits and the default of a value, as they stand in the schema."""
    limits: Json = {}
    for one in _alternatives(schema):
        limits |= {name: one[name] for name in LIMITS if name in one}
    told = [LIMITS[name].format(value) for name, value in limits.items()]
    if (default := schema.get("default")) is not None:
        told.append(f"default `{as_json(default)}`")
    return f"({', '.join(told)})" if told else ""


def _codes() -> Iterator[str]:
    yield "## Codes"
    yield "Every refusal is a [Refusal](#refusal). Any route can answer with " + (
        ", ".join(f"`{code.label}`" for code in EVERYWHERE) + "."
    )
    rows = [f"| `{code.label}` | {code.status} | {code.meaning} |" for code in Code]
    yield "\n".join(["| code | status | |", "|---|---|---|", *rows])


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
