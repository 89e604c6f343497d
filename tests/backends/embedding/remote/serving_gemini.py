"""The server's side of the Gemini API's embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.backends.embedding.remote.serving import Answer, Asked, Rows, floats, json_answer

MAX_REQUESTS = 100


@dataclass(frozen=True)
class GeminiSpeech:
    """Batches of contents, each with one vector of `length` numbers unless it asks for others; media are base64."""

    length: int = 3072

    def texts(self, asked: Asked) -> list[str]:
        return [_joined(request["content"]["parts"]) for request in asked.json["requests"]]

    def dims(self, asked: Asked) -> int:
        return int(asked.json["requests"][0].get("outputDimensionality", self.length))

    def answer(self, asked: Asked, rows: Rows) -> Answer:
        return json_answer({"embeddings": [{"values": row} for row in floats(rows)]})

    def error(self, status: int, code: str, message: str) -> Answer:
        return json_answer({"error": {"code": status, "message": message, "status": code}}, status)


def _joined(parts: list[dict[str, Any]]) -> str:
    return "".join(part["text"] if "text" in part else part["inline_data"]["data"] for part in parts)


def refuses_large_batches(asked: Asked, speech: GeminiSpeech) -> Answer | None:
    """Refuse more requests in a batch than the API takes, in its words."""
    if len(speech.texts(asked)) <= MAX_REQUESTS:
        return None
    told = f"* BatchEmbedContentsRequest.requests: at most {MAX_REQUESTS} requests can be in one batch\n"
    return speech.error(400, "INVALID_ARGUMENT", told)


def refuses_key(asked: Asked, speech: GeminiSpeech) -> Answer:
    """Refuse the key, for which the API has the status of a bad request."""
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    told = "API key not valid. Please pass a valid API key."
    return json_answer(
        {"error": {"code": 400, "message": told, "status": "INVALID_ARGUMENT", "details": [reason]}}, 400
    )


def used_up_quota(asked: Asked, speech: GeminiSpeech) -> Answer:
    """Refuse for want of quota until the next day."""
    violation = {"quotaId": "EmbedContentRequestsPerDayPerProjectPerModel-FreeTier"}
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    told = "You exceeded your current quota, please check your plan and billing details."
    said = {"code": 429, "message": told, "status": "RESOURCE_EXHAUSTED", "details": [failure]}
    return json_answer({"error": said}, 429)
