"""The server's side of Voyage AI's embeddings."""

from __future__ import annotations

import base64
from dataclasses import dataclass

import numpy as np

from tests.backends.embedding.remote.serving import Answer, Asked, Rows, floats, json_answer


@dataclass(frozen=True)
class VoyageSpeech:
    """Vectors with their index, in base64 if asked for, of `length` numbers unless the request says otherwise."""

    length: int = 1024

    def texts(self, asked: Asked) -> list[str]:
        texts = asked.json["input"]
        return [texts] if isinstance(texts, str) else list(texts)

    def dims(self, asked: Asked) -> int:
        return int(asked.json.get("output_dimension") or self.length)

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        packed = asked.json.get("encoding_format") == "base64"
        embeddings = (
            [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows] if packed else floats(rows)
        )
        data = [{"object": "embedding", "embedding": row, "index": at} for at, row in enumerate(embeddings)]
        usage = {"total_tokens": int(np.size(rows))}
        return json_answer({"object": "list", "data": data, "model": asked.json["model"], "usage": usage})

    def error(self, status: int, code: str, message: str) -> Answer:
        return json_answer({"detail": message}, status)


def _packed(rows: Rows) -> list[str]:
    return [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in rows]
