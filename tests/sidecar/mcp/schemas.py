"""sidecar/mcp/schemas.json, made from the bodies that the socket takes and the replies that it gives.

python -m tests.sidecar.mcp.schemas
"""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from sidecar.gateway import bodies, replies
from tests.running import REPOSITORY

Json: TypeAlias = dict[str, Any]

FILE = REPOSITORY / "sidecar" / "mcp" / "schemas.json"
#: What a model may say; who asks, and how long it waits, is the user's to say.
SEARCH = ("query", "maxResults", "minScore", "corpus", "mode", "after", "before")
GET = ("path", "from", "lines", "column")
#: Keywords that some models do not take, and the daemon does not need them to.
UNTOLD = ("title", "default", "format", "pattern")


def text() -> str:
    """The file's content."""
    schemas = {
        "memory_search": {"input": _arguments(bodies.SearchBody, SEARCH), "output": _reply(replies.SearchReply)},
        "memory_get": {"input": _arguments(bodies.GetBody, GET), "output": _reply(replies.GetReply)},
        "memory_status": {"input": _object({}, []), "output": _reply(replies.AgentStatus)},
    }
    del schemas["memory_search"]["output"]["properties"]["debug"]
    return json.dumps(schemas, indent=1, ensure_ascii=False) + "\n"


def _arguments(body: type[bodies.Body], names: tuple[str, ...]) -> Json:
    schema = body.model_json_schema()
    properties = {name: _plain(schema["properties"][name]) for name in names}
    return _object(properties, [name for name in names if name in schema["required"]])


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _plain(schema: Json) -> Json:
    """What may be left out need not be null as well."""
    (first, *_) = schema.get("anyOf", [{}])
    merged = {**first, **{key: value for key, value in schema.items() if key != "anyOf"}}
    if merged.get("format") == "date":
        merged["description"] += " Such as 2026-01-31."
    return {key: value for key, value in merged.items() if key not in UNTOLD}


def _reply(shape: Any) -> Json:
    schema: Json = _untitled(TypeAdapter(shape).json_schema(mode="serialization"))
    return schema


def _untitled(value: Any) -> Any:
    if isinstance(value, list):
        return [_untitled(each) for each in value]
    if not isinstance(value, dict):
        return value
    # A title is text; a property of that name would be a schema.
    kept = {key: each for key, each in value.items() if key != "title" or not isinstance(each, str)}
    return {key: _untitled(each) for key, each in kept.items()}


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
