"""The server's side of Ollama's embeddings, of both of its paths."""

from __future__ import annotations

from dataclasses import dataclass

from tests.backends.embedding.remote.serving import Answer, Asked, Rows, floats, json_answer

PATH = "/api/embed"
OLDER_PATH = "/api/embeddings"


@dataclass(frozen=True)
class OllamaSpeech:
    """Several texts by one path and one by the older; vectors of `length` numbers unless the request says otherwise."""

    length: int = 768

    def texts(self, asked: Asked) -> list[str]:
        texts = asked.json["prompt"] if asked.path == OLDER_PATH else asked.json["input"]
        return [texts] if isinstance(texts, str) else list(texts)

    def dims(self, asked: Asked) -> int:
        return int(asked.json.get("dimensions") or self.length)

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        vectors = floats(rows)
        if asked.path == OLDER_PATH:
            return json_answer({"embedding": vectors[0] if vectors else []})
        return json_answer({"model": asked.json["model"], "embeddings": vectors, "prompt_eval_count": 1})

    def error(self, status: int, code: str, message: str) -> Answer:
        return json_answer({"error": message}, status)


def is_older(asked: Asked, speech: OllamaSpeech) -> Answer | None:
    """Know the older path only, as servers before version 0.3 do."""
    return None if asked.path == OLDER_PATH else has_no_path(asked, speech)


def has_no_path(asked: Asked, speech: OllamaSpeech) -> Answer:
    """Know neither path, as a server of something else."""
    return Answer(404, b"404 page not found", {"content-type": "text/plain"})


def has_no_model(asked: Asked, speech: OllamaSpeech) -> Answer:
    """Know the path, but not the model."""
    return speech.error(404, "", f"model '{asked.json['model']}' not found")
