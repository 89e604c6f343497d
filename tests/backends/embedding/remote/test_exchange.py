"""One request and its reply, with the network as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from backends.embedding.base import Side
from backends.embedding.remote.credentials import bearer
from backends.embedding.remote.exchange import Exchange
from backends.embedding.remote.openai import OpenAIWire
from backends.embedding.remote.retrying import Patience
from backends.embedding.remote.wire import Credentials, Limits, RefusedError, Reply, Request, Send, Trouble

WIRE = OpenAIWire(base_url="https://api.test/v1", model="m", limits=Limits(texts=8, tokens=800))
GOOD = Reply(200, b'{"data": [{"index": 0, "embedding": [1, 2]}]}')


class Network:
    """Answers with a list of replies, the last one for ever; remembers what was sent, and within how many seconds."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.sent: list[tuple[Request, float]] = []

    def send(self, request: Request, timeout_s: float) -> Reply:
        self.sent.append((request, timeout_s))
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def exchange(self, credentials: Credentials | None = None) -> Exchange:
        patience = Patience(sleep=lambda seconds: None)
        return Exchange(
            wire=WIRE,
            credentials=credentials or bearer("k"),
            send=self.send,
            headers={"X-Team": "a"},
            patience=patience,
        )


class Tokens:
    """Credentials that exchange a token, as often as they have one left."""

    def __init__(self, *tokens: str) -> None:
        self.tokens: Sequence[str] = tokens

    def signed(self, request: Request, send: Send) -> Request:
        assert "X-Team" in request.headers, "what is signed must hold every header"
        return replace(request, headers={**request.headers, "authorization": self.tokens[0]})

    def renewed(self) -> bool:
        self.tokens = self.tokens[1:]
        return bool(self.tokens)


def test_a_refused_token_is_exchanged_once() -> None:
    """The second one is good."""
    network = Network(Reply(401, b""), GOOD)
    assert network.exchange(Tokens("old", "new")).ask(["a"], Side.DOCUMENT).tolist() == [[1, 2]]
    assert [request.headers["authorization"] for request, _ in network.sent] == ["old", "new"]


def test_a_new_token_that_is_refused_ends_it() -> None:
    """However many there are: the account is what is refused."""
    network = Network(Reply(401, b""))
    with pytest.raises(RefusedError) as raised:
        network.exchange(Tokens("1", "2", "3", "4")).ask(["a"], Side.DOCUMENT)
    assert raised.value.trouble is Trouble.KEY
    assert len(network.sent) == 2


def test_a_question_is_waited_for_less_long() -> None:
    """Somebody waits for it."""
    network = Network(GOOD)
    network.exchange().ask(["a"], Side.QUERY)
    network.exchange().ask(["a"], Side.DOCUMENT)
    assert [timeout_s for _, timeout_s in network.sent] == [60.0, 120.0]
