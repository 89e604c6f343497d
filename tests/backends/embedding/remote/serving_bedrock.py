"""The server's side of Amazon Bedrock's InvokeModel, for the embedding models of Cohere, which take several texts."""

from __future__ import annotations

from dataclasses import dataclass

from tests.backends.embedding.remote.serving import Answer, Asked, Rows, floats, json_answer


@dataclass(frozen=True)
class CohereSpeech:
    """`POST /model/{id}/invoke` with vectors of `length` numbers unless `output_dimension` asks for others."""

    length: int = 1024

    def texts(self, asked: Asked) -> list[str]:
        texts: list[str] = asked.json["texts"]
        return texts

    def dims(self, asked: Asked) -> int:
        return int(asked.json.get("output_dimension", self.length))

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        assert asked.path == "/model/cohere.embed-v4%3A0/invoke"
        return json_answer({"id": "1", "response_type": "embeddings_by_type", "embeddings": {"float": floats(rows)}})

    def error(self, status: int, code: str, message: str) -> Answer:
        said = json_answer({"message": message}, status)
        return Answer(said.status, said.body, {**said.headers, "x-amzn-errortype": code})
