"""Installations, command lines, words, places, models and the ledger, each by itself."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from backends import look_alike
from backends.base import BackendError, Failure, Mode, Source
from backends.corpus import Kind, Root
from backends.files import write_atomically
from backends.qmd import command, maintenance
from backends.qmd.asking import Ask, arguments, woven
from backends.qmd.days import files_of
from backends.qmd.install import Binary, Install, find, interpreter_of, version_in
from backends.qmd.ledger import Ledger
from backends.qmd.locating import locate
from backends.qmd.models import Models, Presence, look, state_of
from backends.qmd.output import Row
from backends.qmd.scanning import scan
from backends.qmd.terms import Terms, terms_of
from backends.relevance import SampleStatistics
from tests.backends.qmd.making import corpus_of, query, write, write_model


def install(*version: int) -> Install:
    return Install(binary=Binary(path=Path("/q"), inode=1, mtime_ns=1), version=version)


def script(path: Path, first: str) -> Path:
    path.write_text(f"{first}\n")
    path.chmod(0o755)
    return path


def test_a_missing_interpreter_is_named(tmp_path: Path) -> None:
    """ "No such file" about qmd, when it is Node that is missing, helps nobody."""
    script(tmp_path / "qmd", "#!/usr/bin/env nosuchnode")
    with pytest.raises(BackendError, match="nosuchnode") as caught:
        find("qmd", {"PATH": str(tmp_path)})
    assert caught.value.failure is Failure.BROKEN_INSTALL


def test_a_missing_qmd_is_missing(tmp_path: Path) -> None:
    """By name and by path."""
    for named in ("qmd", str(tmp_path / "qmd")):
        with pytest.raises(BackendError) as caught:
            find(named, {"PATH": str(tmp_path)})
        assert caught.value.failure is Failure.MISSING


def test_a_look_alike_of_ours_is_no_qmd(tmp_path: Path) -> None:
    """It would ask the daemon that is looking for a qmd; the one behind it on PATH is meant, if there is one."""
    for name in ("ours", "real"):
        (tmp_path / name).mkdir()
    script(tmp_path / "ours" / "qmd", f"#!/bin/sh\n# {look_alike.MARK}")
    with pytest.raises(BackendError) as caught:
        find("qmd", {"PATH": str(tmp_path / "ours")})
    assert caught.value.failure is Failure.MISSING
    script(tmp_path / "real" / "qmd", "#!/bin/sh")
    path = f"{tmp_path / 'ours'}:{tmp_path / 'real'}"
    assert find("qmd", {"PATH": path}).path == tmp_path / "real" / "qmd"


def test_a_file_that_may_not_run_is_broken(tmp_path: Path) -> None:
    """A path to a file without the execute bit says so."""
    (tmp_path / "qmd").write_text("#!/bin/sh\n")
    with pytest.raises(BackendError, match="not executable"):
        find(str(tmp_path / "qmd"), {"PATH": ""})


@pytest.mark.parametrize(
    ("first", "interpreter"),
    [
        ("#!/bin/sh", "/bin/sh"),
        ("#!/usr/bin/env node", "node"),
        ("#!/usr/bin/env -S A=1 node -x", "node"),
        ("\x7fELF", None),
    ],
)
def test_interpreters_are_read_from_the_first_line(tmp_path: Path, first: str, interpreter: str | None) -> None:
    """Directly and through env, with its options and assignments."""
    assert interpreter_of(script(tmp_path / "qmd", first)) == interpreter


@pytest.mark.parametrize(
    ("text", "version"), [("qmd 2.8.3 (facd35e)\n", (2, 8, 3)), ("1.1.6", (1, 1, 6)), ("qmd v3.0", (3, 0)), ("?", ())]
)
def test_versions_are_read_from_prose(text: str, version: tuple[int, ...]) -> None:
    """Whatever stands around the number."""
    assert version_in(text) == version


def test_one_word_is_a_plain_search() -> None:
    """The query is the last argument, behind `--`."""
    lines = command.searches(install(2, 8, 3), Terms(("word",), "word"), Mode.SEARCH, ["a", "b"])
    assert lines == [["/q", "search", "--json", "-n", "24", "-c", "a", "-c", "b", "--", "word"]]


def test_several_words_are_typed_lines() -> None:
    """Any of them may match, in one process, with no model."""
    [line] = command.searches(install(2, 8, 3), Terms(("one", "two"), "x"), Mode.SEARCH, ["a"])
    assert (line[1], line[-2:], "--no-rerank" in line) == ("query", ["--", "lex: one\nlex: two"], True)


def test_old_versions_are_asked_collection_by_collection() -> None:
    """Several `-c` were not safe, and typed lines not known: all words, then the most telling ones alone."""
    lines = command.searches(install(1, 1, 6), Terms(("one", "two", "three"), "x"), Mode.SEARCH, ["a", "b"])
    asked = [(line[1], line[line.index("-c") + 1], line[-1]) for line in lines]
    assert asked == [("search", name, text) for name in "ab" for text in ("one two three", "one", "two")]


def test_a_resident_is_never_asked_without_collections() -> None:
    """A search that names none would see everybody's."""
    ask = Ask(terms=Terms(("a",), "a"), mode=Mode.SEARCH, groups=(), rerank=True, deadline_at=0)
    with pytest.raises(ValueError, match="collections"):
        arguments(ask, Mode.SEARCH, [])
    assert arguments(ask, Mode.SEARCH, ["n"])["rerank"] is False


def test_the_server_gets_ten_searches_at_most() -> None:
    """Meaning first, then words."""
    typed = command.typed(terms_of(" ".join(f"word{n}" for n in range(30)), None), Mode.QUERY)
    assert (len(typed), typed[0][0]) == (10, "vec")


def test_words_are_ordered_by_what_they_tell() -> None:
    """Rare words first; a word that stands nowhere last."""
    statistics = SampleStatistics.of(["deploy", "deploy codeword", "deploy"])
    assert terms_of("Deploy the codeword unheard", statistics).words == ("codeword", "deploy", "unheard")


@pytest.mark.parametrize("text", ['- "a" -b', "-v", "--collection=x y", 'open "quote\nlex: two'])
def test_words_hold_no_operators(text: str) -> None:
    """Dashes, quotes and line breaks would negate, open phrases or start typed lines."""
    terms = terms_of(text, None)
    assert not any(set('-"\n') & set(word) for word in terms.words)
    assert not terms.sentence.startswith("-")
    assert not set('"\n') & set(terms.sentence)


def test_unspaced_scripts_are_asked_in_pairs() -> None:
    """A question in Chinese must not be one exact phrase."""
    assert set(terms_of("飞书插件", None).words) == {"飞书", "书插", "插件"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Café", ("cafe",)),
        ("Район", ("район", "раион")),
        ("Аθήνα", ("аθήνα", "аθηνα")),
        ("schließt", ("schließt", "schliesst")),
        ("दिल्ली", ('"द ल ल"',)),
    ],
)
def test_a_word_is_asked_in_every_form_that_qmd_may_have_of_it(text: str, words: tuple[str, ...]) -> None:
    """Its index keeps accents of letters that are not Latin, and takes the vowel signs of Indic ones for gaps."""
    assert terms_of(text, None).words == words


def test_forms_of_words_do_not_exceed_what_the_server_takes() -> None:
    words = terms_of(" ".join(f"район{letter}" for letter in "абвгдежзклмн"), None).words
    assert len(words) == 10


def test_the_files_of_the_wanted_days_are_known_newest_first(tmp_path: Path) -> None:
    """By their names, within the sources that are wanted, and only where days are wanted."""
    names = [f"memory/2026-03-{day}.md" for day in range(10, 20)]
    write(tmp_path / "ws", dict.fromkeys([*names, "MEMORY.md"], "x\n"))
    corpus = corpus_of(tmp_path / "ws")

    def paths(**changes: Any) -> list[str]:
        return [located.path for located in files_of(corpus, query("x", **changes))]

    assert paths(after=date(2026, 3, 18)) == ["memory/2026-03-19.md", "memory/2026-03-18.md"]
    assert paths(before=date(2026, 3, 10)) == ["memory/2026-03-10.md"]
    assert paths(before=date(2026, 3, 10), sources=frozenset({Source.SESSIONS})) == []
    assert paths(before=date(2026, 3, 10), mode=Mode.VSEARCH) == []
    assert paths() == []


@pytest.mark.parametrize(
    "file",
    [
        "qmd://memory-dir/a b#1.md",
        "memory-dir/a b#1.md",
        "qmd://memory-dir/a%20b%231.md",
        "memory-dir/a b#1.md?index=x",
    ],
)
def test_rows_are_placed_in_every_spelling(tmp_path: Path, file: str) -> None:
    """With scheme, without, encoded, and with an index behind."""
    write(tmp_path, {"memory/a b#1.md": "x"})
    [(_, located)] = locate([Row(file)], corpus_of(tmp_path)).found
    assert located.path == "memory/a b#1.md"


def test_a_literal_percent_sign_is_not_decoded(tmp_path: Path) -> None:
    """The file as it is called goes before the file as it could be meant."""
    write(tmp_path, {"memory/a%20b.md": "x", "memory/a b.md": "y"})
    [(_, located)] = locate([Row("memory-dir/a%20b.md")], corpus_of(tmp_path)).found
    assert located.relative == "a%20b.md"


def test_slugs_of_old_versions_lead_to_their_files(tmp_path: Path) -> None:
    """A squeezed name stands for every file that it can mean; the text of each decides later."""
    write(tmp_path, {"memory/My Note_1.md": "x", "memory/my-note-1.md": "y", "memory/Über uns.md": "z"})
    corpus = corpus_of(tmp_path)
    squeezed = locate([Row("memory-dir/über-uns.md"), Row("memory-dir/my-note-1-.md")], corpus).found
    assert [located.relative for _, located in squeezed] == ["Über uns.md", "My Note_1.md", "my-note-1.md"]


def test_rows_outside_the_corpus_are_counted_not_shown(tmp_path: Path) -> None:
    """Foreign collections, climbing paths, vanished and ignored files."""
    write(tmp_path, {"MEMORY.md": "x", "memory/.hidden.md": "x"})
    files = ["private/a.md", "memory-dir/../../etc/passwd", "memory-dir/gone.md", "memory-dir/.hidden.md", "nonsense"]
    places = locate([Row(file) for file in files], corpus_of(tmp_path))
    assert (places.found, places.outside) == ((), 3)
    assert [notice.code for notice in places.notices()] == ["unknown_collection"]


def test_nested_roots_show_a_file_once(tmp_path: Path) -> None:
    """The first root that covers a file owns it."""
    write(tmp_path, {"memory/a.md": "x"})
    extra = Root(name="all", kind=Kind.EXTRA, path=tmp_path, patterns=("**/*.md",), shown="qmd/all/")
    places = locate([Row("all/memory/a.md"), Row("memory-dir/a.md")], corpus_of(tmp_path, extra))
    assert [located.path for _, located in places.found] == ["memory/a.md"]


def test_lists_are_woven_file_by_file() -> None:
    """No list waits for the other, and no file comes twice."""
    a, b, c = Row("a"), Row("b"), Row("c")
    assert woven([[a, b], [c, a], []]) == (a, c, b)


def test_models_are_looked_for_where_they_are_named(tmp_path: Path) -> None:
    """A hub address must have been downloaded; an absolute file goes before it."""
    write_model(tmp_path / "hf_org_Model-Q8.gguf")
    document = {"models": {"embed": "hf:org/repo/model-q8.gguf"}}
    assert look(document, {}, tmp_path) == Models(Presence.PRESENT, Presence.ABSENT)
    assert look(document, {"QMD_EMBED_MODEL": str(tmp_path / "none")}, tmp_path).embed is Presence.ABSENT
    assert look(document, {}, tmp_path / "missing").embed is Presence.ABSENT


@pytest.mark.parametrize(
    "content", [b"", b"<html>404</html>", b"GGUF" + bytes(2**21), b"\0" * 2**21, b"GGUF\x03\0\0\0"]
)
def test_a_file_that_is_no_whole_model_is_broken(tmp_path: Path, content: bytes) -> None:
    """Empty, an error page, no tensors, zeros of a torn download, a header alone: qmd would hang on each."""
    (tmp_path / "m.gguf").write_bytes(content)
    assert state_of(tmp_path / "m.gguf") is Presence.BROKEN


def test_counts_add_up_over_collections() -> None:
    """Also when there were none."""
    text = "Indexed: 1 new, 2 updated, 3 unchanged, 4 removed\nx\nIndexed: 10 new, 0 updated, 1 unchanged, 0 removed\n"
    counts = maintenance.counts_in(text)
    assert (counts.new, counts.updated, counts.unchanged, counts.removed, counts.documents) == (11, 2, 4, 4, 17)
    assert maintenance.counts_in("All collections updated.").documents == 0


def test_embedded_chunks_are_counted() -> None:
    """From the sentence of 2.8."""
    assert maintenance.embedded_in("✓ Done! Embedded 14 chunks from 3 documents in 3s") == 14


def test_a_ledger_survives_and_damage_is_a_fresh_start(tmp_path: Path) -> None:
    """Unknown keys and broken bytes do not stop anything."""
    file = tmp_path / "ledger.json"
    ledger = Ledger(owned={"a": ["/a", "*"]}, updated="s", documents=3)
    ledger.save(file)
    assert Ledger.load(file) == ledger
    file.write_bytes(b'{"owned": 1')
    assert Ledger.load(file) == Ledger(owned={})
    assert Ledger.load(tmp_path / "none") == Ledger(owned={})


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """And no half-written one beside it."""
    write_atomically(tmp_path / "f", b"old")
    (tmp_path / "d").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "d", b"new")
    assert sorted(os.listdir(tmp_path)) == ["d", "f"]  # noqa: PTH208


def test_the_signature_follows_files_and_collections(tmp_path: Path) -> None:
    """A new file, a new time or another root is a change; looking twice is none."""
    write(tmp_path, {"MEMORY.md": "x", "memory/a.md": "y"})
    corpus = corpus_of(tmp_path)
    seen = [scan(corpus).signature(), scan(corpus).signature()]
    os.utime(tmp_path / "MEMORY.md", (1, 1))
    seen.append(scan(corpus).signature())
    write(tmp_path, {"memory/b.md": "z"})
    seen.append(scan(corpus).signature())
    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_a_held_root_does_not_move_the_signature(tmp_path: Path) -> None:
    """What happens in it starts nothing until it is believed."""
    write(tmp_path, {"MEMORY.md": "x", "memory/a.md": "y"})
    before = scan(corpus_of(tmp_path)).signature(without=["memory-dir"])
    write(tmp_path, {"memory/b.md": "z"})
    assert scan(corpus_of(tmp_path)).signature(without=["memory-dir"]) == before
