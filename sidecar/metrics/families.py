"""Metrics in the hands of prometheus-client, the only module that imports it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isinf
from typing import TypeAlias

from prometheus_client import CollectorRegistry
from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest as plain
from prometheus_client.openmetrics import exposition as open_metrics
from prometheus_client.registry import Collector

from sidecar.metrics.metric import Metric, Row
from sidecar.metrics.tally import Spread

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"

#: Typed here, for the library has not.
_open: Callable[[CollectorRegistry], bytes] = open_metrics.generate_latest

Read: TypeAlias = Callable[[], Iterable[tuple[Metric, list[Row]]]]


def text(read: Read, accept: str) -> tuple[bytes, str]:
    """What `read` gives, in the form that a scraper accepts, and the media type of that form."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Live(read))
    # Not the library's own choice: it falls over versions that are no numbers, and gives them back in the media type.
    if OPEN_METRICS.partition(";")[0] in accept:
        return _open(registry), OPEN_METRICS
    return plain(registry), PLAIN


class _Live(Collector):
    """Asks when it is asked, and keeps nothing."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def collect(self) -> Iterator[Family]:
        """Every metric with its rows."""
        for metric, rows in self._read():
            yield _family(metric, rows)


def _family(metric: Metric, rows: Iterable[Row]) -> Family:
    family: CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily
    match metric.kind:
        case "histogram":
            family = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        case "counter":
            family = CounterMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        case "gauge":
            family = GaugeMetricFamily(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in rows:
        if isinstance(value, Spread):
            assert isinstance(family, HistogramMetricFamily)
            family.add_metric(labels, [(_bound(end), number) for end, number in value.buckets], value.total)
        else:
            assert not isinstance(family, HistogramMetricFamily)
            family.add_metric(labels, value)
    return family


def _bound(end: float) -> str:
    return "+Inf" if isinf(end) else str(end)
