"""The schema as a promise, in the short form; `make schema-fuzz` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.fuzz import SEED, fuzz
from tests.api.stage import stage


@pytest.mark.timeout(300)
def test_every_route_answers_as_its_schema_says(tmp_path: Path) -> None:
    """Whatever the schema allows or forbids is answered with a documented status and documented fields."""
    with stage(tmp_path) as daemon:
        run = fuzz(daemon, number=700, seed=SEED)
    print(run.table())
    assert run.faults == {}
    asked = {status for _, status in run.counts}
    assert {200, 202, 400, 403, 404, 405} <= asked
