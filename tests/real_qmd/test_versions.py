"""The real packages of several years, each indexed and searched the way it can."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import orjson
import pytest

from backends.base import BackendError, Failure, Mode
from backends.qmd.install import find
from tests.backends.qmd.making import SYNC, corpus_of, query, running, write

HOME = Path(__file__).parents[2] / ".qmd"
MODULES = HOME / "node_modules"
#: Whether its resident can be used, by version.
VERSIONS = {"2.8.3": True, "2.5.3": True, "2.1.0": True, "1.1.6": False, "1.0.7": True}

pytestmark = [
    pytest.mark.real_qmd,
    pytest.mark.skipif(not (HOME / "versions").exists(), reason="the older versions are not here: run `make qmd`"),
]


def program_of(version: str) -> Path:
    folder = MODULES / "@tobilu" / "qmd" if version == "2.8.3" else HOME / "versions" / version
    named: str = orjson.loads((folder / "package.json").read_bytes())["bin"]["qmd"]
    return folder / named


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    nodes = [str(node / "bin") for node in MODULES.glob("node-*")]
    return {"PATH": os.pathsep.join([*nodes, os.defpath]), "HOME": str(tmp_path)}


NOTES = {
    "MEMORY.md": "The deploy codeword is zebracomet.\n",
    "memory/2026-01-02.md": "Lunch with Ada at noon.\n",
    "memory/Über My_Note, #1.md": "The heronstone hides a spare key.\n",
}


@pytest.mark.parametrize("resident", [True, False])
def test_every_version_finds_what_a_question_means(
    tmp_path: Path, environ: dict[str, str], version: str, resident: bool
) -> None:
    """Warm where the version can, else a process each time; file names in every spelling lead to their files."""
    write(tmp_path / "ws", NOTES)
    options = {"command": str(program_of(version)), "resident": resident}

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, **options) as qmd:
            assert (await qmd.sync(SYNC)).changed == 3
            answer = await qmd.search(query("which codeword did the deploy use?"))
            assert [hit.path for hit in answer.hits] == ["MEMORY.md"]
            assert answer.via == ("resident" if resident and VERSIONS[version] else "command")
            named = await qmd.search(query("where is the spare key?"))
            assert [hit.path for hit in named.hits] == ["memory/Über My_Note, #1.md"]
            assert (await qmd.search(query("nowhereatall"))).hits == ()
            assert (qmd.status().detail["version"], qmd.status().documents) == (version, 3)

    asyncio.run(main())


def test_every_version_follows_the_disk(tmp_path: Path, environ: dict[str, str], version: str) -> None:
    """A vanished file goes, a changed one is searched by its new words."""
    write(tmp_path / "ws", NOTES)

    async def main() -> None:
        options = {"command": str(program_of(version))}
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, **options) as qmd:
            await qmd.sync(SYNC)
            (tmp_path / "ws/memory/2026-01-02.md").unlink()
            write(tmp_path / "ws", {"MEMORY.md": "The deploy codeword is gliderstorm now.\n"})
            report = await qmd.sync(SYNC)
            assert (report.changed, report.removed, report.unchanged) == (1, 1, 1)
            assert [hit.path for hit in (await qmd.search(query("gliderstorm"))).hits] == ["MEMORY.md"]
            assert (await qmd.search(query("Ada lunch"))).hits == ()

    asyncio.run(main())


def test_meaning_is_off_where_it_would_load_the_reranker(tmp_path: Path, environ: dict[str, str], version: str) -> None:
    """Without a model no version hangs: `query` answers with keywords, `vsearch` says what is missing."""
    write(tmp_path / "ws", NOTES)

    async def main() -> None:
        options = {"command": str(program_of(version))}
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, **options) as qmd:
            await qmd.sync(SYNC)
            answer = await qmd.search(query("codeword", mode=Mode.QUERY))
            assert (answer.mode, answer.hits[0].path) == (Mode.SEARCH, "MEMORY.md")
            with pytest.raises(BackendError) as caught:
                await qmd.search(query("codeword", mode=Mode.VSEARCH))
            assert caught.value.failure is Failure.MODEL_MISSING

    asyncio.run(main())


def test_the_packages_are_what_they_say(environ: dict[str, str], version: str) -> None:
    """Each has a program that can be started."""
    assert find(str(program_of(version)), environ).path.exists()
