"""The server's side of the embedding APIs, one class each."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from tests.backends.embedding.remote.serving import Answer, Asked, Rows, floats, json_answer


@dataclass(frozen=True)
class OpenAISpeech:
    """`POST /embeddings` as OpenAI answers it, with vectors of `length` numbers unless `dimensions` asks for others."""

    length: int = 24

    def texts(self, asked: Asked) -> list[str]:
        texts: list[str] = asked.json["input"]
        return texts

    def dims(self, asked: Asked) -> int:
        return int(asked.json.get("dimensions", self.length))

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        packed = asked.json["encoding_format"] == "base64"
        vectors = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows] if packed else floats(rows)
        items = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        # The order of the items is not promised, only their index.
        return json_answer({"object": "list", "data": items[::-1], "model": asked.json["model"], "usage": usage})

    def error(self, status: int, code: str, message: str) -> Answer:
        return json_answer({"error": {"message": message, "type": code, "param": None, "code": code}}, status)


@dataclass(frozen=True)
class ForgetfulSpeech(OpenAISpeech):
    """A server that speaks the same API but knows no `dimensions`, as most of one's own machine."""

    def dims(self, asked: Asked) -> int:
        return self.length
