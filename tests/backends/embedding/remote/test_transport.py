"""The way out to the network, over real sockets."""

from __future__ import annotations

import gzip
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.embedding.remote.transport import send
from backends.embedding.remote.wire import RefusedError, Request, Trouble
from tests.backends.embedding.remote import serving
from tests.backends.embedding.remote.serving import Answer, Asked, Provider, Speech
from tests.backends.embedding.remote.speeches import OpenAISpeech

BODY = b'{"model": "m", "encoding_format": "float", "input": ["a secret text"]}'
ROOT = Path(__file__).parents[4]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving.serving(OpenAISpeech()) as served:
        yield served


def asking(provider: Provider, path: str = "/embeddings") -> Request:
    return Request(provider.url + path, BODY, {"content-type": "application/json"})


def trouble(request: Request, timeout_s: float = 20.0, **limits: int) -> RefusedError:
    with pytest.raises(RefusedError) as raised:
        send(request, timeout_s, **limits)
    return raised.value


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def test_a_reply_comes_back_whatever_its_status(provider: Provider) -> None:
    """Judging it is somebody else's."""
    provider.script.append(serving.fails(418, "teapot", "no", x_made_by="test"))
    reply = send(asking(provider), 20.0)
    assert reply.status == 418
    assert b"teapot" in reply.body
    assert reply.headers["x-made-by"] == "test"


def test_a_compressed_reply_is_unpacked(provider: Provider) -> None:
    """Servers compress what they like."""
    provider.script.append(lambda asked, speech: Answer(200, gzip.compress(b"{}"), {"content-encoding": "gzip"}))
    assert send(asking(provider), 20.0).body == b"{}"


def test_a_redirect_is_not_followed(provider: Provider) -> None:
    """The key would go wherever it leads."""
    elsewhere = {"location": provider.url + "/elsewhere"}
    provider.script.append(lambda asked, speech: Answer(307, headers=elsewhere))
    assert send(asking(provider), 20.0).status == 307
    assert [asked.path for asked in provider.asked] == ["/embeddings"]


def test_a_reply_without_end_is_ended_by_the_deadline(provider: Provider) -> None:
    """Each byte is in time, all of them together are not."""
    provider.script.append(serving.drips)
    assert trouble(asking(provider), 0.3).trouble is Trouble.TIMEOUT


def test_silence_is_ended_by_the_deadline() -> None:
    """Whoever listens need not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/embeddings"
        assert trouble(Request(url, BODY), 0.2).trouble is Trouble.TIMEOUT


def test_a_reply_that_is_too_large_is_given_up(provider: Provider) -> None:
    """Memory is not filled by whoever answers."""
    provider.script.append(lambda asked, speech: Answer(body=b" " * 100_000))
    assert trouble(asking(provider), max_reply_bytes=50_000).trouble is Trouble.REPLY


def test_a_server_that_is_not_there_is_told_from_one_that_hangs_up(provider: Provider) -> None:
    """The kind of error tells where to look."""
    refused = trouble(Request(f"http://127.0.0.1:{closed_port()}/embeddings", BODY))
    assert (refused.trouble, refused.detail) == (Trouble.NETWORK, "ConnectionRefusedError")
    provider.script.append(serving.hangs_up)
    assert trouble(asking(provider)).trouble is Trouble.NETWORK


@pytest.mark.parametrize("url", ["ftp://example.org/v1", "no address", "http://host:port/"])
def test_what_is_no_address_is_refused_before_anything_is_sent(url: str) -> None:
    """A mistake of the configuration is no trouble with the network."""
    assert trouble(Request(url, BODY)).trouble is Trouble.REQUEST


@pytest.mark.parametrize("value", ["two\r\nlines", "naïve ключ"])
def test_a_key_that_no_header_can_hold_is_not_quoted(provider: Provider, value: str) -> None:
    """Pasting a key goes wrong in many ways."""
    refused = trouble(Request(provider.url, BODY, {"authorization": value}))
    assert refused.trouble is Trouble.REQUEST
    assert value not in str(refused)
    assert refused.__cause__ is None


def test_nothing_is_logged(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    """Addresses and texts stay out of the log, at every level of our own."""
    with caplog.at_level(logging.DEBUG):
        send(asking(provider, "/embeddings?who=me"), 20.0)
    assert [record.name for record in caplog.records if record.name.startswith("http")] == []


def test_a_connection_is_used_again(provider: Provider) -> None:
    """Threads share one client, and each reply is its own."""
    replies: list[bytes] = []

    def echo(asked: Asked, speech: Speech) -> Answer:
        return Answer(body=asked.path.encode())

    provider.always.append(echo)
    asks = [
        threading.Thread(target=lambda path=f"/{at}": replies.append(send(asking(provider, path), 20.0).body))
        for at in range(8)
    ]
    for ask in asks:
        ask.start()
    for ask in asks:
        ask.join(20.0)
    assert sorted(replies) == [f"/{at}".encode() for at in range(8)]


ASK = """
import sys
from backends.embedding.remote.transport import send
from backends.embedding.remote.wire import RefusedError, Request
try:
    print(send(Request(sys.argv[1], b"{}"), 20.0).status)
except RefusedError as refused:
    print(refused)
"""


def asked_elsewhere(url: str, **environment: str) -> str:
    """What a process of its own says that asks with this environment."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    run = subprocess.run(
        [sys.executable, "-c", ASK, url],
        env=kept | environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return run.stdout.strip()


def test_a_proxy_of_the_environment_is_used(provider: Provider) -> None:
    """The request for another host reaches the proxy, with the whole address."""
    provider.always.append(lambda asked, speech: Answer(204))
    assert asked_elsewhere("http://provider.invalid/v1/embeddings", HTTP_PROXY=provider.url) == "204"
    assert provider.asked[0].headers["host"] == "provider.invalid"


def test_no_proxy_is_used_for_this_machine(provider: Provider) -> None:
    """It could not reach a server on loopback, and has no business with it."""
    provider.always.append(lambda asked, speech: Answer(204))
    assert asked_elsewhere(provider.url, HTTP_PROXY=f"http://127.0.0.1:{closed_port()}") == "204"


def test_a_proxy_that_cannot_be_used_is_named_without_its_password() -> None:
    """It is neither a crash nor a secret in the log."""
    told = asked_elsewhere("http://provider.invalid/", HTTP_PROXY="gopher://me:hunter2@proxy.invalid")
    assert told.startswith("network: the proxy")
    assert "hunter2" not in told


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for loopback that signs itself, with its key in the same file."""
    folder = tmp_path_factory.mktemp("tls")
    key, public, both = folder / "key.pem", folder / "public.pem", folder / "both.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(public),
    ]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    both.write_bytes(key.read_bytes() + public.read_bytes())
    return both


def test_a_certificate_that_nobody_vouches_for_is_not_trusted(certificate: Path) -> None:
    """The key must not go to whoever answers."""
    with serving.serving(OpenAISpeech(), certificate=certificate) as provider:
        assert asked_elsewhere(provider.url) == "network: SSLCertVerificationError"
        assert provider.asked == []


def test_an_authority_of_ones_own_is_trusted(certificate: Path) -> None:
    """SSL_CERT_FILE, as companies set it."""
    with serving.serving(OpenAISpeech(), certificate=certificate) as provider:
        provider.always.append(lambda asked, speech: Answer(204))
        assert asked_elsewhere(provider.url, SSL_CERT_FILE=str(certificate.parent / "public.pem")) == "204"
