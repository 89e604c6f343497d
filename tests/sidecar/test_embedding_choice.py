"""Which embedding provider an agent gets, and what is sent to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.embedding import BatchSpec, EmbeddingSpec
from backends.embedding.catalog import APIS, CATALOG, Place
from sidecar.config import ChosenBy, EmbeddingChoice, choose, load

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJjaGF0In0.c2lnbmF0dXJl"
Choose = Callable[..., EmbeddingChoice]
#: The strongest key first: what each is written as.
KEYS = ("remote", "section", "variable")


def chosen(folder: Path, search: dict[str, Any], *, here: str = "static", **more: Any) -> EmbeddingChoice:
    """The choice for `memorySearch`; `here` is what this machine has, upper-case names are variables."""
    config = {
        "agents": {"defaults": {"memorySearch": search}},
        "memory": more.get("memory", {}),
        "models": {"providers": more.get("providers", {})},
    }
    file = folder / "config.json5"
    file.write_text(json.dumps(config), encoding="utf-8")
    variables = {name: value for name, value in more.items() if name.isupper()}
    settings = load(file, environ={"HOME": str(folder), **variables})
    return choose(settings, settings.agents["main"], on_this_machine=lambda _spec: here)


@pytest.fixture
def choice(tmp_path: Path) -> Choose:
    """`chosen` in a folder of its own."""
    return lambda search, **more: chosen(tmp_path, search, **more)


def test_auto_takes_a_local_model_before_any_key(choice: Choose) -> None:
    """It costs nothing and tells nobody."""
    found = choice({}, here="local", OPENAI_API_KEY="k")
    assert (found.first.provider, found.chosen_by, found.first.api_key) == ("local", ChosenBy.AUTO, "")


def test_auto_takes_the_first_provider_with_a_key(choice: Choose) -> None:
    """In the documented order, which is not that of the alphabet."""
    keys = {f"{name.upper()}_API_KEY": name for name in ("openai", "gemini", "voyage", "mistral")}
    while keys:
        found = choice({}, **keys)
        name, provider = next(iter(keys.items()))
        assert (found.first.provider, found.first.api_key) == (provider, provider)
        assert found.reason == f"{name} is set"
        del keys[name]
    assert choice({}).first.provider == "static"


def test_auto_does_not_look_for_other_keys(choice: Choose) -> None:
    """A GitHub token on a machine is no wish to send notes to GitHub."""
    others = ("DEEPINFRA_API_KEY", "OLLAMA_API_KEY", "GITHUB_TOKEN", "AWS_BEARER_TOKEN_BEDROCK")
    assert choice({}, **dict.fromkeys(others, "k")).first.provider == "static"


def test_auto_with_nothing_at_hand_leaves_keywords(choice: Choose) -> None:
    """The engine is asked for `auto` still, so that it says what is missing and does not think it was a wish."""
    found = choice({}, here="none")
    assert found.first.provider == "auto"
    assert found.to_json()["provider"] == "none"
    assert "not installed" in found.reason


@pytest.mark.parametrize("here", ["local", "static", "none"])
def test_with_the_backend_qmd_an_automatic_choice_stays_on_the_machine(choice: Choose, here: str) -> None:
    """Whatever keys there are."""
    keys = dict.fromkeys(("OPENAI_API_KEY", "GEMINI_API_KEY", "VOYAGE_API_KEY", "MISTRAL_API_KEY"), "k")
    search = {"remote": {"apiKey": "k", "baseUrl": "https://x.example"}}
    found = choice(search, here=here, memory={"backend": "qmd"}, **keys)
    assert found.first.provider == here.replace("none", "auto")
    assert (found.first.api_key, found.first.base_url) == ("", None)


def test_with_the_backend_qmd_a_named_provider_is_still_asked(choice: Choose) -> None:
    """Only what was chosen by nobody stays."""
    assert choice({"provider": "openai"}, memory={"backend": "qmd"}, OPENAI_API_KEY="k").first.api_key == "k"


@pytest.mark.parametrize("provider", sorted(CATALOG))
def test_a_search_needs_the_provider_that_is_named_unless_it_is_on_this_machine(choice: Choose, provider: str) -> None:
    """Whoever names a hosted model wants to know when it is away; `auto` and models of one's own degrade."""
    found = choice({"provider": provider, "model": "m", "remote": {"baseUrl": "http://127.0.0.1:1"}})
    assert found.first.required == (CATALOG[provider].place is not Place.HERE)
    assert found.chosen_by is ChosenBy.CONFIG


def test_a_provider_that_was_chosen_automatically_is_not_required(choice: Choose) -> None:
    """Nobody asked for it."""
    assert not choice({}, OPENAI_API_KEY="k").first.required


@pytest.mark.parametrize("strongest", range(3))
def test_a_key_of_the_search_beats_that_of_the_provider_which_beats_the_environment(
    choice: Choose, strongest: int
) -> None:
    """The nearer to the search, the stronger."""
    remote, section, variable = ("" if place < strongest else name for place, name in enumerate(KEYS))
    search = {"provider": "voyage", "remote": {"apiKey": remote}}
    found = choice(search, providers={"voyage": {"apiKey": section}}, VOYAGE_API_KEY=variable)
    assert found.first.api_key == KEYS[strongest]


@pytest.mark.parametrize(("provider", "entry"), [(name, entry) for name, entry in CATALOG.items() if entry.variables])
def test_every_variable_of_a_provider_may_hold_its_key(choice: Choose, provider: str, entry: Any) -> None:
    """The first of them wins."""
    for variable in reversed(entry.variables):
        assert choice({"provider": provider}, **{variable: "k"}).first.api_key == "k"
    both = choice({"provider": provider}, **{name: name for name in entry.variables})
    assert both.first.api_key == entry.variables[0]


def test_a_key_from_the_env_file_of_openclaw_counts(tmp_path: Path) -> None:
    """That is where its users keep them."""
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / ".env").write_text("MISTRAL_API_KEY=from-file\n", encoding="utf-8")
    assert chosen(tmp_path, {}).first.api_key == "from-file"


def test_gemini_has_the_key_and_address_of_openclaws_google(choice: Choose) -> None:
    """OpenClaw calls the same account by another name."""
    google = {"apiKey": "k", "baseUrl": "https://proxy.example/v1beta"}
    found = choice({"provider": "gemini"}, providers={"google": google})
    assert (found.first.api_key, found.first.base_url) == ("k", google["baseUrl"])


@pytest.mark.parametrize("login", [JWT, "oauth", "openai-oauth", "codex_oauth", "ya29.a0Af"])
def test_a_sign_in_for_chat_is_no_key(choice: Choose, login: str) -> None:
    """It would be refused at every request; the next place is looked at instead."""
    providers = {"openai": {"apiKey": login}}
    assert choice({}, providers=providers).first.provider == "static"
    assert choice({}, providers=providers, OPENAI_API_KEY="k").first.api_key == "k"
    assert choice({"provider": "openai"}, OPENAI_API_KEY=login).first.api_key == ""
    providers["openai"]["baseUrl"] = "https://API.openai.com/v1"
    assert choice({"provider": "openai"}, providers=providers).first.api_key == ""


def test_a_gateway_of_ones_own_may_ask_for_any_token(choice: Choose) -> None:
    """Company proxies give out JWTs."""
    found = choice({"provider": "openai", "remote": {"baseUrl": "https://gateway.example/v1", "apiKey": JWT}})
    assert found.first.api_key == JWT


def test_the_address_of_the_search_beats_that_of_the_provider(choice: Choose) -> None:
    """As with keys."""
    providers = {"openai": {"baseUrl": "https://section.example"}}
    assert choice({"provider": "openai"}, providers=providers).first.base_url == "https://section.example"
    search = {"provider": "openai", "remote": {"baseUrl": "https://remote.example"}}
    assert choice(search, providers=providers).first.base_url == "https://remote.example"


def test_headers_merge_without_regard_to_case_and_null_removes(choice: Choose) -> None:
    """Those of the search win."""
    providers = {"openai": {"headers": {"X-Team": "a", "X-Trace": "on", "X-Org": "o"}}}
    search = {"provider": "openai", "remote": {"headers": {"x-team": "b", "X-TRACE": None}}}
    assert choice(search, providers=providers).first.headers == (("X-Org", "o"), ("x-team", "b"))


def test_nothing_of_the_first_provider_reaches_the_second(choice: Choose) -> None:
    """A key is for one host; the fallback has its own."""
    search = {
        "provider": "openai",
        "model": "text-embedding-3-large",
        "fallback": "mistral",
        "outputDimensionality": 256,
        "queryInputType": "q",
        "remote": {"apiKey": "first", "baseUrl": "https://first.example", "headers": {"X-Secret": "first"}},
    }
    found = choice(search, MISTRAL_API_KEY="second")
    assert found.second == EmbeddingSpec(provider="mistral", api_key="second")


def test_with_auto_what_remote_holds_is_openais_alone(choice: Choose) -> None:
    """It does not say whose it is; the key of another provider must not go to that address."""
    remote = {"apiKey": "mine", "baseUrl": "https://gateway.example/v1"}
    found = choice({"remote": remote}, GEMINI_API_KEY="g")
    assert (found.first.provider, found.first.api_key) == ("openai", "mine")
    found = choice({"remote": {"baseUrl": remote["baseUrl"]}}, GEMINI_API_KEY="g")
    assert (found.first.provider, found.first.base_url) == ("static", None)


def test_auto_passes_a_provider_whose_address_is_none(choice: Choose) -> None:
    """Sections of `models.providers` were written for chat; they must neither stop the daemon nor mislead it."""
    providers = {"openai": {"apiKey": "k", "baseUrl": "not an address"}}
    assert choice({}, providers=providers).first.provider == "static"


@pytest.mark.parametrize(
    "search", [{"provider": "voyage", "fallback": "voyage"}, {"provider": "none", "fallback": "voyage"}]
)
def test_a_fallback_that_is_no_other_provider_is_none(choice: Choose, search: dict[str, str]) -> None:
    """And whoever wants no vectors gets none."""
    assert choice(search, VOYAGE_API_KEY="k").second is None


def test_a_fallback_that_auto_came_to_already_is_none(choice: Choose) -> None:
    """It would be asked twice."""
    assert choice({"fallback": "openai"}, OPENAI_API_KEY="k").second is None


def test_a_provider_of_the_configurations_own_speaks_by_its_api(choice: Choose) -> None:
    """It has its own key and address, and never the key of the one whose protocol it speaks."""
    providers = {"gpu-box": {"api": "ollama", "baseUrl": "http://127.0.0.1:9", "apiKey": "own"}}
    found = choice({"provider": "gpu-box"}, providers=providers, OLLAMA_API_KEY="other").first
    assert (found.provider, found.api, found.base_url, found.api_key) == (
        "gpu-box",
        "ollama",
        "http://127.0.0.1:9",
        "own",
    )
    assert found.model == "nomic-embed-text"
    del providers["gpu-box"]["apiKey"]
    assert choice({"provider": "gpu-box"}, providers=providers, OLLAMA_API_KEY="other").first.api_key == ""


def test_every_known_api_is_that_of_a_provider() -> None:
    """A name that leads nowhere would pass the checks and fail at the first request."""
    assert set(APIS.values()) <= set(CATALOG)


def test_a_local_model_is_a_file_of_the_user_or_an_address(choice: Choose, tmp_path: Path) -> None:
    """`~` and relative paths start at the home folder: a service has no working folder."""
    local = {"modelPath": "~/m.gguf", "modelCacheDir": "${CACHE}/models"}
    found = choice({"provider": "local", "local": local}, CACHE="/c").first
    assert (found.model_path, found.model_cache_dir) == (str(tmp_path / "m.gguf"), "/c/models")
    assert choice({"provider": "local", "local": {"modelPath": "m.gguf"}}).first.model_path == str(tmp_path / "m.gguf")
    assert choice({"provider": "local", "local": {"modelPath": "hf:a/b"}}).first.model_path == "hf:a/b"


@pytest.mark.parametrize("provider", ["local", "static"])
def test_a_model_of_another_provider_is_not_asked_of_one_on_this_machine(choice: Choose, provider: str) -> None:
    """`model` of a configuration that says `auto` names a hosted one."""
    assert choice({"model": "text-embedding-3-large"}, here=provider).first.model is None


@pytest.mark.parametrize("provider", sorted(name for name, entry in CATALOG.items() if entry.place is not Place.HERE))
def test_batches_are_for_those_who_take_them(choice: Choose, provider: str) -> None:
    """With the configured pauses, in seconds."""
    batch = {"enabled": True, "wait": False, "concurrency": 3, "pollIntervalMs": 1500, "timeoutMinutes": 2}
    search = {"provider": provider, "model": "m", "remote": {"baseUrl": "http://127.0.0.1:1", "batch": batch}}
    wanted = BatchSpec(wait=False, concurrency=3, poll_interval_s=1.5, timeout_s=120)
    assert choice(search).first.batch == (wanted if provider in ("openai", "gemini", "voyage") else None)
    assert choice({**search, "remote": {"baseUrl": "http://127.0.0.1:1"}}).first.batch is None


def test_lengths_and_input_types_are_passed_on(choice: Choose) -> None:
    """To the provider that they were configured for."""
    search = {"provider": "voyage", "outputDimensionality": 256, "queryInputType": "q", "documentInputType": "d"}
    found = choice(search).first
    assert (found.dims, found.query_input_type, found.document_input_type) == (256, "q", "d")


@given(
    provider=st.sampled_from(["auto", *CATALOG]),
    fallback=st.sampled_from(list(CATALOG)),
    variables=st.sets(st.sampled_from(sorted({name for entry in CATALOG.values() for name in entry.variables}))),
    backend=st.sampled_from(["auto", "qmd", "builtin"]),
    here=st.sampled_from(["local", "static", "none"]),
)
def test_no_key_ever_meets_an_address_that_it_is_not_for(
    tmp_path_factory: pytest.TempPathFactory,
    provider: str,
    fallback: str,
    variables: set[str],
    backend: str,
    here: str,
) -> None:
    """Whatever is set, the second gets its own key, and what an operator sees holds none."""
    search = {
        "provider": provider,
        "fallback": fallback if fallback != "openai-compatible" else "none",
        "model": "m",
        "remote": {"apiKey": "canary-remote", "baseUrl": "https://first.example", "headers": {"X": "canary-remote"}},
    }
    keys = {name: f"canary-{name}" for name in variables}
    found = chosen(tmp_path_factory.mktemp("c"), search, here=here, memory={"backend": backend}, **keys)
    assert "canary" not in repr(found) + json.dumps(found.to_json())
    if found.second is not None:
        own = {f"canary-{name}" for name in CATALOG[found.second.provider].variables}
        assert found.second.api_key in {"", *own}
        assert (found.second.base_url, found.second.headers) == (None, ())
    if CATALOG.get(found.first.provider, CATALOG["none"]).place is Place.HERE:
        assert found.first.api_key == ""
