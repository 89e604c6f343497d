"""A model on loopback that speaks OpenAI's chat completions: it calls one tool, then repeats what the tool said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

QUESTION = "when does the boat leave?"
NAME = "stub/parrot"


class Model:
    """What it was asked, oldest first."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[dict[str, Any]] = []

    def settings(self) -> dict[str, Any]:
        """The part of the host's configuration that makes this its only model."""
        model = {"id": "parrot", "name": "parrot", "contextWindow": 128_000, "maxTokens": 4096}
        return {
            "models": {
                "providers": {
                    "stub": {
                        "baseUrl": f"http://127.0.0.1:{self.port}/v1",
                        "apiKey": "none",
                        "api": "openai-completions",
                        "models": [model],
                    }
                }
            }
        }

    def tool_results(self) -> list[str]:
        """What tools answered, as the model read it."""
        return [
            str(each["content"]) for request in self.requests for each in request["messages"] if each["role"] == "tool"
        ]


@contextmanager
def model() -> Iterator[Model]:
    """Serve until the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    served = Model(server.server_address[1])
    server.asked = served.requests  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(request)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in _events(request):
            self.wfile.write(f"data: {event}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Nothing: a test's output is its own."""


def _events(request: Mapping[str, Any]) -> Iterator[str]:
    last = request["messages"][-1]
    tools = {tool["function"]["name"] for tool in request.get("tools", [])}
    if last["role"] == "tool" or "memory_search" not in tools:
        delta: dict[str, Any] = {"content": f"Memory says: {last['content']}"}
        reason = "stop"
    else:
        function = {"name": "memory_search", "arguments": json.dumps({"query": QUESTION})}
        delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
        reason = "tool_calls"
    usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
    for part, finish, more in ((delta, None, {}), ({}, reason, {"usage": usage})):
        choice = {"index": 0, "delta": {"role": "assistant", **part}, "finish_reason": finish}
        yield json.dumps({"id": "1", "object": "chat.completion.chunk", "model": "parrot", "choices": [choice], **more})
    yield "[DONE]"
