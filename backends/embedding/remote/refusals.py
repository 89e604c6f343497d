"""What a provider means by refusing: one reading for the error replies of all of them.

Shapes: OpenAI and its kin `{"error": {message, type, code}}`, Google `{"error": {code, message, status, details}}`,
Ollama and LM Studio `{"error": "..."}`, Voyage `{"detail": "..."}`, Mistral and vLLM `{message, type, code}`, servers
made with FastAPI `{"detail": [{msg}]}`, AWS `{"__type", "message"}` or the header `x-amzn-errortype`.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from backends.embedding.base import EmbeddingUnavailableError
from backends.embedding.remote.wire import RefusedError, Reply, Trouble

_MESSAGE_CHARS = 2000
_KEY_CODES = frozenset(
    {
        "api_key_invalid", "invalid_api_key", "incorrect_api_key", "accessdeniedexception", "expiredtokenexception",
        "invalidsignatureexception", "missingauthenticationtokenexception", "unrecognizedclientexception",
    }
)  # fmt: skip
_MODEL_CODES = frozenset({"model_not_found", "invalid_model", "model_not_available", "resourcenotfoundexception"})
_QUOTA_CODES = frozenset(
    {"insufficient_quota", "billing_not_active", "billing_hard_limit_reached", "servicequotaexceededexception"}
)
_RATE_CODES = frozenset({"throttlingexception", "too_many_requests", "rate_limit_exceeded"})
_TEXT_CODES = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed"})

_NO_MODEL = re.compile(
    r"\bmodels?\b.{0,80}?(not found|not exist|is not supported|identifier is invalid|not loaded)|\bno models? loaded"
)
_QUOTA = re.compile(r"insufficient[ _](quota|balance|funds|credit)|billing|exceeded your current quota|out of credits")
# One text or all of them together: only smaller requests tell.
_TOO_MUCH = re.compile(
    r"too (many|large|long|big)|\bmax(imum|_\w+)?\b|at most|exceed|\blimit|context (length|size|window)|batch[ _]size"
    r"|(larger|greater|longer) than"
)
# Model servers on one's own machine give such texts the status of a broken server.
_TOO_LONG = re.compile(r"context (length|size|window)|input.{0,40}too (large|long)|physical batch size")
_CODE = re.compile(r"[A-Za-z_]{1,48}")
_SECONDS = re.compile(r"\s*(\d+(?:\.\d+)?)s?\s*")

# Statuses that say of a 4xx that the same request may succeed in a moment.
_PASSING_STATUSES = frozenset({409, 424, 425})
_SPOKEN_STATUSES = frozenset({400, 422})


@dataclass(frozen=True, slots=True)
class _Said:
    """What an error reply holds: its message in lower case, its codes, the quotas that it names, a pause in seconds."""

    message: str
    codes: tuple[str, ...]
    quotas: str
    pause_s: float | None

    def has(self, codes: frozenset[str]) -> bool:
        return any(code.lower() in codes for code in self.codes)


def judge(reply: Reply, *, clock: Callable[[], float] = time.time) -> RefusedError:
    """What a reply without success means. `clock` (Unix seconds) is compared with a date in Retry-After.

    A request that is too large is SIZE, also where it holds a single text: the reply does not tell.
    """
    said = _said(reply)
    code = next((code for code in said.codes if _CODE.fullmatch(code)), "")
    detail = f"status {reply.status}, {code}" if code else f"status {reply.status}"
    pause = _asked_pause(reply, clock)
    return RefusedError(_trouble(reply.status, said), detail, retry_after_s=said.pause_s if pause is None else pause)


def _trouble(status: int, said: _Said) -> Trouble:
    if status >= 500:
        return Trouble.SIZE if status == 500 and _TOO_LONG.search(said.message) else Trouble.SERVER
    if status < 400:
        return Trouble.REQUEST
    if status == 429 or said.has(_RATE_CODES):
        return Trouble.QUOTA if _is_quota(said) else Trouble.RATE
    if status == 402 or said.has(_QUOTA_CODES):
        return Trouble.QUOTA
    if said.has(_KEY_CODES) or status == 401:
        return Trouble.KEY
    if status == 403:
        return Trouble.QUOTA if _QUOTA.search(said.message) else Trouble.KEY
    return _trouble_with_request(status, said)


def _trouble_with_request(status: int, said: _Said) -> Trouble:
    if status in {413, 431}:
        return Trouble.SIZE
    if status == 404 or said.has(_MODEL_CODES):
        return Trouble.MODEL
    if status == 408:
        return Trouble.TIMEOUT
    if status in _PASSING_STATUSES:
        return Trouble.SERVER
    if said.has(_TEXT_CODES):
        return Trouble.TEXT
    if status in _SPOKEN_STATUSES:
        return _trouble_told(said.message)
    return Trouble.REQUEST


def _trouble_told(message: str) -> Trouble:
    if _NO_MODEL.search(message):
        return Trouble.MODEL
    return Trouble.SIZE if _TOO_MUCH.search(message) else Trouble.REQUEST


def _is_quota(said: _Said) -> bool:
    """Whether waiting a minute does not help.

    Google says "exceeded your current quota, .. billing" of a minute's quota too: where it names quotas or a pause,
    they decide.
    """
    if said.has(_QUOTA_CODES):
        return True
    if said.quotas:
        return "perday" in said.quotas
    return said.pause_s is None and bool(_QUOTA.search(said.message))


def _said(reply: Reply) -> _Said:
    try:
        document = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        document = None
    said = list(_parts(document))
    details = [detail for part in said for detail in _listed(part.get("details"))]
    codes = [str(part[name]) for part in said for name in ("code", "type", "__type", "status") if part.get(name)]
    codes += [str(detail["reason"]) for detail in details if detail.get("reason")]
    codes.append(reply.headers.get("x-amzn-errortype", ""))
    violations = [violation for detail in details for violation in _listed(detail.get("violations"))]
    return _Said(
        message=" ".join(_texts(document))[:_MESSAGE_CHARS].lower(),
        codes=tuple(_plain(code) for code in codes if code),
        quotas=" ".join(str(violation.get("quotaId", "")) for violation in violations).lower(),
        pause_s=next((_seconds(str(each["retryDelay"])) for each in details if each.get("retryDelay")), None),
    )


def _parts(document: Any) -> Iterator[dict[str, Any]]:
    """The objects of an error reply that may hold codes, the inner ones first."""
    if isinstance(document, list):
        document = next(iter(document), None)
    if not isinstance(document, dict):
        return
    for name in ("error", "message", "detail"):
        if isinstance(document.get(name), dict):
            yield document[name]
    yield document


def _texts(document: Any) -> Iterator[str]:
    """Every text under the names that errors are told by."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, list):
        for item in document[:8]:
            yield from _texts(item)
    elif isinstance(document, dict):
        for name in ("error", "message", "detail", "msg", "Message"):
            yield from _texts(document.get(name))


def _listed(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _plain(code: str) -> str:
    """`com.amazon.coral.service#ThrottlingException` and `ThrottlingException:http://..` without what is around."""
    return code.partition(":")[0].rpartition("#")[2]


def _asked_pause(reply: Reply, clock: Callable[[], float]) -> float | None:
    if (milliseconds := _seconds(reply.headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    asked = reply.headers.get("retry-after", "")
    if (seconds := _seconds(asked)) is not None:
        return seconds
    try:
        pause = parsedate_to_datetime(asked).timestamp() - clock()
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, pause)


def _seconds(text: str) -> float | None:
    found = _SECONDS.fullmatch(text[:32])
    seconds = float(found[1]) if found else math.inf
    return seconds if math.isfinite(seconds) else None


@dataclass(frozen=True, slots=True)
class _Telling:
    code: str
    message: str
    hint: str


_WAIT = "Searches find notes by their words meanwhile; the next sync tries again."
_TELLINGS = {
    Trouble.KEY: _Telling(
        "embedding_key_refused",
        "{who} refused the API key",
        "Check that the key is right, not expired, and allowed to use {model}.",
    ),
    Trouble.QUOTA: _Telling(
        "embedding_quota",
        "The quota of {who} is used up",
        "Raise the limit or pay the account's bill, or choose another provider.",
    ),
    Trouble.RATE: _Telling("embedding_rate_limited", "{who} asks for fewer requests", _WAIT),
    Trouble.MODEL: _Telling(
        "embedding_model_unknown",
        "{who} does not know the model {model}",
        "Check the model's name, that it makes embeddings, and the base URL.",
    ),
    Trouble.NETWORK: _Telling(
        "embedding_unreachable",
        "{who} cannot be reached",
        "Check that the server runs, the base URL, the network and the proxy.",
    ),
    Trouble.TIMEOUT: _Telling(
        "embedding_timeout", "{who} did not answer in time", "A model that is being loaded answers later. " + _WAIT
    ),
    Trouble.SERVER: _Telling("embedding_server_error", "{who} has an internal error", _WAIT),
    Trouble.REPLY: _Telling(
        "embedding_bad_reply",
        "{who} answered with something else than vectors of the right length",
        "Check that the base URL is that of an embedding API, and that the model is still the same.",
    ),
}
_REFUSED = _Telling(
    "embedding_refused",
    "{who} refuses what it is asked",
    "Check the model, `outputDimensionality`, the input types and the headers.",
)


def unavailable(refused: RefusedError, *, provider: str, model: str) -> EmbeddingUnavailableError:
    """The error for those who asked for vectors, with a code and a next step for each kind of trouble."""
    telling = _TELLINGS.get(refused.trouble, _REFUSED)
    who = f"The embedding provider {provider}"
    message = telling.message.format(who=who, model=model).replace("of The", "of the")
    return EmbeddingUnavailableError(
        telling.code, f"{message} ({refused.detail}).", hint=telling.hint.format(model=model)
    )
