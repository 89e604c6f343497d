"""What every provider behind HTTP promises, over a real socket."""

from __future__ import annotations

import numpy as np
import pytest

from backends.embedding import EmbeddingUnavailableError
from backends.embedding.remote.brands import BRANDS
from tests.backends.embedding.remote import serving
from tests.backends.embedding.remote.conftest import Desk
from tests.backends.embedding.remote.contract import KEY
from tests.backends.embedding.remote.serving import fails, unit_of

TEXTS = [f"note {number}" for number in range(64)]


def expected(texts: list[str], dims: int) -> serving.Rows:
    return np.array([unit_of(text, dims) for text in texts])


def test_rows_are_unit_vectors_in_the_order_of_the_texts(desk: Desk) -> None:
    """Each text gets its own vector, whatever the order of the reply."""
    model = desk.embedder()
    rows = model.embed(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected(TEXTS, model.identity.dims), atol=1e-6)


def test_a_question_has_a_unit_vector(desk: Desk) -> None:
    """One vector, not a matrix of one row."""
    vector = desk.embedder().embed_query("who sold the boat?")
    assert vector.ndim == 1
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)


def test_the_identity_says_whose_vectors_they_are(desk: Desk) -> None:
    """The length of the vectors is learnt from the provider."""
    identity = desk.embedder().identity
    assert (identity.provider, identity.dims) == (desk.entry.spec.provider, 24)
    assert identity.model
    assert KEY not in repr(identity)


def test_the_key_is_sent_in_a_header_and_nowhere_else(desk: Desk) -> None:
    """Addresses are written into the logs of every proxy on the way."""
    desk.embedder().embed(["a note"])
    (asked,) = desk.provider.asked
    assert KEY not in asked.path
    assert KEY.encode() not in asked.body
    if desk.entry.proof:
        name, value = desk.entry.proof
        assert asked.headers[name] == value


def test_headers_of_the_configuration_are_sent(desk: Desk) -> None:
    """A gateway in between may want its own."""
    desk.embedder(headers=(("X-Team", "memory"),)).embed(["a note"])
    assert desk.provider.asked[0].headers["x-team"] == "memory"


def test_a_wished_length_is_kept(desk: Desk) -> None:
    """Also where the server knows no such wish: the head of a long vector, at length one."""
    model = desk.embedder(dims=8)
    assert model.identity.dims == 8
    np.testing.assert_allclose(model.embed(TEXTS[:3]), expected(TEXTS[:3], 8), atol=1e-6)


def test_a_request_holds_no_more_texts_than_documented(desk: Desk) -> None:
    """One text more than the limit makes a second request."""
    brand = BRANDS.get(desk.entry.spec.provider, BRANDS["openai-compatible"])
    desk.embedder().embed(["a note"] * (brand.limits.texts + 1))
    assert [len(batch) for batch in desk.provider.batches] == [brand.limits.texts, 1]


def test_a_lower_limit_of_texts_is_found_and_remembered(desk: Desk) -> None:
    """Everything is embedded, and later requests are no larger than what was taken."""
    model = desk.embedder()
    desk.provider.always.append(serving.refuses_more_than(10))
    rows = model.embed(TEXTS)
    np.testing.assert_allclose(rows, expected(TEXTS, model.identity.dims), atol=1e-6)
    desk.provider.forget()
    model.embed(TEXTS)
    assert max(len(batch) for batch in desk.provider.batches) <= 10
    assert model.batch_texts <= 10


def test_a_request_that_is_too_large_is_halved(desk: Desk) -> None:
    """Status 413, as gateways answer before the provider sees the request."""
    model = desk.embedder()
    desk.provider.always.append(serving.refuses_more_than(30, 413, "Request Entity Too Large"))
    assert np.isfinite(model.embed(TEXTS)).all()


def test_one_refused_text_costs_no_other_its_vector(desk: Desk) -> None:
    """Its row is NaN, and finding it takes few requests."""
    model = desk.embedder()
    desk.provider.always.append(serving.refuses_text("note 17"))
    rows = model.embed(TEXTS)
    assert np.flatnonzero(np.isnan(rows).all(axis=1)).tolist() == [17]
    assert np.isfinite(np.delete(rows, 17, axis=0)).all()
    assert len(desk.provider.asked) <= 20


def test_a_text_refused_for_its_size_does_not_make_requests_small(desk: Desk) -> None:
    """It is embedded by its beginning; the others go together as before."""
    model = desk.embedder()
    long = "word " * 200
    desk.provider.always.append(serving.refuses_text(long[:600], 400, "maximum context length is 128 tokens"))
    assert np.isfinite(model.embed([*TEXTS[:8], long])).all()
    desk.provider.forget()
    model.embed(TEXTS[:32])
    assert len(desk.provider.asked) == 1


def test_a_text_longer_than_the_model_reads_is_cut(desk: Desk) -> None:
    """Between words, and without asking first."""
    model = desk.embedder()
    text = "word " * 200_000
    assert np.isfinite(model.embed([text])).all()
    ((sent,),) = desk.provider.batches
    assert 1_000 < len(sent) < len(text)
    assert sent.endswith("word ")


def test_a_provider_that_refuses_everything_is_not_asked_about_each_text(desk: Desk) -> None:
    """A refused batch, a harmless word, and that is all."""
    model = desk.embedder()
    desk.provider.always.append(fails(400, "invalid_request", "nothing will do"))
    with pytest.raises(EmbeddingUnavailableError) as raised:
        model.embed(TEXTS)
    assert raised.value.code == "embedding_refused"
    assert len(desk.provider.asked) == 2


def test_a_row_with_a_number_that_is_none_becomes_nan(desk: Desk) -> None:
    """And no other row does."""
    model = desk.embedder()
    desk.provider.always.append(serving.spoils("note 5"))
    rows = model.embed(TEXTS[:8])
    assert np.flatnonzero(np.isnan(rows).all(axis=1)).tolist() == [5]
    assert np.isfinite(np.delete(rows, 5, axis=0)).all()


def test_an_infinite_number_is_none(desk: Desk) -> None:
    """Its row must not win every search."""
    model = desk.embedder()
    desk.provider.always.append(serving.spoils("note 5", float("inf")))
    assert np.isnan(model.embed(TEXTS[:8])[5]).all()


def test_vectors_of_another_length_end_the_work(desk: Desk) -> None:
    """Another model answers than the one that was probed."""
    model = desk.embedder()
    desk.provider.always.append(serving.gives_dims(31))
    with pytest.raises(EmbeddingUnavailableError) as raised:
        model.embed(TEXTS)
    assert raised.value.code == "embedding_bad_reply"
    assert len(desk.provider.asked) <= 2


@pytest.mark.parametrize("mischief", [serving.breaks_json, serving.drops_last, serving.hangs_up, serving.answers_html])
def test_one_bad_reply_loses_nothing(desk: Desk, mischief: serving.Mischief) -> None:
    """What was asked is asked again."""
    model = desk.embedder()
    desk.provider.script.append(mischief)
    np.testing.assert_allclose(model.embed(TEXTS), expected(TEXTS, model.identity.dims), atol=1e-6)


def test_a_web_page_is_no_reply(desk: Desk) -> None:
    """A captive portal, or a base URL that leads elsewhere."""
    desk.provider.always.append(serving.answers_html)
    with pytest.raises(EmbeddingUnavailableError) as raised:
        desk.embedder()
    assert raised.value.code == "embedding_bad_reply"


@pytest.mark.parametrize("status", [500, 502, 503, 529])
def test_a_broken_server_is_asked_again_after_growing_pauses(desk: Desk, status: int) -> None:
    """Half a second, then one."""
    model = desk.embedder()
    desk.provider.script += [fails(status), fails(status)]
    assert np.isfinite(model.embed(TEXTS)).all()
    assert desk.pauses == [0.5, 1.0]


def test_the_pause_that_a_provider_asks_for_is_kept(desk: Desk) -> None:
    """Retry-After in seconds."""
    model = desk.embedder()
    desk.provider.script.append(fails(429, "rate_limited", "slow down", retry_after="7"))
    assert np.isfinite(model.embed(TEXTS)).all()
    assert desk.pauses == [7.0]


FAILURES = {
    "a refused key": (fails(401, "", "no"), "embedding_key_refused", 1),
    "a forbidden model": (fails(403, "", "no"), "embedding_key_refused", 1),
    "an unknown model": (fails(404, "", "no such model"), "embedding_model_unknown", 1),
    "a pause of an hour": (fails(429, "", "slow down", retry_after="3600"), "embedding_rate_limited", 1),
    "no end of limits": (fails(429, "", "slow down"), "embedding_rate_limited", 3),
    "a broken server": (fails(500, "", "oops"), "embedding_server_error", 3),
    "a connection that breaks": (serving.hangs_up, "embedding_unreachable", 3),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_each_trouble_has_its_code_and_costs_few_requests(desk: Desk, failure: str) -> None:
    """What no pause mends is not asked again."""
    mischief, code, requests = FAILURES[failure]
    model = desk.embedder()
    desk.provider.always.append(mischief)
    with pytest.raises(EmbeddingUnavailableError) as raised:
        model.embed(TEXTS)
    assert raised.value.code == code
    assert raised.value.hint
    assert len(desk.provider.asked) == requests


def test_a_used_up_quota_is_not_asked_again(desk: Desk) -> None:
    """It has the status of a rate limit, but waiting does not help."""
    model = desk.embedder()
    desk.provider.always.append(desk.entry.quota)
    with pytest.raises(EmbeddingUnavailableError) as raised:
        model.embed(TEXTS)
    assert raised.value.code == "embedding_quota"
    assert len(desk.provider.asked) == 1


def test_a_refused_question_is_an_error(desk: Desk) -> None:
    """There is nothing to search with."""
    model = desk.embedder()
    desk.provider.always.append(serving.refuses_text("boat"))
    with pytest.raises(EmbeddingUnavailableError) as raised:
        model.embed_query("who sold the boat?")
    assert raised.value.code == "embedding_refused"


def test_blank_texts_are_not_sent(desk: Desk) -> None:
    """Providers refuse them; their rows are zero."""
    rows = desk.embedder().embed(["", "a note", " \n"])
    assert desk.provider.batches == [["a note"]]
    assert np.linalg.norm(rows, axis=1) == pytest.approx([0.0, 1.0, 0.0], abs=1e-5)


def test_half_a_character_is_sent_as_something_else(desk: Desk) -> None:
    """A lone surrogate has no UTF-8."""
    assert np.isfinite(desk.embedder().embed(["a \ud83d note", "another"])).all()


def test_no_texts_make_no_request(desk: Desk) -> None:
    """An empty matrix of the right width."""
    model = desk.embedder()
    assert model.embed([]).shape == (0, model.identity.dims)
    assert desk.provider.asked == []


def test_errors_quote_neither_text_nor_key(desk: Desk) -> None:
    """Not even where the provider does."""
    model = desk.embedder()
    secret = f"the diary says Rosebud, {KEY}"
    desk.provider.always.append(fails(400, secret, secret))
    with pytest.raises(EmbeddingUnavailableError) as raised:
        model.embed(["the diary says Rosebud"])
    told = f"{raised.value.message} {raised.value.hint} {raised.value!r} {raised.value.__cause__!r}"
    assert "Rosebud" not in told
    assert KEY not in told
