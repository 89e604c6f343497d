"""What a worker logs is a line of the daemon's log."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from sidecar.logs.relay import retell

CHILD = """
import logging
from sidecar.logs.relay import log_to_parent
log_to_parent()
log = logging.getLogger("backends.builtin.intake")
log.warning("a note could not be cut", extra={"fields": {"reason": "KeyError"}})
log.debug("not this")
try:
    {}["the walnuts of Ravi"]
except KeyError:
    log.exception("worker failed")
print("100% of a library's own words")
"""


def test_a_childs_lines_keep_their_level_logger_and_facts(caplog: pytest.LogCaptureFixture) -> None:
    """What it merely prints is of level debug."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=True
    )
    with caplog.at_level(logging.DEBUG):
        for line in done.stdout.splitlines():
            retell(line)
    told = {record.getMessage(): record for record in caplog.records}
    assert {event: record.levelname for event, record in told.items()} == {
        "a note could not be cut": "WARNING",
        "worker failed": "ERROR",
        "worker printed": "DEBUG",
    }
    assert told["a note could not be cut"].name == "backends.builtin.intake"
    assert told["a note could not be cut"].__dict__["fields"]["reason"] == "KeyError"
    assert "KeyError" in told["worker failed"].__dict__["fields"]["traceback"]
    assert "walnuts" not in str([record.__dict__ for record in caplog.records])
    assert told["worker printed"].__dict__["fields"] == {"line": "100% of a library's own words"}


@pytest.mark.parametrize("line", [b"", b"\xff\n", b"[]", b'{"level": ["x"]}', b'{"level": "info"}', b"%s %d"])
def test_no_line_of_a_child_is_an_accident(line: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The reader of its standard error must not end."""
    with caplog.at_level(logging.DEBUG):
        retell(line)
    (record,) = caplog.records
    record.getMessage()
