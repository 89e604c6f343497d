"""docs/metrics.md, its table made from the metrics themselves.

python -m tests.sidecar.metrics.page
"""

from __future__ import annotations

import sys

from sidecar.metrics.exposition import METRICS
from tests.running import REPOSITORY

PAGE = REPOSITORY / "docs" / "metrics.md"
HEADING = "## Every metric\n"
NOTE = "Made by `python -m tests.sidecar.metrics.page`.\n"


def table() -> str:
    """One row for each metric."""
    rows = [
        f"| `{metric.name}` | {metric.kind} | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.meaning} |"
        for metric in METRICS
    ]
    return "\n".join(["| name | type | labels | |", "|---|---|---|---|", *rows]) + "\n"


def page() -> str:
    """The page with the table that it should have."""
    words, _, _ = PAGE.read_text(encoding="utf-8").partition(HEADING)
    return f"{words}{HEADING}\n{NOTE}\n{table()}"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
