"""Models of the worker: loaded once, each by itself, and left alone for a while when they fail."""

from __future__ import annotations

import threading

import pytest

from backends.embedding import Embedder, EmbeddingSpec, EmbeddingUnavailableError, Vectors
from sidecar.worker.models import MOST_ASKING, REST_S, Models
from sidecar.worker.turns import Turn
from tests.backends.builtin.conftest import ToyEmbedder
from tests.running import until

DEADLINE_S = 20.0


def spec(model: str) -> EmbeddingSpec:
    return EmbeddingSpec(provider="toy", model=model)


def test_a_model_is_loaded_once_however_many_ask_together() -> None:
    """The others wait for it."""
    loads: list[EmbeddingSpec] = []

    def load(wanted: EmbeddingSpec) -> Embedder:
        loads.append(wanted)
        return ToyEmbedder()

    models, found = Models(load), []
    threads = [threading.Thread(target=lambda: found.append(models.get(spec("a")))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert (len(loads), len(found), len(set(map(id, found)))) == (1, 8, 1)


def test_a_model_that_loads_slowly_keeps_nobody_from_another() -> None:
    """The second is given out while the first is not there yet."""
    loading, go_on = threading.Event(), threading.Event()

    def load(wanted: EmbeddingSpec) -> Embedder:
        if wanted.model == "slow":
            loading.set()
            assert go_on.wait(DEADLINE_S)
        return ToyEmbedder(wanted.model or "")

    models = Models(load)
    slow = threading.Thread(target=models.get, args=(spec("slow"),))
    slow.start()
    assert loading.wait(DEADLINE_S)
    quick = models.get(spec("quick"))
    assert quick is not None
    assert quick.identity.model == "quick"
    go_on.set()
    slow.join(DEADLINE_S)


def test_a_provider_that_fails_is_given_a_rest() -> None:
    """It is asked again after that, and not by every question in between; all are told the reason."""
    now, tries = [0.0], []

    def load(wanted: EmbeddingSpec) -> Embedder:
        tries.append(now[0])
        if len(tries) < 3:
            raise EmbeddingUnavailableError("down", "The provider is down.", hint="Wait.")
        return ToyEmbedder()

    models = Models(load, clock=lambda: now[0])
    for at in (0.0, 1.0, REST_S - 0.1, REST_S, REST_S + 1.0):
        now[0] = at
        with pytest.raises(EmbeddingUnavailableError) as raised:
            models.get(spec("a"))
        assert (raised.value.code, raised.value.hint) == ("down", "Wait.")
    now[0] = 2 * REST_S
    assert models.get(spec("a")) is not None
    assert tries == [0.0, REST_S, 2 * REST_S]


class Elsewhere(ToyEmbedder):
    concurrency = 4


def test_questions_to_a_provider_that_hangs_while_it_loads_keep_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are told at once that it is busy: their threads are needed for other models."""
    monkeypatch.setattr("sidecar.worker.models.PATIENCE_S", 0.01)
    go_on, loading = threading.Event(), threading.Event()

    def load(wanted: EmbeddingSpec) -> Embedder:
        loading.set()
        assert go_on.wait(DEADLINE_S)
        return Elsewhere()

    models, told = Models(load), []

    def ask() -> None:
        try:
            models.embed_query(spec("slow"), "boat")
        except EmbeddingUnavailableError as error:
            told.append(error.code)

    threads = [threading.Thread(target=ask) for _ in range(MOST_ASKING + 5)]
    for thread in threads:
        thread.start()
    assert loading.wait(DEADLINE_S)
    until(lambda: len(told) == 5, what="the answers of those who are too many")
    go_on.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert told == ["embedding_busy"] * 5


@pytest.mark.parametrize("told", ["by a question", "by a job"])
def test_a_model_that_gives_other_vectors_than_it_did_is_asked_anew(told: str) -> None:
    """Somebody serves another under its name; the daemon need not be started again."""

    class Changed(Elsewhere):
        def embed_query(self, text: str) -> Vectors:
            raise EmbeddingUnavailableError("embedding_bad_reply", "Vectors of 99 numbers instead of 64.")

    served: list[Embedder] = [Changed(), ToyEmbedder("new", 99)]
    now = [0.0]
    models = Models(lambda wanted: served.pop(0), clock=lambda: now[0])
    if told == "by a job":
        models.get(spec("a"))
        models.doubt(spec("a"), "embedding_bad_reply")
    else:
        with pytest.raises(EmbeddingUnavailableError):
            models.embed_query(spec("a"), "boat")
    now[0] = REST_S + 1
    asked = models.embed_query(spec("a"), "boat")
    assert asked is not None
    assert asked[1].dims == 99


def test_a_turn_that_is_given_up_is_another_s_until_that_one_ends() -> None:
    """Two jobs never compute together."""
    turn, order = Turn(), []
    second_is_in, second_may_end = threading.Event(), threading.Event()

    def second() -> None:
        with turn.taken(lambda: None):
            second_is_in.set()
            assert second_may_end.wait(DEADLINE_S)
            order.append("second ends")

    thread = threading.Thread(target=second)
    with turn.taken(lambda: None):
        thread.start()
        with turn.given_up(lambda: None):
            assert second_is_in.wait(DEADLINE_S)
            order.append("first waits")
            second_may_end.set()
        order.append("first goes on")
    thread.join(DEADLINE_S)
    assert order == ["first waits", "second ends", "first goes on"]


def test_a_job_that_waits_for_its_turn_tells_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or it would be taken for one that hangs."""
    monkeypatch.setattr("sidecar.worker.turns.HEARTBEAT_S", 0.01)
    turn, alive = Turn(), threading.Event()

    def second() -> None:
        with turn.taken(alive.set):
            pass

    thread = threading.Thread(target=second)
    with turn.taken(lambda: None):
        thread.start()
        assert alive.wait(DEADLINE_S)
    thread.join(DEADLINE_S)
    assert not thread.is_alive()
