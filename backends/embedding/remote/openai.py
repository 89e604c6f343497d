"""The API of OpenAI's embeddings, which most other servers speak too.

Read from the SDK `openai` 3.57.0 on PyPI (`types/embedding_create_params.py`, `resources/embeddings.py`): POST
`{base}/embeddings` with `model`, `input`, `dimensions`, `encoding_format`; a reply lists `data[].{index, embedding}`,
in base64 a string of little-endian float32. At most 2048 texts of 8192 tokens, and 300,000 tokens in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

import orjson

from backends.embedding.base import Side, Vectors
from backends.embedding.remote.prefixes import prefix
from backends.embedding.remote.rows import indexed_rows, parsed
from backends.embedding.remote.wire import Limits, Reply, Request

_PATH = "/embeddings"


class OpenAIWire:
    """One model behind `{base_url}/embeddings`.

    `packed` asks for base64: a quarter of the bytes, but not every server that speaks this API knows it. `dims` goes
    out as `dims_name`, the input types as `input_type`; what is None is not sent, since some servers refuse it. Without
    an input type a model gets the prefix that it is known to want.
    """

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        limits: Limits,
        packed: bool = False,
        dims: int | None = None,
        dims_name: str = "dimensions",
        query_input_type: str | None = None,
        document_input_type: str | None = None,
    ) -> None:
        self._url = endpoint(base_url, _PATH)
        self.limits = limits
        self._body = {"model": model, "encoding_format": "base64" if packed else "float"}
        self._dims = {dims_name: dims} if dims else {}
        self._model = model
        self._input_types = {Side.QUERY: query_input_type, Side.DOCUMENT: document_input_type}

    def request(self, texts: Sequence[str], side: Side) -> Request:
        """The request for the vectors of texts."""
        input_type = self._input_types[side]
        typed = {"input_type": input_type} if input_type else {}
        before = "" if input_type else prefix(self._model, side)
        body = orjson.dumps({**self._body, **self._dims, **typed, "input": [before + text for text in texts]})
        return Request(self._url, body, {"content-type": "application/json"})

    def vectors(self, reply: Reply, count: int) -> Vectors:
        """The rows in the order of the texts, shape (count, dims). Raises `RefusedError(REPLY)`."""
        return indexed_rows(parsed(reply).get("data"), count)


def endpoint(base_url: str, path: str) -> str:
    """The address of a path below a base URL that may end with a slash, with that path already, or have a query."""
    parts = urlsplit(base_url)
    base = parts.path.rstrip("/").removesuffix(path)
    return urlunsplit(parts._replace(path=base + path))
