"""The Batch API of Gemini, for embeddings: all requests of a job inside one request, and all results in its state.

Checked against the official SDK google-genai 3.6.1 (batches.py, `asyncBatchEmbedContent`) and
ai.google.dev/api/batch-api.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from backends.embedding.remote.batch.wire import BatchLimits, Phase, Result, State
from backends.embedding.remote.rows import at, parsed, rows
from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble

#: Inlined requests may have 20 MB; the rest is room for what stands around them.
LIMITS = BatchLimits(requests=50_000, bytes=19_000_000)

_NAME = re.compile(r"batches/[A-Za-z0-9_-]{1,256}")
_PHASES = {
    "BATCH_STATE_SUCCEEDED": Phase.ENDED,
    "BATCH_STATE_FAILED": Phase.FAILED,
    "BATCH_STATE_CANCELLED": Phase.FAILED,
    "BATCH_STATE_EXPIRED": Phase.FAILED,
}
#: google.rpc.Code of a request that stays wrong, as a number or by name.
_INVALID_ARGUMENT = (3, "INVALID_ARGUMENT")


@dataclass(frozen=True, slots=True)
class GeminiBatches:
    """Batches of a model; `dims` asks for vectors of that length.

    `task_type` None is for models that take none, and are told the task by what stands `before` each text.
    """

    model: str
    base_url: str = "https://generativelanguage.googleapis.com/v1beta"
    dims: int | None = None
    task_type: str | None = "RETRIEVAL_DOCUMENT"
    before: str = ""
    limits: BatchLimits = LIMITS

    def record(self, digest: str, text: str) -> bytes:
        """The inlined request of one text, with its digest as metadata."""
        asked: dict[str, Any] = {"model": f"models/{self.model}", "content": {"parts": [{"text": self.before + text}]}}
        if self.task_type:
            asked["taskType"] = self.task_type
        if self.dims:
            asked["outputDimensionality"] = self.dims
        return orjson.dumps({"request": asked, "metadata": {"key": digest}})

    def submission(self, records: Sequence[bytes]) -> Generator[Request, Reply, str]:
        """One request. Raises `RefusedError(REPLY)`."""
        body = b'{"batch":{"displayName":"qmd-sidecar","inputConfig":{"requests":{"requests":[%b]}}}}'
        created = yield Request(
            f"{self.base_url}/models/{self.model}:asyncBatchEmbedContent",
            body % b",".join(records),
            {"content-type": "application/json"},
        )
        name = parsed(created).get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise RefusedError(Trouble.REPLY, "no usable name")
        return name

    def poll(self, job_id: str) -> Request:
        """The request for the operation of a batch."""
        return Request(f"{self.base_url}/{job_id}", method="GET")

    def state(self, reply: Reply) -> State:
        """Where the operation stands; its results are in the reply itself. Raises `RefusedError(REPLY)`."""
        operation = parsed(reply)
        phase = _PHASES.get(str(at(operation, "metadata", "state")), Phase.WAITING)
        if phase is Phase.WAITING and operation.get("done") is True:
            phase = Phase.FAILED if operation.get("error") else Phase.ENDED
        return State(phase) if phase is Phase.WAITING else State(phase, bodies=(reply.body,))

    def results(self, body: bytes) -> Iterator[Result]:
        """What the operation says of texts. Raises `RefusedError(REPLY)`."""
        operation = parsed(Reply(200, body))
        for response in _responses(operation):
            digest = at(response, "metadata", "key")
            # Without its digest a vector cannot be told whose it is: order is not promised.
            if not isinstance(digest, str):
                raise RefusedError(Trouble.REPLY, "a result without its metadata")
            if at(response, "error") is None:
                yield Result(digest, rows([at(response, "response", "embedding", "values")], 1)[0])
            elif at(response, "error", "code") in _INVALID_ARGUMENT:
                yield Result(digest, refused="INVALID_ARGUMENT")

    def cancellation(self, job_id: str) -> Request:
        """The request that cancels a batch."""
        return Request(f"{self.base_url}/{job_id}:cancel")


def _responses(operation: dict[str, Any]) -> list[Any]:
    """The inlined responses: the output of the batch, told in its metadata or as the result of the operation."""
    outputs = (at(operation, "metadata", "output"), at(operation, "response", "output"), at(operation, "response"))
    found = (
        at(output, name, "inlinedResponses")
        for output in outputs
        for name in ("inlinedResponses", "inlinedEmbedContentResponses")
    )
    return next((responses for responses in found if isinstance(responses, list)), [])
