"""Bedrock: bodies as the user guides have them, and signatures that an independent reading of SigV4 accepts."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import orjson
import pytest

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Side
from backends.embedding.remote import bedrock, transport
from backends.embedding.remote.exchange import Exchange
from backends.embedding.remote.wire import RefusedError, Reply, Trouble
from tests.backends.embedding.remote.loopback import Came, said, send, served, unreachable

REGION = {"AWS_REGION": "eu-central-1"}
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TITAN = {"embedding": [3.0, 4.0], "inputTextTokenCount": 2}


@pytest.fixture(autouse=True)
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No AWS settings but those of the test; its credentials file."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return tmp_path


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys in the environment, with a session token."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session/token==")


def signature_of(came: Came) -> tuple[str, str]:
    """The signature that a request carries, and the one that AWS computes for what came.

    Written from "Create a signed AWS API request" of the IAM user guide, without botocore.
    """
    said_by = dict(part.strip().split("=", 1) for part in came.headers["authorization"].split(" ", 1)[1].split(","))
    scope = said_by["Credential"].split("/", 1)[1]
    names = said_by["SignedHeaders"].split(";")
    canonical = "\n".join(
        [
            came.method,
            quote(came.path, safe="/-_.~"),
            "",
            *(f"{name}:{came.headers[name].strip()}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(came.body).hexdigest(),
        ]
    )
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", came.headers["x-amz-date"], scope, hashed])
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return said_by["Signature"], hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()


def invoked(url: str, text: str) -> None:
    """One signed request to a server that stands for an endpoint."""
    spec = EmbeddingSpec(provider="bedrock", base_url=url)
    wire, credentials = bedrock.wire_for(spec, REGION), bedrock.credentials_for(spec, REGION)
    reply = send(credentials.signed(wire.request([text], Side.DOCUMENT), unreachable))
    assert wire.vectors(reply, 1).tolist() == [[3.0, 4.0]]


def body(model: str, side: Side = Side.DOCUMENT, dims: int | None = None, texts: tuple[str, ...] = ("a",)) -> object:
    """What a request for texts holds."""
    wire = bedrock.wire_for(EmbeddingSpec(provider="bedrock", model=model, dims=dims), REGION)
    return orjson.loads(wire.request(texts, side).body)


@pytest.mark.usefixtures("keys")
def test_a_signature_holds_for_the_request_as_it_arrives() -> None:
    """Region, session token, escaped path and body are all under the signature."""
    pytest.importorskip("botocore")
    with served(lambda came: said(TITAN)) as server:
        invoked(server.url, "où est la clé ?")
    (came,) = server.came
    carried, computed = signature_of(came)
    assert carried == computed
    assert "/eu-central-1/bedrock/aws4_request" in came.headers["authorization"]
    assert came.headers["x-amz-security-token"] == "session/token=="


@pytest.mark.usefixtures("keys")
def test_a_signature_outlives_the_transport() -> None:
    """No part of what is signed is written in another way on its way out."""
    pytest.importorskip("botocore")
    with served(lambda came: said(TITAN)) as server:
        spec = EmbeddingSpec(provider="bedrock", base_url=server.url, headers=(("X-Team", "memory"),))
        wire, credentials = bedrock.wire_for(spec, REGION), bedrock.credentials_for(spec, REGION)
        exchange = Exchange(wire=wire, credentials=credentials, send=transport.send, headers=dict(spec.headers))
        assert exchange.ask(["où est la clé ?"], Side.QUERY).tolist() == [[3.0, 4.0]]
    (came,) = server.came
    assert len(set(signature_of(came))) == 1
    assert came.headers["x-team"] == "memory"


@pytest.mark.usefixtures("keys")
def test_a_request_is_the_one_that_the_client_of_aws_sends() -> None:
    """Same path, same body, same headers under the signature; and the reading above accepts the client's, too."""
    pytest.importorskip("botocore")
    from botocore.config import Config
    from botocore.session import get_session

    with served(lambda came: said(TITAN)) as server:
        invoked(server.url, "text")
        client = get_session().create_client(
            "bedrock-runtime",
            region_name="eu-central-1",
            endpoint_url=server.url,
            config=Config(signature_version="v4"),
        )
        client.invoke_model(
            modelId=bedrock.MODEL,
            body=server.came[0].body,
            contentType="application/json",
            accept="application/json",
        )["body"].close()
        client.close()
    ours, theirs = server.came
    assert (ours.method, ours.path, ours.body) == (theirs.method, theirs.path, theirs.body)
    assert ours.path == "/model/amazon.titan-embed-text-v2%3A0/invoke"
    assert {"content-type", "accept"} <= {
        name for name in ours.headers if ours.headers[name] == theirs.headers.get(name)
    }
    assert len(set(signature_of(theirs))) == 1


def test_a_profile_gives_the_keys_and_the_region(aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AWS_PROFILE names them in the files of the AWS command line."""
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_PROFILE", "memory")
    (aws / "config").write_text("[profile memory]\nregion = us-west-2\n", encoding="utf-8")
    (aws / "credentials").write_text(
        f"[memory]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = {SECRET}\n", encoding="utf-8"
    )
    spec = EmbeddingSpec(provider="bedrock")
    request = bedrock.wire_for(spec, {}).request(["a"], Side.QUERY)
    signed = bedrock.credentials_for(spec, {}).signed(request, unreachable)
    assert request.url.startswith("https://bedrock-runtime.us-west-2.amazonaws.com/model/")
    assert "Credential=AKIDPROFILE/" in signed.headers["authorization"]
    assert "/us-west-2/" in signed.headers["authorization"]


def test_refused_keys_are_read_again_once_a_profile_was_rewritten(aws: Path) -> None:
    """Another try makes sense with other keys only."""
    pytest.importorskip("botocore")

    def write(key: str) -> None:
        lines = f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {SECRET}\n"
        (aws / "credentials").write_text(lines, encoding="utf-8")

    write("AKIDFIRST")
    credentials = bedrock.credentials_for(EmbeddingSpec(provider="bedrock"), REGION)
    assert not credentials.renewed()
    write("AKIDSECOND")
    assert credentials.renewed()


def test_no_keys_anywhere_are_a_refused_key() -> None:
    """The chain ends without any."""
    pytest.importorskip("botocore")
    spec = EmbeddingSpec(provider="bedrock")
    credentials = bedrock.credentials_for(spec, REGION)
    with pytest.raises(RefusedError) as refused:
        credentials.signed(bedrock.wire_for(spec, REGION).request(["a"], Side.QUERY), unreachable)
    assert refused.value.trouble is Trouble.KEY


def test_an_unknown_profile_is_a_refused_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """What botocore raises is told by its class alone."""
    pytest.importorskip("botocore")
    monkeypatch.setenv("AWS_PROFILE", "nonesuch")
    credentials = bedrock.credentials_for(EmbeddingSpec(provider="bedrock"), REGION)
    with pytest.raises(RefusedError) as refused:
        credentials.signed(bedrock.wire_for(EmbeddingSpec(), REGION).request(["a"], Side.QUERY), unreachable)
    assert (refused.value.trouble, refused.value.detail) == (Trouble.KEY, "ProfileNotFound")


@pytest.mark.parametrize(
    ("spec", "environ"),
    [
        (EmbeddingSpec(provider="bedrock", api_key="ABSK"), REGION),
        (EmbeddingSpec(provider="bedrock"), {**REGION, "AWS_BEARER_TOKEN_BEDROCK": "ABSK"}),
    ],
)
def test_an_api_key_of_bedrock_goes_as_a_bearer_token(spec: EmbeddingSpec, environ: dict[str, str]) -> None:
    """From the configuration or the environment, and never into a repr."""
    credentials = bedrock.credentials_for(spec, environ)
    signed = credentials.signed(bedrock.wire_for(spec, environ).request(["a"], Side.QUERY), unreachable)
    assert signed.headers["authorization"] == "Bearer ABSK"
    assert "ABSK" not in repr(credentials) + repr(signed)
    assert not credentials.renewed()


def test_without_the_extra_the_hint_says_how_to_get_it() -> None:
    """A Python that has no botocore, asked for a signature."""
    script = (
        "import sys; sys.modules['botocore'] = None\n"
        "from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError\n"
        "from backends.embedding.remote import bedrock\n"
        "try: bedrock.credentials_for(EmbeddingSpec(provider='bedrock'), {'AWS_REGION': 'eu-west-1'})\n"
        "except EmbeddingUnavailableError as e: print(e.code, e.hint)\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "extra_missing Install the extra: pip install 'qmd-sidecar[bedrock]'"


def test_importing_the_module_does_not_import_botocore() -> None:
    """It costs time and memory that other providers need not pay."""
    script = "import sys, backends.embedding.remote.bedrock; sys.exit('botocore' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@pytest.mark.parametrize(
    ("base_url", "environ", "region"),
    [
        ("https://bedrock-runtime.ap-south-1.amazonaws.com", REGION, "ap-south-1"),
        ("https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com", REGION, "us-gov-west-1"),
        ("https://vpce-0a.bedrock-runtime.eu-west-3.vpce.amazonaws.com", REGION, "eu-west-3"),
        ("https://proxy.example/aws", REGION, "eu-central-1"),
        (None, {"AWS_DEFAULT_REGION": "sa-east-1"}, "sa-east-1"),
        (None, {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "sa-east-1"}, "us-east-1"),
    ],
)
def test_the_region_is_the_one_of_the_address_before_that_of_the_environment(
    base_url: str | None, environ: dict[str, str], region: str
) -> None:
    assert bedrock.region_of(EmbeddingSpec(base_url=base_url), environ) == region


@pytest.mark.parametrize("region", ["", "eu-central-1.evil.example/", "somewhere"])
def test_what_is_no_region_is_refused(region: str) -> None:
    """It would be a part of the host that receives the texts."""
    with pytest.raises(EmbeddingUnavailableError) as refused:
        bedrock.wire_for(EmbeddingSpec(provider="bedrock"), {"AWS_REGION": region})
    assert refused.value.code == "no_region"


def test_china_has_hosts_of_its_own() -> None:
    request = bedrock.wire_for(EmbeddingSpec(), {"AWS_REGION": "cn-north-1"}).request(["a"], Side.QUERY)
    assert request.url.startswith("https://bedrock-runtime.cn-north-1.amazonaws.com.cn/")


def test_titan_takes_one_text_and_a_length() -> None:
    """`normalize` is asked for, and a length only where one is configured."""
    assert body(bedrock.MODEL) == {"inputText": "a", "normalize": True}
    assert body(bedrock.MODEL, dims=256) == {"inputText": "a", "normalize": True, "dimensions": 256}
    assert bedrock.wire_for(EmbeddingSpec(), REGION).limits.texts == 1


def test_cohere_3_takes_many_texts_and_cuts_what_it_would_refuse() -> None:
    """Questions and documents are embedded as what they are."""
    asked = body("cohere.embed-multilingual-v3", Side.QUERY, texts=("a", "b" * 3000))
    assert asked == {
        "texts": ["a", "b" * 2048],
        "input_type": "search_query",
        "embedding_types": ["float"],
        "truncate": "END",
    }


def test_cohere_4_takes_a_length() -> None:
    """Through an inference profile, too."""
    assert body("eu.cohere.embed-v4:0", dims=512) == {
        "texts": ["a"],
        "input_type": "search_document",
        "embedding_types": ["float"],
        "truncate": "RIGHT",
        "output_dimension": 512,
    }


def test_nova_takes_one_text_for_a_purpose() -> None:
    assert body("amazon.nova-2-multimodal-embeddings-v1:0", Side.QUERY, dims=384) == {
        "schemaVersion": "nova-multimodal-embed-v1",
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": {
            "embeddingPurpose": "TEXT_RETRIEVAL",
            "embeddingDimension": 384,
            "text": {"truncationMode": "END", "value": "a"},
        },
    }


def test_input_types_of_the_configuration_win() -> None:
    spec = EmbeddingSpec(model="cohere.embed-english-v3", document_input_type="clustering")
    request = bedrock.wire_for(spec, REGION).request(["a"], Side.DOCUMENT)
    assert orjson.loads(request.body)["input_type"] == "clustering"


def test_an_arn_is_one_part_of_the_path() -> None:
    """Its slashes and colons are escaped."""
    arn = "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.cohere.embed-v4:0"
    request = bedrock.wire_for(EmbeddingSpec(model=arn), REGION).request(["a"], Side.QUERY)
    assert request.url.endswith(
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Feu.cohere.embed-v4%3A0/invoke"
    )


def test_a_model_of_unknown_bodies_is_refused_by_name() -> None:
    with pytest.raises(EmbeddingUnavailableError) as refused:
        bedrock.wire_for(EmbeddingSpec(model="anthropic.claude"), REGION)
    assert refused.value.code == "unknown_model"


def test_a_length_that_a_model_cannot_give_is_refused() -> None:
    with pytest.raises(EmbeddingUnavailableError) as refused:
        bedrock.wire_for(EmbeddingSpec(model="cohere.embed-english-v3", dims=256), REGION)
    assert refused.value.code == "dims_unsupported"


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        (bedrock.MODEL, {"embedding": [1.0, 2.0]}),
        ("cohere.embed-v4:0", {"embeddings": {"float": [[1.0, 2.0]]}}),
        ("cohere.embed-english-v3", {"embeddings": [[1.0, 2.0]], "response_type": "embeddings_floats"}),
        (
            "amazon.nova-2-multimodal-embeddings-v1:0",
            {"embeddings": [{"embeddingType": "TEXT", "embedding": [1.0, 2.0]}]},
        ),
    ],
)
def test_vectors_are_read_from_where_each_model_has_them(model: str, reply: object) -> None:
    wire = bedrock.wire_for(EmbeddingSpec(model=model), REGION)
    assert wire.vectors(Reply(200, orjson.dumps(reply)), 1).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"[]",
        b"{}",
        b'{"embeddings": []}',
        b'{"embeddings": [[1], [2, 3]]}',
        b'{"embeddings": [[1, 2]]}',
        b'{"embeddings": [[], []]}',
        b'{"embeddings": [["a"], ["b"]]}',
        b'{"embeddings": {"int8": [[1], [2]]}}',
    ],
)
def test_anything_else_is_a_wrong_reply(body: bytes) -> None:
    """Two vectors of one length were asked for."""
    wire = bedrock.wire_for(EmbeddingSpec(model="cohere.embed-v4:0"), REGION)
    with pytest.raises(RefusedError) as refused:
        wire.vectors(Reply(200, body), 2)
    assert refused.value.trouble is Trouble.REPLY
