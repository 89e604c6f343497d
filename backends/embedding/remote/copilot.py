"""Embeddings of a GitHub Copilot subscription: a GitHub token is exchanged for a short-lived one, and an address.

GitHub documents neither the exchange nor the API behind it. What is written here is read from its own editor
extension (microsoft/vscode-copilot-chat, copilotToken.ts and copilotTokenManager.ts at 3dc93a2 and 0319418: `token`,
`expires_at`, `refresh_in`, `endpoints.api`) and from public clients (`/models` with `capabilities.type`, `/embeddings`
as OpenAI has it with a list as `input`, the headers of an editor). It may change or end without notice.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.remote.refusals import judge
from backends.embedding.remote.rows import at, parsed
from backends.embedding.remote.wire import RefusedError, Reply, Request, Send, Trouble

EXCHANGE = "https://api.github.com/copilot_internal/v2/token"
API = "https://api.githubcopilot.com"
MODEL = "text-embedding-3-small"
TOKENS = ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")

_HOST = re.compile(r"([a-z0-9-]+\.)+githubcopilot\.com")
#: The exchange and the API refuse requests that name no editor. They may also refuse clients that GitHub does not
#: know: `copilot-integration-id` is for the account's owner to configure, who knows what was agreed.
_EDITOR = {
    "accept": "application/json",
    "editor-version": "qmd-sidecar/0.1",
    "editor-plugin-version": "qmd-sidecar/0.1",
    "x-github-api-version": "2025-04-01",
}
_BEFORE_EXPIRY_S = 120.0
_LEAST_USE_S = 60.0
_JUST_EXCHANGED_S = 5.0


@dataclass(frozen=True, slots=True)
class _Session:
    """A token of the API, where it may be sent, and when it was given and is to be exchanged again (Unix seconds)."""

    token: str = field(repr=False)
    api: str
    since: float
    until: float


class CopilotCredentials:
    """Exchanges and keeps the token of one account. Safe to use from several threads.

    Requests are made for `api`; the exchange may say another host of githubcopilot.com, and they then go there.
    Raises `EmbeddingUnavailableError` when there is no GitHub token.
    """

    def __init__(
        self,
        spec: EmbeddingSpec,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._github = spec.api_key or next((environ[name] for name in TOKENS if environ.get(name)), "")
        if not self._github:
            raise EmbeddingUnavailableError(
                "no_key", "There is no GitHub token for Copilot.", hint=f"Set one of {', '.join(TOKENS)}."
            )
        self._configured = (spec.base_url or "").rstrip("/")
        self._clock = clock
        self._exchanging = threading.Lock()
        self._session: _Session | None = None

    @property
    def api(self) -> str:
        """The address that requests are made for, without a slash at its end."""
        return self._configured or API

    def signed(self, request: Request, send: Send) -> Request:
        """The request with the token of the API, at the address that came with it. Raises `RefusedError`."""
        path = request.url.removeprefix(self.api)
        if path == request.url or not path.startswith("/"):
            raise RefusedError(Trouble.REQUEST, "an address outside of the Copilot API")
        session = self._current(send)
        headers = {**_EDITOR, **request.headers, "authorization": f"Bearer {session.token}"}
        return replace(request, url=session.api + path, headers=headers)

    def renewed(self) -> bool:
        """Whether there was a token to exchange again. One exchanged just now by another thread is kept."""
        with self._exchanging:
            session = self._session
            if session is None:
                return False
            if self._clock() - session.since >= _JUST_EXCHANGED_S:
                self._session = replace(session, until=session.since)
            return True

    def model(self, send: Send) -> str:
        """The embedding model of the account: text-embedding-3-small, else the first of its list.

        Raises `RefusedError`, `MODEL` when the list holds none.
        """
        asked = Request(url=f"{self.api}/models", method="GET")
        offered = _embedding_models(_successful(send(self.signed(asked, send))))
        if not offered:
            raise RefusedError(Trouble.MODEL, "no embedding model for this account")
        return MODEL if MODEL in offered else offered[0]

    def _current(self, send: Send) -> _Session:
        # Held over the exchange on purpose: whoever waits here needs the very token that is being fetched.
        with self._exchanging:
            session = self._session
            if session is None or self._clock() >= session.until:
                session = self._session = self._exchanged(send)
            return session

    def _exchanged(self, send: Send) -> _Session:
        headers = {**_EDITOR, "authorization": f"token {self._github}"}
        given = parsed(_successful(send(Request(url=EXCHANGE, method="GET", headers=headers))))
        token = given.get("token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
            raise RefusedError(Trouble.REPLY, "the exchange gave no token")
        now = self._clock()
        return _Session(token, self._configured or _api_of(given), now, _until(given, now))


def _until(given: Mapping[str, object], now: float) -> float:
    """When to exchange again: by `refresh_in`, which holds where the clock here is wrong, else before `expires_at`."""
    lasting = given.get("refresh_in")
    if not isinstance(lasting, int | float):
        expiry = given.get("expires_at")
        lasting = expiry - now - _BEFORE_EXPIRY_S if isinstance(expiry, int | float) else _LEAST_USE_S
    return now + max(lasting, _LEAST_USE_S)


def _api_of(given: Mapping[str, object]) -> str:
    """The address that an exchange names, when it is one of Copilot: the token must never reach another host."""
    named = at(given, "endpoints", "api")
    if named is None:
        return API
    try:
        address = urlsplit(str(named))
        host, port = address.hostname or "", address.port
    except ValueError:
        host, port = "", None
    # Built anew from what was checked: two readers of URLs need not agree on the host of an odd one.
    if not host or address.scheme != "https" or port not in (None, 443) or not _HOST.fullmatch(host):
        raise RefusedError(Trouble.REPLY, "the exchange named an API outside of githubcopilot.com")
    return f"https://{host}"


def _successful(reply: Reply) -> Reply:
    """The reply of an exchange or a list of models, when it succeeded. Raises `RefusedError`."""
    if 200 <= reply.status < 300:
        return reply
    refused = judge(reply)
    # GitHub says with 403, too, that an account asks too often.
    if reply.headers.get("x-ratelimit-remaining") == "0":
        raise RefusedError(Trouble.RATE, refused.detail, retry_after_s=refused.retry_after_s)
    # 404 is how GitHub refuses a token that may not see Copilot.
    raise RefusedError(Trouble.KEY, refused.detail) if reply.status == 404 else refused


def _embedding_models(reply: Reply) -> list[str]:
    listed = parsed(reply).get("data")
    return [
        model["id"]
        for model in (listed if isinstance(listed, list) else [])
        if at(model, "capabilities", "type") == "embeddings" and isinstance(at(model, "id"), str)
    ]
