"""What a configuration is told about its embedding provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.config import Finding, Settings, check
from sidecar.config.sendable import address_problem, is_in_clear
from tests.sidecar.config.conftest import Load, Refuse

CANARY = "canary-3f9c"


def configuration(search: dict[str, Any], providers: dict[str, Any] | None = None) -> str:
    """The text of a configuration with this `memory.search`."""
    return json.dumps({"memory": {"search": search}, "models": {"providers": providers or {}}})


def told(settings: Settings) -> list[tuple[str, str]]:
    """The remarks about a configuration that loads: code and key."""
    return [(finding.code, finding.key) for finding in settings.findings]


@pytest.mark.parametrize("role", ["provider", "fallback"])
@pytest.mark.parametrize(
    ("name", "meant"),
    [("openapi", "openai"), ("google", "gemini"), ("amazon-bedrock", "bedrock"), ("Voyage", "voyage")],
)
def test_an_unknown_provider_is_refused_with_the_one_that_is_meant(
    refuse: Refuse, role: str, name: str, meant: str
) -> None:
    """Also where the name is OpenClaw's for the same account."""
    (finding,) = refuse(configuration({role: name}))
    assert (finding.code, finding.key) == ("unknown_provider", f"memory.search.{role}")
    assert meant in finding.hint


def test_auto_is_no_fallback(refuse: Refuse) -> None:
    """A second choice is one provider."""
    (finding,) = refuse(configuration({"fallback": "auto"}))
    assert "known: openai" in finding.hint


@pytest.mark.parametrize("section", [{}, {"api": "anthropic-messages"}])
def test_a_provider_of_the_configurations_own_needs_an_api_that_embeds(refuse: Refuse, section: dict[str, str]) -> None:
    """Nothing else says how it is spoken to."""
    (finding,) = refuse(
        configuration({"provider": "box", "model": "m"}, {"box": {"baseUrl": "http://h/v1", **section}})
    )
    assert (finding.code, finding.key) == ("unknown_api", "models.providers.box.api")
    assert "openai-completions" in finding.hint


@pytest.mark.parametrize("provider", ["openai-compatible", "box"])
def test_whoever_has_no_defaults_must_be_given_a_model_and_an_address(refuse: Refuse, provider: str) -> None:
    """Both are said at once."""
    findings = refuse(configuration({"provider": provider}, {"box": {"api": "openai-completions"}}))
    assert [finding.code for finding in findings] == ["no_model", "no_base_url"]


def test_a_fallback_needs_a_default_model(refuse: Refuse) -> None:
    """`model` is the first provider's."""
    compatible = {"openai-compatible": {"baseUrl": "http://127.0.0.1:1"}}
    (finding,) = refuse(configuration({"model": "m", "fallback": "openai-compatible"}, compatible))
    assert (finding.code, finding.key) == ("no_model", "memory.search.fallback")


@pytest.mark.parametrize("role", ["provider", "fallback"])
def test_a_named_provider_without_a_key_is_told_what_to_set(load_text: Load, role: str) -> None:
    """The daemon starts all the same: keywords and qmd need no key."""
    (finding,) = load_text(configuration({role: "voyage"})).findings
    assert (finding.severity, finding.code) == ("warning", "no_api_key")
    assert "VOYAGE_API_KEY" in finding.hint
    assert not load_text(configuration({role: "voyage"}), VOYAGE_API_KEY="k").findings


@pytest.mark.parametrize("provider", ["ollama", "lmstudio", "bedrock", "local", "static", "none", "auto"])
def test_where_no_key_is_needed_none_is_missed(load_text: Load, provider: str) -> None:
    """AWS has ways of its own to find who one is."""
    assert not load_text(configuration({"provider": provider})).findings


def test_a_sign_in_for_chat_is_named_as_the_reason(load_text: Load) -> None:
    """Whoever sees a key in the file must not search for the reason."""
    (finding,) = load_text(configuration({"provider": "openai"}, {"openai": {"apiKey": "openai-oauth"}})).findings
    assert "models.providers.openai.apiKey holds a sign-in for chat alone" in finding.message


def test_a_remark_about_the_defaults_is_made_once(load_text: Load) -> None:
    """However many agents have them."""
    agents = {"list": [{"id": "a", "workspace": "/a"}, {"id": "b", "workspace": "/b"}]}
    text = json.dumps({"agents": {**agents, "defaults": {"memorySearch": {"provider": "voyage"}}}})
    assert told(load_text(text)) == [("no_api_key", "agents.defaults.memorySearch.provider")]


def test_an_agent_that_does_not_search_is_told_nothing(load_text: Load) -> None:
    """Nothing of it is used."""
    assert not load_text(configuration({"enabled": False, "provider": "voyage"})).findings


@pytest.mark.parametrize(
    ("search", "key"),
    [
        ({"provider": "voyage", "fallback": "voyage"}, "fallback"),
        ({"provider": "none", "fallback": "voyage"}, "fallback"),
        ({"provider": "mistral", "remote": {"batch": {"enabled": True}}}, "remote.batch"),
        ({"provider": "static", "remote": {"apiKey": "k"}}, "remote"),
    ],
)
def test_what_has_no_effect_is_told(load_text: Load, search: dict[str, Any], key: str) -> None:
    """Half a setting is easily missed."""
    settings = load_text(configuration(search), VOYAGE_API_KEY="k", MISTRAL_API_KEY="k")
    assert told(settings) == [("no_effect", f"memory.search.{key}")]


def test_with_auto_remote_is_told_to_be_openais(load_text: Load) -> None:
    """It names nobody."""
    assert told(load_text(configuration({"remote": {"apiKey": "k"}}))) == [("assumed_openai", "memory.search.remote")]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://somewhere/v1",
        "somewhere/v1",
        "https://",
        "http://:80",
        "https://somewhere:port/",
        "https://u:p@somewhere/v1",
        "https://somewhere/v1?key=1",
        "//somewhere",
    ],
)
def test_an_address_is_http_with_a_host_and_nothing_secret(refuse: Refuse, url: str) -> None:
    """It is shown in places where a password must not be."""
    (finding,) = refuse(configuration({"provider": "openai", "remote": {"baseUrl": url, "apiKey": "k"}}))
    assert finding.key == "memory.search.remote.baseUrl"
    assert "somewhere" not in str(finding)


@given(st.text(st.sampled_from("ahtps:/@[]?#%. \n\0é")))
def test_any_text_is_judged_as_an_address(text: str) -> None:
    """Without an accident."""
    assert isinstance(address_problem(text), str)
    assert is_in_clear(text) in (True, False)


@pytest.mark.parametrize(
    ("url", "is_told"),
    [
        ("http://10.0.0.7:11434", True),
        ("http://box.example", True),
        ("http://127.0.0.1:11434", False),
        ("http://[::1]:11434", False),
        ("http://localhost:11434", False),
        ("https://box.example", False),
    ],
)
def test_a_key_that_crosses_the_network_in_clear_is_told(load_text: Load, url: str, is_told: bool) -> None:
    """On this machine it crosses none, and without a key there is none to lose."""
    search = {"provider": "ollama", "remote": {"baseUrl": url}}
    keyed = load_text(configuration({**search, "remote": {"baseUrl": url, "apiKey": "k"}}))
    assert [code for code, _ in told(keyed)] == (["key_in_clear"] if is_told else [])
    assert not load_text(configuration(search)).findings


@pytest.mark.parametrize(
    ("remote", "key"),
    [
        ({"headers": {"X-A": f"{CANARY}\r\nHost: x"}}, "headers.X-A"),
        ({"headers": {"X-A": f"{CANARY}\u00e9"}}, "headers.X-A"),
        ({"headers": {"X A": CANARY}}, "headers"),
        ({"headers": {"Content-length": CANARY}}, "headers.Content-length"),
        ({"headers": {"TRANSFER-ENCODING": CANARY}}, "headers.TRANSFER-ENCODING"),
        ({"apiKey": f"{CANARY}\n{CANARY}"}, "apiKey"),
    ],
)
def test_what_cannot_stand_in_a_header_is_refused_and_not_repeated(
    refuse: Refuse, remote: dict[str, Any], key: str
) -> None:
    """It would begin another header, or break off every request."""
    (finding,) = refuse(configuration({"provider": "ollama", "remote": remote}))
    assert finding.key == f"memory.search.remote.{key}"
    assert CANARY not in str(finding)


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"provider": "gemini"},
        {"provider": "openai", "model": "gemini-embedding-2-preview"},
        {"model": "gemini-embedding-2-preview"},
    ],
)
def test_images_and_audio_need_the_one_model_that_embeds_them(refuse: Refuse, search: dict[str, str]) -> None:
    """A model of another kind would refuse every file."""
    findings = refuse(configuration({**search, "multimodal": {"enabled": True}}))
    assert [(finding.code, finding.key) for finding in findings if finding.severity == "error"] == [
        ("no_media", "memory.search.multimodal.enabled")
    ]
    assert "gemini-embedding-2-preview" in findings[0].hint


def test_sections_that_are_not_used_do_no_harm(load_text: Load) -> None:
    """They are OpenClaw's, and were written for chat."""
    odd = {"anthropic": {"baseUrl": "u:p@h", "api": "x", "headers": {"a b": "c\nd"}}, "openai": {"baseUrl": "u"}}
    assert not load_text(configuration({}, odd)).findings


SECRETS = [
    {"provider": "openai", "remote": {"apiKey": CANARY, "headers": {"X-Token": CANARY, "baseUrl": CANARY}}},
    {"provider": "openai", "remote": {"baseUrl": f"https://u:{CANARY}@h/v1"}},
    {"provider": "openai", "remote": {"baseUrl": f"https://h/v1?key={CANARY}"}},
    {"provider": "openai", "remote": {"baseUrl": f"https://u:p/{CANARY}@h/v1"}},
    {"provider": "openai", "remote": {"apiKey": f"{CANARY}\n", "headers": {"X": f"{CANARY}\n"}}},
]


@pytest.mark.parametrize("search", SECRETS)
def test_no_remark_holds_a_secret(home: Any, search: dict[str, Any]) -> None:
    """Not even one about the secret itself."""
    file = home / "config.json5"
    file.write_text(configuration(search, {"openai": {"apiKey": CANARY}}), encoding="utf-8")
    findings: tuple[Finding, ...] = check(file, environ={"HOME": str(home), "OPENAI_API_KEY": CANARY})
    assert CANARY not in repr(findings)
