"""A provider on loopback: a real HTTP server that speaks one embedding API, and misbehaves when it is told to.

`Speech` is the server's side of one API. What a test scripts is independent of it: each `Mischief` sees a request and
the speech, and returns the answer to give instead of the right one, or None to answer rightly.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

#: Rows of numbers, one for each text.
Rows: TypeAlias = npt.NDArray[np.float32]

_DRIP_PAUSE_S = 0.02


@dataclass(frozen=True)
class Asked:
    """A request as it came; the names of its headers are lower-case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, read as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    """What is sent back. `drips`: the body never ends, a byte at a time; `hangs_up`: the connection closes instead."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drips: bool = False
    hangs_up: bool = False


class Speech(Protocol):
    """The server's side of one embedding API."""

    def texts(self, asked: Asked) -> list[str]:
        """The texts that a request asks vectors for."""
        ...

    def dims(self, asked: Asked) -> int:
        """How long its vectors are, by what the request says or the model gives."""
        ...

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        """The reply that holds these rows, which may be anything but finite."""
        ...

    def error(self, status: int, code: str, message: str) -> Answer:
        """A refusal in the provider's own shape."""
        ...


Mischief: TypeAlias = Callable[[Asked, Speech], Answer | None]


class Provider:
    """A running server. `asked` holds what came, `script` what goes wrong next, `always` what stays wrong.

    Both are looked at for each request that asks for vectors: the first of `script` is used up, then each of `always`
    is tried until one gives an answer.
    """

    def __init__(self, speech: Speech, url: str) -> None:
        self.speech = speech
        self.url = url
        self.asked: list[Asked] = []
        self.script: list[Mischief] = []
        self.always: list[Mischief] = []
        self.stopped = threading.Event()
        self._lock = threading.Lock()

    @property
    def batches(self) -> list[list[str]]:
        """The texts of each request so far."""
        return [self.speech.texts(asked) for asked in self.asked]

    def forget(self) -> None:
        """Forget what was asked so far, such as the probe that each embedder begins with."""
        self.asked.clear()

    def reply(self, asked: Asked) -> Answer:
        """What the request is answered with."""
        with self._lock:
            self.asked.append(asked)
            mischiefs = [self.script.pop(0)] if self.script else []
        for mischief in (*mischiefs, *self.always):
            if (answer := mischief(asked, self.speech)) is not None:
                return answer
        return rightly(asked, self.speech)


@contextmanager
def serving(speech: Speech, certificate: Path | None = None) -> Iterator[Provider]:
    """Serve one API on a free port of loopback until the block ends; over TLS with a certificate and its key."""
    server = _Server(("127.0.0.1", 0), _Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    provider = Provider(speech, f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}")
    server.provider = provider  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield provider
    finally:
        provider.stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()


def vector_of(text: str, dims: int) -> Rows:
    """The vector that every provider here gives a text, shape (dims,), not of unit length; a short one heads a long."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
    return np.random.default_rng(seed).standard_normal(dims).astype(np.float32)


def unit_of(text: str, dims: int) -> Rows:
    """The unit vector of a text, as an embedder must return it."""
    vector = vector_of(text, dims)
    return vector / np.linalg.norm(vector)


def rightly(asked: Asked, speech: Speech) -> Answer:
    """The answer of a provider that works."""
    dims = speech.dims(asked)
    return speech.answer(asked, np.array([vector_of(text, dims) for text in speech.texts(asked)]))


def fails(status: int, code: str = "", message: str = "", **headers: str) -> Mischief:
    """Refuse whatever is asked. `retry_after="2"` becomes the header Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def mischief(asked: Asked, speech: Speech) -> Answer:
        answer = speech.error(status, code, message)
        return Answer(answer.status, answer.body, {**answer.headers, **named})

    return mischief


def refuses_more_than(texts: int, status: int = 400, message: str = "at most {n} items per request") -> Mischief:
    """Refuse a request with more texts, as a provider with a limit of items does."""

    def mischief(asked: Asked, speech: Speech) -> Answer | None:
        told = message.format(n=texts)
        return speech.error(status, "invalid_request", told) if len(speech.texts(asked)) > texts else None

    return mischief


def refuses_text(part: str, status: int = 400, message: str = "invalid input") -> Mischief:
    """Refuse every request in which a text holds this part."""

    def mischief(asked: Asked, speech: Speech) -> Answer | None:
        found = any(part in text for text in speech.texts(asked))
        return speech.error(status, "invalid_request", message) if found else None

    return mischief


def gives_dims(dims: int) -> Mischief:
    """Answer with vectors of another length."""

    def mischief(asked: Asked, speech: Speech) -> Answer:
        return speech.answer(asked, np.array([vector_of(text, dims) for text in speech.texts(asked)]))

    return mischief


def spoils(part: str, value: float = float("nan")) -> Mischief:
    """Put one number that is none into the vector of each text that holds this part."""

    def mischief(asked: Asked, speech: Speech) -> Answer:
        texts = speech.texts(asked)
        rows = np.array([vector_of(text, speech.dims(asked)) for text in texts])
        rows[[part in text for text in texts], 1] = value
        return speech.answer(asked, rows)

    return mischief


def drops_last(asked: Asked, speech: Speech) -> Answer:
    """Answer with a vector too few."""
    dims = speech.dims(asked)
    return speech.answer(
        asked, np.array([vector_of(text, dims) for text in speech.texts(asked)[:-1]]).reshape(-1, dims)
    )


def breaks_json(asked: Asked, speech: Speech) -> Answer:
    """Answer with the first half of the right reply, and the status of a good one."""
    right = rightly(asked, speech)
    return Answer(body=right.body[: len(right.body) // 2], headers=right.headers)


def answers_html(asked: Asked, speech: Speech) -> Answer:
    """Answer with a web page, as a captive portal or a wrong base URL does."""
    return Answer(body=b"<!doctype html><title>Welcome</title>", headers={"content-type": "text/html"})


def drips(asked: Asked, speech: Speech) -> Answer:
    """Begin a reply and never end it, sending a byte at a time."""
    return Answer(drips=True)


def hangs_up(asked: Asked, speech: Speech) -> Answer:
    """Close the connection without a reply."""
    return Answer(hangs_up=True)


def json_answer(value: object, status: int = 200) -> Answer:
    """A reply of JSON; numbers that are none are written as `NaN` and `Infinity`, as Python servers do."""
    return Answer(status, json.dumps(value).encode(), {"content-type": "application/json"})


def floats(rows: Rows) -> Sequence[list[float]]:
    """Rows as lists of numbers, for a reply of JSON."""
    return [[float(number) for number in row] for row in rows]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up, or do not trust the certificate."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body go out apart: without this each reply waits for an acknowledgement that the client delays.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        provider: Provider = self.server.provider  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(provider.reply(Asked(self.command, self.path, headers, body)), provider.stopped)

    do_GET = do_POST  # noqa: N815

    def _send(self, answer: Answer, stopped: threading.Event) -> None:
        self.close_connection = self.close_connection or answer.hangs_up or answer.drips
        if answer.hangs_up:
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(10**9 if answer.drips else len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        try:
            while answer.drips and not stopped.wait(_DRIP_PAUSE_S):
                self.wfile.write(b" ")
        except OSError:
            # Who asked has gone, which is what a drip is for.
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Say nothing: a test's output is its own."""
