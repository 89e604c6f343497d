"""The embedding models of the Gemini API.

Read from the SDK `google-genai` 3.6.1 on PyPI (`models.py`, `tests/models/test_embed_content.py`), which sends every
text, image and recording to `models/{model}:batchEmbedContents`, and from the embeddings guide and the API reference of
ai.google.dev: 2048 tokens and `taskType` for gemini-embedding-001, 8192 tokens and a task in the text for
gemini-embedding-2. At most 100 requests make a batch: "BatchEmbedContentsRequest.requests: at most 100 requests can be
in one batch". The key goes into the header `x-goog-api-key`, never into the address.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlsplit

import orjson

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Side, Vectors
from backends.embedding.catalog import default_model
from backends.embedding.remote.prefixes import prefix
from backends.embedding.remote.rows import at, parsed, rows
from backends.embedding.remote.wire import Limits, RefusedError, Reply, Request, Trouble

MODEL = default_model("gemini")
BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
# The tokens of a whole batch are not documented here; these are the limit of the same models at Vertex AI.
LIMITS = Limits(texts=100, tokens=20_000, text_tokens=2048)

_OWNER = re.compile(r"^(models|gemini|google)/")
_SECOND = re.compile(r"gemini-embedding-2\b")
_SECOND_DIMS = (768, 1536, 3072)
_FIRST_DIMS = range(128, 3073)
_TASKS = {Side.QUERY: "RETRIEVAL_QUERY", Side.DOCUMENT: "RETRIEVAL_DOCUMENT"}
_MEDIA = ("image/", "audio/")


@dataclass(frozen=True, slots=True)
class GeminiWire:
    """One model. `tasks` holds its `taskType` for each side; it is empty for a model whose task is told in the text."""

    base_url: str
    model: str
    dims: int | None = None
    tasks: Mapping[Side, str] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        """What one batch may hold."""
        return replace(LIMITS, text_tokens=8192) if _is_second(self.model) else LIMITS

    @property
    def reads_media(self) -> bool:
        """Whether the model makes vectors of images and recordings, too, in the space of those of texts."""
        return _is_second(self.model)

    def request(self, texts: Sequence[str], side: Side) -> Request:
        """The request for the vectors of texts, without credentials."""
        before = prefix(self.model, side)
        task = {"taskType": self.tasks[side]} if side in self.tasks else {}
        return self._batch([{"text": before + text} for text in texts], task)

    def media_request(self, mime: str, data: bytes) -> Request:
        """The request for the vector of one image or recording; `vectors(reply, 1)` reads its reply.

        Raises `RefusedError`: MODEL when the model reads texts only, TEXT when it is neither image nor audio.
        """
        if not self.reads_media:
            raise RefusedError(Trouble.MODEL, "a model for texts only")
        if not mime.startswith(_MEDIA):
            raise RefusedError(Trouble.TEXT, "neither image nor audio")
        return self._batch([{"inline_data": {"mime_type": mime, "data": b64encode(data).decode()}}], {})

    def vectors(self, reply: Reply, count: int) -> Vectors:
        """The rows of a successful reply, shape (count, dims). Raises `RefusedError(REPLY)`."""
        embeddings = parsed(reply).get("embeddings")
        entries = embeddings if isinstance(embeddings, list) else []
        return rows([at(entry, "values") for entry in entries], count)

    def _batch(self, parts: Sequence[Mapping[str, Any]], task: Mapping[str, str]) -> Request:
        name = f"models/{self.model}"
        dims = {"outputDimensionality": self.dims} if self.dims else {}
        # Parts of one content become one vector together, so that each needs a content of its own.
        requests = [{"model": name, "content": {"parts": [part]}, **task, **dims} for part in parts]
        return Request(
            url=f"{self.base_url}/models/{quote(self.model, safe='')}:batchEmbedContents",
            body=orjson.dumps({"requests": requests}),
            headers={"content-type": "application/json"},
        )


def wire_for(spec: EmbeddingSpec) -> GeminiWire:
    """The wire that a specification asks for; its input types are values of `taskType`, for models that know it.

    Raises `EmbeddingUnavailableError` for a length that the model cannot be asked for.
    """
    model = _OWNER.sub("", spec.model or MODEL)
    _check_dims(model, spec.dims)
    tasks = {
        Side.QUERY: spec.query_input_type or _TASKS[Side.QUERY],
        Side.DOCUMENT: spec.document_input_type or _TASKS[Side.DOCUMENT],
    }
    return GeminiWire(_base(spec.base_url or BASE_URL), model, spec.dims, {} if _is_second(model) else tasks)


def _is_second(model: str) -> bool:
    return _SECOND.match(model) is not None


def _check_dims(model: str, dims: int | None) -> None:
    second = _is_second(model)
    lengths: Sequence[int] = _SECOND_DIMS if second else _FIRST_DIMS
    if dims is None or dims in lengths or (model != MODEL and not second):
        return
    named = "768, 1536 or 3072" if second else "128 to 3072"
    raise EmbeddingUnavailableError(
        "dims_unsupported",
        f"{model} gives no vectors of {dims} numbers.",
        hint=f"Set `outputDimensionality` to {named}, or remove it.",
    )


def _base(url: str) -> str:
    """A base URL as people write it: without a version, or that of the API in the style of OpenAI."""
    base = url.rstrip("/").removesuffix("/openai")
    return base if urlsplit(base).path else f"{base}/v1beta"
