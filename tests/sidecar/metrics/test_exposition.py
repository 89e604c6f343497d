"""Metrics as text: readable by a strict parser, and whole although a part of them fails."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as plain

from backends.base import BackendError, Failure, SyncReport
from sidecar.agents import Agent
from sidecar.config import ConfigError, Settings
from sidecar.configured import Attempt, Configured
from sidecar.fleet import Fleet
from sidecar.gateway.places import Places
from sidecar.metrics.counts import Counts
from sidecar.metrics.exposition import METRICS, scrape
from tests.sidecar.agent_of import with_agent

OPEN = "application/openmetrics-text; version=1.0.0"


@dataclass(frozen=True)
class Sources:
    """A daemon as far as metrics are read from it."""

    fleet: Fleet
    configured: Configured
    counts: Counts = field(default_factory=Counts)
    places: Places = field(default_factory=lambda: Places(3))
    started_at: float = 0.0
    state: Callable[[], str] = lambda: "ready"
    worker_status: Callable[[], dict[str, Any]] = lambda: {"state": "idle", "calls": 2, "rssBytes": 7}


def text_of(sources: Sources, accept: str = "") -> tuple[str, str]:
    """What a scraper reads, and the media type."""
    text, media = asyncio.run(scrape(sources, accept))
    return text.decode(), media


def with_one(folder: Path, prepare: Callable[[Sources, Agent], None] = lambda sources, agent: None) -> Sources:
    """Sources with one agent."""
    kept: list[tuple[Agent, Settings]] = []

    async def keep(agent: Agent, settings: Settings, *_: Any) -> dict[str, Any]:
        kept.append((agent, settings))
        return {}

    with_agent(folder, keep)
    ((agent, settings),) = kept
    sources = Sources(Fleet([agent]), Configured(settings, lambda **_: settings))
    prepare(sources, agent)
    return sources


def values(text: str) -> dict[str, float]:
    """Every sample by its name and labels as they stand there."""
    rows = [line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, _, value in rows}


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain;version=0.0.4", f"{OPEN},text/plain;q=0.5", "nonsense/*;;="])
def test_a_scraper_reads_the_form_that_it_asks_for(tmp_path: Path, accept: str) -> None:
    """OpenMetrics ends with its mark; the strict parser of each form finds every metric."""
    text, media = text_of(with_one(tmp_path), accept)
    is_open = accept.startswith(OPEN)
    assert media.startswith("application/openmetrics-text" if is_open else "text/plain")
    assert text.endswith("# EOF\n") == is_open
    found = {family.name for family in (open_metrics if is_open else plain)(text)}
    assert found == {metric.name.removesuffix("_total") for metric in METRICS}


def test_nothing_of_what_a_scraper_sends_comes_back(tmp_path: Path) -> None:
    """A version that is no number is no reason to fail, either."""
    _, media = text_of(with_one(tmp_path), "application/openmetrics-text; version=abc; escaping=xyz")
    assert media == "application/openmetrics-text; version=1.0.0; charset=utf-8"


def test_what_is_known_is_what_is_shown(tmp_path: Path) -> None:
    """Numbers are read where they are kept."""

    def prepare(sources: Sources, agent: Agent) -> None:
        sources.counts.answered("/v1/agents/{id}/memory_search", 200, 0.02)
        sources.configured.last = Attempt(9.0, error=ConfigError([]))
        agent.denials["group"] += 3
        agent.syncs.tally.went_well("builtin", SyncReport(engine="builtin", ran=True, embedded=5, cached=2))
        agent.syncs.tally.failed("qmd", BackendError(Failure.TIMEOUT, "late"))

    shown = values(text_of(with_one(tmp_path, prepare))[0])
    assert shown['qmd_sidecar_requests_total{route="/v1/agents/{id}/memory_search",status="200"}'] == 1
    assert shown['qmd_sidecar_request_seconds_count{route="/v1/agents/{id}/memory_search"}'] == 1
    assert shown["qmd_sidecar_config_last_reload_successful"] == 0
    assert shown["qmd_sidecar_config_last_reload_timestamp_seconds"] == 9
    assert shown['qmd_sidecar_denials_total{agent="main",kind="group"}'] == 3
    assert shown['qmd_sidecar_vectors_total{agent="main",source="cache"}'] == 2
    assert shown['qmd_sidecar_vectors_total{agent="main",source="model"}'] == 3
    assert shown['qmd_sidecar_syncs_total{agent="main",backend="qmd",result="timeout"}'] == 1
    assert shown['qmd_sidecar_agent_state{agent="main",state="ready"}'] == 1
    assert shown['qmd_sidecar_agent_state{agent="main",state="degraded"}'] == 0
    assert (shown["qmd_sidecar_places"], shown["qmd_sidecar_worker_calls"]) == (3, 2)
    assert shown["process_resident_memory_bytes"] > 0


def test_a_source_that_fails_is_missing_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The rest is there. It is logged once, and counted each time."""

    def prepare(sources: Sources, agent: Agent) -> None:
        del agent.denials

    sources = with_one(tmp_path, prepare)
    with caplog.at_level(logging.WARNING):
        text_of(sources)
        shown = values(text_of(sources)[0])
    assert shown['qmd_sidecar_metric_failures_total{source="qmd_sidecar_denials_total"}'] >= 1
    assert shown["qmd_sidecar_places"] == 3
    assert len([record for record in caplog.records if "denials" in str(record.__dict__.get("fields"))]) == 1


def test_an_agent_that_cannot_be_asked_hides_no_other(tmp_path: Path) -> None:
    """It is left out."""

    def prepare(sources: Sources, agent: Agent) -> None:
        agent.next_update = lambda: 1 / 0

    shown = values(text_of(with_one(tmp_path, prepare))[0])
    assert shown['qmd_sidecar_metric_failures_total{source="agent"}'] == 1
    assert not [name for name in shown if 'agent="main"' in name]


def test_a_daemon_that_nobody_scrapes_does_not_pay_for_it() -> None:
    """The library is loaded with the first scrape."""
    script = "import sys, sidecar.daemon; print('prometheus_client' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "False\n"


def test_names_follow_the_rules_of_prometheus() -> None:
    """Ours have a prefix, counters end in `_total` and nothing else does; units are base units."""
    for metric in METRICS:
        assert re.fullmatch(r"(qmd_sidecar|process)_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert not re.search(r"_(ms|millis|minutes|kb|mb|percent)(_|$)", metric.name)
        assert metric.meaning.endswith(".")
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_no_label_can_hold_what_a_caller_says() -> None:
    """Every label is one of these, and what fills them is a list of ours or of the configuration."""
    ours = {"agent", "backend", "from", "job", "kind", "mode", "outcome", "platform", "python", "reason", "result"}
    assert {label for metric in METRICS for label in metric.labels} == ours | {
        *("route", "source", "state", "status", "verb", "version")
    }
