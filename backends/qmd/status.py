"""What operators see of one agent's qmd: JSON-ready facts, gathered without asking anybody."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from backends.qmd.home import QmdOptions
from backends.qmd.install import Install
from backends.qmd.ledger import Ledger
from backends.qmd.models import Models, Presence
from backends.qmd.pausing import Pause
from backends.qmd.pool import ResidentPool
from backends.qmd.syncing import Attempt, Syncing


def describe(
    options: QmdOptions,
    install: Install | None,
    residents: ResidentPool,
    key: str,
    syncing: Syncing,
    models: Models | None,
) -> dict[str, Any]:
    """The facts. Times are Unix seconds; None is what is not known (yet)."""
    ledger, ignored, resident = syncing.ledger, syncing.ignored, residents.current(key)
    return {
        "version": install.label if install else None,
        "tried": install.tried if install else None,
        "binary": str(install.binary.path) if install else None,
        "mode": options.mode.value,
        "resident": _resident(residents, key),
        "processes": list(resident.pids) if resident else [],
        "models": {kind: state is Presence.PRESENT for kind, state in asdict(models).items()} if models else None,
        "collections": sorted(ledger.owned),
        "held": held(ledger),
        "ignored": {"count": ignored.files, "atLeast": ignored.more, "sample": list(ignored.sample)},
        "vectorsPending": ledger.pending_vectors if ledger.pending_vectors >= 0 else None,
        "lastUpdate": _attempt(syncing.last_update, ledger.updated_at, ledger.update_pause),
        "lastEmbed": _attempt(syncing.last_embed, ledger.embedded_at, ledger.embed_pause),
    }


def held(ledger: Ledger) -> list[dict[str, Any]]:
    """The roots whose loss is not believed yet, each with the reason and since when."""
    return [
        {"name": name, "reason": str(loss.reason), "since": loss.since, "filesLeft": loss.files}
        for name, loss in ledger.losses.items()
    ]


def _resident(residents: ResidentPool, key: str) -> dict[str, Any]:
    resident, why = residents.current(key), residents.why_not(key)
    if resident is None:
        return {"state": residents.state(key), "pid": None, **({"reason": why.failure.value} if why else {})}
    return {
        "state": "busy" if resident.busy else "idle",
        "busy": resident.busy,
        "pid": resident.pid,
        "rssBytes": resident.rss_bytes,
        "startedAt": resident.started_at,
        "calls": resident.calls,
    }


def _attempt(last: Attempt | None, good_at: float, pause: Pause) -> dict[str, Any]:
    failed = {"failures": pause.failures, "nextAttemptAt": pause.not_before} if pause.failures else {}
    return {**(asdict(last) if last else {}), "lastGoodAt": good_at or None, **failed}
