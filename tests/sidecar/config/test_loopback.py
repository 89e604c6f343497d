"""Which addresses only this machine can reach, and which requests come from it."""

from __future__ import annotations

import pytest

from sidecar.config.loopback import address, is_local_request
from tests.sidecar.config.conftest import Load, Refuse


@pytest.mark.parametrize(
    ("listen", "found"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("127.8.9.1:1", ("127.8.9.1", 1)),
        ("localhost:65535", ("127.0.0.1", 65535)),
        ("LocalHost:80", ("127.0.0.1", 80)),
        ("[::1]:9464", ("::1", 9464)),
        ("0.0.0.0:9464", None),
        ("[::]:9464", None),
        ("192.168.0.2:9464", None),
        ("metrics.example:9464", None),
        ("localhost.example:9464", None),
        ("127.1:9464", None),
        ("127.0.0.1:0", None),
        ("127.0.0.1:65536", None),
    ],
)
def test_an_address_is_ours_alone_or_none(listen: str, found: tuple[str, int] | None) -> None:
    """A name other than localhost leads where a name server says."""
    assert address(listen) == found


@pytest.mark.parametrize("host", ["localhost", "localhost:9464", "127.0.0.1:9464", "127.0.0.1", "[::1]:9464", "[::1]"])
def test_a_program_on_this_machine_is_let_in(host: str) -> None:
    """With a port, or without."""
    assert is_local_request(host, None)


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        (None, None),
        ("", None),
        ("evil.example:9464", None),
        ("localhost.evil.example", None),
        ("127.0.0.1.evil.example:9464", None),
        ("evil.example:localhost", None),
        ("localhost:80:80", None),
        ("localhost:", None),
        ("::1", None),
        ("localhost:9464", "http://evil.example"),
        ("localhost:9464", "http://localhost:9464"),
        ("localhost:9464", "null"),
        ("localhost:9464", ""),
    ],
)
def test_a_page_in_a_browser_is_not(host: str | None, origin: str | None) -> None:
    """Neither one whose own name was made to lead here, nor one that asks another server."""
    assert not is_local_request(host, origin)


def test_an_address_that_others_could_reach_is_refused(refuse: Refuse) -> None:
    """With a next step."""
    (finding,) = refuse("{sidecar: {metrics: {listen: '0.0.0.0:9464'}}}")
    assert (finding.key, finding.code) == ("sidecar.metrics.listen", "not_loopback")
    assert "127.0.0.1" in finding.hint


def test_an_address_of_this_machine_is_taken(load_text: Load) -> None:
    """As it is written."""
    assert load_text("{sidecar: {metrics: {listen: '[::1]:9464'}}}").sidecar.metrics.listen == "[::1]:9464"
