"""The semantic default: averaged token vectors of the static model inside the `wordllama` wheel.

Only its two data files are used, found without importing the package: its own `load()` looks in the wrong
folder or tries the network, and the import costs more than reading the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from backends.embedding.base import EmbeddingIdentity, EmbeddingUnavailableError, Vectors
from backends.embedding.units import unit_rows
from backends.relevance import Spread
from backends.text.scripts import Script

MODEL = "l2_supercat_256"
_HINT = "Install the extra: pip install 'qmd-sidecar[static]'"
_NEEDED = ("wordllama", "safetensors", "tokenizers")
_MAX_TOKENS = 4096


class StaticEmbedder:
    """Token vectors (32,000 x 256) averaged per text; about 25 MB in memory, thousands of texts a second."""

    batch_texts = 128
    concurrency = 0

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._table = load_file(weights)["embedding.weight"].astype(np.float32)
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self.identity = EmbeddingIdentity(provider="static", model=MODEL, dims=int(self._table.shape[1]))

    def usual_spread(self, script: Script) -> Spread:
        """Other scripts than Latin come down to a few tokens a character: all texts of one are nearly alike."""
        return Spread(0.25, 0.6) if script is Script.LATIN else Spread(0.85, 0.97)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row of float32 per text, shape (len(texts), 256)."""
        rows = np.zeros((len(texts), self.identity.dims), dtype=np.float32)
        for row, encoding in zip(
            rows, self._tokenizer.encode_batch(list(texts), add_special_tokens=False), strict=True
        ):
            if encoding.ids:
                row[:] = self._table[encoding.ids].mean(axis=0)
        return unit_rows(rows)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question, shape (256,)."""
        vector: Vectors = self.embed([text])[0]
        return vector


def available() -> bool:
    """Whether the packages of the extra `static` are installed. Imports none of them."""
    return all(find_spec(name) is not None for name in _NEEDED)


def load() -> StaticEmbedder:
    """Read the model. Raises `EmbeddingUnavailableError` when a package or a file of it is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise EmbeddingUnavailableError("static_missing", f"The package {missing[0]} is not installed.", hint=_HINT)
    folder = _folder()
    weights, tokenizer = (
        folder / "weights" / f"{MODEL}.safetensors",
        folder / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )
    try:
        return StaticEmbedder(weights, tokenizer)
    except (OSError, ValueError, KeyError) as error:
        raise EmbeddingUnavailableError("static_broken", "The static model cannot be read.", hint=_HINT) from error


def _folder() -> Path:
    spec = find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddingUnavailableError("static_missing", "The package wordllama is not installed.", hint=_HINT)
    return Path(next(iter(spec.submodule_search_locations)))
