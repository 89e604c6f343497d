"""Redaction against a corpus: nothing that was planted can be read again, nothing that looks like it is touched."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterator
from urllib.parse import unquote

import pytest

from exporter import Redactor
from tests.exporter.secrets_corpus import SHORTEST_LEAK, SURROUNDINGS, Secret, look_alikes, secrets

REDACTOR = Redactor()
SECRETS = [*secrets()]
LOOK_ALIKES = 5_000

_SEPARATORS = re.compile(r"[\s>|\"'\\]|<br>|[\u00ad\u200b-\u200f\u2060\ufeff]")
_RUN = re.compile(r"[A-Za-z0-9+/]{12,}")


def readings(text: str, depth: int = 4) -> Iterator[str]:
    """The text as a person with tools could read it."""
    yield _SEPARATORS.sub("", text)
    if depth:
        for other in {unquote(text), html.unescape(text), text.replace("\\n", "\n").replace('\\"', '"')} - {text}:
            yield from readings(other, depth - 1)
        for run in _RUN.findall(_SEPARATORS.sub("", text)):
            size = len(run) - (len(run) % 4 == 1)
            yield base64.b64decode(run[:size] + "==").decode("latin-1")


def leaks(text: str, body: str) -> bool:
    """Whether any piece of the secret can be read."""
    pieces = {body[at : at + SHORTEST_LEAK] for at in range(len(body) - SHORTEST_LEAK + 1)}
    return any(piece in reading for reading in readings(text) for piece in pieces)


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize("secret", SECRETS, ids=lambda secret: secret.kind)
def test_no_piece_of_a_secret_can_be_read_again(secret: Secret, surrounding: str) -> None:
    text = SURROUNDINGS[surrounding](secret)
    assert leaks(text, secret.body), "the corpus hides it from the test itself"
    redacted = REDACTOR.redact(text)
    assert not leaks(redacted.text, secret.body)
    assert REDACTOR.redact(redacted.text).text == redacted.text
    assert sum(redacted.counts.values()) >= 1


def test_what_only_looks_like_a_secret_is_untouched() -> None:
    touched = [(kind, text) for kind, text in look_alikes(LOOK_ALIKES) if REDACTOR.redact(text).text != text]
    assert touched == []
