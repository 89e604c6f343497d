"""What the real qmd does with many files, and with files that are held: one note is found, nothing is forgotten."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from backends.corpus import Kind, Root
from tests.backends.qmd.making import FORCED, SYNC, corpus_of, query, running, write
from tests.real_qmd.test_real_qmd import MODULES, environ, paths

__all__ = ["environ"]

pytestmark = [
    pytest.mark.real_qmd,
    pytest.mark.skipif(not (MODULES / ".bin" / "qmd").exists(), reason="the real qmd is not here: run `make qmd`"),
]


@pytest.mark.parametrize("resident", [True, False])
def test_one_note_is_found_beside_thousands_of_files(tmp_path: Path, environ: dict[str, str], resident: bool) -> None:
    """700 conversations and 2,000 extra files with the same word, all of them better matches than the note."""
    write(tmp_path / "ws", {"memory/2026-03-01.md": "filler " * 300 + "\n\nA zebracomet was seen from the pier.\n"})
    write(tmp_path / "sessions", {f"s{n}.md": f"zebracomet zebracomet {n}\n" for n in range(700)})
    write(tmp_path / "vault", {f"v{n}.md": f"zebracomet zebracomet {n}\n" for n in range(2000)})
    roots = [
        Root(name=name, kind=kind, path=tmp_path / name, patterns=("**/*.md",), shown=f"qmd/{name}/")
        for name, kind in (("vault", Kind.EXTRA), ("sessions", Kind.SESSION))
    ]

    async def main() -> None:
        corpus = corpus_of(tmp_path / "ws", *roots)
        async with running(corpus, tmp_path / "q", environ, resident=resident) as qmd:
            await qmd.sync(SYNC)
            for question in ("zebracomet", "where was the zebracomet seen?"):
                answer = await qmd.search(query(question))
                kinds = {hit.kind for hit in answer.hits}
                assert Kind.DAILY in kinds, (question, paths(answer))
            assert {Kind.EXTRA, Kind.SESSION} <= {hit.kind for hit in (await qmd.search(query("zebracomet"))).hits}

    asyncio.run(main())


@pytest.mark.parametrize("resident", [True, False])
def test_a_held_root_is_searched_and_let_go(tmp_path: Path, environ: dict[str, str], resident: bool) -> None:
    """While most of a folder is gone, what is left is found, other roots are updated, and force ends it."""
    write(tmp_path / "ws", {f"memory/n{n}.md": f"Note {n} on gliders.\n" for n in range(30)} | {"MEMORY.md": "Old.\n"})

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ, resident=resident) as qmd:
            await qmd.sync(SYNC)
            for n in range(25):
                (tmp_path / f"ws/memory/n{n}.md").unlink()
            write(tmp_path / "ws", {"MEMORY.md": "The codeword is walnutpier.\n"})
            held = await qmd.sync(SYNC)
            assert (held.changed, held.removed, qmd.status().documents) == (1, 0, 31)
            assert "memory/n29.md" in paths(await qmd.search(query("note 29 gliders")))
            assert paths(await qmd.search(query("walnutpier"))) == ["MEMORY.md"]
            freed = await qmd.sync(FORCED)
            assert (freed.removed, qmd.status().documents) == (25, 6)
            assert "memory/n29.md" in paths(await qmd.search(query("note 29 gliders")))

    asyncio.run(main())


@pytest.mark.parametrize("name", ["笔记 notes", "Ünïcode-Ноты", "a,b {c} [d]"])
def test_names_in_any_script_are_indexed_and_read_back(tmp_path: Path, environ: dict[str, str], name: str) -> None:
    """Folders and files: glob characters, commas and scripts, also as the pattern of one file."""
    from backends.patterns import literal

    write(tmp_path / "ws", {f"memory/{name}/{name}.md": "The heron nests here.\n", "MEMORY.md": "x\n"})
    write(tmp_path / name, {f"{name}.md": "The stork nests here.\n", "other.md": "Nothing of ours.\n"})
    single = Root(
        name="single", kind=Kind.EXTRA, path=tmp_path / name, patterns=(literal(f"{name}.md"),), shown="qmd/single/"
    )

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws", single), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            assert paths(await qmd.search(query("heron"))) == [f"memory/{name}/{name}.md"]
            assert paths(await qmd.search(query("stork"))) == [f"qmd/single/{name}.md"]
            assert (await qmd.search(query("nothing"))).hits == ()

    asyncio.run(main())


def test_older_names_are_migrated_in_a_real_index(tmp_path: Path, environ: dict[str, str]) -> None:
    """What qmd itself indexed under the older name is renamed; a person's collection stays."""
    from backends.qmd import collections
    from tests.backends.qmd.making import home_of

    write(tmp_path / "ws", {"MEMORY.md": "x\n", "memory/a.md": "The heron nests here.\n"})
    home = home_of(tmp_path / "q")
    home.prepare()
    there = {"path": str(tmp_path / "ws" / "memory"), "pattern": "**/*.md"}
    collections.store(home.index_yml, {"collections": {"memory-dir-main": there, "mine": there}})

    async def main() -> None:
        async with running(corpus_of(tmp_path / "ws"), tmp_path / "q", environ) as qmd:
            await qmd.sync(SYNC)
            assert paths(await qmd.search(query("heron"))) == ["memory/a.md"]

    asyncio.run(main())
    assert set(collections.load(home.index_yml)["collections"]) == {"memory-root", "memory-dir", "mine"}
