"""The model's own process: `python -m backends.embedding.local MODEL CONTEXT POOLING MAX_BYTES`, spoken to by pipes.

It reads a JSON array of texts a line. It answers each with a line of JSON, `{rows, dims}` and then rows * dims floats
as bytes, or `{error}`; the first answer, of no rows, says that the model is loaded. It ends when its input does, also
while it computes.
"""

from __future__ import annotations

import os
import queue
import re
import resource
import secrets
import sys
import tempfile
import threading
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import orjson

from backends.embedding.base import Vectors

_NICENESS = 5
_MOST_THREADS = 4
#: What llama.cpp says of a text that is longer than its context.
_TOO_LONG = re.compile(r"\((\d+) tokens\)")
#: Tokens are not spread evenly over a text: a little less than the share that fits is kept.
_SAFE_SHARE = 0.95


class Model:
    """One loaded model."""

    def __init__(self, file: str, context: int, pooling: int) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = file
        params.embedding = True
        params.pooling_type = xllamacpp.llama_pooling_type(pooling)
        params.n_ctx = params.n_batch = params.n_ubatch = context
        # Threads wait for each other in busy loops: one for every core, on a machine that others use too, is several
        # times slower than one less.
        params.cpuparams.n_threads = max(1, min(_MOST_THREADS, (os.cpu_count() or 1) - 1))
        # Nothing that was asked is kept: neither in memory nor in the log.
        params.cache_prompt, params.cache_ram_mib = False, 0
        params.verbosity = 0
        params.endpoint_slots = params.ui = params.fit_params = False
        params.api_keys = [secrets.token_hex()]
        # The library listens whether asked to or not: on a socket that is unlinked at once, nobody can reach it.
        with tempfile.TemporaryDirectory(prefix="qs-") as folder:
            params.hostnames = [f"{folder}/s.sock"]
            self._server = xllamacpp.Server(params)
        self._context = context
        self.dims = len(self._row("memory", strict=True))

    def rows(self, texts: Sequence[str]) -> Vectors:
        """One row per text, shape (len(texts), dims); NaN where the model refuses a text."""
        return np.array([self._row(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dims)

    def _row(self, text: str, *, strict: bool = False) -> Vectors:
        """A text's vector, of its beginning where the whole is longer than the context."""
        while True:
            reply = self._asked(text)
            if "data" in reply:
                return np.frombuffer(b64decode(reply["data"][0]["embedding"]), dtype="<f4")
            tokens = _TOO_LONG.search(str(reply["error"].get("message", "")))
            if tokens is None or len(text) < 2:
                if strict:
                    raise ValueError("this model makes no embeddings")
                return np.full(self.dims, np.nan, dtype=np.float32)
            share = min(0.9, self._context / int(tokens[1]) * _SAFE_SHARE)
            text = text[: max(1, int(len(text) * share))]

    def _asked(self, text: str) -> dict[str, Any]:
        # One text at a time: without a GPU, more of them together take as long.
        reply: Any = self._server.handle_embeddings({"input": [text], "encoding_format": "base64"})
        parsed: dict[str, Any] = orjson.loads(reply) if isinstance(reply, str) else reply
        return parsed


def serve(requests: BinaryIO, replies: BinaryIO, arguments: Sequence[str]) -> None:
    """Load the model, then answer until the requests end."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    try:
        model = Model(arguments[0], int(arguments[1]), int(arguments[2]))
    except Exception as error:  # noqa: BLE001 - whatever the library raises, the model cannot be used
        _send(replies, {"error": type(error).__name__})
        return
    _send(replies, {"rows": 0, "dims": model.dims})
    while True:
        rows = model.rows(orjson.loads(waiting.get()))
        _send(replies, {"rows": len(rows), "dims": model.dims}, rows.tobytes())


def _receive(requests: BinaryIO, waiting: queue.SimpleQueue[bytes]) -> None:
    for line in requests:
        waiting.put(line)
    # Whoever asked is gone, and the answer with it.
    os._exit(0)


def _send(replies: BinaryIO, head: dict[str, Any], body: bytes = b"") -> None:
    replies.write(orjson.dumps(head) + b"\n" + body)
    replies.flush()


def main() -> None:
    """Take over standard output for replies, bound the memory, step behind in priority, and serve."""
    replies = os.fdopen(os.dup(1), "wb")
    # Whatever the library prints must not end up between two replies.
    os.dup2(2, 1)
    os.nice(_NICENESS)
    if sys.platform == "linux":
        # A backstop for growth between two looks at the resident size; reserved stacks count, hence the double.
        limit = 2 * int(sys.argv[4])
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(sys.stdin.buffer, replies, sys.argv[1:])
    os._exit(1)


if __name__ == "__main__":
    main()
