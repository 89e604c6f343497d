"""What a sync holds back, repeats, renames and remembers, over a fake qmd."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from backends.base import BackendError, Failure, Mode, SyncRequest
from backends.corpus import Corpus, Kind, Root
from backends.qmd import collections
from tests.backends.qmd.making import FORCED, SYNC, corpus_of, home_of, query, running, write, write_model
from tests.fake_qmd import FakeQmd

MANY = {f"memory/note-{n}.md": f"Note {n} about zebracomet.\n" for n in range(30)}


@pytest.fixture
def fake(tmp_path: Path) -> FakeQmd:
    write(tmp_path / "ws", MANY | {"MEMORY.md": "The codeword is walnutpier.\n"})
    return FakeQmd.install(tmp_path)


@contextmanager
def refused(failure: Failure) -> Iterator[None]:
    with pytest.raises(BackendError) as caught:
        yield
    assert caught.value.failure is failure, caught.value.message


def run(tmp_path: Path, fake: FakeQmd, steps: Any, *, corpus: Corpus | None = None, **options: Any) -> Any:
    """Run steps over a backend that starts with what the one before left on disk."""

    async def main() -> Any:
        environ = options.pop("environ", fake.environ())
        async with running(corpus or corpus_of(tmp_path / "ws"), tmp_path / "q", environ, **options) as qmd:
            return await steps(qmd)

    return asyncio.run(main())


def alter_ledger(tmp_path: Path, **changes: Any) -> None:
    """Change what is remembered on disk, as if time had passed."""
    file = home_of(tmp_path / "q").ledger
    file.write_bytes(orjson.dumps(orjson.loads(file.read_bytes()) | changes))


def lose(tmp_path: Path, count: int) -> None:
    for n in range(count):
        (tmp_path / f"ws/memory/note-{n}.md").unlink()


async def synced(qmd: Any) -> Any:
    return await qmd.sync(SYNC)


def test_a_root_that_lost_most_of_its_files_keeps_its_index(tmp_path: Path, fake: FakeQmd) -> None:
    """Other roots are updated meanwhile; what is left of the held one is found; status and answers say so."""

    async def steps(qmd: Any) -> None:
        await qmd.sync(SYNC)
        lose(tmp_path, 25)
        write(tmp_path / "ws", {"MEMORY.md": "The codeword is gliderstorm.\n"})
        report = await qmd.sync(SYNC)
        left = await qmd.search(query("note 29 zebracomet"))
        status = qmd.status()
        assert (report.changed, report.removed, status.documents) == (1, 0, 31)
        assert [hit.path for hit in (await qmd.search(query("gliderstorm"))).hits] == ["MEMORY.md"]
        assert (left.hits[0].path, left.notices[-1].code) == ("memory/note-29.md", "source_missing")
        [held] = status.detail["held"]
        assert (held["name"], held["reason"], held["filesLeft"]) == ("memory-dir", "shrunk", 5)

    run(tmp_path, fake, steps)


def test_a_held_root_starts_nothing_by_itself(tmp_path: Path, fake: FakeQmd) -> None:
    """The same loss, looked at again, is no change."""

    async def steps(qmd: Any) -> None:
        await qmd.sync(SYNC)
        lose(tmp_path, 25)
        await qmd.sync(SYNC)
        updates = len(fake.calls("update"))
        await qmd.sync(SYNC)
        assert len(fake.calls("update")) == updates

    run(tmp_path, fake, steps)


@pytest.mark.parametrize("how", ["force", "time", "return"])
def test_a_hold_ends(tmp_path: Path, fake: FakeQmd, how: str) -> None:
    """By force, by a second scan ten minutes later (over a restart), or because the files are back."""

    async def hold(qmd: Any) -> None:
        await qmd.sync(SYNC)
        lose(tmp_path, 25)
        await qmd.sync(SYNC)
        assert qmd.status().notices

    async def end(qmd: Any) -> None:
        assert qmd.status().detail["held"]
        report = await qmd.sync(FORCED if how == "force" else SYNC)
        assert (report.removed, qmd.status().detail["held"]) == (0 if how == "return" else 25, [])

    run(tmp_path, fake, hold)
    if how == "time":
        alter_ledger(tmp_path, losses={"memory-dir": {"reason": "shrunk", "since": 1.0, "files": 5}})
    if how == "return":
        write(tmp_path / "ws", MANY)
    run(tmp_path, fake, end)


def test_our_own_exports_are_never_held(tmp_path: Path, fake: FakeQmd) -> None:
    """Retention and purges take effect at once, whatever share they take."""
    write(tmp_path / "sessions", {f"s{n}.md": "They said so.\n" for n in range(30)})
    sessions = Root(
        name="sessions", kind=Kind.SESSION, path=tmp_path / "sessions", patterns=("**/*.md",), shown="qmd/sessions/"
    )

    async def steps(qmd: Any) -> None:
        await qmd.sync(SYNC)
        for n in range(29):
            (tmp_path / f"sessions/s{n}.md").unlink()
        assert (await qmd.sync(SYNC)).removed == 29
        shutil.rmtree(tmp_path / "sessions")
        await qmd.sync(SYNC)
        assert not qmd.status().detail["held"]

    run(tmp_path, fake, steps, corpus=corpus_of(tmp_path / "ws", sessions))


def test_a_failed_update_is_given_a_pause_that_survives_a_restart(tmp_path: Path, fake: FakeQmd) -> None:
    """It fails at once with the same class, starting nothing, until the time has come or somebody insists."""
    fake.behave(update="exit")

    async def fail(qmd: Any) -> None:
        with refused(Failure.EXITED):
            await qmd.sync(SYNC)

    run(tmp_path, fake, fail)
    fake.behave()
    run(tmp_path, fake, fail)
    assert len(fake.calls("update")) == 1

    async def insist(qmd: Any) -> None:
        facts = qmd.status().detail["lastUpdate"]
        assert (facts["failures"], facts["nextAttemptAt"] > 0) == (1, True)
        assert (await qmd.sync(FORCED)).changed == 31
        assert "failures" not in qmd.status().detail["lastUpdate"]

    run(tmp_path, fake, insist)


def test_the_next_interval_comes_when_the_pause_is_over(tmp_path: Path, fake: FakeQmd) -> None:
    """A first update that failed does not stop the ones after it."""
    fake.behave(update="locked")

    async def fail(qmd: Any) -> None:
        with refused(Failure.LOCKED):
            await qmd.sync(SYNC)

    run(tmp_path, fake, fail)
    fake.behave()
    alter_ledger(tmp_path, update_pause={"failures": 3, "not_before": 1.0, "cause": "locked"})
    assert run(tmp_path, fake, synced).changed == 31


def test_another_binary_ends_the_pause(tmp_path: Path, fake: FakeQmd) -> None:
    """Whoever repairs qmd need not wait."""

    async def steps(qmd: Any) -> None:
        fake.behave(update="abi")
        with refused(Failure.BROKEN_INSTALL):
            await qmd.sync(SYNC)
        fake.behave()
        FakeQmd.install(tmp_path, version="2.8.4")
        assert (await qmd.sync(SYNC)).changed == 31

    run(tmp_path, fake, steps)


@pytest.mark.alone
def test_a_slow_embed_gets_more_time_also_after_a_restart(tmp_path: Path, fake: FakeQmd) -> None:
    """The limit that grew is remembered, and the pause is."""
    environ = fake.environ() | {"QMD_EMBED_MODEL": str(write_model(tmp_path / "m.gguf"))}
    fake.behave(embed="hang")

    async def steps(qmd: Any) -> None:
        with refused(Failure.TIMEOUT):
            await qmd.sync(SYNC)

    run(tmp_path, fake, steps, environ=environ, mode=Mode.QUERY, embed_timeout_s=2.0)
    ledger = orjson.loads(home_of(tmp_path / "q").ledger.read_bytes())
    assert (ledger["embed_factor"], ledger["embed_pause"]["failures"]) == (2, 1)
    run(tmp_path, fake, synced, environ=environ, mode=Mode.QUERY, embed_timeout_s=2.0)
    assert len(fake.calls("embed")) == 1


def test_a_damaged_model_is_found_without_running_anything(tmp_path: Path, fake: FakeQmd) -> None:
    """Neither an embed nor a search hangs on it; the notice names what to do."""
    (tmp_path / "m.gguf").write_bytes(b"<html>not found</html>")
    environ = fake.environ() | {"QMD_EMBED_MODEL": str(tmp_path / "m.gguf")}

    async def steps(qmd: Any) -> None:
        with refused(Failure.MODEL_MISSING):
            await qmd.sync(SYNC)
        answer = await qmd.search(query("walnutpier", mode=Mode.QUERY))
        assert (answer.mode, [notice.code for notice in answer.notices]) == (Mode.SEARCH, ["semantic_off"])
        assert "damaged" in answer.notices[0].message
        assert [notice.code for notice in qmd.status().notices] == ["semantic_off"]
        assert qmd.status().detail["models"] == {"embed": False, "rerank": False}

    run(tmp_path, fake, steps, environ=environ, mode=Mode.QUERY)
    assert not fake.calls("embed")


def test_an_index_that_contradicts_itself_is_rebuilt_once(tmp_path: Path, fake: FakeQmd) -> None:
    """A constraint that fails at every attempt would keep the index as it is for days."""

    async def steps(qmd: Any) -> None:
        await qmd.sync(SYNC)
        fake.behave(update="unique")
        write(tmp_path / "ws", {"MEMORY.md": "The codeword is gliderstorm.\n"})
        await qmd.sync(SYNC)
        assert [hit.path for hit in (await qmd.search(query("gliderstorm"))).hits] == ["MEMORY.md"]
        assert home_of(tmp_path / "q").index.with_name("index.sqlite.broken").exists()

    run(tmp_path, fake, steps)


def test_a_hold_is_logged_when_it_begins_and_ends(
    tmp_path: Path, fake: FakeQmd, caplog: pytest.LogCaptureFixture
) -> None:
    """One line each, not one a scan."""

    async def steps(qmd: Any) -> None:
        await qmd.sync(SYNC)
        lose(tmp_path, 25)
        for request in (SYNC, SYNC, SYNC, FORCED, SYNC):
            await qmd.sync(request)

    with caplog.at_level("INFO", logger="backends.qmd"):
        run(tmp_path, fake, steps)
    messages = [record.getMessage() for record in caplog.records]
    assert (messages.count("root held"), messages.count("root released")) == (1, 1)


def test_older_names_are_migrated_once(tmp_path: Path, fake: FakeQmd) -> None:
    """`memory-dir-main` becomes `memory-dir`; what is a person's, or somewhere else, stays."""
    home = home_of(tmp_path / "q")
    home.prepare()
    there = {"path": str(tmp_path / "ws" / "memory"), "pattern": "**/*.md"}
    mine = {"memory-dir-main": there, "my-notes": there, "memory-root-main": {"path": "/elsewhere", "pattern": "*.md"}}
    collections.store(home.index_yml, {"collections": mine})

    async def steps(qmd: Any) -> None:
        await qmd.sync(SYNC)
        assert (await qmd.search(query("note 7 zebracomet"))).hits[0].path == "memory/note-7.md"

    run(tmp_path, fake, steps)
    names = collections.load(home.index_yml)["collections"]
    assert set(names) == {"memory-dir", "memory-root", "my-notes", "memory-root-main"}
    assert [call["argv"] for call in fake.calls("collection")] == [["collection", "remove", "memory-dir-main"]]


def test_older_names_answer_while_the_newer_are_not_indexed(tmp_path: Path, fake: FakeQmd) -> None:
    """A migration whose update fails leaves the agent with its memory."""
    home = home_of(tmp_path / "q")
    home.prepare()
    entry = {"path": str(tmp_path / "ws" / "memory"), "pattern": "**/*.md"}
    collections.store(home.index_yml, {"collections": {"memory-dir-main": entry}})
    home.index.write_bytes(orjson.dumps({"memory-dir-main": {"note-3.md": "Note 3 about zebracomet.\n"}}))
    fake.behave(update="exit")

    async def steps(qmd: Any) -> None:
        with refused(Failure.EXITED):
            await qmd.sync(SYNC)
        assert [hit.path for hit in (await qmd.search(query("zebracomet"))).hits] == ["memory/note-3.md"]

    run(tmp_path, fake, steps)


def test_what_a_rule_leaves_out_is_counted(tmp_path: Path, fake: FakeQmd) -> None:
    """Hidden and build folders, hidden files and links; not what no pattern means, not version control."""
    hidden = [".archive/x.md", "build/deep/y.md", ".draft.md"]
    write(tmp_path / "ws/memory", dict.fromkeys([*hidden, "build/z.txt", ".git/w.md"], "x"))
    (tmp_path / "ws/memory/link.md").symlink_to(tmp_path / "ws/MEMORY.md")
    run(tmp_path, fake, synced)

    async def steps(qmd: Any) -> dict[str, Any]:
        await qmd.sync(SYNC)
        ignored: dict[str, Any] = qmd.status().detail["ignored"]
        return ignored

    ignored = run(tmp_path, fake, steps)
    assert (ignored["count"], ignored["atLeast"]) == (4, False)
    assert set(ignored["sample"]) == {f"memory/{name}" for name in (*hidden, "link.md")}


def test_status_tells_what_an_operator_asks(tmp_path: Path, fake: FakeQmd) -> None:
    """The resident with its tree and memory, the last runs, and what is missing."""

    async def steps(qmd: Any) -> None:
        assert qmd.status().detail["resident"] == {"state": "none", "pid": None}
        await qmd.sync(SYNC)
        await qmd.search(query("walnutpier"))
        detail = qmd.status().detail
        resident = detail["resident"]
        assert (resident["state"], resident["rssBytes"] > 0, resident["calls"] >= 1) == ("idle", True, True)
        assert resident["pid"] in detail["processes"]
        assert (detail["lastUpdate"]["result"], detail["vectorsPending"], detail["tried"]) == ("ok", 0, True)

    run(tmp_path, fake, steps)


def test_qmd_is_cleaned_after_an_update_that_removed_something(tmp_path: Path, fake: FakeQmd) -> None:
    """What qmd calls removed is still in its database. An update that only adds costs no cleaning."""
    run(tmp_path, fake, synced)
    assert fake.calls("cleanup") == []
    lose(tmp_path, 1)
    run(tmp_path, fake, synced)
    run(tmp_path, fake, synced)
    assert len(fake.calls("cleanup")) == 1


def test_an_update_that_was_killed_is_cleaned_after(tmp_path: Path, fake: FakeQmd) -> None:
    """What it removed is not known."""
    run(tmp_path, fake, synced)
    alter_ledger(tmp_path, clean=False)
    run(tmp_path, fake, synced)
    assert len(fake.calls("cleanup")) == 1


def test_an_index_that_cannot_be_cleaned_goes_on_answering(tmp_path: Path, fake: FakeQmd) -> None:
    """The next sync tries again; a purge does not keep such an index."""
    run(tmp_path, fake, synced)
    lose(tmp_path, 1)
    fake.behave(cleanup="exit")
    run(tmp_path, fake, synced)
    run(tmp_path, fake, synced)
    assert len(fake.calls("cleanup")) == 2
    with pytest.raises(BackendError):
        run(tmp_path, fake, lambda qmd: qmd.sync(SyncRequest(reason="test", purge=True)))
    assert not home_of(tmp_path / "q").index.exists()
    fake.behave()
    run(tmp_path, fake, synced)
    assert home_of(tmp_path / "q").index.exists()
