"""The document as tests read it: what it does not name must not come."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

import jsonschema_rs
from starlette.routing import compile_path

from sidecar.gateway.openapi import document


def strict_document() -> dict[str, Any]:
    """The document with replies that hold no other fields; clients are told to ignore those."""
    strict = deepcopy(document())
    for schema in strict["components"]["schemas"].values():
        if "properties" in schema:
            schema.setdefault("additionalProperties", False)
    return strict


def undocumented(method: str, path: str, reply: Any, *, status: str = "2") -> list[str]:
    """What the document does not say of an answer, whose status begins so: places and what is wrong there."""
    errors = _validator(method.lower(), _template(path.partition("?")[0]), status).iter_errors(reply)
    return [f"{method} {path} {'/'.join(map(str, error.instance_path))}: {error.message[:300]}" for error in errors]


def _template(path: str) -> str:
    """The path as it stands in the document."""
    return next(template for template in document()["paths"] if compile_path(template)[0].match(path))


@cache
def _validator(method: str, template: str, status: str) -> jsonschema_rs.Validator:
    strict = strict_document()
    responses = strict["paths"][template][method]["responses"]
    rows = [row for documented, row in responses.items() if documented.startswith(status)]
    schemas = [media["schema"] for row in rows for media in row["content"].values()]
    return jsonschema_rs.validator_for({"anyOf": schemas or [False], "components": strict["components"]})
