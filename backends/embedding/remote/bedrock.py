"""Embedding models of Amazon Bedrock, spoken through InvokeModel.

Bodies follow the Amazon Bedrock and Amazon Nova user guides (model-parameters-titan-embed-text, -embed-v3, -embed-v4,
nova/embeddings-schema); the path is that of the service model in botocore 1.44.8. Requests carry a Bedrock API key as
a bearer token, or are signed with SigV4 by botocore, from its own chain of credentials. botocore is an extra and is
imported only where something is signed or a profile is read.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote

import orjson

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError, Side, Vectors
from backends.embedding.catalog import default_model
from backends.embedding.remote.credentials import bearer
from backends.embedding.remote.rows import at, parsed, rows
from backends.embedding.remote.wire import Credentials, Limits, RefusedError, Reply, Request, Send, Trouble, Wire

MODEL = default_model("bedrock")

_EXTRA = "Install the extra: pip install 'qmd-sidecar[bedrock]'"
_REGION_OF_HOST = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-\d+")
_PURPOSES = {Side.QUERY: "TEXT_RETRIEVAL", Side.DOCUMENT: "GENERIC_INDEX"}
_INPUT_TYPES = {Side.QUERY: "search_query", Side.DOCUMENT: "search_document"}
_COHERE_3_CHARACTERS = 2048


@dataclass(frozen=True, slots=True)
class _Family:
    """One shape of bodies: what a request holds for texts, a side and a length, and where its vectors are.

    `dims`: whether the length of vectors can be asked for.
    """

    limits: Limits
    body: Callable[[Sequence[str], str, int | None], dict[str, Any]]
    vectors: Callable[[dict[str, Any]], object]
    input_types: Mapping[Side, str] = field(default_factory=lambda: dict.fromkeys(Side, ""))
    dims: bool = True


def _titan_1(texts: Sequence[str], _input_type: str, _dims: int | None) -> dict[str, Any]:
    return {"inputText": texts[0]}


def _titan_2(texts: Sequence[str], _input_type: str, dims: int | None) -> dict[str, Any]:
    return {"inputText": texts[0], "normalize": True} | ({"dimensions": dims} if dims else {})


def _cohere_3(texts: Sequence[str], input_type: str, _dims: int | None) -> dict[str, Any]:
    # `truncate` counts tokens; a text of more characters than these is refused before tokens are counted.
    return {
        "texts": [text[:_COHERE_3_CHARACTERS] for text in texts],
        "input_type": input_type,
        "embedding_types": ["float"],
        "truncate": "END",
    }


def _cohere_4(texts: Sequence[str], input_type: str, dims: int | None) -> dict[str, Any]:
    body = {"texts": list(texts), "input_type": input_type, "embedding_types": ["float"], "truncate": "RIGHT"}
    return body | ({"output_dimension": dims} if dims else {})


def _nova(texts: Sequence[str], purpose: str, dims: int | None) -> dict[str, Any]:
    asked = {"embeddingPurpose": purpose, "text": {"truncationMode": "END", "value": texts[0]}}
    return {
        "schemaVersion": "nova-multimodal-embed-v1",
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": asked | ({"embeddingDimension": dims} if dims else {}),
    }


def _of_titan(reply: dict[str, Any]) -> object:
    return [at(reply, "embedding")]


def _of_cohere(reply: dict[str, Any]) -> object:
    # With one type asked for, v3 answers with a bare list or with lists by type; both are documented.
    embeddings = at(reply, "embeddings")
    return at(embeddings, "float") if isinstance(embeddings, dict) else embeddings


def _of_nova(reply: dict[str, Any]) -> object:
    return [at(reply, "embeddings", 0, "embedding")]


_ONE_TEXT = Limits(texts=1, tokens=8192, text_tokens=8192)
#: By what their model ids hold, whatever inference profile or ARN stands before it.
_FAMILIES: Mapping[str, _Family] = {
    "amazon.titan-embed-text-v2": _Family(_ONE_TEXT, _titan_2, _of_titan),
    "amazon.titan-embed-text-v1": _Family(_ONE_TEXT, _titan_1, _of_titan, dims=False),
    "amazon.titan-embed-g1-text": _Family(_ONE_TEXT, _titan_1, _of_titan, dims=False),
    "amazon.nova-2-multimodal-embeddings": _Family(_ONE_TEXT, _nova, _of_nova, _PURPOSES),
    "cohere.embed-v4": _Family(
        Limits(texts=96, tokens=128_000, text_tokens=128_000), _cohere_4, _of_cohere, _INPUT_TYPES
    ),
    "cohere.embed-": _Family(
        Limits(texts=96, tokens=96 * 512, text_tokens=512), _cohere_3, _of_cohere, _INPUT_TYPES, dims=False
    ),
}


@dataclass(frozen=True, slots=True)
class BedrockWire:
    """InvokeModel of one model at one endpoint."""

    endpoint: str
    model: str
    family: _Family
    dims: int | None = None
    input_types: Mapping[Side, str] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        """What one request may hold: a single text, except for the models of Cohere."""
        return self.family.limits

    def request(self, texts: Sequence[str], side: Side) -> Request:
        """The request for the vectors of texts, without credentials."""
        body = self.family.body(texts, self.input_types[side], self.dims)
        return Request(
            # The signature is over the path, so a colon has to be escaped here as AWS escapes it.
            url=f"{self.endpoint}/model/{quote(self.model, safe='')}/invoke",
            body=orjson.dumps(body),
            headers={"content-type": "application/json", "accept": "application/json"},
        )

    def vectors(self, reply: Reply, count: int) -> Vectors:
        """The rows of a successful reply, shape (count, dims). Raises `RefusedError(REPLY)`."""
        return rows(self.family.vectors(parsed(reply)), count)


def wire_for(spec: EmbeddingSpec, environ: Mapping[str, str] = os.environ) -> Wire:
    """The wire that a specification asks for.

    Raises `EmbeddingUnavailableError` for a model whose bodies are not known, a length that it cannot be asked for,
    and where no region is set.
    """
    model = spec.model or MODEL
    family = _family_of(model)
    if spec.dims is not None and not family.dims:
        raise EmbeddingUnavailableError(
            "dims_unsupported", f"{model} gives vectors of one length only.", hint="Remove `outputDimensionality`."
        )
    input_types = {
        Side.QUERY: spec.query_input_type or family.input_types[Side.QUERY],
        Side.DOCUMENT: spec.document_input_type or family.input_types[Side.DOCUMENT],
    }
    return BedrockWire(_endpoint(spec, environ), model, family, spec.dims, input_types)


def credentials_for(spec: EmbeddingSpec, environ: Mapping[str, str] = os.environ) -> Credentials:
    """A Bedrock API key of the specification or AWS_BEARER_TOKEN_BEDROCK, else signatures by the AWS chain.

    Raises `EmbeddingUnavailableError` when signatures are needed and botocore is not installed.
    """
    token = spec.api_key or environ.get("AWS_BEARER_TOKEN_BEDROCK", "")
    return bearer(token) if token else Signature(region_of(spec, environ))


def region_of(spec: EmbeddingSpec, environ: Mapping[str, str] = os.environ) -> str:
    """The region of the specification's address, AWS_REGION, AWS_DEFAULT_REGION or the profile, in this order.

    Raises `EmbeddingUnavailableError` when none of them says.
    """
    named = _REGION_OF_HOST.search(spec.base_url or "")
    region = named[1] if named else environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or _profile_region()
    # The region becomes a part of the host that receives memory text, so nothing else may slip in with it.
    if not _REGION.fullmatch(region):
        raise EmbeddingUnavailableError(
            "no_region", "No AWS region is set.", hint="Set AWS_REGION, or `region` in the AWS profile."
        )
    return region


def _family_of(model: str) -> _Family:
    for part, family in _FAMILIES.items():
        if part in model:
            return family
    raise EmbeddingUnavailableError(
        "unknown_model",
        f"The requests of the Bedrock model {model!r} are not known.",
        hint=f"Name one of: {', '.join(_FAMILIES)}; an ARN has to hold such a name.",
    )


def _endpoint(spec: EmbeddingSpec, environ: Mapping[str, str]) -> str:
    if spec.base_url:
        return spec.base_url.rstrip("/")
    region = region_of(spec, environ)
    return f"https://bedrock-runtime.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"


def _profile_region() -> str:
    if find_spec("botocore") is None:
        return ""
    from botocore.exceptions import BotoCoreError

    try:
        return str(_session().get_config_variable("region") or "")
    except BotoCoreError:
        return ""


def _session() -> Any:
    from botocore.session import get_session

    return get_session()


class Signature:
    """SigV4 by botocore, for one region. Safe to use from several threads."""

    def __init__(self, region: str) -> None:
        if find_spec("botocore") is None:
            raise EmbeddingUnavailableError("extra_missing", "botocore is not installed.", hint=_EXTRA)
        self._region = region
        self._lock = threading.Lock()
        self._chain: Any = None

    def signed(self, request: Request, send: Send) -> Request:
        """The request with its signature. Raises `RefusedError(KEY)` when the chain holds no credentials."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        aws = AWSRequest(method=request.method, url=request.url, data=request.body, headers=dict(request.headers))
        SigV4Auth(self._keys(), "bedrock", self._region).add_auth(aws)
        return replace(request, headers={name.lower(): value for name, value in aws.headers.items()})

    def renewed(self) -> bool:
        """Whether the chain, read again, holds other keys than those refused: a profile is rewritten by other tools."""
        try:
            before = self._keys()
            with self._lock:
                self._chain = None
            return bool(self._keys() != before)
        except RefusedError:
            return False

    def _keys(self) -> Any:
        """The access key, secret and session token at this moment; the chain renews its temporary ones itself."""
        from botocore.exceptions import BotoCoreError

        try:
            with self._lock:
                self._chain = self._chain or _session().get_credentials()
                chain = self._chain
            if chain is None:
                raise RefusedError(Trouble.KEY, "no AWS credentials")
            return chain.get_frozen_credentials()
        except BotoCoreError as unusable:
            raise RefusedError(Trouble.KEY, type(unusable).__name__) from unusable
