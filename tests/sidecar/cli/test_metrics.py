"""`qmd-sidecar metrics`."""

from __future__ import annotations

import json

from sidecar.cli.metrics import samples
from tests.sidecar.cli.conftest import Run
from tests.sidecar.cli.fake_daemon import FakeDaemon, error

TEXT = """# HELP qmd_sidecar_places How many.
# TYPE qmd_sidecar_places gauge
qmd_sidecar_places 64.0
qmd_sidecar_agent_state{agent="a\\"b\\\\n",state="ready"} 1.0
qmd_sidecar_search_seconds_bucket{backend="none",le="+Inf",mode="none"} 3.0
"""


def test_the_text_is_printed_as_it_came(run: Run, daemon: FakeDaemon) -> None:
    """A file for node_exporter is a redirect away."""
    daemon.routes["GET", "/metrics"] = (200, TEXT.encode())
    result = run("metrics")
    assert (result.exit_code, result.stdout, result.stderr) == (0, TEXT, "")


def test_programs_get_names_labels_and_values(run: Run, daemon: FakeDaemon) -> None:
    """Escapes are undone."""
    daemon.routes["GET", "/metrics"] = (200, TEXT.encode())
    rows = json.loads(run("metrics", "--json").stdout)["metrics"]
    assert rows == list(samples(TEXT))
    assert rows[0] == {"name": "qmd_sidecar_places", "labels": {}, "value": 64.0}
    assert rows[1]["labels"] == {"agent": 'a"b\\n', "state": "ready"}
    assert rows[2]["labels"]["le"] == "+Inf"


def test_a_refusal_is_told_as_everywhere(run: Run, daemon: FakeDaemon) -> None:
    """An older daemon has no such route."""
    daemon.routes["GET", "/metrics"] = (404, error("not_found", "no such route"))
    result = run("metrics")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no such route" in result.stderr


def test_nobody_is_there(run: Run) -> None:
    """With the exit code of every verb."""
    assert run("metrics").exit_code == 3
