"""Images and recordings through an API that takes them, over a real socket."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from backends.embedding import EmbeddingSpec, EmbeddingUnavailableError, Media, MediaEmbedder
from backends.media import TYPES
from tests.backends.embedding.remote import serving
from tests.backends.embedding.remote.conftest import Desk
from tests.backends.embedding.remote.contract import KEY, Entry
from tests.backends.embedding.remote.serving import unit_of
from tests.backends.embedding.remote.serving_gemini import GeminiSpeech, refuses_key

SPEC = EmbeddingSpec(provider="gemini", model="gemini-embedding-2-preview", dims=768, api_key=KEY)
BOAT, TALK, SECRET = (Media("image/png", b"boat"), Media("audio/wav", b"talk"), Media("image/png", b"secret"))


def encoded(item: Media) -> str:
    return base64.b64encode(item.data).decode()


@pytest.fixture
def desk() -> Iterator[Desk]:
    entry = Entry("gemini", GeminiSpeech, SPEC, path="/v1beta")
    with serving.serving(entry.speech()) as provider:
        yield Desk(entry, provider)


def test_each_file_gets_its_own_unit_vector_by_its_own_request(desk: Desk) -> None:
    """In their order, beside the vectors of texts."""
    model = desk.embedder()
    assert isinstance(model, MediaEmbedder)
    assert model.media == frozenset(TYPES.values())
    rows = model.embed_media([BOAT, TALK])
    assert (rows.shape, rows.dtype) == ((2, 768), np.float32)
    np.testing.assert_allclose(rows, [unit_of(encoded(item), 768) for item in (BOAT, TALK)], atol=1e-6)
    assert [len(batch) for batch in desk.provider.batches] == [1, 1]
    assert len(model.embed_media([])) == 0


def test_a_file_that_is_refused_alone_is_a_row_of_nan(desk: Desk) -> None:
    """The provider is asked about a harmless word, and the others have their vectors."""
    model = desk.embedder()
    desk.provider.always.append(serving.refuses_text(encoded(SECRET)))
    rows = model.embed_media([BOAT, SECRET, TALK])
    assert np.isfinite(rows).all(axis=1).tolist() == [True, False, True]


def test_a_provider_that_fails_is_told_apart_from_a_file_that_it_refuses(desk: Desk) -> None:
    """A wrong key, or every request refused, is the provider's own trouble."""
    model = desk.embedder()
    for mischief in (refuses_key, serving.fails(400, "bad", "no")):
        desk.provider.always[:] = [mischief]
        with pytest.raises(EmbeddingUnavailableError) as raised:
            model.embed_media([BOAT])
        assert KEY not in str(raised.value)


def test_a_model_of_texts_takes_no_media(desk: Desk) -> None:
    """Nothing is sent."""
    entry = Entry("gemini", partial(GeminiSpeech, 768), EmbeddingSpec(provider="gemini", api_key=KEY), path="/v1beta")
    model = Desk(entry, desk.provider).embedder(dims=768)
    assert model.media == frozenset()
    with pytest.raises(EmbeddingUnavailableError):
        model.embed_media([BOAT])
    assert desk.provider.asked == []


def test_bytes_stand_in_no_repr() -> None:
    """Nor does a traceback print them."""
    assert "boat" not in repr(BOAT)
