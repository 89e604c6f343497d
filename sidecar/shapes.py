"""Values of the engines in the gateway's spelling."""

from __future__ import annotations

from typing import Any

from backends.base import BackendError, Fallback, Notice, Pending, SyncReport


def fallback_json(fallback: Fallback) -> dict[str, Any]:
    """`{from, reason, since}`."""
    return {"from": fallback.origin, "reason": fallback.reason, "since": fallback.since}


def pending_json(pending: Pending) -> dict[str, Any]:
    """`{files, oldestSeconds}`."""
    return {"files": pending.files, "oldestSeconds": round(pending.oldest_s, 1)}


def notice_json(notice: Notice) -> dict[str, str]:
    """`{code, message, action}`."""
    return {"code": notice.code, "message": notice.message, "action": notice.action}


def error_json(error: BackendError, at: float) -> dict[str, Any]:
    """`{code, message, action, at}`."""
    return {"code": error.failure, "message": error.message, "action": error.hint, "at": at}


def report_json(report: SyncReport) -> dict[str, Any]:
    """A sync report in the gateway's spelling."""
    return {
        "engine": report.engine,
        "ran": report.ran,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "embedded": report.embedded,
        "skipped": dict(report.skipped),
        "detail": report.detail,
        "tookMs": round(report.took_s * 1000),
    }
