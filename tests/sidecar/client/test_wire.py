"""Replies, read from bytes as they come."""

from __future__ import annotations

import pytest

from sidecar.client.wire import NonsenseError, Reading, request
from tests.sidecar.client.conftest import reply

SIZED = reply(b'{"a": 1}')
CHUNKED = b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"a\r\n5\r\n": 1}\r\n0\r\nT: u\r\n\r\n'


def read(*pieces: bytes) -> Reading:
    """A reply that came in these pieces."""
    reading = Reading()
    for piece in pieces:
        reading.feed(piece)
    return reading


@pytest.mark.parametrize("sent", [SIZED, CHUNKED], ids=["sized", "chunked"])
def test_pieces_make_no_difference(sent: bytes) -> None:
    """A socket cuts where it likes."""
    for cut in range(len(sent)):
        whole = read(sent[:cut], sent[cut:])
        assert (whole.status, bytes(whole.body), whole.is_complete) == (200, b'{"a": 1}', True)
    bits = [sent[at : at + 1] for at in range(len(sent))]
    assert bytes(read(*bits).body) == b'{"a": 1}'


@pytest.mark.parametrize("sent", [SIZED, CHUNKED], ids=["sized", "chunked"])
def test_a_reply_is_complete_with_its_last_byte(sent: bytes) -> None:
    """And not before."""
    assert not any(read(sent[:cut]).is_complete for cut in range(len(sent)))


def test_a_reply_may_be_empty() -> None:
    """Nothing is a body, too."""
    assert read(reply(b"")).is_complete


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"\0" * 70_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a" * 70_000,
    ],
)
def test_what_is_no_reply_is_said_to_be_none(sent: bytes) -> None:
    """And kept from growing without end."""
    with pytest.raises(NonsenseError):
        read(sent)


@pytest.mark.parametrize("word", ["/v1/a b", "/v1\r\nHost: other", "/v1/é", "/v1\x7f"])
def test_no_second_request_hides_in_the_first(word: str) -> None:
    """What is not spelled as a URL is the caller's error."""
    with pytest.raises(ValueError, match="ASCII"):
        request("GET", word)
