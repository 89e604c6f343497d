"""Addresses that only this machine can reach: as they are configured, and as a request names them."""

from __future__ import annotations

from ipaddress import ip_address

_MOST_PORT = 65_535


def address(listen: str) -> tuple[str, int] | None:
    """Host and port of `host:port`; None where others could reach it, or where there is no such port."""
    host, _, port = listen.rpartition(":")
    if not is_local(host) or not 0 < int(port) <= _MOST_PORT:
        return None
    return "127.0.0.1" if host.lower() == "localhost" else host.strip("[]"), int(port)


def is_local(host: str) -> bool:
    """Whether a host, an IPv6 address in its brackets, is this machine whatever a name server says."""
    if host.lower() == "localhost":
        return True
    bracketed = host.startswith("[") and host.endswith("]")
    try:
        found = ip_address(host[1:-1] if bracketed else host)
    except ValueError:
        return False
    return found.is_loopback and (found.version == 6) == bracketed


def is_local_request(host: str | None, origin: str | None) -> bool:
    """Whether a request with these headers comes from a program and not from a page in a browser.

    A page whose name was made to lead here still sends its own name as `Host`; one from elsewhere sends an `Origin`.
    """
    if host is None or origin is not None:
        return False
    name, colon, port = host.rpartition(":")
    return is_local(host) or (bool(colon) and port.isascii() and port.isdigit() and is_local(name))
