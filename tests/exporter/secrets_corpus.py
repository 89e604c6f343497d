"""Made-up secrets in all the places where people leave them, and what looks like one and is none.

Every value is random and none was ever issued; the same seed gives the same corpus.
"""

from __future__ import annotations

import base64
import json
import random
import string
import textwrap
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

ALNUM: Final = string.ascii_letters + string.digits
URL_SAFE: Final = ALNUM + "-_"
BASE64: Final = ALNUM + "+/"
HEX: Final = "0123456789abcdef"
UPPER: Final = string.ascii_uppercase + string.digits
SHORTEST_LEAK: Final = 8


@dataclass(frozen=True, slots=True)
class Secret:
    """`value` as it would be pasted; `body` is its random part, no piece of which may be seen again."""

    kind: str
    field: str
    value: str
    body: str


def _random(rng: random.Random, alphabet: str, size: int) -> str:
    """Random characters with at least one digit and one letter near each end, as nearly all tokens have."""
    body = [rng.choice(alphabet) for _ in range(size)]
    letters = [char for char in alphabet if char.isalpha()]
    body[0], body[2], body[-1], body[-3] = rng.choice(letters), "7", rng.choice(letters), "3"
    return "".join(body)


# What its own shape gives away: the field that holds it says nothing. `~` is the random part.
_SHAPES: Final[Mapping[str, tuple[str, str, int]]] = {
    "anthropic-key": ("sk-ant-api03-~", URL_SAFE, 40),
    "openai-key": ("sk-proj-~", ALNUM, 40),
    "github-token": ("ghp_~", ALNUM, 36),
    "github-token fine-grained": ("github_pat_~", ALNUM, 60),
    "gitlab-token": ("glpat-~", ALNUM, 20),
    "slack-token": ("xoxb-123456789012-~", ALNUM, 24),
    "slack-webhook": ("https://hooks.slack.com/services/T0A1/B0C2/~", ALNUM, 24),
    "discord-webhook": ("https://discord.com/api/webhooks/123456789/~", URL_SAFE, 60),
    "aws-key": ("AKIA~", UPPER, 16),
    "google-key": ("AIza~", ALNUM, 35),
    "google-key oauth": ("ya29.~", URL_SAFE, 60),
    "google-refresh-token": ("1//0~", ALNUM, 40),
    "azure-secret": ("Abc8Q~~", ALNUM, 34),
    "stripe-key": ("sk_live_~", ALNUM, 24),
    "square-token": ("sq0atp-~", ALNUM, 22),
    "facebook-token": ("EAA~", ALNUM, 80),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.~", ALNUM, 43),
    "groq-key": ("gsk_~", ALNUM, 52),
    "xai-key": ("xai-~", ALNUM, 60),
    "perplexity-key": ("pplx-~", ALNUM, 48),
    "huggingface-token": ("hf_~", ALNUM, 34),
    "replicate-token": ("r8_~", ALNUM, 37),
    "nvidia-key": ("nvapi-~", ALNUM, 60),
    "pinecone-key": ("pcsk_~", ALNUM, 60),
    "langsmith-key": ("lsv2_pt_~", HEX, 32),
    "npm-token": ("npm_~", ALNUM, 36),
    "pypi-token": ("pypi-~", ALNUM, 80),
    "rubygems-key": ("rubygems_~", HEX, 48),
    "sendgrid-key": ("SG.Ab3dE6gH9jK2mN5pQ8rS.~", ALNUM, 43),
    "brevo-key": ("xkeysib-~", HEX, 64),
    "mailgun-key": ("key-~", HEX, 32),
    "mailchimp-key": ("~-us12", HEX, 32),
    "digitalocean-token": ("dop_v1_~", HEX, 64),
    "docker-token": ("dckr_pat_~", ALNUM, 27),
    "doppler-token": ("dp.pt.~", ALNUM, 40),
    "vault-token": ("hvs.~", ALNUM, 90),
    "terraform-token": ("Ab3dE6gH9jK2mN.atlasv1.~", ALNUM, 60),
    "pulumi-token": ("pul-~", HEX, 40),
    "planetscale-token": ("pscale_tkn_~", ALNUM, 32),
    "databricks-token": ("dapi~", HEX, 32),
    "grafana-token": ("glsa_~", ALNUM, 40),
    "sentry-token": ("sntrys_~", ALNUM, 60),
    "newrelic-key": ("NRAK-~", UPPER, 27),
    "supabase-token": ("sbp_~", HEX, 40),
    "atlassian-token": ("ATATT3xFf~", ALNUM, 80),
    "airtable-token": ("patAb3dE6gH9jK2mN.~", HEX, 64),
    "figma-token": ("figd_~", ALNUM, 40),
    "postman-key": ("PMAK-~", HEX, 24),
    "hubspot-token": ("pat-eu1-~", HEX, 32),
    "shopify-token": ("shpat_~", HEX, 32),
    "linear-key": ("lin_api_~", ALNUM, 40),
    "notion-token": ("ntn_~", ALNUM, 46),
    "fernet-token": ("gAAAAA~", ALNUM, 80),
    "twilio-key": ("SK~", HEX, 32),
    "telegram-token": ("123456789:~", ALNUM, 35),
    "tavily-key": ("tvly-~", ALNUM, 32),
    "matrix-token": ("syt_~", ALNUM, 40),
    "age-key": ("AGE-SECRET-KEY-1~", UPPER, 58),
    "password-hash": ("$2b$12$~", ALNUM, 53),
    "url-password": ("postgres://ada:~@db.example/main", ALNUM, 16),
}
# What only its field gives away.
_FIELDS: Final = (
    "password", "passwd", "passphrase", "db_password", "api_key", "apiKey", "x-api-key", "access_token",
    "client_secret", "clientSecret", "secret_access_key", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY",
    "webhook_secret", "Passwort",
)  # fmt: skip


def secrets(seed: int = 1) -> Iterator[Secret]:
    """One of every kind."""
    rng = random.Random(seed)
    for kind, (shape, alphabet, size) in _SHAPES.items():
        body = _random(rng, alphabet, size)
        value = body.join(shape.rsplit("~", 1))
        yield Secret(kind, "note", value, body)
    for field in _FIELDS:
        body = _random(rng, BASE64 if "key" in field.lower() else ALNUM + "!@#*-.", 24)
        yield Secret(f"field {field}", field, body, body)
    for label in ("RSA ", "OPENSSH ", "EC ", ""):
        body = _random(rng, BASE64, 320)
        lines = "\n".join(textwrap.wrap(body, 64))
        value = f"-----BEGIN {label}PRIVATE KEY-----\n{lines}\n-----END {label}PRIVATE KEY-----"
        yield Secret(f"private-key {label}".strip(), "note", value, body)


def _halves(text: str) -> tuple[str, str]:
    """Cut where both halves keep a part that tells, for a terminal never wraps within the first word."""
    middle = len(text) // 2
    return text[:middle], text[middle:]


def _encoded(secret: Secret) -> str:
    return base64.b64encode(f"{secret.field}={secret.value}\n".encode()).decode()


def _table(secret: Secret) -> str:
    return f"| name | value |\n| --- | --- |\n| {secret.field} | {secret.value.replace(chr(10), '<br>')} |"


def _block_scalar(secret: Secret) -> str:
    return f"config:\n  {secret.field}: |\n{textwrap.indent(secret.value, '    ')}\nnext: 1"


def _shell(secret: Secret) -> str:
    name = secret.field.upper().replace("-", "_")
    return f"  501  cd app\n  502  export {name}='{secret.value}' && ./run.sh\n"


def _header(secret: Secret) -> str:
    value = secret.value.replace("\n", " ")
    if secret.field == "note":
        return f"GET /v1 HTTP/1.1\r\nHost: a.example\r\nAuthorization: Bearer {value}\r\n\r\n"
    return f"GET /v1 HTTP/1.1\r\nHost: a.example\r\n{secret.field}: {value}\r\nAccept: */*\r\n\r\n"


def _wrapped(secret: Secret) -> str:
    if "\n" in secret.value:
        return f"see\n\n{secret.value}\n"
    first, second = _halves(secret.value)
    if secret.kind.startswith(("field", "url")):
        return f"see\n{secret.field}={first}\\\n{second}\nend"
    return f"see\n{first}\n{second}\nend"


def _invisible(secret: Secret) -> str:
    value = "\u200b".join(_halves(secret.value))
    name = "\u2060".join(_halves(secret.field))
    return f"{name}={value}\n"


SURROUNDINGS: Final[Mapping[str, Callable[[Secret], str]]] = {
    "prose": lambda it: f"Here you are, {it.field}: {it.value} - keep it safe.",
    "code block": lambda it: f"```sh\n{it.field}={it.value}\n```",
    "query": lambda it: f"https://a.example/x?page=2&{it.field}={quote(it.value, safe='')}&sort=name",
    "json": lambda it: json.dumps({"id": 7, it.field: it.value, "on": True}, indent=1),
    "json in json": lambda it: json.dumps({"body": json.dumps({"id": 7, it.field: it.value})}),
    "json in json in json": lambda it: json.dumps({"b": json.dumps({"body": json.dumps({it.field: it.value})})}),
    "yaml block": _block_scalar,
    "shell history": _shell,
    "env file": lambda it: f'# local\nDEBUG=1\n{it.field.upper()}="{it.value}"\nPORT=80\n',
    "header": _header,
    "table": _table,
    "percent": lambda it: quote(f'{{"{it.field}":"{it.value}"}}', safe=""),
    "percent twice": lambda it: quote(quote(f"{it.field}={it.value}", safe=""), safe=""),
    "base64": lambda it: f"data: {_encoded(it)}",
    "base64 wrapped": lambda it: "data:\n" + "\n".join(textwrap.wrap(_encoded(it), 76)) + "\n",
    "quoted": lambda it: textwrap.indent(f"{it.field} = {it.value}", "> "),
    "wrapped": _wrapped,
    "invisible": _invisible,
    "html": lambda it: f"<p>&quot;{it.field}&quot;: &quot;{it.value}&quot;</p>",
}


def _hex(rng: random.Random, size: int) -> str:
    return "".join(rng.choice(HEX) for _ in range(size))


def _digits(rng: random.Random, size: int) -> str:
    return "".join(rng.choice(string.digits) for _ in range(size))


def _packed(rng: random.Random, words: Callable[[random.Random], str]) -> str:
    return base64.b64encode(words(rng).encode()).decode()


_WORDS: Final = (
    "garden summer token password secret key session bearer basic cookie author the and with of server notes reading "
    "Straße naïve được привет мир пароль ключ Ключи мы 天気 パスワード 密码 비밀번호 مرحبا كلمة שלום κλειδί ñandú"
).split()
_SENTENCES: Final = (
    "The password must be at least 12 characters long.",
    "Password: required, 8 characters or more",
    "I forgot my password again, so the token expired.",
    "tokens: 4096, max_tokens: 128000, token_count=17",
    "token: read-only",
    "The secret: patience.",
    "Her secret is simple: she reads.",
    "Das Passwort: bitte bald ändern.",
    "パスワード：忘れました",
    "密码：请联系管理员",
    "пароль: забыла вчера",
    "Basic authentication and bearer tokens are explained in chapter 3.",
    "Authorization: see RFC 9110, section 11.6",
    "Cookie: a small cake",
    "api_key=<your key>",
    "apiKey: process.env.OPENAI_API_KEY",
    "token = os.environ['TOKEN']",
    "PASSWORD=${DB_PASSWORD}",
    "The key is under the mat; the session starts at 10.",
    "sk-circle12 sk-folding-cube sk-learn-v2-final ask-me-anything",
    "sk_learn_pipeline_step_2_output am_i_here_or_not_really",
    "-----BEGIN CERTIFICATE-----",
    "ssh_key=~/.ssh/id_ed25519",
    "| token | string | required |",
    "| password | text | at least eight |",
    'public_key: "see the wiki"',
    "PWD=/home/ada/notes",
    "pat-on-the-back, key-value store, hf_ prefix, npm_config_registry, gsk_ and sbp_",
    "the monkey=banana42 example",
    "type: 'password', label: 'Password'",
    'secret: "to be decided by the team"',
    "def token(self) -> str: return self._token",
    "password: getPassword()",
    "https://example.org/a?key=introduction&code=python&session=morning",
    "C:\\new\\table\\readme.txt and \\\\server\\share",
    "50% off, 100%25 sure, caf%C3%A9, a%20b%2Fc",
    "AT&amp;T &quot;said&quot; so",
    "👨‍👩‍👧 family, soft\u00adhyphen, zero\u200bwidth",
    "postgres://localhost:5432/main and http://127.0.0.1:8080/x@y",
    "git@github.com:ada/notes.git",
    "ada@example.org wrote to bob@example.org:2026",
)
LOOK_ALIKES: Final[Mapping[str, Callable[[random.Random], str]]] = {
    "uuid": lambda rng: f"id {uuid.UUID(int=rng.getrandbits(128), version=4)}",
    "git hash": lambda rng: f"commit {_hex(rng, 40)}",
    "short hash": lambda rng: f"fixed in {_hex(rng, 7)}, see {_hex(rng, 12)}",
    "sha256": lambda rng: f"sha256:{_hex(rng, 64)}",
    "digest in a table": lambda rng: f"| file.bin | {_hex(rng, 64)} |",
    "integrity": lambda rng: f"sha512-{base64.b64encode(rng.randbytes(64)).decode()}",
    "price": lambda rng: f"${rng.randrange(10**6) / 100:,.2f} or {rng.randrange(999)},{rng.randrange(10, 99)} EUR",
    "phone": lambda rng: (
        f"+49 {_digits(rng, 3)} {_digits(rng, 7)}, +1 ({_digits(rng, 3)}) {_digits(rng, 3)}-{_digits(rng, 4)}"
    ),
    "version": lambda rng: (
        f"v{rng.randrange(20)}.{rng.randrange(99)}.{rng.randrange(99)}-rc{rng.randrange(9)}+{_hex(rng, 7)}"
    ),
    "moment": lambda rng: f"2026-{rng.randrange(1, 12):02}-{rng.randrange(1, 28):02}T10:{rng.randrange(60):02}:00.123Z",
    "isbn": lambda rng: f"ISBN 978-3-{_digits(rng, 2)}-{_digits(rng, 6)}-0",
    "iban": lambda rng: f"IBAN DE{_digits(rng, 20)}",
    "ticket": lambda rng: f"{rng.choice(['PROJ', 'KEY', 'TOKEN', 'SK'])}-{_digits(rng, 4)} (#{_digits(rng, 5)})",
    "address": lambda rng: f"10.{rng.randrange(255)}.0.{rng.randrange(255)}:{_digits(rng, 4)} 2001:db8::{_hex(rng, 4)}",
    "mac": lambda rng: ":".join(_hex(rng, 2) for _ in range(6)),
    "path": lambda rng: f"/home/ada/{rng.choice(['token', 'secrets', 'keys'])}/{_hex(rng, 8)}.md",
    "url": lambda rng: (
        f"https://example.org/{_hex(rng, 8)}/a_b-{_digits(rng, 5)}?page={_digits(rng, 2)}&utm_source=x#part-7"
    ),
    "image": lambda rng: f"![x](data:image/png;base64,iVBORw0KGgo{base64.b64encode(rng.randbytes(90)).decode()})",
    "base64 of words": lambda rng: _packed(rng, lambda more: " ".join(more.choices(_WORDS[:20], k=9))),
    "identifier": lambda rng: f"{'_'.join(rng.choices(_WORDS[:14], k=3))}_{rng.randrange(99)} = {rng.randrange(9)}",
    "camel": lambda rng: "".join(word.title() for word in rng.choices(_WORDS[:14], k=4)) + str(rng.randrange(99)),
    "css": lambda rng: f"#{_hex(rng, 6)}; margin: {rng.randrange(9)}px; .sk-{rng.choice(_WORDS[:9])}{rng.randrange(9)}",
    "words": lambda rng: " ".join(rng.choices(_WORDS, k=12)) + rng.choice([".", "?", " …", "!"]),
    "lines": lambda rng: "\n".join(" ".join(rng.choices(_WORDS, k=5)) for _ in range(4)),
    "hashes in lines": lambda rng: "\n".join(_hex(rng, 40) for _ in range(3)),
    "sentence": lambda rng: rng.choice(_SENTENCES),
    "variable": lambda rng: (
        f"export {rng.choice(['TOKEN', 'API_KEY', 'DB_PASSWORD'])}=${rng.choice(['X', '{Y}', '(cat z)'])}"
    ),
    "count": lambda rng: f"{rng.choice(['token', 'max_token', 'secret'])}: {rng.randrange(10**6)}",
    "telephone in json": lambda rng: json.dumps({"phone": _digits(rng, 10), "id": _hex(rng, 24), "key": "name"}),
    "public key": lambda rng: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{base64.b64encode(rng.randbytes(33)).decode()} ada@x",
}


def look_alikes(count: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """`count` harmless texts with the names of their kinds, of every kind in turn; all sentences come first."""
    rng = random.Random(seed)
    yield from (("sentence", sentence) for sentence in _SENTENCES)
    names = [*LOOK_ALIKES]
    for number in range(count - len(_SENTENCES)):
        name = names[number % len(names)]
        yield name, LOOK_ALIKES[name](rng)
