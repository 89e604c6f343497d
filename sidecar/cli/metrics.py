"""`qmd-sidecar metrics`: what is measured, as a scraper would read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sidecar.cli.exits import print_json, verb
from sidecar.cli.options import connect, shared_options

_SAMPLE = re.compile(r"^(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@click.command()
@shared_options
@verb
def metrics(
    config: Path | None,
    state_dir: Path | None,
    socket: Path | None,
    as_json: bool,
) -> None:
    """Print every metric in the text form of Prometheus, as for node_exporter's textfile collector."""
    text = connect(config, state_dir, socket).metrics()
    if as_json:
        print_json({"metrics": list(samples(text))})
    else:
        print(text, end="")


def samples(text: str) -> Iterator[dict[str, Any]]:
    """`{name, labels, value}` of every line that holds a value."""
    for sample in _SAMPLE.finditer(text):
        labels = {name: _unescaped(value) for name, value in _LABEL.findall(sample["labels"] or "")}
        yield {"name": sample["name"], "labels": labels, "value": float(sample["value"])}


def _unescaped(value: str) -> str:
    return re.sub(r"\\.", lambda pair: _ESCAPED.get(pair[0], pair[0]), value)
