"""Batches on their way to a model that is elsewhere: several at a time, in order, each text once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from backends.builtin.flights import Batch, Flights, Row
from backends.embedding import EmbeddingUnavailableError, Vectors
from tests.backends.builtin.conftest import ToyEmbedder

DEADLINE_S = 20.0


class Distant(ToyEmbedder):
    """A model elsewhere that answers when it is let; `gone` after so many calls."""

    def __init__(self, concurrency: int, *, gone_after: int = 10**6) -> None:
        super().__init__()
        self.concurrency = concurrency
        self.gone_after = gone_after
        self.calls: list[list[str]] = []
        self.together = 0
        self.most_together = 0
        self._lock = threading.Lock()

    def embed(self, texts: Any) -> Vectors:
        with self._lock:
            self.calls.append(list(texts))
            self.together += 1
            self.most_together = max(self.most_together, self.together)
            number = len(self.calls)
        try:
            self.answering(number)
            if number > self.gone_after:
                raise EmbeddingUnavailableError("gone", "The model is gone.")
            return super().embed(texts)
        finally:
            with self._lock:
                self.together -= 1

    def answering(self, number: int) -> None:
        """What happens before call `number` is answered."""


def batch(first: int, count: int, *, texts: int = 10**6, known: dict[str, bytes] | None = None) -> Batch:
    rows: list[Row] = [(at, f"d{at % texts}", f"text {at % texts}", f"{at}.md") for at in range(first, first + count)]
    return Batch(rows, known or {})


def landed(model: ToyEmbedder, batches: list[Batch], **options: Any) -> list[tuple[list[int], set[str]]]:
    """The numbers of each batch as it lands, and the digests that have a vector."""
    surroundings = {"idle": nullcontext, "alive": lambda: None, **options}
    flights = Flights(model, **surroundings)
    return [([row[0] for row in each.rows], set(made.vectors)) for each, made in flights.land(iter(batches))]


@pytest.mark.parametrize("concurrency", [0, 1, 3])
def test_batches_land_in_their_order_with_all_their_vectors(concurrency: int) -> None:
    """However many are under way."""
    model = Distant(concurrency)
    found = landed(model, [batch(at, 4) for at in range(0, 40, 4)])
    assert found == [(list(range(at, at + 4)), {f"d{n}" for n in range(at, at + 4)}) for at in range(0, 40, 4)]


def test_as_many_are_under_way_as_the_model_takes_and_no_more() -> None:
    """Three calls meet; a fourth never does."""
    meeting = threading.Barrier(3, timeout=DEADLINE_S)

    class Meeting(Distant):
        def answering(self, number: int) -> None:
            meeting.wait()

    model = Meeting(3)
    landed(model, [batch(at, 2) for at in range(0, 18, 2)])
    assert (len(model.calls), model.most_together) == (9, 3)


def test_a_text_is_sent_once_however_many_chunks_hold_it() -> None:
    """Also where batches that hold it are under way together; each of them has its vector."""
    model = Distant(4)
    found = landed(model, [batch(at, 5, texts=7) for at in range(0, 35, 5)])
    assert sorted(text for call in model.calls for text in call) == sorted(f"text {n}" for n in range(7))
    assert all(vectors >= {f"d{number % 7}" for number in numbers} for numbers, vectors in found[1:])


def test_what_is_known_is_not_sent() -> None:
    """The cache had it."""
    model = Distant(2)
    landed(model, [batch(0, 3, known={"d1": b"x"})])
    assert model.calls == [["text 0", "text 2"]]


def test_a_model_that_goes_away_costs_nothing_that_it_gave() -> None:
    """What was under way and came back is handed out; nothing more is begun; then the reason is raised."""
    model = Distant(2, gone_after=3)
    kept: list[int] = []
    flights = Flights(model, idle=nullcontext, alive=lambda: None)
    with pytest.raises(EmbeddingUnavailableError, match="gone"):
        for each, _ in flights.land(iter(batch(at, 1) for at in range(50))):
            kept.append(each.rows[0][0])
    assert len(kept) == 3
    assert len(model.calls) < 3 + 2 * 2 + 2


def test_a_batch_keeps_what_it_got_although_one_before_it_failed_with_a_text_of_both() -> None:
    """It was paid for."""

    second_is_under_way = threading.Event()

    class Picky(Distant):
        def embed(self, texts: Any) -> Vectors:
            if "text 0" in texts:
                assert second_is_under_way.wait(DEADLINE_S)
                raise EmbeddingUnavailableError("gone", "The model is gone.")
            second_is_under_way.set()
            return super().embed(texts)

    rows: list[list[Row]] = [
        [(0, "d0", "text 0", "0.md"), (1, "d1", "text 1", "1.md")],
        [(2, "d1", "text 1", "2.md"), (3, "d3", "text 3", "3.md")],
    ]
    flights = Flights(Picky(2), idle=nullcontext, alive=lambda: None)
    kept: list[set[str]] = []
    with pytest.raises(EmbeddingUnavailableError):
        for _, made in flights.land(iter([Batch(each, {}) for each in rows])):
            kept.append(set(made.vectors))
    assert kept == [{"d3"}]


def test_a_wait_gives_up_the_turn_and_tells_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model answers only after a sign of life that came from inside the pause."""
    monkeypatch.setattr("backends.builtin.heartbeat.HEARTBEAT_S", 0.01)
    alive, inside = threading.Event(), threading.Event()

    class Patient(Distant):
        def answering(self, number: int) -> None:
            assert alive.wait(DEADLINE_S)

    @contextmanager
    def idle() -> Iterator[None]:
        inside.set()
        yield
        inside.clear()

    def tell() -> None:
        assert inside.is_set()
        alive.set()

    assert landed(Patient(1), [batch(0, 1)], idle=idle, alive=tell) == [([0], {"d0"})]
    assert not inside.is_set()
