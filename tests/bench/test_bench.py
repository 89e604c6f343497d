"""The benchmark itself, at a size where it says nothing about speed: every part runs and its figures come out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from functools import partial
from pathlib import Path

import pytest

from tests.bench import (
    against_qmd,
    beside_a_build,
    building,
    conversations,
    engine,
    freshness,
    growth,
    leaving,
    load,
    look_alike,
    memory,
    plugin,
    redaction,
    transcripts,
    triggers,
    unchanged,
)
from tests.bench.__main__ import main
from tests.bench.conversation import corpus
from tests.bench.indexed import Indexed, indexed
from tests.bench.peers import PRODUCT, VEC0, Product, tables, vectors_of
from tests.bench.timing import Timed, Way, at_least, at_most, in_turn
from tests.openclaw.node import needs_node

SIZE = 200


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Indexed]:
    """One small index for all parts that look at one."""
    with indexed(tmp_path_factory.mktemp("bench"), SIZE, questions=30) as index:
        yield index


def test_an_index_has_about_the_chunks_that_were_wanted_and_a_vector_for_each(index: Indexed) -> None:
    facts = index.facts()
    assert 0.8 * SIZE < facts["chunks"] < 1.2 * SIZE
    assert facts["vectors"] == facts["chunks"]


def test_every_way_to_search_answers_every_question(index: Indexed, capsys: pytest.CaptureFixture[str]) -> None:
    searched = engine.measure(index)
    questions = len(index.asked.questions)
    assert {len(way.took_ms) for way in (*searched.times.values(), searched.inside)} == {questions}
    assert searched.without_vectors == 0
    assert 0 < searched.inside.p50 < searched.times[engine.OURS].p50
    assert engine.report(SIZE, searched)
    assert VEC0 in capsys.readouterr().out


def test_the_peers_find_what_they_should(index: Indexed) -> None:
    asked = vectors_of(index.asked.questions)
    product = Product(index.file, asked)
    with tables(index.file, asked) as others:
        for question in index.asked.questions[:20]:
            assert {*product.search(question)} == {*others.vec0(question)}
            assert others.words(question)


def test_memory_is_told_of_both_processes(index: Indexed) -> None:
    taken = memory.measure(index)
    assert {*taken} == {memory.DAEMON, memory.WORKER}
    assert all(0 < process.own <= process.rss for process in taken.values())
    assert memory.report(SIZE, taken)


def test_a_row_of_growth_has_every_figure(index: Indexed) -> None:
    row = growth.measure(index)
    assert all(figure > 0 for figure in astuple(row))
    assert growth.report([row])


@needs_node
def test_the_plugin_finds_what_the_socket_finds(index: Indexed) -> None:
    asked = plugin.measure(index)
    assert asked.found["tool"] == asked.found["socket"] > 0
    assert {len(way.took_ms) for way in (asked.tool, asked.socket)} == {len(index.asked.questions) - plugin.WARMING}
    plugin.report(asked)


def test_growth_that_is_quadratic_misses_its_target() -> None:
    rows = [growth.Row(chunks=n, build_s=n * n, search_ms=1, unchanged_ms=1, rss_mb=1, index_mb=n) for n in (10, 100)]
    assert not growth.report([rows[0], *rows])


def test_searches_go_on_beside_a_build(index: Indexed) -> None:
    beside = beside_a_build.measure(index, built=300, quiet=5)
    assert len(beside.quiet[PRODUCT].took_ms) == 5
    assert beside.busy[PRODUCT].took_ms
    beside_a_build.report(beside)


def test_indexing_is_told_in_chunks_and_in_seconds() -> None:
    made = building.throughput(notes=10)
    assert made.chunks > 10
    assert made.took_s > 0
    arrived = building.arrival(notes=50)
    assert arrived.found
    assert 0 < arrived.by_words_s <= arrived.by_meaning_s
    assert arrived.searches.took_ms


def test_a_sync_of_unchanged_notes_opens_none() -> None:
    found = unchanged.measure(notes=30)
    assert (found.unchanged, found.opened) == (30, 0)
    assert len(found.asked.took_ms) == len(found.inside.took_ms) == unchanged.TIMES


def test_an_edit_is_counted_before_it_is_found() -> None:
    fresh = freshness.measure(notes=30, edits=1)
    assert fresh.counted.p50 < fresh.found.p50


def test_searches_beside_few_and_many_conversations_are_timed_in_turn() -> None:
    times = conversations.measure(notes=20, few=2, many=8, questions=3)
    assert [len(way.took_ms) for way in times.values()] == [3, 3]


@pytest.mark.alone
def test_all_hits_leave_with_their_sources_where_that_is_measured() -> None:
    rows = leaving.guarded(leaving.answer_of(50))["results"]
    assert [row["path"] for row in rows] == [row["path"] for row in leaving.bare(leaving.answer_of(50))]
    assert all(row["snippet"].endswith(row["citation"]) for row in rows)
    left = leaving.measure(6, times=50)
    assert len(left.guarded.took_ms) == len(left.bare.took_ms) == 50
    assert left.ratio > 1


def test_every_way_is_asked_by_every_number_of_clients(capsys: pytest.CaptureFixture[str]) -> None:
    found = load.measure((1, 2), block_s=0.05)
    assert {name for ways in found.values() for name in ways} == {load.NOTHING, load.SEARCH, load.GET, load.BARE}
    assert all(way.rate > 0 for ways in found.values() for way in ways.values())
    assert 0 < found[1][load.SEARCH].inside.p50 < found[1][load.SEARCH].times.p50
    load.report(found)
    assert "the gateway adds" in capsys.readouterr().out


@pytest.mark.alone
def test_redaction_is_told_in_bytes_and_with_the_text_that_takes_longest(capsys: pytest.CaptureFixture[str]) -> None:
    found = redaction.measure(size=20_000, hostile_size=2_000)
    assert found.clean > found.slow[0][0] > 0
    redaction.report(found)
    assert found.slow[0][1] in capsys.readouterr().out


def test_every_message_brings_something_to_mind() -> None:
    found = triggers.measure(annotated=20, times=3)
    assert found.recalled == len(found.asked.took_ms) == 3
    assert {len(took.took_ms) for took in found.inside.values()} == {3}


def test_the_engine_is_measured_where_there_is_no_qmd(tmp_path: Path) -> None:
    times = against_qmd.measure(tmp_path, corpus(20, questions=3), spawns=0, with_qmd=False)
    assert {name: len(way.took_ms) for name, way in times.items()} == {against_qmd.BUILTIN: 3, against_qmd.OPEN: 3}


def test_only_the_parts_that_are_named_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", "--sizes", "50"]) == 0
    printed = capsys.readouterr().out
    assert "memory: about 50 chunks" in printed
    assert "search:" not in printed


def test_a_part_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serach"])
    assert ended.value.code == 2


def test_a_missed_target_is_printed_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert at_most("p50", 5.0, 5.0, "ms")
    assert not at_most("p50", 5.1, 5.0, "ms")
    assert not at_least("indexing", 499, 500, "chunks a second")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["ok", "MISS", "MISS"]


def test_who_is_asked_first_rotates() -> None:
    asked: list[tuple[str, str]] = []
    ways = [Way(name, partial(lambda name, question: asked.append((name, question)), name)) for name in "ab"]
    in_turn(ways, "12")
    assert asked == [("a", "1"), ("b", "1"), ("b", "2"), ("a", "2")]


def test_a_percentile_is_a_time_that_was_taken() -> None:
    times = Timed("", [float(number) for number in range(1, 101)])
    assert (times.at(50), times.at(99)) == (51.0, 100.0)


def test_an_export_that_finds_nothing_changed_opens_no_transcript(capsys: pytest.CaptureFixture[str]) -> None:
    found = transcripts.measure(30, 6)
    assert (found[1].opened, found[2].opened, found[3].opened) == (30, 0, 1)
    assert found[1].report["redacted"]["assignment"] > 0
    transcripts.report(30, found)
    assert "MB/s" in capsys.readouterr().out


def test_the_look_alike_is_timed_as_a_process(tmp_path: Path) -> None:
    times = look_alike.measure(tmp_path, notes=20, times=2)
    assert {len(way.took_ms) for way in times.values()} == {2}
    assert times[look_alike.BARE].p50 < times[look_alike.OURS].p50
