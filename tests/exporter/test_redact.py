"""Redaction: planted secrets go, look-alikes stay, and twice is the same as once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter import BadPatternError, Redactor
from exporter.redact import KINDS

REDACTOR = Redactor()
# Never a whole token in the source: a secret scanner must not stumble over this file.
BODY = "Ab3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"

TOKENS = [
    ("anthropic-key", "sk-ant-" + BODY),
    ("openai-key", "sk-" + "proj-" + BODY),
    ("github-token", "ghp_" + BODY),
    ("github-token", "github_pat_" + BODY),
    ("gitlab-token", "glpat-" + BODY),
    ("slack-token", "xoxb-" + "12345-" + BODY),
    ("slack-token", "xapp-" + "1-" + BODY),
    ("slack-webhook", "hooks.slack.com/services/" + "T0/B0/" + BODY),
    ("discord-webhook", "discord.com/api/webhooks/" + "123/" + BODY),
    ("aws-key", "AKIA" + "ABCDEFGHIJKLMNOP"),
    ("google-key", "AIza" + BODY),
    ("google-key", "ya29." + BODY),
    ("stripe-key", "sk_live_" + BODY),
    ("jwt", "eyJ" + "hbGciOiJI" + ".eyJzdWIiOiIx." + "SflKxwRJSMeKKF2QT4"),
    ("groq-key", "gsk_" + BODY),
    ("xai-key", "xai-" + BODY),
    ("perplexity-key", "pplx-" + BODY),
    ("huggingface-token", "hf_" + BODY),
    ("replicate-token", "r8_" + BODY),
    ("npm-token", "npm_" + BODY),
    ("pypi-token", "pypi-" + BODY),
    ("sendgrid-key", "SG." + BODY + "." + BODY),
    ("digitalocean-token", "dop_v1_" + HEX),
    ("docker-token", "dckr_pat_" + BODY),
    ("databricks-token", "dapi" + HEX),
    ("grafana-token", "glsa_" + BODY),
    ("supabase-token", "sbp_" + BODY),
    ("atlassian-token", "ATATT" + BODY),
    ("hubspot-token", "pat-eu1-" + BODY),
    ("tavily-key", "tvly-" + BODY),
    ("twilio-key", "SK" + HEX),
    ("fernet-token", "gAAAAA" + BODY + BODY),
    ("telegram-token", "123456789:" + BODY),
    ("api-key", "tskey-" + "auth-" + BODY),
    ("api-key", "tgp_" + "v1_" + BODY),
    ("api-key", "jina_" + BODY + BODY),
    ("api-key", "BSA" + BODY),
    ("api-key", "AQVN" + BODY + BODY),
    ("api-key", "pa-" + BODY + BODY),
    ("api-key", "phx_" + BODY),
    ("api-key", "re_" + "Ab3dE6gH_" + BODY),
    ("api-key", "shippo_" + "live_" + BODY + BODY),
    ("api-key", "FLWSECK-" + BODY),
    ("api-key", "sl." + BODY * 3),
    ("api-key", "sk." + "eyJ" + BODY + "." + BODY),
    ("api-key", "1/1200000000000:" + HEX),
    ("api-key", "sha256~" + BODY + BODY),
    ("api-key", "nsec1" + "q7w2" * 14),
    ("api-key", "xprv" + BODY * 4),
    ("brevo-key", "xsmtpsib-" + HEX),
    ("jfrog-token", "cmVmdGtu" + BODY + BODY),
    ("webhook", "open.feishu.cn/open-apis/bot/v2/hook/" + BODY),
    ("webhook", "maker.ifttt.com/trigger/x/with/key/" + BODY),
]

SURROUNDINGS = [
    "{}",
    "the key is {}, keep it",
    '"{}"',
    "`{}`",
    "```\n{}\n```",
    "https://x.example/?q={}",
    "a\n{}\nb",
    "é{} ",
    "({})",
    "_{} is what it was_",
]

IN_CONTEXT = [
    ("export OPENAI_API_KEY=abcd1234", "abcd1234"),
    ('DB_PASSWORD="correct-horse"', "correct-horse"),
    ("password: hunter2", "hunter2"),
    ("password=swordfish", "swordfish"),
    ("smtp_pass = q1w2e3r4", "q1w2e3r4"),
    ('psk="q1w2e3r4"', "q1w2e3r4"),
    ("密码是q1w2e3r4", "q1w2e3r4"),
    ("my private key 0x" + "0a1b2c3d" * 8, "0a1b2c3d"),
    ('{"auths":{"r":{"auth":"Ym9iOnExdzJlM3I0dDU="}}}', "Ym9iOnExdzJlM3I0dDU"),
    ("docker login -u ada -p q1w2e3r4 r.example", "q1w2e3r4"),
    ("ngrok config add-authtoken 2abcDEF3ghiJKL4mnoPQR", "2abcDEF3ghi"),
    ("ada:$apr1$q1w2e3r4$hn0UdnKYf633lfOmBogju3", "hn0UdnKYf633"),
    ('{"apiKey": "q1w2e3r4t5"}', "q1w2e3r4t5"),
    ('{\\"client_secret\\": \\"q1w2e3r4\\"}', "q1w2e3r4"),
    ("clientSecret: q1w2e3r4", "q1w2e3r4"),
    ("access_token => q1w2e3r4", "q1w2e3r4"),
    ("tool --token q1w2e3r4 --verbose", "q1w2e3r4"),
    ("Authorization: Bearer q1w2e3r4", "q1w2e3r4"),
    ('curl -H "Authorization: Basic dXNlcjpwYXNz"', "dXNlcjpwYXNz"),
    ("bearer abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("X-Api-Key: q1w2e3r4", "q1w2e3r4"),
    ("Set-Cookie: sid=q1w2e3r4; Path=/", "q1w2e3r4"),
    ("postgres://ada:lovelace@db/x", "lovelace"),
    ("https://x.example/cb?code=q1w2e3r4&state=1", "q1w2e3r4"),
    ("card number: 4111 1111 1111 1111", "4111 1111 1111 1111"),
    ("cvc: 123", "123"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef==\n-----END RSA PRIVATE KEY-----", "MIIEabc"),
    ("-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNza abc== -----END OPENSSH PRIVATE KEY-----", "b3BlbnNza"),
    ("-----BEGIN PRIVATE KEY-----\nMIIEcutoff", "MIIEcutoff"),
    ("MIIEcutoffAbcdefghij\nxyz4567890123456==\n-----END PRIVATE KEY-----", "MIIEcutoff"),
    ("the password is hunter2.", "hunter2"),
    ("Password (temporary): hunter2", "hunter2"),
    ("**Password:** `hunter2`", "hunter2"),
    ("пароль: Секрет77", "Секрет77"),
    ('password: "correct horse battery staple"', "horse"),
    ("password = 'it\\'s s3cret'", "s3cret"),
    ("PASSWORD=abc,def;ghi", "ghi"),
    ("token: |\n  q1w2e3r4t5\n", "q1w2e3r4t5"),
    ('os.environ["API_KEY"] = "q1w2e3r4"', "q1w2e3r4"),
    ('{"name": "API_KEY", "value": "q1w2e3r4"}', "q1w2e3r4"),
    ("<db:password>hunter2</db:password>", "hunter2"),
    ("| password | hunter2 |", "hunter2"),
    ("GITHUB_PAT: q1w2e3r4", "q1w2e3r4"),
    ("setx API_KEY q1w2e3r4", "q1w2e3r4"),
    ("login ada password q1w2e3r4", "q1w2e3r4"),
    ("curl -u ada:q1w2e3r4 https://a.example", "q1w2e3r4"),
    ("mysql -u root -pq1w2e3r4 db", "q1w2e3r4"),
    ("Server=x;Password=q1w2e3r4;Database=y", "q1w2e3r4"),
    ("postgres://ada:p@ss:w0rd@db/x", "w0rd"),
    ('Digest username="a", response="' + HEX + '"', HEX),
    ('Cookie: sid="q1w2=e3r4"; theme=dark', "e3r4"),
    ("PIN: 4711", "4711"),
    ("mnemonic: " + "legal winner thank year " * 3, "winner"),
]

HARMLESS = [
    "密码是必填的",
    "psk: required",
    "docker run -p 8080:8080 nginx:1.25",
    "docker login registry.example, then docker run",
    "the authtoken expires",
    '"auth": "required"',
    "sl.wikipedia.org/wiki/Some_Long_Title_About_Boats_And_Herons_On_The_Islands_Of_The_Azores",
    "a live_view_component_with_a_long_name_for_the_page",
    "pa-system-installation-guide-for-the-large-hall-2024",
    "sha256~short",
    "1/12: a date",
    "private key 0x is a prefix",
    "Password: required",
    "the token: maybe later",
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "costs $3.50 or 12,99 EUR",
    "sk-learn-based-thing",
    "ask-me-anything",
    "TOKEN=$MY_TOKEN",
    "password=${DB_PASSWORD}",
    "apiKey: process.env.OPENAI_API_KEY",
    "api_key=<your key>",
    "https://example.org/a?page=2&sort=name",
    "call me at +49 170 1234567",
    "ISBN 978-3-16-148410-0",
    "2026-11-28T10:00:00Z",
    "Public key: see the wiki",
    "card number of the library",
    "-----BEGIN CERTIFICATE-----",
    "パスワードを忘れました",
    "Server: token=",
]


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize(("kind", "token"), TOKENS)
def test_a_token_is_replaced_wherever_it_stands(kind: str, token: str, around: str) -> None:
    """The token goes, its kind is named and counted, and what stands around it stays."""
    if around.endswith("?q={}") and "/" in token:
        around = "{}"
    redacted = REDACTOR.redact(around.format(token))
    assert redacted.text == around.format(f"[redacted:{kind}]")
    assert redacted.counts == {kind: 1}


@pytest.mark.parametrize(("text", "secret"), IN_CONTEXT)
def test_a_value_that_its_name_gives_away_is_replaced(text: str, secret: str) -> None:
    """Assignments, headers, URLs, flags and key blocks lose their secret."""
    redacted = REDACTOR.redact(text).text
    assert secret not in redacted
    assert "[redacted:" in redacted


@pytest.mark.parametrize("text", HARMLESS)
def test_a_look_alike_is_left_alone(text: str) -> None:
    """Ids, prices, prose and references to variables are not touched."""
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize("text", [text for text, _ in IN_CONTEXT] + [token for _, token in TOKENS])
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """The mark is no secret, also behind `password=`."""
    once = REDACTOR.redact(f"password={text} token: {text}").text
    assert REDACTOR.redact(once) == type(REDACTOR.redact(once))(once, {})


GLUED = [
    "sk-ant-" + "api03-" + BODY,
    "ghp_" + BODY,
    "github_pat_" + BODY,
    "glpat-" + BODY,
    "xoxb-" + "12345-" + BODY,
    "AKIA" + "ABCDEFGHIJKLMNOP",
    "AIza" + BODY,
    "sk_live_" + BODY,
    "hf_" + BODY,
    "npm_" + BODY,
    "dop_v1_" + HEX,
    "shpat_" + HEX,
]


@pytest.mark.parametrize("before", ["xxx", "Z", "9", "_", "%7A", "é"])
@pytest.mark.parametrize("token", GLUED)
def test_a_distinctive_prefix_is_known_in_the_middle_of_a_word(token: str, before: str) -> None:
    """Where no word ends in the prefix, nothing has to stand between the two."""
    assert re.fullmatch(rf"{before}\[redacted:[a-z-]+\]", REDACTOR.redact(before + token).text)


@pytest.mark.parametrize(
    "text",
    [
        "risk-ant-colony-optimization",
        "matrixapp-production-europe",
        "task_live_preview20",
        "highs_andlowsofthewholeyear",
    ],
)
def test_a_word_that_ends_like_a_prefix_is_none(text: str) -> None:
    """Words run into each other in names of branches, files and variables."""
    assert REDACTOR.redact(text).text == text


@pytest.mark.parametrize("last", ["", "the end%21"])
@pytest.mark.parametrize("cut", ["", "MIIEcutoff\n"])
def test_what_stands_far_from_an_escape_is_not_lost_with_a_secret(cut: str, last: str) -> None:
    """It is not read again, and not taken out, either, where a secret of the lines that are ends before it."""
    behind = "- they wrote many lines. Über\n" + "éè of plain prose\n" * 40 + last
    redacted = REDACTOR.redact(f"%20\n-----BEGIN PRIVATE KEY-----\n{cut}{behind}").text
    assert redacted == f"%20\n[redacted:private-key]{behind}"


PIECES = st.sampled_from(
    [
        *(token for _, token in TOKENS),
        *(text for text, _ in IN_CONTEXT),
        "password=",
        "token: ",
        " ",
        "\n",
        "\\n",
        "%3D",
        "%0A",
        "%5B",
        "\\\\",
        "&quot;",
        "\u200b",
        "[redacted:",
        "[redacted:jwt]",
        "]",
        "bm90ZTogcGFzc3dvcmQ9aHVudGVyMiAg",
        "cookie: a=",
        "| token | ",
        '"',
        "é",
        "//a:",
        "@",
        "sk-",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=6).map("".join)))
def test_any_text_settles(text: str) -> None:
    """Whatever is redacted once is redacted for good."""
    once = REDACTOR.redact(text).text
    assert REDACTOR.redact(once).text == once


@given(st.text(alphabet="abcdefghij ,.\n", max_size=200))
def test_prose_is_unchanged(text: str) -> None:
    """Text without secrets comes out as it went in."""
    assert REDACTOR.redact(text).text == text


def test_an_operators_pattern_is_a_rule() -> None:
    """A configured pattern redacts as `custom`; with a group, only the group."""
    redactor = Redactor(patterns=[r"EMP-\d{4}", r"badge (\w+)"])
    assert redactor.redact("EMP-1234 has badge xyz").text == "[redacted:custom] has badge [redacted:custom]"


def test_an_allowed_value_stays() -> None:
    """A value that an allow pattern matches as a whole is no secret."""
    redactor = Redactor(allow=[r"hunter\d"])
    assert (
        redactor.redact("password: hunter2 password: hunter22").text
        == "password: hunter2 password: [redacted:assignment]"
    )


def test_of_several_groups_the_one_that_took_part_is_the_secret() -> None:
    """And the whole match where none did."""
    redactor = Redactor(patterns=[r"badge (\w+)|desk (\d+)|floor \d"])
    assert redactor.redact("desk 12, badge xyz, floor 3").text == (
        "desk [redacted:custom], badge [redacted:custom], [redacted:custom]"
    )


@pytest.mark.parametrize("pattern", ["e", r"\W", "redacted", r"[a-z]+\]", r"\[red", ".", "(?s).+"])
def test_an_operators_pattern_leaves_marks_alone(pattern: str) -> None:
    """Whatever it matches: a mark is no secret, so that the second run finds nothing."""
    redactor = Redactor(patterns=[pattern])
    once = redactor.redact("a red house, password: hunter2, [redacted:jwt] [x] é").text
    assert redactor.redact(once) == type(redactor.redact(once))(once, {})


def test_overlapping_secrets_become_one_mark_with_the_name_that_says_most() -> None:
    """What one rule takes hides nothing from another: the rest of the value goes with it."""
    assert REDACTOR.redact(f"password: ghp_{BODY}!tail").text == "password: [redacted:github-token]"


def test_what_is_no_secret_keeps_its_disguise() -> None:
    """Escapes are undone for reading only."""
    text = "caf%C3%A9%20a%3Db \\n \\u0041 &amp; soft\u00adhyphen password%3D{} &quot;x&quot;"
    assert REDACTOR.redact(text.format("hunter2%21")).text == text.format("[redacted:assignment]")


def test_tokens_in_a_list_are_counted_one_by_one() -> None:
    """A line that is a token itself is not the rest of the one above."""
    tokens = [f"ghp_{BODY}", f"xoxb-12345-{BODY}", f"glpat-{BODY}"]
    assert REDACTOR.redact("\n".join(tokens)).counts == {"github-token": 1, "slack-token": 1, "gitlab-token": 1}


def test_many_patterns_are_one_pass(capfd: pytest.CaptureFixture[str]) -> None:
    """Hundreds of an operator's patterns work, and the engine prints nothing."""
    redactor = Redactor(patterns=[rf"(?i)\bstaff{number}-\w{{3,40}}" for number in range(300)])
    assert redactor.redact("see STAFF299-ada").text == "see [redacted:custom]"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("pattern", ["x*", "", "(a|)", ".*", "$"])
def test_a_pattern_that_matches_nothing_at_all_is_refused(pattern: str) -> None:
    """As an allowed value it would switch redaction off, as a secret it says nothing."""
    with pytest.raises(BadPatternError, match="empty text"):
        Redactor(patterns=[pattern])
    with pytest.raises(BadPatternError, match="empty text"):
        Redactor(allow=[pattern])


@pytest.mark.parametrize("pattern", ["(?<=a)b", r"(a)\1", "("])
def test_a_pattern_that_re2_refuses_is_refused(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The error names the pattern and the reason, and nothing is printed behind our back."""
    with pytest.raises(BadPatternError, match="google-re2") as caught:
        Redactor(patterns=[pattern])
    assert caught.value.pattern == pattern
    assert pattern not in str(caught.value).replace("google-re2: missing )", "")
    assert capfd.readouterr().err == ""


def test_the_fingerprint_changes_with_the_rules() -> None:
    """Other patterns, or the same as allowances, mean other exports."""
    assert len({Redactor().fingerprint, Redactor(["a"]).fingerprint, Redactor((), ["a"]).fingerprint}) == 3


def test_a_lone_surrogate_does_not_stop_redaction() -> None:
    """Text that no file can hold is made writable."""
    assert REDACTOR.redact("a\ud800 password: hunter2").text == "a? password: [redacted:assignment]"


def test_the_documentation_names_every_kind_and_no_other() -> None:
    """Who sees a mark finds out what it stands for."""
    text = (Path(__file__).parents[2] / "docs" / "redaction.md").read_text(encoding="utf-8")
    section = text.partition("## Kinds")[2].partition("## Your own")[0]
    assert {*re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", section)} == {*KINDS}
