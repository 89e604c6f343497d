"""The embedding models of Voyage AI, which speak the API of OpenAI with other names.

Read from docs.voyageai.com (reference/embeddings-api, docs/embeddings) and the SDK `voyageai` 0.5.0 on PyPI
(`util.py`, `api_resources/embedding.py`): POST `{base}/embeddings` with `input`, `model`, `input_type`, `truncation`,
`output_dimension`, `encoding_format`; a reply lists `data[].{index, embedding}`. Asked for base64, as that SDK does, an
embedding is a string of little-endian float32. A request takes 1000 texts.
"""

from __future__ import annotations

from dataclasses import replace

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.catalog import default_model
from backends.embedding.remote.openai import OpenAIWire
from backends.embedding.remote.wire import Limits

MODEL = default_model("voyage")
BASE_URL = "https://api.voyageai.com/v1"
LIMITS = Limits(texts=1000, tokens=120_000, text_tokens=32_000)

# Keys of MongoDB Atlas begin with this and are known at its own address only.
_ATLAS_KEY = "al-"
_ATLAS_URL = "https://ai.mongodb.com/v1"
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


def wire_for(spec: EmbeddingSpec) -> OpenAIWire:
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
    return OpenAIWire(
        base_url=spec.base_url or usual,
        model=model,
        limits=_limits(model),
        packed=True,
        dims=spec.dims,
        dims_name="output_dimension",
        query_input_type=spec.query_input_type or "query",
        document_input_type=spec.document_input_type or "document",
    )


def _limits(model: str) -> Limits:
    return replace(
        LIMITS,
        tokens=_TOKENS.get(model, LIMITS.tokens),
        text_tokens=_TEXT_TOKENS.get(model, LIMITS.text_tokens),
    )
