"""An index of an older version is brought up to date, whole or not at all; a newer one is left alone."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from backends.base import BackendError, Failure
from backends.builtin.migrations import SCHEMA_VERSION, Step, migrate
from tests.backends.builtin.conftest import Desk


def as_version_1(index: Path) -> None:
    """What the first release left: the same tables in a file that cannot shrink."""
    with closing(apsw.Connection(str(index))) as connection:
        connection.execute("DROP TABLE embedding_jobs")
        for statement in ("journal_mode = delete", "auto_vacuum = none", "user_version = 1"):
            connection.execute(f"PRAGMA {statement}").fetchall()
        connection.execute("VACUUM").fetchall()
        assert connection.pragma("auto_vacuum") == 0


def test_an_older_index_answers_and_is_brought_up_to_date(semantic: Desk) -> None:
    """Nothing is read or embedded again."""
    semantic.write("memory/a.md", "zebracomet\n")
    semantic.sync()
    asyncio.run(semantic.backend.close())
    as_version_1(semantic.index)
    semantic.reopened()
    assert semantic.paths("zebracomet") == ["memory/a.md"]
    report = semantic.sync()
    assert (report.changed, report.embedded, report.detail) == (0, 0, "")
    with closing(apsw.Connection(str(semantic.index))) as connection:
        assert connection.pragma("user_version") == SCHEMA_VERSION
        assert connection.pragma("auto_vacuum") == 2
    assert semantic.answer("zebracomet").provider == "static"


def test_every_step_is_applied_once_and_in_order(tmp_path: Path) -> None:
    """A database of version 1 sees all, one of version 3 only what came after."""
    steps = [
        Step(2, "CREATE TABLE t (x)"),
        Step(3, "INSERT INTO t VALUES (3)"),
        Step(4, "INSERT INTO t SELECT x + 1 FROM t", rewrites=True),
    ]
    with closing(apsw.Connection(str(tmp_path / "i.sqlite"))) as connection:
        connection.pragma("user_version", 1)
        assert migrate(connection, steps[:2])
        assert migrate(connection, steps)
        assert not migrate(connection, steps)
        assert connection.execute("SELECT x FROM t").fetchall() == [(3,), (4,)]
        assert (connection.pragma("user_version"), connection.pragma("auto_vacuum")) == (4, 2)


def test_a_step_that_fails_leaves_the_version_and_all_rows(tmp_path: Path) -> None:
    """All steps are one transaction."""
    steps = [Step(2, "CREATE TABLE t (x)"), Step(3, "INSERT INTO nowhere VALUES (1)")]
    with closing(apsw.Connection(str(tmp_path / "i.sqlite"))) as connection:
        connection.pragma("user_version", 1)
        with pytest.raises(apsw.SQLError):
            migrate(connection, steps)
        assert connection.pragma("user_version") == 1
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_a_newer_index_is_left_as_it_is(desk: Desk) -> None:
    """It may be needed by the release that wrote it: not a byte changes, and the error says what to do."""
    desk.write("memory/a.md", "zebracomet\n")
    desk.sync()
    asyncio.run(desk.backend.close())
    with closing(apsw.Connection(str(desk.index))) as connection:
        connection.pragma("user_version", SCHEMA_VERSION + 1)
    before = desk.index.read_bytes()
    desk.reopened()
    for act in (desk.sync, lambda: desk.answer("zebracomet")):
        with pytest.raises(BackendError) as refused:
            act()
        assert refused.value.failure is Failure.INDEX_LOST
        assert "newer release" in refused.value.message
        assert "Update qmd-sidecar" in refused.value.hint
    assert desk.backend.status().ready is False
    assert desk.index.read_bytes() == before
