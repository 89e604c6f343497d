"""A provider asked without a network: the server's side of an API answers what a wire asks."""

from __future__ import annotations

from urllib.parse import urlsplit

from backends.embedding.remote.wire import Reply, Request
from tests.backends.embedding.remote.serving import Asked, Mischief, Provider, Speech


def provider_of(speech: Speech, *always: Mischief) -> Provider:
    """A provider that listens on no port, with what is always wrong with it."""
    provider = Provider(speech, "http://127.0.0.1:0")
    provider.always.extend(always)
    return provider


def reply_of(provider: Provider, request: Request) -> Reply:
    """The provider's reply to a request."""
    answer = provider.reply(Asked(request.method, urlsplit(request.url).path, request.headers, request.body))
    return Reply(answer.status, answer.body, answer.headers)
