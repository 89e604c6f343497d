"""The real qmd from npm, searched through the backend as the daemon does."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from backends.base import Answer, BackendError
from backends.qmd.backend import QmdBackend
from tests.backends.qmd.making import SYNC, corpus_of, eventually_async, home_of, query, running, write

MODULES = Path(__file__).parents[2] / ".qmd" / "node_modules"

pytestmark = [
    pytest.mark.real_qmd,
    pytest.mark.skipif(not (MODULES / ".bin" / "qmd").exists(), reason="the real qmd is not here: run `make qmd`"),
]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A PATH with qmd and the Node that it needs, and a home of its own."""
    nodes = [str(node / "bin") for node in MODULES.glob("node-*")]
    return {"PATH": os.pathsep.join([*nodes, str(MODULES / ".bin"), os.defpath]), "HOME": str(tmp_path)}


def paths(answer: Answer) -> list[str]:
    return [hit.path for hit in answer.hits]


def test_a_word_is_found_by_the_agent_that_wrote_it_alone(tmp_path: Path, environ: dict[str, str]) -> None:
    """Two agents with different notes do not see each other's."""
    write(tmp_path / "ada", {"MEMORY.md": "# Ada\n\nThe deploy codeword is zebracomet.\n"})
    write(tmp_path / "bob", {"memory/2026-01-01.md": "# Bob\n\nThe wifi password is lemonade.\n"})

    async def main() -> None:
        async with (
            running(corpus_of(tmp_path / "ada"), tmp_path / "a", environ) as ada,
            running(corpus_of(tmp_path / "bob"), tmp_path / "b", environ) as bob,
        ):
            await asyncio.gather(ada.sync(SYNC), bob.sync(SYNC))
            question = "what is the deploy codeword?"
            mine, other = await asyncio.gather(ada.search(query(question)), bob.search(query(question)))
            assert (paths(mine), mine.via, other.hits) == (["MEMORY.md"], "resident", ())
            assert mine.hits[0].snippet.endswith("The deploy codeword is zebracomet.")

    asyncio.run(main())


def test_a_killed_resident_is_replaced_in_the_middle_of_searches(tmp_path: Path, environ: dict[str, str]) -> None:
    """Every search is answered while the resident is killed under them."""
    write(tmp_path / "ws", {"MEMORY.md": "The deploy codeword is zebracomet.\n"})

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            await qmd.search(query("codeword"))
            for _ in range(3):
                searches = [asyncio.create_task(qmd.search(query("codeword"))) for _ in range(4)]
                resident = qmd.status().detail["resident"]
                if resident["pid"]:
                    os.killpg(resident["pid"], signal.SIGKILL)
                assert [paths(answer) for answer in await asyncio.gather(*searches)] == [["MEMORY.md"]] * 4

    asyncio.run(main())


def test_an_update_takes_new_files_in_and_vanished_files_out(tmp_path: Path, environ: dict[str, str]) -> None:
    """The index follows the disk, and starts nothing when nothing changed."""
    write(tmp_path / "ws", {"MEMORY.md": "Nothing yet.\n", "memory/old.md": "The cat is called Pixel.\n"})

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            assert (await qmd.sync(SYNC)).changed == 2
            assert not (await qmd.sync(SYNC)).ran
            write(tmp_path / "ws", {"memory/new name, #1.md": "The dog is called Comet.\n"})
            (tmp_path / "ws/memory/old.md").unlink()
            report = await qmd.sync(SYNC)
            assert (report.changed, report.removed, report.unchanged) == (1, 1, 1)
            assert paths(await qmd.search(query("dog"))) == ["memory/new name, #1.md"]
            assert (await qmd.search(query("cat"))).hits == ()

    asyncio.run(main())


def test_a_root_that_is_briefly_gone_keeps_its_documents(tmp_path: Path, environ: dict[str, str]) -> None:
    """An unmounted folder empties nothing, is reported, and is back at once when it returns."""
    write(tmp_path / "ws", {"MEMORY.md": "Kept.\n", "memory/a.md": "The cat is called Pixel.\n"})

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            (tmp_path / "ws/memory").rename(tmp_path / "away")
            gone = await qmd.sync(SYNC)
            codes = [notice.code for notice in (await qmd.search(query("kept"))).notices]
            (tmp_path / "away").rename(tmp_path / "ws/memory")
            back = await qmd.sync(SYNC)
            assert (gone.removed, codes, back.changed, back.unchanged) == (0, ["source_missing"], 0, 2)
            assert paths(await qmd.search(query("cat"))) == ["memory/a.md"]

    asyncio.run(main())


def test_a_damaged_index_is_set_aside_and_rebuilt(tmp_path: Path, environ: dict[str, str]) -> None:
    """Garbage in the database costs one rebuild."""
    write(tmp_path / "ws", {"MEMORY.md": "The cat is called Pixel.\n"})
    home = home_of(tmp_path / "q")

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, resident=False) as qmd:
            await qmd.sync(SYNC)
            home.index.write_bytes(b"garbage" * 1000)
            await _forced(qmd)
            assert paths(await qmd.search(query("cat"))) == ["MEMORY.md"]

    asyncio.run(main())


def test_symlinked_roots_are_indexed(tmp_path: Path, environ: dict[str, str]) -> None:
    """A configured folder may itself be a link."""
    write(tmp_path / "real", {"MEMORY.md": "The cat is called Pixel.\n"})
    (tmp_path / "ws").symlink_to(tmp_path / "real")

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            assert paths(await qmd.search(query("cat"))) == ["MEMORY.md"]

    asyncio.run(main())


def test_closing_leaves_no_process(tmp_path: Path, environ: dict[str, str]) -> None:
    """After `close` the resident's whole tree is gone."""
    write(tmp_path / "ws", {"MEMORY.md": "The cat is called Pixel.\n"})

    async def main() -> None:
        from tests.backends.qmd.making import group

        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            await qmd.search(query("cat"))
            leader = qmd.status().detail["resident"]["pid"]
            assert len(group(leader)) >= 3
            await qmd.close()
            assert await eventually_async(lambda: group(leader) == [])

    asyncio.run(main())


async def _forced(qmd: QmdBackend) -> None:
    from backends.base import SyncRequest

    try:
        await qmd.sync(SyncRequest(reason="test", force=True))
    except BackendError as error:
        pytest.fail(f"{error.failure}: {error.message}")
