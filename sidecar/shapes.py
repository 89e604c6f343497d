"""Values of the engines in the gateway's spelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from backends.base import BackendError, Fallback, Notice, Pending, SyncReport
from backends.builtin import Estimate
from sidecar.probing import Probe


def fallback_json(fallback: Fallback) -> dict[str, Any]:
    """`{from, reason, since}`."""
    return {"from": fallback.origin, "reason": fallback.reason, "since": fallback.since}


def pending_json(pending: Pending) -> dict[str, Any]:
    """`{files, oldestSeconds}`."""
    return {"files": pending.files, "oldestSeconds": round(pending.oldest_s, 1)}


def notice_json(notice: Notice) -> dict[str, str]:
    """`{code, message, action}`."""
    return {"code": notice.code, "message": notice.message, "action": notice.action}


def bootstrap_json(provider: str | None, code: str, reason: str) -> dict[str, Any]:
    """`{provider, code, reason}`: why nothing can be embedded."""
    return {"provider": provider, "code": code, "reason": reason}


def embedding_json(probes: Sequence[Probe]) -> dict[str, Any]:
    """`{provider, model, dims, tookMs}`, `{provider, error}` or `{provider, detail}`; `second` is the other choice."""
    if not probes:
        return {"provider": "none", "detail": "qmd embeds with models of its own"}
    first, *others = probes
    return {**_probe_json(first), **({"second": embedding_json(others)} if others else {})}


def _probe_json(probe: Probe) -> dict[str, Any]:
    if probe.error is not None:
        return {"provider": probe.provider, "error": notice_json(probe.error)}
    if probe.vector is None:
        return {"provider": probe.provider, "detail": "keywords only, on purpose"}
    whose = probe.vector.identity
    return {
        "provider": whose.provider,
        "model": whose.model,
        "dims": whose.dims,
        "tookMs": round(probe.took_s * 1000, 1),
    }


def error_json(error: BackendError, at: float) -> dict[str, Any]:
    """`{code, message, action, at}`."""
    return {"code": error.failure, "message": error.message, "action": error.hint, "at": at}


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """`{provider, model, hosted, rebuild, files, chunks, tokens, cached, kept}`; tokens are a guess."""
    return asdict(estimate)


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
