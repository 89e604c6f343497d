"""The table of secrets: what each kind looks like, and which look-alikes are harmless.

Patterns are google-re2: linear time, no look-around, no back-references. Group 1, where there is one, is the secret;
what stands around it stays. The list follows the redaction floor of OpenClaw and the vendors' own documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class SecretRule:
    """One kind of secret. `accept`, where given, has the last word on a matched value."""

    kind: str
    pattern: str
    accept: Callable[[str], bool] | None = None


# `$TOKEN`, `${TOKEN}`, `%TOKEN%`, `<token>`, `{{token}}`, `process.env.TOKEN`, `****`: names of secrets, not secrets.
_REFERENCE: Final = re.compile(
    r"\$\{?\w+\}?|\$\(.*|%\w+%|<.*|\{\{.*|(?:process|import\.meta)\.env\b.*|os\.(?:environ|getenv).*|[*.…xX•]+"
)
_WORD: Final = re.compile(r"[a-z]+|[A-Z][a-z]*|[A-Z]+")


def is_value(text: str) -> bool:
    """Whether an assigned text is a value at all, and not a reference to one."""
    return not _REFERENCE.fullmatch(text)


def is_dense(text: str) -> bool:
    """Letters and digits mixed, as random tokens have and identifiers in prose have not."""
    return any(char.isdigit() for char in text) and any(char.isalpha() for char in text)


def is_no_word(text: str) -> bool:
    """A value that is no plain word: `password: hunter2` is a secret, `password: required` is a sentence."""
    return is_value(text) and not _WORD.fullmatch(text.rstrip(".,;:!?)")) and not text.startswith(("/", "http"))


# What may stand between a field's name and its value: `=`, `:`, `: "`, `\": \"`, `=>`.
_IS: Final = r"\\?[\"'`]?\s*(?:=>|:=|=|:)\s*\\?[\"'`]?"
_EQUALS: Final = r"\\?[\"'`]?\s*(?:=>|:=|=)\s*\\?[\"'`]?"
_COLON: Final = r"\\?[\"'`]?\s*:\s*\\?[\"'`]?"
_VALUE: Final = r"([^\s\"'`\\,;&<>(){}|][^\s\"'`\\,;&|]{3,})"
_FIELD: Final = (
    r"(?:api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|account[_-]?key"
    r"|(?:access|auth|refresh|id|bearer|session|bot|api|app|client)[_-]?token|client[_-]?secret|app[_-]?secret"
    r"|secret[_-]?access[_-]?key|shared[_-]?secret|webhook[_-]?secret|db[_-]?pass(?:word)?|pass(?:word|wd|phrase)|pwd"
    r"|secret|token|credentials?)"
)
_START: Final = r"(?:^|[^A-Za-z0-9])"


def _token(kind: str, shape: str) -> SecretRule:
    """A token that its own prefix gives away."""
    return SecretRule(kind, rf"\b({shape})")


def _dense_token(kind: str, shape: str) -> SecretRule:
    """A token whose prefix is too short to be trusted alone."""
    return SecretRule(kind, rf"\b({shape})", is_dense)


VENDOR_TOKENS: Final = (
    _token("anthropic-key", r"sk-ant-[A-Za-z0-9_-]{8,}"),
    _dense_token("openai-key", r"sk-[A-Za-z0-9_-]{8,}"),
    _token("github-token", r"gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}"),
    _token("gitlab-token", r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|soat|agent|imt)-[A-Za-z0-9_-]{16,}"),
    _token("slack-token", r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"),
    _token("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,}"),
    _token("discord-webhook", r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]{16,}"),
    _dense_token("discord-token", r"[MNO][A-Za-z\d_-]{23,27}\.[A-Za-z\d_-]{6}\.[A-Za-z\d_-]{27,}"),
    _token("aws-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _token("google-key", r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{16,}|GOCSPX-[A-Za-z0-9_-]{16,}"),
    _dense_token("google-refresh-token", r"1//0[A-Za-z0-9_-]{24,}"),
    _token("stripe-key", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9+/=]{16,}"),
    _token("jwt", r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    _token("groq-key", r"gsk_[A-Za-z0-9]{16,}"),
    _token("xai-key", r"xai-[A-Za-z0-9_-]{16,}"),
    _token("perplexity-key", r"pplx-[A-Za-z0-9_-]{16,}"),
    _token("huggingface-token", r"hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}"),
    _dense_token("replicate-token", r"r8_[A-Za-z0-9]{16,}"),
    _token("npm-token", r"npm_[A-Za-z0-9]{16,}"),
    _token("pypi-token", r"pypi-[A-Za-z0-9_-]{16,}"),
    _token("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _token("digitalocean-token", r"do[opr]_v1_[A-Fa-f0-9]{16,}"),
    _token("docker-token", r"dckr_[po]at_[A-Za-z0-9_-]{16,}"),
    _dense_token("doppler-token", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9._-]{16,}"),
    _token("databricks-token", r"dapi[a-f0-9]{32}"),
    _token("grafana-token", r"glsa_[A-Za-z0-9_]{16,}|glc_[A-Za-z0-9+/=]{16,}"),
    _token("supabase-token", r"sbp_[A-Za-z0-9]{16,}"),
    _token("netlify-token", r"nfp_[A-Za-z0-9]{16,}"),
    _token("contentful-token", r"CFPAT-[A-Za-z0-9_-]{16,}"),
    _token("atlassian-token", r"(?:ATCTT3|ATATT|ATBB)[A-Za-z0-9_=-]{16,}|BBDC-[A-Za-z0-9+/=_-]{16,}"),
    _token("heroku-key", r"HRKU-[A-Za-z0-9_-]{16,}"),
    _token("hubspot-token", r"pat-(?:eu|na)\d-[A-Za-z0-9-]{16,}"),
    _token("apify-token", r"apify_api_[A-Za-z0-9]{16,}"),
    _token("fly-token", r"FlyV1 [A-Za-z0-9_,+/=.-]{16,}|fo1_[A-Za-z0-9_-]{16,}"),
    _token("tavily-key", r"tvly-[A-Za-z0-9_-]{12,}"),
    _token("buildkite-token", r"bkua_[A-Za-z0-9]{16,}"),
    _token("circleci-token", r"CCIPAT_[A-Za-z0-9_]{16,}"),
    _token("browserbase-key", r"bb_live_[A-Za-z0-9_-]{12,}"),
    _token("matrix-token", r"syt_[A-Za-z0-9_+/=-]{16,}"),
    _token("age-key", r"AGE-SECRET-KEY-1[A-Z0-9]{16,}"),
    _token("shopify-token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{16,}"),
    _token("linear-key", r"lin_api_[A-Za-z0-9]{16,}"),
    _token("notion-token", r"(?:ntn|secret)_[A-Za-z0-9]{40,}"),
    _token("fernet-token", r"gAAAAA[A-Za-z0-9_-]{32,}={0,2}"),
    _dense_token("twilio-key", r"SK[0-9a-f]{32}\b"),
    _dense_token("alibaba-key", r"LTAI[A-Za-z0-9]{12,}"),
    _dense_token("tencent-key", r"AKID[A-Za-z0-9]{13,}"),
    _dense_token("fireworks-key", r"fw[-_][A-Za-z0-9]{20,}|fpk_[A-Za-z0-9]{16,}"),
    _dense_token("api-key", r"(?:fal|exa|brv|retaindb|mem0|am|sk|ddp|ddw)_[A-Za-z0-9_-]{20,}"),
    _dense_token("api-key", r"(?:fc|hsk|fio-u)-[A-Za-z0-9_-]{20,}"),
    _token("telegram-token", r"(?:bot)?\d{6,12}:[A-Za-z0-9_-]{30,}"),
)

IN_CONTEXT: Final = (
    SecretRule("private-key", r"(?s)(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?-----END [A-Z0-9 ]*-----)"),
    # The end of the key was cut off: everything that looks like its body goes.
    SecretRule("private-key", r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\sA-Za-z0-9+/=\\:,-]*)"),
    SecretRule("url-password", r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"'`]*:([^\s/@\"'`]+)@", is_value),
    SecretRule(
        "url-token",
        r"(?i)[?&#](?:access_token|auth_token|refresh_token|id_token|token|api_?key|key|code|sig|signature|session"
        r"|secret|client_secret|password|auth|x-amz-(?:signature|credential|security-token))=([^\s&#\"'`<>)\]]{6,})",
        is_value,
    ),
    SecretRule(
        "authorization", r"(?i)\bauthorization" + _IS + r"(?:bearer|basic|bot|token)\s+([^\s\"'`\\,;]{6,})", is_value
    ),
    SecretRule("authorization", r"\b[Bb](?:earer|EARER)\s+([A-Za-z0-9._~+/=-]{18,})", is_value),
    SecretRule(
        "header",
        r"(?i)\bx-(?:api-key|auth-token|access-token|openclaw-token|goog-api-key|amz-security-token)"
        + _IS
        + r"([^\s\"'`\\,;]{6,})",
        is_value,
    ),
    SecretRule("cookie", r"(?i)\b(?:set-)?cookie\s*:\s*([^\r\n\"'`]{6,})", lambda text: "=" in text),
    SecretRule("flag", r"(?i)(?:^|\s)--?" + _FIELD + r"(?:\s+|=)[\"']?([^\s\"'`-][^\s\"'`]{3,})", is_no_word),
    SecretRule("card", r"(?i)\bcard[ _-]?(?:number|no)" + _IS + r"((?:\d[ -]?){12,18}\d)"),
    SecretRule("card", r"(?i)\b(?:cvc|cvv|cvv2|security[ _-]?code)" + _IS + r"(\d{3,4})\b"),
    SecretRule(
        "assignment",
        _START + r"(?:[A-Z0-9]+_)*(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT)" + _EQUALS + _VALUE,
        is_value,
    ),
    SecretRule("assignment", r"(?i)" + _START + r"(?:[a-z0-9]+[_-])*" + _FIELD + _EQUALS + _VALUE, is_value),
    SecretRule("assignment", r"(?i)" + _START + r"(?:[a-z0-9]+[_-])*" + _FIELD + _COLON + _VALUE, is_no_word),
    SecretRule("assignment", r"[a-z](?:ApiKey|Token|Secret|Password|PrivateKey)" + _IS + _VALUE, is_no_word),
)

SECRET_RULES: Final = (*IN_CONTEXT[:2], *VENDOR_TOKENS, *IN_CONTEXT[2:])
