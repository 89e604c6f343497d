"""One row of the table of secrets, and the tests of a matched value that no pattern can make."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret: a google-re2 pattern, whose first group that took part, if any, is the secret.

    `accept`, where given, has the last word on a matched value. `wraps` tells that the value may go on behind a line
    break, since its own prefix says that it is a token.
    """

    kind: str
    pattern: str
    accept: Callable[[str], bool] | None = None
    wraps: bool = False


# `$TOKEN`, `${TOKEN}`, `%TOKEN%`, `<token>`, `{{token}}`, `process.env.TOKEN`, `****`: names of secrets, not secrets.
_REFERENCE: Final = re.compile(
    r"\$\w+|\$\{[^}]*\}?|\$\(.*|%\w+%|<.*|\{\{.*|(?:process|import\.meta)\.env\b.*|os\.(?:environ|getenv).*|[*.…xX•_-]+|[a-z_.]+\(\)?"
    r"|your[-_ ][a-z_ -]+|null|none|true|false|undefined|nil",
    re.IGNORECASE,
)
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})/.*|/(?:home|Users|etc|usr|var|opt|tmp|root|run|mnt|srv|app|data|private|workspace|dev|Library)\b.*"
    r"|[a-z]+://[^@]*"
)
_ONE_WORD: Final = r"(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)"
_WORD: Final = re.compile(_ONE_WORD)
_NAME: Final = re.compile(rf"{_ONE_WORD}(?:[-_/.'’]{_ONE_WORD})*|[A-Za-z_.]+[(\[].*")
_COUNT: Final = re.compile(r"[\d.,_:/%+-]{1,16}[kKmM]?")
_NUMBERED_WORD: Final = re.compile(r"[A-Z]?[a-z]+\d{0,4}|[A-Z]+\d{0,2}|\d+[a-z]{1,3}|v?\d[\d.]*")
_TICKET: Final = re.compile(r"[A-Z]{2,10}-\d+")
_RUN: Final = re.compile(r"[A-Za-z0-9]{6,}")
_TURNS: Final = re.compile(r"[a-z][A-Z]")
_TRAILING: Final = ".,;:!?)]}"


def is_value(text: str) -> bool:
    """Whether an assigned text is a value at all, and not a reference to one or the path of a file."""
    return not _REFERENCE.fullmatch(text) and not _PATH.fullmatch(text)


def is_no_word(text: str) -> bool:
    """A value that is no plain word: `password: hunter2` is a secret, `password: required` is a sentence."""
    text = text.rstrip(_TRAILING)
    return is_value(text) and not _WORD.fullmatch(text) and (text.isascii() or _is_foreign_value(text))


def is_no_count(text: str) -> bool:
    """A value that is neither words nor a number: `token: 4096` is a limit, `token: read-only` a right."""
    text = text.rstrip(_TRAILING)
    return is_no_word(text) and not _NAME.fullmatch(text) and not _COUNT.fullmatch(text)


def is_dense(text: str) -> bool:
    """Letters and digits mixed within one run, as random tokens have and identifiers in prose have not."""
    return any(_is_mixed(run) for run in _RUN.findall(text))


def is_random(text: str) -> bool:
    """A dense value that is long enough to be no number of a ticket, a version or a size."""
    return len(text) >= 8 and is_value(text) and is_dense(text) and not _TICKET.fullmatch(text)


def is_wrapped(run: str) -> bool:
    """A run that may be the rest of a token from the line above: it has digits, or capitals within it."""
    return is_dense(run) or len(_TURNS.findall(run)) >= 3


def is_tricky(text: str) -> bool:
    """A value with a digit beside letters, where a sentence would have a word."""
    return is_no_count(text) and any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def _is_foreign_value(text: str) -> bool:
    """Words of other scripts have no digits; scripts without capitals write whole sentences without a space."""
    return any(char.isdigit() for char in text) and all(char.lower() != char.upper() for char in text if char.isalpha())


def _is_mixed(run: str) -> bool:
    return not run.isalpha() and not run.isdigit() and not _NUMBERED_WORD.fullmatch(run)
