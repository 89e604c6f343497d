"""The page, the alert rules and the dashboard name metrics that there are."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from sidecar.events import EventType
from sidecar.metrics.exposition import METRICS
from tests.running import REPOSITORY
from tests.sidecar.metrics.page import PAGE, page

DOCS = REPOSITORY / "docs"
HISTOGRAM = ("_bucket", "_sum", "_count")
#: The labels of everything that is exposed, by its name.
SAMPLES = {
    f"{metric.name}{end}": metric.labels
    for metric in METRICS
    for end in (HISTOGRAM if metric.kind == "histogram" else ("",))
}


def rules() -> list[dict[str, Any]]:
    """Every alert rule."""
    groups = yaml.safe_load((DOCS / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    """Every panel of the dashboard."""
    dashboard = json.loads((DOCS / "grafana-dashboard.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = dashboard["panels"]
    return found


EXPRESSIONS = [rule["expr"] for rule in rules()] + [row["expr"] for panel in panels() for row in panel["targets"]]


def test_every_metric_is_on_the_page() -> None:
    """When this fails: python -m tests.sidecar.metrics.page."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("kind", EventType)
def test_every_event_is_on_the_page(kind: EventType) -> None:
    """In its own table."""
    assert f"`{kind}`" in page()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_that_there_are(expression: str) -> None:
    """A rule over a name that is gone would never fire, and nobody would see it."""
    names = set(re.findall(r"\b(?:qmd_sidecar|process)_[a-z_]+", expression))
    assert names
    assert names <= SAMPLES.keys()
    for name, matchers in re.findall(r"\b((?:qmd_sidecar|process)_[a-z_]+)\{([^}]*)\}", expression):
        asked = set(re.findall(r"(\w+)(?:=~|!~|!=|=)", matchers))
        # `job` is the scraper's.
        assert asked <= {*SAMPLES[name], "job"}


def test_every_alert_says_what_to_do() -> None:
    """With a name of its own, a severity, and patience."""
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "action"}
        assert re.fullmatch(r"\d+m", rule["for"])


def test_every_panel_has_a_place_of_its_own() -> None:
    """No two lie over each other."""
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels()]
    assert len({*places}) == len(places)
    assert len({panel["id"] for panel in panels()}) == len(places)
