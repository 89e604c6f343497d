"""What can be the address of an HTTP API, and what can stand in its headers. Texts are judged and never repeated."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

#: RFC 9110, section 5.6.2.
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: What says where a message ends and how its bytes are meant; a second opinion breaks it.
_FRAMING: Final = frozenset(
    {"connection", "content-encoding", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding"}
    | {"upgrade"}
)


def is_header_name(text: str) -> bool:
    """Whether a text can be the name of a header."""
    return _HEADER_NAME.fullmatch(text) is not None


def is_framing(name: str) -> bool:
    """Whether a header belongs to the connection, and so to nobody but the client that speaks on it."""
    return name.lower() in _FRAMING


def is_header_text(text: str) -> bool:
    """Whether a text can stand in a header: a line break in it would begin another header."""
    return text.isascii() and text.isprintable()


def address_problem(text: str) -> str:
    """What keeps a text from being the address of an API; empty when nothing does."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return "should be an address"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "should be an http or https address with a host"
    if parts.username is not None or parts.password is not None:
        return "an address must hold no user and no password; use apiKey or headers"
    if parts.query or parts.fragment:
        return "an address ends with its path, without ? and #"
    return "" if is_header_text(text) and " " not in text else "an address holds no blanks and no special characters"


def is_in_clear(url: str) -> bool:
    """Whether what is sent to an address crosses a network unencrypted."""
    return url.lower().startswith("http:") and not _is_loopback(host_of(url))


def host_of(url: str) -> str:
    """The host of an address, lower-case; empty where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
