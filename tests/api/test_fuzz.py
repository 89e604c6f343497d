"""The schema as a promise, in the short form; `make schema-fuzz` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.fuzz import SEED, Fuzz, fuzz
from tests.api.stage import stage

#: A flush is granted once.
DEEP = ("memory_search", "memory_get", "session_start", "triggers", "export", "explain")


@pytest.mark.timeout(300)
def test_every_route_answers_as_its_schema_says(tmp_path: Path) -> None:
    """Whatever the schema allows or forbids is answered with a documented status and documented fields."""
    with stage(tmp_path) as daemon:
        run = fuzz(daemon, number=1200, seed=SEED)
    print(run.table())
    assert run.faults == {}
    asked = {status for _, status in run.counts}
    assert {200, 202, 400, 403, 404, 405} <= asked
    assert asked_for_nothing(run) == set()


def asked_for_nothing(run: Fuzz) -> set[str]:
    """The routes with known values whose good answers had mostly nothing to show: what they say then was not held."""
    good = {label: number for (label, status), number in run.counts.items() if status == 200 and label.endswith(DEEP)}
    return {label for label, number in good.items() if run.shown[label, 200] <= number / 2}
