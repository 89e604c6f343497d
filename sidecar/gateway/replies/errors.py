"""The envelope of every refusal."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from sidecar.gateway.errors import Code


class Detail(TypedDict):
    """One wrong field of a body, without its value."""

    field: Annotated[str, Field(description="The path to the field; empty for the body as a whole.")]
    message: str


def _labels(schema: dict[str, Any]) -> None:
    schema["enum"] = [code.label for code in Code]


class Error(TypedDict):
    """What is wrong, and the next step; never query or memory text."""

    code: Annotated[str, Field(json_schema_extra=_labels)]
    message: str
    hint: Annotated[str, Field(description="What to do next.")]
    requestId: str
    details: list[Detail]


class Refusal(TypedDict):
    """The body of every reply with a status of 400 or more, but for a daemon that is not ready."""

    error: Error
