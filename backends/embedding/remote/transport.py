"""The one way out to the network: requests over one shared HTTP client. No other module imports `httpx`."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble

MAX_REPLY_BYTES = 256 * 1024 * 1024
_CONNECT_TIMEOUT_S = 10.0
# A proxy could not reach what runs on this machine, and must not see what is said to it.
_DIRECT = {f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")}

# Its lines at these levels hold addresses and headers.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)

_lock = threading.Lock()
_shared: httpx.Client | None = None


def send(request: Request, timeout_s: float, *, max_reply_bytes: int = MAX_REPLY_BYTES) -> Reply:
    """Send one request and return its reply, whatever its status; a redirect is a reply and is not followed.

    Raises `RefusedError` where none comes: TIMEOUT when it is not complete after `timeout_s`, NETWORK when the
    connection fails, REQUEST when the address or a header cannot be sent, REPLY when it is larger than allowed.
    """
    deadline = time.monotonic() + timeout_s
    with _refusing(timeout_s):
        return _exchange(request, _timeout(timeout_s), deadline, max_reply_bytes)


@contextmanager
def streamed(
    url: str, headers: Mapping[str, str], *, silence_s: float
) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
    """Ask for a file, over redirects: status, headers (lower-case) and the bytes as they come, of any number.

    Raises `RefusedError` like `send`, also while the bytes are read, and TIMEOUT after `silence_s` without one.
    """
    # Ranges count bytes of the file itself, so it must not come compressed.
    plain = {**headers, "accept-encoding": "identity"}
    with (
        _refusing(silence_s),
        _client().stream("GET", url, headers=plain, timeout=_timeout(silence_s), follow_redirects=True) as response,
    ):
        yield response.status_code, dict(response.headers), response.iter_raw()


def _timeout(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=min(_CONNECT_TIMEOUT_S, seconds))


@contextmanager
def _refusing(timeout_s: float) -> Iterator[None]:
    # What httpx says may quote an address, a header or a proxy with its password: only the kind of error goes on.
    try:
        yield
    except httpx.TimeoutException:
        raise RefusedError(Trouble.TIMEOUT, f"no reply within {timeout_s:g} s") from None
    except (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL, UnicodeError) as error:
        raise RefusedError(Trouble.REQUEST, f"cannot be sent ({type(error).__name__})") from None
    except httpx.HTTPError as error:
        raise RefusedError(Trouble.NETWORK, _origin(error)) from None


def _exchange(request: Request, timeout: httpx.Timeout, deadline: float, max_bytes: int) -> Reply:
    with _client().stream(
        request.method, request.url, content=request.body, headers=dict(request.headers), timeout=timeout
    ) as response:
        body = _complete(response.iter_bytes(), deadline, max_bytes)
        return Reply(response.status_code, body, dict(response.headers))


def _complete(parts: Iterator[bytes], deadline: float, max_bytes: int) -> bytes:
    """All of a body, ended by a deadline: the timeouts of httpx begin anew with every byte."""
    body = bytearray()
    for part in parts:
        body += part
        if len(body) > max_bytes:
            raise RefusedError(Trouble.REPLY, f"more than {max_bytes} bytes")
        if time.monotonic() > deadline:
            raise RefusedError(Trouble.TIMEOUT, "the reply came too slowly")
    return bytes(body)


def _client() -> httpx.Client:
    """The client of this process, with the proxies of its environment."""
    global _shared
    with _lock:
        if _shared is None:
            _shared = _new_client()
        return _shared


def _new_client() -> httpx.Client:
    try:
        return httpx.Client(verify=_trusted(), mounts=_DIRECT)
    except (ImportError, ValueError, OSError) as error:
        detail = f"the proxy or certificates of the environment cannot be used ({type(error).__name__})"
        raise RefusedError(Trouble.NETWORK, detail) from None


def _trusted() -> ssl.SSLContext:
    """What httpx trusts (or SSL_CERT_FILE names), and what the system does: a company's own authority is only there."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def _origin(error: BaseException) -> str:
    """The kind of the error that began it all, such as `gaierror` or `SSLCertVerificationError`."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return type(error).__name__
