"""Copilot: the exchange of tokens, where the token may go, and which model an account has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.remote import copilot
from backends.embedding.remote.copilot import CopilotCredentials
from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble
from tests.backends.embedding.remote import loopback
from tests.backends.embedding.remote.loopback import Came, Loopback, said, served

SPEC = EmbeddingSpec(provider="github-copilot", api_key="gho_secret")
HOST = "https://api.individual.githubcopilot.com"
ASKED = Request(url=f"{copilot.API}/embeddings", body=b"{}")


@dataclass
class GitHub:
    """What GitHub answers: one exchange after another with a token of its own, and a list of models."""

    given: dict[str, Any] = field(default_factory=lambda: {"refresh_in": 1500, "endpoints": {"api": HOST}})
    models: Any = field(default_factory=lambda: [("gpt-4.1", "chat"), ("text-embedding-3-small", "embeddings")])
    status: int = 200
    exchanges: int = 0
    server: Loopback = field(default_factory=lambda: Loopback(""))

    def answer(self, came: Came) -> tuple[int, bytes]:
        if self.status != 200:
            return said({"message": "gho_secret is not welcome"}, self.status)
        if came.path.endswith("/v2/token"):
            self.exchanges += 1
            return said({"token": f"tid={self.exchanges}"} | self.given)
        return said({"data": [{"id": name, "capabilities": {"type": kind}} for name, kind in self.models]})

    def send(self, request: Request) -> Reply:
        """Every host is this server; the first part of the path says which host was meant."""
        scheme, _, rest = request.url.partition("://")
        assert scheme == "https"
        return loopback.send(Request(f"{self.server.url}/{rest}", request.body, request.headers, request.method))


class Clock:
    """Unix time that moves when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def github() -> Iterator[GitHub]:
    github = GitHub()
    with served(github.answer) as server:
        github.server = server
        yield github


def test_a_github_token_is_exchanged_for_a_token_and_an_address(github: GitHub) -> None:
    """The GitHub token goes to GitHub only, the other one to the API only."""
    signed = CopilotCredentials(SPEC, {}).signed(ASKED, github.send)
    (came,) = github.server.came
    assert (came.method, came.path) == ("GET", "/api.github.com/copilot_internal/v2/token")
    assert came.headers["authorization"] == "token gho_secret"
    assert came.headers["editor-version"]
    assert signed.url == f"{HOST}/embeddings"
    assert signed.headers["authorization"] == "Bearer tid=1"


def test_a_token_is_used_until_it_is_to_be_refreshed(github: GitHub) -> None:
    """`refresh_in` counts from the exchange, on the clock of this machine."""
    clock = Clock()
    credentials = CopilotCredentials(SPEC, {}, clock)
    credentials.signed(ASKED, github.send)
    clock.now += 1499
    credentials.signed(ASKED, github.send)
    assert github.exchanges == 1
    clock.now += 1
    assert credentials.signed(ASKED, github.send).headers["authorization"] == "Bearer tid=2"


def test_without_a_refresh_time_a_token_is_renewed_before_it_expires(github: GitHub) -> None:
    clock = Clock()
    github.given = {"expires_at": clock.now + 600}
    credentials = CopilotCredentials(SPEC, {}, clock)
    credentials.signed(ASKED, github.send)
    clock.now += 599
    credentials.signed(ASKED, github.send)
    assert github.exchanges == 2


def test_a_token_that_seems_expired_at_once_is_used_for_a_while(github: GitHub) -> None:
    """A clock set ahead must not make every request an exchange."""
    clock = Clock()
    github.given = {"expires_at": clock.now - 7200}
    credentials = CopilotCredentials(SPEC, {}, clock)
    credentials.signed(ASKED, github.send)
    credentials.signed(ASKED, github.send)
    assert github.exchanges == 1


def test_a_refused_token_is_exchanged_again(github: GitHub) -> None:
    clock = Clock()
    credentials = CopilotCredentials(SPEC, {}, clock)
    credentials.signed(ASKED, github.send)
    clock.now += 10
    assert credentials.renewed()
    assert credentials.signed(ASKED, github.send).headers["authorization"] == "Bearer tid=2"


def test_threads_that_were_refused_together_exchange_once(github: GitHub) -> None:
    """The second finds a token that the first just fetched."""
    clock = Clock()
    credentials = CopilotCredentials(SPEC, {}, clock)
    credentials.signed(ASKED, github.send)
    clock.now += 10
    for _ in range(2):
        assert credentials.renewed()
        credentials.signed(ASKED, github.send)
    assert github.exchanges == 2


def test_there_is_nothing_to_renew_before_an_exchange() -> None:
    assert not CopilotCredentials(SPEC, {}).renewed()


def test_threads_that_start_together_exchange_once(github: GitHub) -> None:
    credentials = CopilotCredentials(SPEC, {})
    together = threading.Barrier(8)

    def sign(_: int) -> str:
        together.wait(10)
        return credentials.signed(ASKED, github.send).headers["authorization"]

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(sign, range(8))) == {"Bearer tid=1"}
    assert github.exchanges == 1


@pytest.mark.parametrize(
    "api",
    [
        "http://api.githubcopilot.com",
        "https://githubcopilot.com.evil.example",
        "https://api.githubcopilot.com.evil.example",
        "https://evilgithubcopilot.com",
        "https://evil.example/api.githubcopilot.com",
        "https://evil.example#.githubcopilot.com",
        "https://api.githubcopilot.com:8443",
        "https://api.githubcopilot.com:port",
        "https://[::1",
        "",
        7,
    ],
)
def test_a_token_is_sent_to_no_other_host(github: GitHub, api: object) -> None:
    """The address comes from a reply, and a reply is not to be trusted with a token."""
    github.given["endpoints"] = {"api": api}
    with pytest.raises(RefusedError) as refused:
        CopilotCredentials(SPEC, {}).signed(ASKED, github.send)
    assert refused.value.trouble is Trouble.REPLY


def test_an_address_that_two_readers_may_read_in_two_ways_is_built_anew(github: GitHub) -> None:
    """Only the host that was checked remains of it."""
    github.given["endpoints"] = {"api": "https://evil.example\\@api.githubcopilot.com/"}
    assert CopilotCredentials(SPEC, {}).signed(ASKED, github.send).url == ASKED.url


def test_an_exchange_without_an_address_means_the_usual_one(github: GitHub) -> None:
    github.given = {"refresh_in": 1500}
    assert CopilotCredentials(SPEC, {}).signed(ASKED, github.send).url == ASKED.url


def test_a_configured_address_is_the_only_one(github: GitHub) -> None:
    """Whatever the exchange says."""
    credentials = CopilotCredentials(EmbeddingSpec(api_key="gho", base_url="https://proxy.example/copilot/"), {})
    asked = Request(url=f"{credentials.api}/embeddings")
    assert credentials.signed(asked, github.send).url == "https://proxy.example/copilot/embeddings"


@pytest.mark.parametrize("url", ["https://evil.example/embeddings", f"{copilot.API}.evil.example/embeddings"])
def test_a_request_to_another_address_is_not_signed(github: GitHub, url: str) -> None:
    """No token is even fetched for it."""
    with pytest.raises(RefusedError) as refused:
        CopilotCredentials(SPEC, {}).signed(Request(url=url), github.send)
    assert refused.value.trouble is Trouble.REQUEST
    assert github.exchanges == 0


@pytest.mark.parametrize("given", [{"token": ""}, {"token": None}, {"token": "a\r\nx-evil: 1"}, {"token": ["a"]}])
def test_an_exchange_without_a_token_is_a_wrong_reply(github: GitHub, given: dict[str, Any]) -> None:
    github.given = given
    with pytest.raises(RefusedError) as refused:
        CopilotCredentials(SPEC, {}).signed(ASKED, github.send)
    assert refused.value.trouble is Trouble.REPLY


@pytest.mark.parametrize(
    ("status", "trouble"),
    [(401, Trouble.KEY), (403, Trouble.KEY), (404, Trouble.KEY), (429, Trouble.RATE), (503, Trouble.SERVER)],
)
def test_a_refused_exchange_says_what_is_wrong_and_quotes_nothing(
    github: GitHub, status: int, trouble: Trouble
) -> None:
    github.status = status
    with pytest.raises(RefusedError) as refused:
        CopilotCredentials(SPEC, {}).signed(ASKED, github.send)
    assert refused.value.trouble is trouble
    assert "gho_secret" not in str(refused.value)


def test_an_account_that_asks_too_often_is_told_apart_from_a_refused_key() -> None:
    """GitHub answers 403 to both, and tells by a header."""
    limited = Reply(403, b"{}", {"x-ratelimit-remaining": "0", "retry-after": "30"})
    with pytest.raises(RefusedError) as refused:
        CopilotCredentials(SPEC, {}).signed(ASKED, lambda _: limited)
    assert (refused.value.trouble, refused.value.retry_after_s) == (Trouble.RATE, 30.0)


@pytest.mark.parametrize(
    ("spec", "environ", "token"),
    [
        (SPEC, {"COPILOT_GITHUB_TOKEN": "c"}, "gho_secret"),
        (EmbeddingSpec(), {"GITHUB_TOKEN": "i", "GH_TOKEN": "h", "COPILOT_GITHUB_TOKEN": "c"}, "c"),
        (EmbeddingSpec(), {"GITHUB_TOKEN": "i", "GH_TOKEN": "h", "COPILOT_GITHUB_TOKEN": ""}, "h"),
        (EmbeddingSpec(), {"GITHUB_TOKEN": "i"}, "i"),
    ],
)
def test_the_configured_token_comes_first_then_the_environment(
    github: GitHub, spec: EmbeddingSpec, environ: dict[str, str], token: str
) -> None:
    CopilotCredentials(spec, environ).signed(ASKED, github.send)
    assert github.server.came[0].headers["authorization"] == f"token {token}"


def test_without_any_token_the_hint_names_the_variables() -> None:
    with pytest.raises(EmbeddingUnavailableError) as missing:
        CopilotCredentials(EmbeddingSpec(), {})
    assert missing.value.code == "no_key"
    assert "COPILOT_GITHUB_TOKEN" in missing.value.hint


@pytest.mark.parametrize(
    ("models", "model"),
    [
        ([("text-embedding-ada-002", "embeddings"), (copilot.MODEL, "embeddings")], copilot.MODEL),
        (
            [("gpt-4.1", "chat"), ("text-embedding-ada-002", "embeddings"), ("e5", "embeddings")],
            "text-embedding-ada-002",
        ),
    ],
)
def test_the_model_is_discovered(github: GitHub, models: list[tuple[str, str]], model: str) -> None:
    """From the list at the address of the account."""
    github.models = models
    assert CopilotCredentials(SPEC, {}).model(github.send) == model
    assert github.server.came[-1].path == "/api.individual.githubcopilot.com/models"


def test_an_account_without_an_embedding_model_is_told_so(github: GitHub) -> None:
    github.models = [("gpt-4.1", "chat")]
    with pytest.raises(RefusedError) as refused:
        CopilotCredentials(SPEC, {}).model(github.send)
    assert refused.value.trouble is Trouble.MODEL
