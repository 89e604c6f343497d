"""The qmd backend over a fake qmd: which way it answers, and what each way of failing is called."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backends.base import BackendError, Failure, Mode, Source, SyncRequest
from backends.corpus import Kind, Root
from backends.qmd.backend import QmdBackend
from backends.qmd.pool import ResidentPool
from tests.backends.qmd.making import (
    FORCED,
    SYNC,
    alive,
    corpus_of,
    eventually_async,
    home_of,
    query,
    running,
    write,
    write_model,
)
from tests.fake_qmd import FakeQmd

NOTES = {"MEMORY.md": "# Facts\n\nThe deploy codeword is zebracomet.\n", "memory/a.md": "Lunch with Ada at noon.\n"}


@pytest.fixture
def fake(tmp_path: Path) -> FakeQmd:
    write(tmp_path / "ws", NOTES)
    return FakeQmd.install(tmp_path)


@contextmanager
def refused(failure: Failure) -> Iterator[None]:
    with pytest.raises(BackendError) as caught:
        yield
    assert caught.value.failure is failure, caught.value.message


def test_a_resident_answers_with_lines_of_the_file(tmp_path: Path, fake: FakeQmd) -> None:
    """A hit is the passage that stands in the file, at its own lines."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            answer = await qmd.search(query("what is the codeword?"))
            hit = answer.hits[0]
            assert (answer.engine, answer.via, answer.mode) == ("qmd", "resident", Mode.SEARCH)
            assert (hit.path, hit.start_line, hit.end_line) == ("MEMORY.md", 1, 3)
            assert not fake.calls("search")

    asyncio.run(main())


def test_an_index_of_another_folder_does_not_answer(tmp_path: Path, fake: FakeQmd) -> None:
    """Of an agent whose workspace was exchanged, until it is indexed; that it has fewer files is no loss."""
    many = {f"memory/{number}.md": f"Note {number} of the old workspace.\n" for number in range(40)}
    write(tmp_path / "ws", many)
    write(tmp_path / "other", {"memory/a.md": "The new codeword is quartzfern.\n"})

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
        async with running(corpus_of(tmp_path / "other"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            assert [hit.path for hit in (await qmd.search(query("codeword"))).hits] == ["memory/a.md"]
            assert qmd.status().notices == ()
        fake.behave(update="exit")
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            with refused(Failure.EXITED):
                await qmd.sync(SYNC)
            with refused(Failure.INDEX_LOST):
                await qmd.search(query("codeword"))

    asyncio.run(main())


def test_children_are_isolated(tmp_path: Path, fake: FakeQmd) -> None:
    """Every child gets private folders, an allow-listed environment and an empty working directory."""
    home = home_of(tmp_path / "q")
    environ = fake.environ() | {
        "QMD_EMBED_MODEL": "/m.gguf",
        "SECRET": "x",
        "OPENAI_API_KEY": "y",
        "CI": "1",
        "LC_ALL": "C",
    }

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            await qmd.search(query("codeword"))

    asyncio.run(main())
    assert {call["verb"] for call in fake.calls()} == {"version", "update", "mcp"}
    for call in fake.calls():
        seen = call["environment"]
        assert (seen["XDG_CONFIG_HOME"], seen["XDG_CACHE_HOME"]) == (str(home.config), str(home.cache))
        assert (seen["QMD_CONFIG_DIR"], call["cwd"]) == (str(home.index_yml.parent), str(home.work))
        assert (seen["QMD_EMBED_MODEL"], seen["LC_ALL"], seen["NO_COLOR"]) == ("/m.gguf", "C", "1")
        assert not {"SECRET", "OPENAI_API_KEY", "CI"} & seen.keys()
    assert (home.config.stat().st_mode & 0o777, home.index_yml.stat().st_mode & 0o777) == (0o700, 0o600)
    assert (home.cache / "qmd" / "models").resolve() == tmp_path / "q" / "models"


@pytest.mark.parametrize(
    "text", ["-v", "--help", "--collection=private x", "- bullet codeword", 'fix "codeword\nlex: a']
)
def test_a_query_is_text_whatever_it_looks_like(tmp_path: Path, fake: FakeQmd, text: str) -> None:
    """Options, operators and line breaks in a query reach qmd as words after `--`."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), resident=False) as qmd:
            await qmd.sync(SYNC)
            await qmd.search(query(text))

    asyncio.run(main())
    for call in [*fake.calls("search"), *fake.calls("query")]:
        at = call["argv"].index("--")
        assert len(call["argv"]) == at + 2
        assert not call["argv"][at + 1].startswith("-")
        assert call["argv"][:at].count("-c") == 2


@pytest.mark.parametrize(
    ("behaviour", "failure"),
    [
        ("exit", Failure.EXITED),
        ("garbage", Failure.BAD_OUTPUT),
        ("flood", Failure.BAD_OUTPUT),
        ("locked", Failure.LOCKED),
        ("abi", Failure.BROKEN_INSTALL),
        ("truncated", Failure.BAD_OUTPUT),
        ("notfound", Failure.INDEX_LOST),
    ],
)
def test_failures_of_the_command_line_have_their_class(
    tmp_path: Path, fake: FakeQmd, behaviour: str, failure: Failure
) -> None:
    """Each way to fail raises its own class, never an empty answer."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), resident=False) as qmd:
            await qmd.sync(SYNC)
            fake.behave(search=behaviour)
            with refused(failure):
                await qmd.search(query("codeword"))
            fake.behave()
            assert (await qmd.search(query("codeword"))).hits

    asyncio.run(main())


@pytest.mark.parametrize("behaviour", ["crash_after", "noise", "foreign"])
def test_usable_answers_are_used(tmp_path: Path, fake: FakeQmd, behaviour: str) -> None:
    """Noise, a crash at exit and a foreign row do not cost the answer."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), resident=False) as qmd:
            await qmd.sync(SYNC)
            fake.behave(search=behaviour)
            answer = await qmd.search(query("codeword"))
            codes = {"crash_after": "qmd_crashed_at_exit", "foreign": "unknown_collection"}
            assert [hit.path for hit in answer.hits] == ["MEMORY.md"]
            assert [notice.code for notice in answer.notices] == ([codes[behaviour]] if behaviour in codes else [])

    asyncio.run(main())


def test_nothing_found_in_plain_text_is_an_answer(tmp_path: Path, fake: FakeQmd) -> None:
    """ "No results found." although JSON was asked is no failure."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), resident=False) as qmd:
            await qmd.sync(SYNC)
            fake.behave(search="nothing")
            assert (await qmd.search(query("codeword"))).hits == ()

    asyncio.run(main())


@pytest.mark.alone
def test_a_hanging_command_ends_at_the_deadline_with_its_tree(tmp_path: Path, fake: FakeQmd) -> None:
    """A deaf qmd is a time-out, and its processes are gone afterwards."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), resident=False) as qmd:
            await qmd.sync(SYNC)
            fake.behave(search="hang")
            with refused(Failure.TIMEOUT):
                await qmd.search(query("codeword", timeout_s=1.0))
            assert await eventually_async(lambda: not alive(fake.calls("search")[-1]["pid"]))

    asyncio.run(main())


@pytest.mark.alone
def test_a_silent_resident_is_a_timeout_and_is_replaced(tmp_path: Path, fake: FakeQmd) -> None:
    """A call without an answer meets the deadline; the child is ended and the next one works."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            fake.behave(mcp="silent")
            with refused(Failure.TIMEOUT):
                await qmd.search(query("codeword", timeout_s=1.0))
            fake.behave()
            hung = fake.calls("mcp")[-1]["pid"]
            assert await eventually_async(lambda: not alive(hung))
            assert (await qmd.search(query("codeword"))).hits

    asyncio.run(main())


@pytest.mark.alone
@pytest.mark.parametrize("behaviour", ["exit", "garbage", "hang"])
def test_a_resident_that_does_not_start_leaves_the_command_line(tmp_path: Path, fake: FakeQmd, behaviour: str) -> None:
    """Without a resident the second way answers, and says so."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            fake.behave(mcp=behaviour)
            async with asyncio.timeout(30):
                await qmd.sync(SYNC)
            answer = await qmd.search(query("codeword", timeout_s=4))
            assert (answer.via, len(answer.hits)) == ("command", 1)
            assert answer.notices[0].code in ("resident_failed", "resident_busy")

    asyncio.run(main())


def test_a_resident_killed_under_a_search_is_replaced(tmp_path: Path, fake: FakeQmd) -> None:
    """Death of the warm process costs no answer."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            first = (await qmd.search(query("codeword"))).via
            os.killpg(qmd.status().detail["resident"]["pid"], signal.SIGKILL)
            assert (first, len((await qmd.search(query("codeword"))).hits)) == ("resident", 1)

    asyncio.run(main())


def test_no_qmd_is_missing_and_found_again(tmp_path: Path, fake: FakeQmd) -> None:
    """qmd gone from PATH is `missing`; back, it is used without a restart."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            fake.path.rename(tmp_path / "away")
            with refused(Failure.MISSING):
                await qmd.search(query("codeword"))
            (tmp_path / "away").rename(fake.path)
            assert (await qmd.search(query("codeword"))).hits

    asyncio.run(main())


def test_a_changed_binary_is_probed_and_retires_the_resident(tmp_path: Path, fake: FakeQmd) -> None:
    """An upgrade under a running daemon is noticed at the next call."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            await qmd.search(query("codeword"))
            FakeQmd.install(tmp_path, version="2.9.1")
            await qmd.search(query("codeword"))
            assert qmd.status().detail["version"] == "2.9.1"
            assert len({call["pid"] for call in fake.calls("mcp")}) == 2

    asyncio.run(main())


def test_folders_that_were_removed_are_made_again(tmp_path: Path, fake: FakeQmd) -> None:
    """A cleaner that took the working directory does not make qmd look missing."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), resident=False) as qmd:
            await qmd.sync(SYNC)
            home_of(tmp_path / "q").work.rmdir()
            assert (await qmd.search(query("codeword"))).hits

    asyncio.run(main())


def test_folders_that_cannot_be_made_are_said(tmp_path: Path, fake: FakeQmd) -> None:
    """A file in the place of a folder is a failure with a name, not a crash."""

    async def main() -> None:
        (tmp_path / "q").write_text("in the way")
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            with refused(Failure.EXITED):
                await qmd.search(query("codeword"))

    asyncio.run(main())


def test_an_index_that_is_gone_is_not_an_empty_one(tmp_path: Path, fake: FakeQmd) -> None:
    """Before the first sync, and after the database vanished, a search fails instead of finding nothing."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            with refused(Failure.INDEX_LOST):
                await qmd.search(query("codeword"))
            await qmd.sync(SYNC)
            home_of(tmp_path / "q").index.unlink()
            with refused(Failure.INDEX_LOST):
                await qmd.search(query("codeword"))
            await qmd.sync(SYNC)
            assert (await qmd.search(query("codeword"))).hits

    asyncio.run(main())


def test_sources_choose_the_collections(tmp_path: Path, fake: FakeQmd) -> None:
    """Notes and sessions are searched apart, and only where they are wanted."""
    write(tmp_path / "sessions", {"s1.md": "They said zebracomet aloud.\n"})
    sessions = Root(
        name="sessions", kind=Kind.SESSION, path=tmp_path / "sessions", patterns=("**/*.md",), shown="qmd/sessions/"
    )

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws", sessions), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)

            async def found(*sources: Source) -> set[str]:
                answer = await qmd.search(query("zebracomet", sources=frozenset(sources)))
                return {hit.path for hit in answer.hits}

            assert await found(Source.MEMORY) == {"MEMORY.md"}
            assert await found(Source.SESSIONS) == {"qmd/sessions/s1.md"}
            assert await found(*Source) == {"MEMORY.md", "qmd/sessions/s1.md"}
            assert await found() == set()

    asyncio.run(main())


def test_meaning_without_vectors_is_said(tmp_path: Path, fake: FakeQmd) -> None:
    """`vsearch` without a model is `model_missing`; `query` answers with its keywords and a notice."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            await qmd.sync(SYNC)
            with refused(Failure.MODEL_MISSING):
                await qmd.search(query("codeword", mode=Mode.VSEARCH))
            answer = await qmd.search(query("codeword", mode=Mode.QUERY))
            assert (answer.mode, [notice.code for notice in answer.notices]) == (Mode.SEARCH, ["semantic_off"])

    asyncio.run(main())


def test_both_legs_run_when_the_model_is_there(tmp_path: Path, fake: FakeQmd) -> None:
    """With vectors and a model file, `query` runs as asked."""
    model = write_model(tmp_path / "model.gguf")
    environ = fake.environ() | {"QMD_EMBED_MODEL": str(model)}

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, mode=Mode.QUERY) as qmd:
            report = await qmd.sync(SYNC)
            answer = await qmd.search(query("codeword", mode=Mode.QUERY))
            assert (report.embedded, answer.mode, answer.notices) == (2, Mode.QUERY, ())
            assert (await qmd.sync(SyncRequest(reason="again"))).ran is False
            assert len(fake.calls("embed")) == 1

    asyncio.run(main())


@pytest.mark.alone
def test_a_loading_model_costs_no_resident(tmp_path: Path, fake: FakeQmd) -> None:
    """Words answer the first search; those behind it meet their deadlines; nobody ends what is loading."""
    environ = fake.environ() | {"QMD_EMBED_MODEL": str(write_model(tmp_path / "model.gguf"))}

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, mode=Mode.QUERY) as qmd:
            await qmd.sync(SYNC)
            fake.behave(mcp="loading")
            await qmd.search(query("codeword"))
            resident = qmd.status().detail["resident"]["pid"]
            answer = await qmd.search(query("codeword", mode=Mode.QUERY, timeout_s=1.0))
            assert (answer.partial, [hit.path for hit in answer.hits]) == (True, ["MEMORY.md"])
            with refused(Failure.TIMEOUT):
                await qmd.search(query("codeword", mode=Mode.QUERY, timeout_s=0.5))
            answer = await qmd.search(query("codeword", mode=Mode.QUERY, timeout_s=30.0))
            assert (answer.partial, answer.via) == (False, "resident")
            assert qmd.status().detail["resident"]["pid"] == resident

    asyncio.run(main())


def test_skipping_is_not_done(tmp_path: Path, fake: FakeQmd) -> None:
    """An embed that gave way to another process is tried again."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), mode=Mode.QUERY) as qmd:
            fake.behave(embed="skipping")
            report = await qmd.sync(SYNC)
            assert (report.embedded, "not done" in report.detail) == (0, True)
            fake.behave()
            assert (await qmd.sync(SYNC)).embedded == 2

    asyncio.run(main())


@pytest.mark.alone
def test_an_embed_that_hangs_without_a_model_says_so(tmp_path: Path, fake: FakeQmd) -> None:
    """The hang of a missing download is `model_missing`, not a time-out, and is not repeated at once."""

    async def main() -> None:
        options = {"mode": Mode.QUERY, "embed_timeout_s": 2.0}
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), **options) as qmd:
            fake.behave(embed="hang")
            with refused(Failure.MODEL_MISSING):
                await qmd.sync(SYNC)
            assert (await qmd.search(query("codeword"))).hits
            await qmd.sync(SYNC)
            assert len(fake.calls("embed")) == 1

    asyncio.run(main())


@pytest.mark.alone
@pytest.mark.parametrize(
    ("behaviour", "failure"), [("exit", Failure.EXITED), ("locked", Failure.LOCKED), ("hang", Failure.TIMEOUT)]
)
def test_a_failed_update_is_reported_and_repeated(
    tmp_path: Path, fake: FakeQmd, behaviour: str, failure: Failure
) -> None:
    """A failed update raises its class, keeps nothing as done, and the next one does the work."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ(), update_timeout_s=0.5) as qmd:
            fake.behave(update=behaviour)
            with refused(failure):
                await qmd.sync(SYNC)
            assert qmd.status().detail["lastUpdate"]["result"] == failure
            fake.behave()
            await _until_synced(qmd)
            assert (await qmd.search(query("codeword"))).hits

    asyncio.run(main())


async def _until_synced(qmd: QmdBackend) -> None:
    # The half second that makes a hang short may be short for an honest update on a busy machine, too.
    for _ in range(20):
        try:
            await qmd.sync(FORCED)
        except BackendError:
            continue
        return
    pytest.fail("the update never came through")


def test_a_restart_starts_nothing_when_nothing_changed(tmp_path: Path, fake: FakeQmd) -> None:
    """What was indexed is remembered on disk."""

    async def main() -> None:
        for _ in range(2):
            async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
                await qmd.sync(SYNC)
        assert len(fake.calls("update")) == 1
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            assert (await qmd.sync(SyncRequest(reason="test", force=True))).unchanged == 2

    asyncio.run(main())


def test_agents_that_share_a_pool_take_turns(tmp_path: Path, fake: FakeQmd) -> None:
    """With one place the second agent is answered by the command line, and never from the first one's notes."""
    write(tmp_path / "other", {"MEMORY.md": "Lemonade only.\n"})
    pool = ResidentPool(limit=1)

    async def main() -> None:
        async with (
            running(corpus_of(tmp_path / "ws"), tmp_path / "a", fake.environ(), pool=pool) as one,
            running(corpus_of(tmp_path / "other"), tmp_path / "b", fake.environ(), pool=pool) as two,
        ):
            await one.sync(SYNC)
            await two.sync(SYNC)
            mine, other = await one.search(query("codeword")), await two.search(query("codeword lemonade"))
            assert (mine.via, other.via) == ("resident", "command")
            assert [notice.code for notice in other.notices] == ["resident_busy"]
            assert [hit.snippet for hit in other.hits] == ["Lemonade only."]

    asyncio.run(main())


def test_status_says_what_is_known(tmp_path: Path, fake: FakeQmd) -> None:
    """Documents, version, mode and the resident, without waiting."""

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", fake.environ()) as qmd:
            assert not qmd.status().ready
            await qmd.sync(SYNC)
            await qmd.search(query("codeword"))
            status = qmd.status()
            assert (status.backend, status.ready, status.documents) == ("qmd", True, 2)
            assert (status.detail["version"], status.detail["resident"]["busy"]) == ("2.8.3", False)

    asyncio.run(main())
