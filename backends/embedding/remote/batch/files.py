"""Batch APIs of the OpenAI kind: a JSONL file is uploaded, a batch made of it, and its output files downloaded."""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from backends.embedding.remote.batch.wire import BatchLimits, Phase, Result, State
from backends.embedding.remote.rows import at, parsed, rows
from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble

_PHASES = {
    "completed": Phase.ENDED,
    "failed": Phase.FAILED,
    "expired": Phase.FAILED,
    "cancelled": Phase.FAILED,
}
#: Refusals of the text itself; any other is worth another try.
_LASTING_STATUSES = frozenset({400, 413, 422})
_ID = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_CODE = re.compile(r"[A-Za-z_]{1,48}")


@dataclass(frozen=True, slots=True)
class FileBatches:
    """One such API. `line` holds what every line says beside the id and the body; `body` what every body does.

    `field` names the text in a body, `listed` puts it into a list; `creation` is what a batch is made with, beside
    its file.
    """

    base_url: str
    limits: BatchLimits
    line: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    creation: Mapping[str, Any] = field(default_factory=dict)
    listed: bool = False

    def record(self, digest: str, text: str) -> bytes:
        """The line of one text, without its end."""
        body = {**self.body, "input": [text] if self.listed else text}
        return orjson.dumps({"custom_id": digest, **self.line, "body": body})

    def submission(self, records: Sequence[bytes]) -> Generator[Request, Reply, str]:
        """Upload, then create. Raises `RefusedError(REPLY)`."""
        uploaded = yield self._upload(records)
        created = yield Request(
            f"{self.base_url}/batches",
            orjson.dumps({"input_file_id": _id(parsed(uploaded), "id"), **self.creation}),
            {"content-type": "application/json"},
        )
        return _id(parsed(created), "id")

    def poll(self, job_id: str) -> Request:
        """The request for the state of a batch."""
        return Request(f"{self.base_url}/batches/{job_id}", method="GET")

    def state(self, reply: Reply) -> State:
        """A state that is not known is one in which the batch still runs. Raises `RefusedError(REPLY)`."""
        batch = parsed(reply)
        phase = _PHASES.get(str(batch.get("status")), Phase.WAITING)
        if phase is Phase.WAITING:
            return State(phase)
        files = [_id(batch, name) for name in ("output_file_id", "error_file_id") if batch.get(name)]
        return State(phase, tuple(Request(f"{self.base_url}/files/{file}/content", method="GET") for file in files))

    def results(self, body: bytes) -> Iterator[Result]:
        """What an output or an error file says. Raises `RefusedError(REPLY)`."""
        for line in body.splitlines():
            if line.strip():
                result = _result(parsed(Reply(200, line)))
                if result is not None:
                    yield result

    def cancellation(self, job_id: str) -> Request:
        """The request that cancels a batch."""
        return Request(f"{self.base_url}/batches/{job_id}/cancel")

    def _upload(self, records: Sequence[bytes]) -> Request:
        boundary = f"batch-{secrets.token_hex(16)}"
        head = (
            f'--{boundary}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="texts.jsonl"\r\n'
            "content-type: application/jsonl\r\n\r\n"
        )
        body = b"".join((head.encode(), b"\n".join(records), f"\r\n--{boundary}--\r\n".encode()))
        return Request(f"{self.base_url}/files", body, {"content-type": f"multipart/form-data; boundary={boundary}"})


def _id(raw: Mapping[str, Any], name: str) -> str:
    """An id, which becomes a part of an address and so must hold nothing that an address gives meaning to."""
    named = raw.get(name)
    if not isinstance(named, str) or not _ID.fullmatch(named) or not named.strip("."):
        raise RefusedError(Trouble.REPLY, f"no usable {name}")
    return named


def _result(line: Mapping[str, Any]) -> Result | None:
    digest, status = line.get("custom_id"), at(line, "response", "status_code")
    if not isinstance(digest, str):
        raise RefusedError(Trouble.REPLY, "a result without custom_id")
    if status == 200:
        return Result(digest, rows([at(line, "response", "body", "data", 0, "embedding")], 1)[0])
    if status not in _LASTING_STATUSES:
        return None
    code = str(at(line, "response", "body", "error", "code") or "")
    return Result(digest, refused=f"status {status}, {code}" if _CODE.fullmatch(code) else f"status {status}")
