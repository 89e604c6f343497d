"""The server's side of Mistral's embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from tests.backends.embedding.remote.serving import Answer, Asked, Rows, floats, json_answer

MAX_TEXTS = 256


@dataclass(frozen=True)
class MistralSpeech:
    """The API of OpenAI's embeddings with errors of its own, and `output_dimension` for other than `length` numbers."""

    length: int = 1024

    def texts(self, asked: Asked) -> list[str]:
        texts = asked.json["input"]
        return [texts] if isinstance(texts, str) else list(texts)

    def dims(self, asked: Asked) -> int:
        return int(asked.json.get("output_dimension") or self.length)

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        data = [{"object": "embedding", "embedding": row, "index": at} for at, row in enumerate(floats(rows))]
        usage = {"prompt_tokens": 1, "total_tokens": 1, "completion_tokens": 0}
        return json_answer({"id": "1", "object": "list", "data": data, "model": asked.json["model"], "usage": usage})

    def error(self, status: int, code: str, message: str) -> Answer:
        said = {"object": "error", "message": message, "type": code or "invalid_request_error", "param": None}
        return json_answer({**said, "code": None}, status)


def refuses_large_batches(asked: Asked, speech: MistralSpeech) -> Answer | None:
    """Refuse more texts than the API takes, in its words."""
    if len(speech.texts(asked)) <= MAX_TEXTS:
        return None
    return speech.error(400, "invalid_request_prompt", "Too many inputs in request, split into more batches.")
