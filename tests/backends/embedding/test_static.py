"""The static model, read from its wheel, and the choice of a provider."""

from __future__ import annotations

import numpy as np
import pytest

from backends.embedding import EmbeddingSpec, EmbeddingUnavailableError, create, resolve, static


@pytest.fixture(scope="module")
def model() -> static.StaticEmbedder:
    if not static.available():
        pytest.skip("the extra `static` is not installed")
    return static.load()


def test_rows_are_unit_vectors(model: static.StaticEmbedder) -> None:
    """Shape, type and length are as promised; a text without tokens is a zero row."""
    rows = model.embed(["a red car", ""])
    assert rows.shape == (2, model.identity.dims)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1.0, 0.0], abs=1e-5)


def test_near_meanings_are_near(model: static.StaticEmbedder) -> None:
    """A paraphrase is nearer than another subject."""
    query = model.embed_query("automobile repair")
    near, far = model.embed(["the garage fixed my car", "sourdough bread needs time"]) @ query
    assert near > far + 0.1


def test_a_batch_gives_what_each_text_gives(model: static.StaticEmbedder) -> None:
    """A text's vector does not depend on its neighbours."""
    texts = ["short", "a much longer text about trains and stations " * 20]
    assert model.embed(texts) == pytest.approx(np.stack([model.embed_query(text) for text in texts]), abs=1e-6)


def test_auto_takes_the_static_model_where_it_is() -> None:
    """`auto` comes to `static` with the extra, to keywords without."""
    assert resolve(EmbeddingSpec()) == ("static" if static.available() else "none")


def test_none_is_no_model() -> None:
    """`none` means keywords on purpose."""
    assert create(EmbeddingSpec(provider="none")) is None


def test_an_unknown_provider_is_named() -> None:
    """The error lists what there is."""
    with pytest.raises(EmbeddingUnavailableError) as unknown:
        create(EmbeddingSpec(provider="nonesuch"))
    assert unknown.value.code == "unknown_provider"
    assert "static" in unknown.value.hint
