"""What an examination found."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from sidecar.doctor.catalogue import CheckId, Severity


class DoctorFinding(TypedDict):
    """One thing that is wrong; docs/doctor.md lists every code."""

    code: str
    severity: Severity
    message: str
    command: Annotated[str, Field(description="What mends it, for a shell.")]
    fixable: Annotated[bool, Field(description="Whether `fix` mends it.")]


class CheckResult(TypedDict):
    """One check: its gravest finding, and all of them."""

    id: CheckId
    title: Annotated[str, Field(description="What is true when nothing is wrong.")]
    status: Severity | Literal["skipped"]
    findings: list[DoctorFinding]
    fixed: NotRequired[Annotated[list[str], Field(description="What was mended; the findings are what is left.")]]


class DoctorReply(TypedDict):
    """Every check that was asked for."""

    schemaVersion: int
    running: bool
    checks: list[CheckResult]
    worst: Severity
