"""Notes embedded by a provider elsewhere: how close it comes to the time that the provider's own calls take."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.conversation import corpus
from tests.bench.daemons import config, place
from tests.bench.timing import at_most, timed, verdict
from tests.running import running

CHUNKS_IN_A_CALL = 20
CALL_MS = 50
NOTES, TALKS = 1_000, 12
CONCURRENCY = 4
TARGET = 1.3
GIVE_UP_S = 300.0

#: A provider in a process of its own: takes so many milliseconds a call, and refuses more texts than it is told.
SERVER = """
import base64, json, os, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
CALL_S, MOST = float(sys.argv[1]) / 1000, int(sys.argv[2])
ROW = base64.b64encode(os.urandom(1) + b"\\0\\0\\x3f" + b"\\0\\0\\x80\\x3f" * 255).decode()
counts = {"calls": 0, "texts": 0}
lock = threading.Lock()
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def do_GET(self):
        self.say(200, counts)
    def do_POST(self):
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        if len(texts) > MOST:
            return self.say(400, {"error": {"message": f"at most {MOST} items", "code": "invalid_request"}})
        time.sleep(CALL_S)
        with lock:
            counts["calls"] += 1
            counts["texts"] += len(texts)
        self.say(200, {"data": [{"index": at, "embedding": ROW} for at in range(len(texts))]})
    def say(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
"""


@contextmanager
def _provider(call_ms: int, most_texts: int) -> Iterator[str]:
    """The address of a provider that takes `call_ms` for each call of at most `most_texts`."""
    command = [sys.executable, "-c", SERVER, str(call_ms), str(most_texts)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"


def _counts(address: str) -> dict[str, int]:
    with urllib.request.urlopen(address, timeout=10) as reply:
        counts: dict[str, int] = json.load(reply)
        return counts


def measure(notes: int, most_texts: int) -> tuple[int, float, float]:
    """Chunks, seconds that their vectors took, and seconds that the provider's calls take at the least."""
    with (
        _provider(CALL_MS, most_texts) as address,
        tempfile.TemporaryDirectory(prefix="bench-") as name,
    ):
        folder = Path(name)
        (folder / "main").mkdir()
        settings: dict[str, Any] = config(folder / "main", provider="openai")
        settings["agents"]["defaults"]["memorySearch"] |= {"remote": {"baseUrl": address, "apiKey": "k"}}
        with running(folder, settings) as daemon:
            daemon.client.timeout_s = GIVE_UP_S
            # A first note: the provider is known, its limit is found, and the lines that measure an index are sent.
            place(corpus(40, talks=TALKS), folder / "main")
            daemon.sync("main")
            corpus(notes, talks=TALKS, seed=8).write(folder / "more")
            (folder / "more" / "memory").rename(folder / "main" / "memory" / "more")
            daemon.sync("main", embed=False)
            before = _counts(address)
            took_s = timed(lambda: daemon.sync("main")) / 1000
            after = _counts(address)
    texts, calls = after["texts"] - before["texts"], after["calls"] - before["calls"]
    ideal_s = math.ceil(max(calls, texts / most_texts) / CONCURRENCY) * CALL_MS / 1000
    return texts, took_s, ideal_s


def run(notes: int = NOTES) -> bool:
    """Measure and print."""
    chunks, took_s, ideal_s = measure(notes, CHUNKS_IN_A_CALL)
    print(f"hosted: {chunks:,} chunks by a provider of {CALL_MS} ms a call, {CHUNKS_IN_A_CALL} texts in a call at most")
    print(f"  {took_s:.2f} s; {CONCURRENCY} calls at a time could be {ideal_s:.2f} s")
    met = verdict("every chunk was sent", f"at least {notes:,}", chunks >= notes)
    met = at_most("of the ideal time", took_s / ideal_s, TARGET, "times") and met
    print(flush=True)
    return met
