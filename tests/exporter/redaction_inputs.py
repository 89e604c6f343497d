"""Long texts for measuring redaction: ordinary ones, and ones made to be slow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from tests.exporter.secrets_corpus import look_alikes, secrets

_SENTENCE: Final = "We met in the garden and spoke of the summer plans; the server at port 8080 was slow again. "

# Beginnings that never end, ends that never began, and what a pattern could try at every place.
_REPEATED: Final = (
    "=", '"', "\\", "\\\\n", "%41", "%2525", "&quot;", "\u200b", " ", "\n", "1", "A", "a_", "a-", "a:", "a://",
    "a://b:", "/", "@", "|", "eyJ", "eyJaaaaaaaa.", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----\n", "AAAAAAAAAAAAAAAAA\n", "password", "password=", "password: ", 'password="',
    "password is ", "|password|", "<password>", "token: |\n", "KEY_", "sk-", "cookie: a=", "digest username=",
    "curl -u ", "mysql ", "mnemonic a ", "card number: 1", "?token=", "Bearer ", "xoxb-1\n", "[redacted:",
    "[redacted:jwt]", "ab1cd2ef3gh4_\n", "QUFBQUFBQUFBQUFBQUFB", "QUFB" * 19 + "\n",
)  # fmt: skip


def clean(size: int) -> str:
    """About `size` characters of prose without a secret."""
    return f"{_SENTENCE * 8}\n" * (size // (len(_SENTENCE) * 8))


def ordinary(size: int, turns_each: int = 16) -> str:
    """Prose with notes and numbers in turns of about 800 characters, and a secret in one of `turns_each`."""
    values = [secret.value for secret in islice(secrets(), 40)]
    between = [text for _, text in look_alikes(400)]
    turns: list[str] = []
    length = 0
    while length < size:
        number = len(turns)
        secret, rest = divmod(number, turns_each)
        note = between[number % len(between)] if rest else values[secret % len(values)]
        turns.append(f"{_SENTENCE * 8}\n{note}\n")
        length += len(turns[-1])
    return "".join(turns)


def hostile(size: int) -> Iterator[tuple[str, str]]:
    """Texts of about `size` characters that repeat the beginning of something, with what they repeat."""
    for piece in _REPEATED:
        yield piece, piece * (size // len(piece))
        yield f"a line of {piece}", f"password=q1w2e3r4 {piece * (size // len(piece))} token=q1w2e3r4"


def of_secrets(size: int) -> Iterator[tuple[str, str]]:
    """Texts of about `size` characters that repeat one secret, for each kind, with that kind."""
    for kind, value in {secret.kind: secret.value for secret in secrets()}.items():
        yield kind, f"{value} " * (size // (len(value) + 1))
