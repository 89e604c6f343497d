"""A provider of batches on loopback: the files and batches of OpenAI and Voyage, and the operations of Gemini.

What becomes of a job is scripted: `script` holds one function per job, in the order of submission, and the last one
serves all that follow.
"""

from __future__ import annotations

import base64
import email
import email.policy
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from tests.backends.embedding.remote.loopback import Came, Loopback, said, served

#: The state of a job at its n-th poll, counted from 0.
Fate = Callable[[int], str]


def at_once(_poll: int) -> str:
    """Done when first asked."""
    return "completed"


def never(_poll: int) -> str:
    """Runs for ever."""
    return "in_progress"


def after(polls: int, state: str = "completed") -> Fate:
    """Runs for some polls, and comes to a state then."""
    return lambda poll: state if poll >= polls else "in_progress"


def vector(text: str) -> list[float]:
    """The vector of a text, of no particular length."""
    return [float(len(text)), 1.0, 2.0]


_FILE = {
    "id": "file-in",
    "object": "file",
    "purpose": "batch",
    "status": "processed",
    "created_at": 1,
    "filename": "texts.jsonl",
}


@dataclass
class Submitted:
    """A job: its lines, how it is asked for, and how often it was polled."""

    lines: list[dict[str, Any]]
    creation: dict[str, Any]
    fate: Fate
    polls: int = 0
    cancelled: bool = False

    def state(self) -> str:
        self.polls += 1
        return self.fate(self.polls - 1)


@dataclass
class Provider:
    """Answers as the APIs do. `refused`: texts that get an error of their own, with a status and a code.

    `undone`: texts that a job never came to. `statuses`: by method and start of a path, what is refused next.
    `broken`: texts whose vectors hold a null. `strange`: files tell every result twice, and one that nobody asked for.
    """

    script: list[Fate] = field(default_factory=lambda: [at_once])
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    undone: set[str] = field(default_factory=set)
    statuses: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    jobs: list[Submitted] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    base64: bool = False
    strange: bool = False
    server: Loopback = field(default_factory=lambda: Loopback(""))

    def answer(self, came: Came) -> tuple[int, bytes]:
        for (method, start), left in self.statuses.items():
            if came.method == method and came.path.startswith(start) and left:
                return said({"error": {"message": "scripted"}}, left.pop(0))
        return self._gemini(came) if came.path.startswith("/v1beta/") else self._files(came)

    def _files(self, came: Came) -> tuple[int, bytes]:
        match [came.method, *came.path.strip("/").split("/")]:
            case ["POST", "files"]:
                self.files["file-in"] = uploaded(came)
                size = len(self.files["file-in"])
                return said(_FILE | {"bytes": size})
            case ["GET", "files", name, "content"]:
                return 200, self.files[name]
            case ["POST", "batches"]:
                lines = [orjson.loads(line) for line in self.files["file-in"].splitlines()]
                return said(self._batch(self._job(lines, orjson.loads(came.body)), "validating"))
            case ["GET", "batches", name]:
                number = int(name.removeprefix("batch_"))
                return said(self._batch(number, self.jobs[number].state()))
            case ["POST", "batches", name, "cancel"]:
                number = int(name.removeprefix("batch_"))
                self.jobs[number].cancelled = True
                return said(self._batch(number, "cancelling"))
        return said({"error": {"message": "no such path"}}, 404)

    def _job(self, lines: list[dict[str, Any]], creation: dict[str, Any]) -> int:
        self.jobs.append(Submitted(lines, creation, self.script[min(len(self.jobs), len(self.script) - 1)]))
        return len(self.jobs) - 1

    def _batch(self, number: int, state: str) -> dict[str, Any]:
        job = self.jobs[number]
        batch: dict[str, Any] = {"id": f"batch_{number}", "object": "batch", "status": state, **job.creation}
        batch["created_at"] = 1
        if state in ("completed", "expired"):
            done, failed = self._outputs(job)
            if done and self.strange:
                done += [*done, done[0].replace(b'"custom_id":"', b'"custom_id":"foreign-')]
            if done:
                self.files[f"out-{number}"] = b"\n".join(done) + b"\n"
                batch["output_file_id"] = f"out-{number}"
            if failed:
                self.files[f"err-{number}"] = b"\n".join(failed) + b"\n"
                batch["error_file_id"] = f"err-{number}"
        return batch

    def _outputs(self, job: Submitted) -> tuple[list[bytes], list[bytes]]:
        done, failed = [], []
        # Backwards, because the order of results is not that of the lines.
        for line in reversed(job.lines):
            given = line["body"]["input"]
            text = given[0] if isinstance(given, list) else given
            if text in self.undone:
                error = {"code": "batch_expired", "message": "not executed in time"}
                failed.append(orjson.dumps({"custom_id": line["custom_id"], "response": None, "error": error}))
            elif text in self.refused:
                status, code = self.refused[text]
                response = {"status_code": status, "body": {"error": {"code": code, "message": text}}}
                failed.append(orjson.dumps({"custom_id": line["custom_id"], "response": response, "error": None}))
            else:
                response = {"status_code": 200, "body": {"data": [{"index": 0, "embedding": self._embedding(text)}]}}
                done.append(orjson.dumps({"custom_id": line["custom_id"], "response": response, "error": None}))
        return done, failed

    def _embedding(self, text: str) -> object:
        if text in self.broken:
            return [1.0, None, 2.0]
        if not self.base64:
            return vector(text)
        return base64.b64encode(np.array(vector(text), dtype="<f4").tobytes()).decode()

    def _gemini(self, came: Came) -> tuple[int, bytes]:
        if created := re.fullmatch(r"/v1beta/models/([^:]+):asyncBatchEmbedContent", came.path):
            batch = orjson.loads(came.body)["batch"]
            number = self._job(batch["inputConfig"]["requests"]["requests"], {"model": created[1]} | batch)
            return said({"name": f"batches/{number}", "metadata": {"state": "BATCH_STATE_PENDING"}})
        number = int(came.path.rsplit("/", 1)[1].removesuffix(":cancel"))
        job = self.jobs[number]
        if came.path.endswith(":cancel"):
            job.cancelled = True
            return said({})
        state = job.state()
        if state == "in_progress":
            return said({"name": f"batches/{number}", "metadata": {"state": "BATCH_STATE_RUNNING"}})
        answers = {"inlinedResponses": {"inlinedResponses": [self._inlined(line) for line in reversed(job.lines)]}}
        told = {"completed": "BATCH_STATE_SUCCEEDED", "expired": "BATCH_STATE_EXPIRED", "failed": "BATCH_STATE_FAILED"}
        metadata = {"state": told[state]} | ({"output": answers} if state == "completed" else {})
        return said({"name": f"batches/{number}", "done": True, "metadata": metadata})

    def _inlined(self, line: dict[str, Any]) -> dict[str, Any]:
        text = line["request"]["content"]["parts"][0]["text"]
        if text in self.undone:
            return {"metadata": line["metadata"], "error": {"code": 14, "message": "unavailable"}}
        if text in self.refused:
            return {"metadata": line["metadata"], "error": {"code": 3, "message": text}}
        return {"metadata": line["metadata"], "response": {"embedding": {"values": vector(text)}}}


@contextmanager
def provided(provider: Provider) -> Iterator[Provider]:
    """The provider, listening until the block ends."""
    with served(provider.answer) as server:
        provider.server = server
        yield provider


def uploaded(came: Came) -> bytes:
    """The file of a form that also says what it is for, as the library of Python reads forms."""
    head = f"content-type: {came.headers['content-type']}\r\n\r\n".encode()
    form = email.message_from_bytes(head + came.body, policy=email.policy.HTTP)
    parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
    assert parts["purpose"].get_payload(decode=True) == b"batch"
    assert parts["file"].get_filename()
    payload = parts["file"].get_payload(decode=True)
    assert isinstance(payload, bytes)
    return payload
