"""Models that Ollama serves, by its own API.

Read from `docs/api.md` and `server/routes.go` of ollama/ollama on GitHub and the SDK `ollama` 0.6.3 on PyPI: POST
`/api/embed` with `model`, `input`, `truncate`, `dimensions` answers `{"embeddings": [[..]]}`; before version 0.3 there
was only `/api/embeddings` with `model`, `prompt` for one text, which answers `{"embedding": [..]}`. An error is
`{"error": ".."}`, with status 404 for a model that is not there; a path that is not there has 404 and plain text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import orjson

from backends.embedding.base import EmbeddingSpec, Side, Vectors
from backends.embedding.catalog import default_model
from backends.embedding.remote.prefixes import prefix
from backends.embedding.remote.rows import at, parsed, rows
from backends.embedding.remote.wire import Limits, RefusedError, Reply, Request, Trouble

MODEL = default_model("ollama")
BASE_URL = "http://127.0.0.1:11434"

# Nothing is documented. A model on one's own processor takes its time for every token, and a call must end in time.
LIMITS = Limits(texts=32, tokens=8192, text_tokens=8192)

_PATH = "/api/embed"
_OLDER_PATH = "/api/embeddings"


@dataclass(frozen=True, slots=True)
class OllamaWire:
    """One model of a server, with the prefixes that it is known to want."""

    base_url: str
    model: str
    dims: int | None = None

    @property
    def limits(self) -> Limits:
        """What one request holds. Texts longer than the model reads are cut by the server."""
        return LIMITS

    def request(self, texts: Sequence[str], side: Side) -> Request:
        """The request for the vectors of texts, without credentials."""
        before = prefix(self.model, side)
        body = {"model": self.model, "input": [before + text for text in texts], "truncate": True}
        dims = {"dimensions": self.dims} if self.dims else {}
        return Request(
            url=self.base_url + _PATH,
            body=orjson.dumps(body | dims),
            headers={"content-type": "application/json"},
        )

    def vectors(self, reply: Reply, count: int) -> Vectors:
        """The rows of a successful reply, shape (count, dims). Raises `RefusedError(REPLY)`."""
        return rows(parsed(reply).get("embeddings"), count)


class EitherVersion:
    """Sends what `OllamaWire` asks to servers of any version: to an older one text by text.

    Safe to share between threads. `clock` is in seconds.
    """

    def __init__(self, send: Callable[[Request, float], Reply], clock: Callable[[], float] = time.monotonic) -> None:
        self._send = send
        self._clock = clock
        self._is_older = False

    def __call__(self, request: Request, timeout_s: float) -> Reply:
        """The reply to a request, within `timeout_s` for all of it. Raises `RefusedError` when none comes."""
        deadline = self._clock() + timeout_s
        if not self._is_older:
            reply = self._send(request, timeout_s)
            if not request.url.endswith(_PATH) or not _has_no_such_path(reply):
                return reply
        merged = self._one_by_one(request, deadline)
        # A 404 from both paths is no older Ollama but another server, which may be replaced by the right one.
        self._is_older = merged.status == 200
        return merged

    def _one_by_one(self, request: Request, deadline: float) -> Reply:
        asked = orjson.loads(request.body)
        vectors = []
        for text in asked["input"]:
            left_s = deadline - self._clock()
            if left_s <= 0:
                raise RefusedError(Trouble.TIMEOUT, "an older Ollama answers one text at a time")
            reply = self._send(_older(request, asked["model"], text), left_s)
            if reply.status != 200:
                return reply
            vectors.append(at(parsed(reply), "embedding"))
        return Reply(200, orjson.dumps({"embeddings": vectors}))


def wire_for(spec: EmbeddingSpec) -> OllamaWire:
    """The wire that a specification asks for. Its base URL may be that of either API of Ollama."""
    base = (spec.base_url or BASE_URL).rstrip("/").removesuffix("/v1").removesuffix("/api")
    return OllamaWire(base.rstrip("/"), spec.model or MODEL, spec.dims)


def _older(request: Request, model: str, text: str) -> Request:
    return replace(
        request,
        url=request.url.removesuffix(_PATH) + _OLDER_PATH,
        body=orjson.dumps({"model": model, "prompt": text}),
    )


def _has_no_such_path(reply: Reply) -> bool:
    """Whether it is the path that is missing, and not the model, of which a server tells in JSON."""
    if reply.status != 404:
        return False
    try:
        return "error" not in parsed(reply)
    except RefusedError:
        return True
