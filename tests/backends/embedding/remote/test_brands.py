"""What a specification comes to."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backends.embedding import EmbeddingSpec, EmbeddingUnavailableError, create
from backends.embedding.catalog import APIS
from backends.embedding.remote.brands import BRANDS
from backends.embedding.remote.creation import create_remote
from backends.embedding.remote.credentials import bearer, google_key
from backends.embedding.remote.retrying import LONGEST_ASKED_S
from backends.embedding.remote.wire import RefusedError, Reply, Request, Trouble
from backends.text.scripts import Script
from tests.backends.embedding.remote import serving
from tests.backends.embedding.remote.conftest import Desk
from tests.backends.embedding.remote.contract import KEY
from tests.backends.embedding.remote.serving import unit_of

ROOT = Path(__file__).parents[4]


def refused(**spec: Any) -> EmbeddingUnavailableError:
    with pytest.raises(EmbeddingUnavailableError) as raised:
        create(EmbeddingSpec(**spec))
    return raised.value


def test_the_choice_finds_a_provider_behind_http(openai_desk: Desk) -> None:
    """`create` makes it like any other."""
    spec = replace(openai_desk.entry.spec, base_url=openai_desk.provider.url)
    model = create(spec)
    assert model is not None
    assert model.identity.model == "text-embedding-3-small"


def test_a_key_that_is_needed_is_missed_before_anything_is_sent() -> None:
    """The next step names where to put it."""
    error = refused(provider="openai")
    assert error.code == "embedding_not_configured"
    assert "apiKey" in error.hint


@pytest.mark.parametrize(
    "spec",
    [
        {"provider": "openai-compatible", "base_url": "http://127.0.0.1:1"},
        {"provider": "openai-compatible", "model": "m"},
        {"provider": "my-own", "api": "openai-completions", "model": "m"},
        {"provider": "openai-compatible", "model": "m", "base_url": "api.example.org/v1"},
        {"provider": "openai-compatible", "model": "m", "base_url": "http://[broken"},
    ],
)
def test_what_has_no_default_must_be_given(spec: dict[str, Any]) -> None:
    """A model and an address."""
    assert refused(**spec).code == "embedding_not_configured"


def test_an_unknown_provider_is_told_the_known_ones() -> None:
    """Those behind HTTP, too."""
    error = refused(provider="opneai")
    assert error.code == "unknown_provider"
    assert "openai" in error.hint
    assert refused(provider="my-own", api="anthropic-messages").code == "unknown_provider"


def test_a_server_that_is_not_there_is_unreachable() -> None:
    """No matter which brand."""
    spec = EmbeddingSpec(provider="lmstudio", base_url="http://127.0.0.1:1/v1")
    with pytest.raises(EmbeddingUnavailableError) as raised:
        create_remote(spec, send=_nobody)
    assert raised.value.code == "embedding_unreachable"


def _nobody(request: Request, timeout_s: float) -> Reply:
    # A pause that is not begun, so that the test waits for none.
    raise RefusedError(Trouble.NETWORK, "ConnectionRefusedError", retry_after_s=LONGEST_ASKED_S + 1)


def keys_of(desk: Desk, **changes: Any) -> tuple[str, str]:
    """The provider key of the plain specification and of a changed one."""
    return desk.embedder().identity.key, desk.embedder(**changes).identity.key


@pytest.mark.parametrize(
    "changes",
    [
        {"document_input_type": "passage"},
        {"query_input_type": "query"},
        {"dims": 8},
        {"headers": (("X-Region", "eu"),)},
    ],
)
def test_what_changes_vectors_changes_the_identity(openai_desk: Desk, changes: dict[str, Any]) -> None:
    """Vectors of one identity are compared and kept as one."""
    plain, changed = keys_of(openai_desk, **changes)
    assert plain != changed


def test_another_endpoint_changes_the_identity(openai_desk: Desk) -> None:
    """The same name may be another model there."""
    plain, changed = keys_of(openai_desk, base_url=openai_desk.provider.url + "/v2")
    assert plain != changed


@pytest.mark.parametrize("changes", [{"api_key": "another"}, {"headers": (("X-Api-Key", "another"),)}])
def test_a_secret_is_no_part_of_the_identity(openai_desk: Desk, changes: dict[str, Any]) -> None:
    """A new key must not cost a new index."""
    plain, changed = keys_of(openai_desk, **changes)
    assert plain == changed


def test_how_an_address_is_written_changes_nothing(openai_desk: Desk) -> None:
    """A slash, a user, a query."""
    address = openai_desk.provider.url.replace("http://", "http://me:secret@")
    plain, changed = keys_of(openai_desk, base_url=f"{address}/v1/?api-version=2")
    assert plain == changed


def test_a_header_of_the_configuration_wins_over_the_key() -> None:
    """Gateways have their own way of asking who it is."""
    own = Request("http://x", headers={"Authorization": "Basic abc"})
    assert bearer("key").signed(own, _never) is own
    assert bearer("").signed(Request("http://x"), _never).headers == {}


def test_googles_key_goes_into_a_header_of_its_own() -> None:
    """As it is."""
    assert google_key("key").signed(Request("http://x"), _never).headers == {"x-goog-api-key": "key"}


def _never(request: Request) -> Reply:
    raise AssertionError(request.url)


def test_a_key_is_in_no_repr() -> None:
    """Nor are headers and bodies: those are what logs print."""
    request = bearer(KEY).signed(Request("http://x", b"a secret text"), _never)
    assert KEY not in repr((bearer(KEY), request))
    assert "secret" not in repr(request)


def test_each_api_of_the_configuration_names_a_brand_or_waits_for_one() -> None:
    """OpenAI's under all of its names."""
    spoken = {api for api, brand in APIS.items() if brand in BRANDS}
    assert {"openai", "openai-completions", "openai-responses"} <= spoken


def test_models_whose_cosines_are_known_have_a_spread_of_their_own(openai_desk: Desk) -> None:
    """A threshold means the same with all of them."""
    small = openai_desk.embedder().usual_spread(Script.LATIN)
    other = openai_desk.embedder(model="something").usual_spread(Script.LATIN)
    assert small.background < other.background < other.best


def test_threads_share_an_embedder(openai_desk: Desk) -> None:
    """As many as it says, and each gets the vectors of its own texts."""
    model = openai_desk.embedder()
    openai_desk.provider.always.append(serving.refuses_more_than(10))
    found: dict[int, Any] = {}

    def embed(number: int) -> None:
        found[number] = model.embed([f"{number} {at}" for at in range(40)])

    threads = [threading.Thread(target=embed, args=(number,)) for number in range(model.concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    for number in range(model.concurrency):
        np.testing.assert_allclose(found[number][7], unit_of(f"{number} 7", 24), atol=1e-6)


def test_a_model_of_ones_own_loads_no_http_client() -> None:
    """Keywords and static vectors need no network, and no memory for it."""
    code = "import sys; from backends.embedding import *; create(EmbeddingSpec(provider='none'));"
    code += "print(sorted({'httpx', 'tenacity'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.strip() == "[]"
