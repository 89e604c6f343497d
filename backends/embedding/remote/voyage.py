"""The embedding models of Voyage AI.

Read from docs.voyageai.com (reference/embeddings-api, docs/embeddings) and the SDK `voyageai` 0.5.0 on PyPI
(`util.py`, `api_resources/embedding.py`): POST `{base}/embeddings` with `input`, `model`, `input_type`, `truncation`,
`output_dimension`, `encoding_format`; a reply lists `data[].{index, embedding}`. Asked for base64, as that SDK does, an
embedding is a string of little-endian float32. A request takes 1000 texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Side, Vectors
from backends.embedding.remote.rows import indexed_rows, parsed
from backends.embedding.remote.wire import Limits, Reply, Request

MODEL = "voyage-4-large"
BASE_URL = "https://api.voyageai.com/v1"
LIMITS = Limits(texts=1000, tokens=120_000, text_tokens=32_000)

# Keys of MongoDB Atlas begin with this and are known at its own address only.
_ATLAS_KEY = "al-"
_ATLAS_URL = "https://ai.mongodb.com/v1"
_INPUT_TYPES = {Side.QUERY: "query", Side.DOCUMENT: "document"}
_DIMS = (256, 512, 1024, 2048)
_OF_ANY_LENGTH = frozenset(
    {"voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite", "voyage-code-3"}
)
#: How many tokens all texts of a request may have, where it is more than for the large models.
_TOKENS = {
    "voyage-4-lite": 1_000_000,
    "voyage-3.5-lite": 1_000_000,
    "voyage-4": 320_000,
    "voyage-3.5": 320_000,
    "voyage-2": 320_000,
}
#: How many tokens of one text a model reads, where it is less than usual.
_TEXT_TOKENS = {"voyage-law-2": 16_000, "voyage-code-2": 16_000, "voyage-large-2": 16_000, "voyage-2": 4_000}


@dataclass(frozen=True, slots=True)
class VoyageWire:
    """One model behind `{base_url}/embeddings`."""

    base_url: str
    model: str
    dims: int | None = None
    input_types: Mapping[Side, str] = field(default_factory=lambda: _INPUT_TYPES)

    @property
    def limits(self) -> Limits:
        """What one request may hold."""
        return replace(
            LIMITS,
            tokens=_TOKENS.get(self.model, LIMITS.tokens),
            text_tokens=_TEXT_TOKENS.get(self.model, LIMITS.text_tokens),
        )

    def request(self, texts: Sequence[str], side: Side) -> Request:
        """The request for the vectors of texts, without credentials."""
        body = {
            "model": self.model,
            "input": list(texts),
            "input_type": self.input_types[side],
            "truncation": True,
            "encoding_format": "base64",
        }
        dims = {"output_dimension": self.dims} if self.dims else {}
        return Request(
            url=f"{self.base_url}/embeddings",
            body=orjson.dumps(body | dims),
            headers={"content-type": "application/json"},
        )

    def vectors(self, reply: Reply, count: int) -> Vectors:
        """The rows in the order of the texts, shape (count, dims). Raises `RefusedError(REPLY)`."""
        return indexed_rows(parsed(reply).get("data"), count)


def wire_for(spec: EmbeddingSpec) -> VoyageWire:
    """The wire that a specification asks for, at the address that knows its key.

    Raises `EmbeddingUnavailableError` for a length that the model cannot be asked for.
    """
    model = spec.model or MODEL
    if spec.dims is not None and model in _OF_ANY_LENGTH and spec.dims not in _DIMS:
        raise EmbeddingUnavailableError(
            "dims_unsupported",
            f"{model} gives no vectors of {spec.dims} numbers.",
            hint="Set `outputDimensionality` to 256, 512, 1024 or 2048, or remove it.",
        )
    usual = _ATLAS_URL if spec.api_key.startswith(_ATLAS_KEY) else BASE_URL
    input_types = {
        Side.QUERY: spec.query_input_type or _INPUT_TYPES[Side.QUERY],
        Side.DOCUMENT: spec.document_input_type or _INPUT_TYPES[Side.DOCUMENT],
    }
    return VoyageWire((spec.base_url or usual).rstrip("/"), model, spec.dims, input_types)
