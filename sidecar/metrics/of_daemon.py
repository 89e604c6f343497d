"""What is measured of the daemon as a whole, and counted as it happens."""

from __future__ import annotations

import platform
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import psutil

import sidecar
from backends.lives import LIVES
from sidecar.metrics.counts import Counts
from sidecar.metrics.metric import Metric, Row, counted, one_of
from sidecar.metrics.scene import Scene
from sidecar.metrics.tally import Histogram

_STATES = ("starting", "ready", "draining")


def _value(value: Callable[[Scene], float]) -> Callable[[Scene], list[Row]]:
    return lambda scene: [((), value(scene))]


def _tally(tally: Callable[[Counts], Mapping[Any, int]]) -> Callable[[Scene], list[Row]]:
    return lambda scene: counted(tally(scene.counts))


def _histogram(histogram: Callable[[Counts], Histogram]) -> Callable[[Scene], list[Row]]:
    return lambda scene: list(histogram(scene.counts).rows())


def _build(scene: Scene) -> list[Row]:
    return [((sidecar.__version__, platform.python_version(), platform.system().lower()), 1)]


def _cpu_seconds(scene: Scene) -> float:
    spent = psutil.Process().cpu_times()
    return spent.user + spent.system


METRICS = (
    Metric("qmd_sidecar_build_info", "gauge", ("version", "python", "platform"), "Always 1; the labels tell.", _build),
    Metric(
        "qmd_sidecar_state",
        "gauge",
        ("state",),
        "1 for the state that the daemon is in, 0 for the others.",
        lambda scene: one_of(_STATES, scene.state),
    ),
    Metric(
        "qmd_sidecar_uptime_seconds",
        "gauge",
        (),
        "Since the start.",
        _value(lambda scene: time.time() - scene.started_at),
    ),
    Metric(
        "qmd_sidecar_requests_total",
        "counter",
        ("route", "status"),
        "Replies that were begun, by the template of the route.",
        _tally(lambda counts: counts.requests),
    ),
    Metric(
        "qmd_sidecar_request_seconds",
        "histogram",
        ("route",),
        "From a request's head to the head of its reply.",
        _histogram(lambda counts: counts.request_seconds),
    ),
    Metric(
        "qmd_sidecar_search_seconds",
        "histogram",
        ("backend", "mode"),
        "Searches, by the engine that answered and the mode that ran; `none` where no engine did.",
        _histogram(lambda counts: counts.search_seconds),
    ),
    Metric(
        "qmd_sidecar_search_outcomes_total",
        "counter",
        ("outcome",),
        "What searches came to: `hits`, `no_match`, `partial`, `denied`, `disabled`, `unavailable`.",
        _tally(lambda counts: counts.outcomes),
    ),
    Metric(
        "qmd_sidecar_search_fallbacks_total",
        "counter",
        ("from", "reason"),
        "Searches that another engine answered than the first choice, and why.",
        _tally(lambda counts: counts.fallbacks),
    ),
    Metric(
        "qmd_sidecar_searches_clipped_total",
        "counter",
        (),
        "Searches of whose results some did not fit `limits.maxInjectedChars`.",
        _value(lambda scene: scene.counts.clipped),
    ),
    Metric(
        "qmd_sidecar_places_in_use",
        "gauge",
        (),
        "Requests that are worked on now.",
        _value(lambda scene: scene.places.in_use),
    ),
    Metric(
        "qmd_sidecar_places",
        "gauge",
        (),
        "How many may be at once; beyond that, requests are refused as `overloaded`.",
        _value(lambda scene: scene.places.number),
    ),
    Metric(
        "qmd_sidecar_worker_calls",
        "gauge",
        (),
        "Calls that the worker process has to answer.",
        _value(lambda scene: scene.worker["calls"]),
    ),
    Metric(
        "qmd_sidecar_worker_rss_bytes",
        "gauge",
        (),
        "Memory of the worker process; 0 while there is none.",
        _value(lambda scene: scene.worker.get("rssBytes") or 0),
    ),
    Metric(
        "qmd_sidecar_child_starts_total",
        "counter",
        ("verb",),
        "Processes that were started: verbs of qmd, `mcp` for a warm one, `worker` for ours.",
        lambda scene: counted(LIVES.started),
    ),
    Metric(
        "qmd_sidecar_child_exits_total",
        "counter",
        ("verb", "reason"),
        "How they ended: `ok`, `failed`, `killed` by a signal, or `ended` by the daemon, as after a deadline.",
        lambda scene: counted(LIVES.ended),
    ),
    Metric(
        "qmd_sidecar_loop_lag_seconds",
        "histogram",
        (),
        "How late the event loop comes to what is due, measured every two seconds.",
        _histogram(lambda counts: counts.loop_lag),
    ),
    Metric(
        "qmd_sidecar_config_last_reload_successful",
        "gauge",
        (),
        "0 when the newest configuration is wrong, and the one before is in force.",
        _value(lambda scene: float(scene.reload is None or scene.reload.error is None)),
    ),
    Metric(
        "qmd_sidecar_config_last_reload_timestamp_seconds",
        "gauge",
        (),
        "When the configuration was last read.",
        _value(lambda scene: scene.reload.at if scene.reload else scene.started_at),
    ),
    Metric(
        "process_cpu_seconds_total",
        "counter",
        (),
        "Processor time of the daemon itself.",
        _value(_cpu_seconds),
    ),
    Metric(
        "process_resident_memory_bytes",
        "gauge",
        (),
        "Memory of the daemon itself.",
        _value(lambda scene: psutil.Process().memory_info().rss),
    ),
    Metric(
        "process_start_time_seconds",
        "gauge",
        (),
        "When the process was started.",
        _value(lambda scene: psutil.Process().create_time()),
    ),
    Metric(
        "process_open_fds",
        "gauge",
        (),
        "Descriptors that are open.",
        _value(lambda scene: psutil.Process().num_fds()),
    ),
    Metric(
        "process_max_fds",
        "gauge",
        (),
        "How many may be.",
        _value(lambda scene: resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
    ),
    # The last one: it tells of all before it.
    Metric(
        "qmd_sidecar_metric_failures_total",
        "counter",
        ("source",),
        "Metrics that could not be read, by name, and agents that could not be asked; they are missing above.",
        _tally(lambda counts: counts.failures),
    ),
)
