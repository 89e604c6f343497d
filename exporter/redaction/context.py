"""Secrets that only the words around them give away: fields, headers, flags, URLs, tables."""

from __future__ import annotations

from typing import Final

from exporter.redaction.rule import SecretRule, is_dense, is_no_count, is_no_word, is_random, is_tricky, is_value

_START: Final = r"(?:^|[^A-Za-z0-9])"
_PREFIX: Final = r"(?:[a-z0-9]+[_-])*"
# What may stand between a field's name and its value: `=`, `:`, `: "`, `"] = "`, `:** `, `: |` and a line break.
_CLOSE: Final = r"[\"'`]?\]?[*_]{0,2}\s*"
_OPEN: Final = r"[*_]{0,2}\s*(?:[|>][+-]?\s+)?[\"'`]?"
_EQUALS: Final = _CLOSE + r"(?:=>|:=|={1,3})" + _OPEN
# `password (the old one): hunter2`
_ASIDE: Final = r"(?:\s\([^()\n]{1,40}\))?"
_COLON: Final = _CLOSE + r"[:：]" + _OPEN
_IS: Final = _CLOSE + r"(?:=>|:=|={1,3}|[:：])" + _OPEN
_VALUE: Final = r"([^\s\"'`\\,;&<>(){}|][^\s\"'`\\,;&|]{3,})"
_QUOTED: Final = r"(?:\"((?:[^\"\\\n]|\\.){4,})\"|'((?:[^'\\\n]|\\.){4,})'|`([^`\n]{4,})`)"

_LOGIN: Final = (
    r"(?:(?:db|smtp|imap|ftp|mail|root|admin|user)[_-]?pass(?:word)?|psk"
    r"|pass(?:words?|wd|phrase|code)|pwd|passwort|kennwort|senha|contraseña|mot de passe|пароль"
    r"|密码|密碼|パスワード|비밀번호)"
)
_CREDENTIAL: Final = (
    r"(?:api[_ -]?key|access[_ -]?key|secret[_ -]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key"
    r"|account[_-]?key|license[_-]?key|master[_-]?key|preshared[_-]?key|(?:shared|secret)[_-]?access[_-]?key"
    r"|(?:access|auth|refresh|id|bearer|session|bot|api|app|client|csrf)[_-]?token|client[_-]?secret|app[_-]?secret"
    r"|shared[_-]?secret|webhook[_-]?secret|secret|token|credentials?)"
)
_FIELD: Final = rf"(?:{_LOGIN}|{_CREDENTIAL})"
_UPPER: Final = (
    r"(?:[A-Z0-9]+_)*(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PAT|PWD|PGPASSWORD|SALT|CREDENTIALS?)"
)
_CAMEL: Final = r"[a-z](?:ApiKey|AccessKey|SecretKey|PrivateKey|Token|Secret|Password|Passphrase)"
_URL_FIELD: Final = (
    r"(?:access_token|auth_token|refresh_token|id_token|token|api_?key|client_secret|secret|password|passwd|pwd"
    r"|x-(?:amz|goog)-(?:signature|credential|security-token))"
)

ASSIGNMENTS: Final = (
    # The whole line: nothing else can stand in it, so that the value may hold anything.
    SecretRule("assignment", rf"(?m)^\s*(?:export\s+|set\s+)?{_UPPER}=([^\s\"'`$]\S{{3,}})$", is_value),
    SecretRule("assignment", _START + _UPPER + _EQUALS + _VALUE, is_value),
    SecretRule("assignment", rf"(?i){_START}{_PREFIX}{_FIELD}{_EQUALS}{_VALUE}", is_value),
    SecretRule("assignment", rf"(?i){_START}{_PREFIX}{_LOGIN}{_ASIDE}{_COLON}{_VALUE}", is_no_word),
    SecretRule("assignment", rf"(?i){_START}{_PREFIX}{_CREDENTIAL}{_COLON}{_VALUE}", is_no_count),
    SecretRule("assignment", rf"{_START}[A-Z0-9]+_{_UPPER}{_COLON}{_VALUE}", is_random),
    SecretRule("assignment", rf"\b(?:setx|setenv|set -g?U?x)\s+{_UPPER}\s+[\"']?([^\s\"']{{4,}})", is_value),
    SecretRule("assignment", _CAMEL + _IS + _VALUE, is_no_count),
    SecretRule("assignment", rf"{_START}{_UPPER}[\"'`]?\]?\s*(?:=|=>|:=|:)\s*{_QUOTED}", is_no_word),
    SecretRule("assignment", rf"(?i){_START}{_PREFIX}{_FIELD}[\"'`]?\]?\s*(?:=|=>|:=)\s*{_QUOTED}", is_value),
    SecretRule("assignment", rf"(?i){_START}{_PREFIX}{_LOGIN}[\"'`]?\s*:\s*{_QUOTED}", is_no_word),
    SecretRule("assignment", rf"(?i){_START}{_PREFIX}{_CREDENTIAL}[\"'`]?\s*:\s*{_QUOTED}", is_tricky),
    SecretRule(
        "assignment", rf"(?i)[\"']{_PREFIX}{_FIELD}[\"']\s*,?\s*[\"']?value[\"']?\s*[:=]\s*{_QUOTED}", is_no_word
    ),
    SecretRule("assignment", rf"(?i)<(?:[a-z0-9]+[:._-])*{_FIELD}(?:\s[^<>]*)?>\s*([^<>\s]{{4,}})\s*<", is_no_word),
    SecretRule("assignment", rf"(?i)\|[\s*`]*{_PREFIX}{_FIELD}[\s*`]*\|[\s*`]*([^\s|`*][^\s|`]{{5,}})", is_tricky),
    SecretRule(
        "assignment", rf"(?i)\b{_FIELD} (?:is|was|lautet|est|es):? [\"'`]?([^\s\"'`]{{4,}}[^\s\"'`.,;:!?)])", is_tricky
    ),
    SecretRule(
        "assignment", r"(?:密码|密碼|パスワード|비밀번호)\s?(?:是|为|為|は|는)\s*[「“\"'`]?([!-~]{4,})", is_tricky
    ),
    SecretRule("assignment", r"(?i)\bprivate[ _-]key\W{1,4}(0x[0-9a-f]{64})\b"),
    # What Docker's own configuration calls it: the base64 of a name and a password.
    SecretRule("assignment", r"\"auth\"\s*:\s*\"([A-Za-z0-9+/]{12,}={0,2})\"", is_dense),
    SecretRule("assignment", r"(?i)\blogin\s+\S+\s+password\s+(\S{4,})", is_value),
)

URLS: Final = (
    SecretRule("url-password", r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@\"'`]*:([^\s/\"'`<>]+)@", is_value),
    SecretRule("url-password", r"[A-Za-z][A-Za-z0-9+.-]*://([A-Za-z0-9_-]{16,})@", is_dense),
    SecretRule("url-token", rf"(?i)[?&#]{_URL_FIELD}=([^\s&#\"'`<>)\]]{{6,}})", is_value),
    SecretRule("url-token", r"(?i)[?&#](?:key|code|sig|signature|session|auth)=([^\s&#\"'`<>)\]]{6,})", is_random),
)

HEADERS: Final = (
    SecretRule(
        "authorization",
        r"(?i)\b(?:proxy-)?authorization" + _IS + r"(?:bearer|basic|bot|token|apikey|negotiate)\s+([^\s\"'`\\,;]{6,})",
        is_value,
    ),
    SecretRule("authorization", r"(?i)\bauthorization" + _IS + r"([^\s\"'`\\,;]{8,})", is_tricky),
    SecretRule("authorization", r"\b[Bb](?:earer|EARER)\s+([A-Za-z0-9._~+/=-]{18,})", is_value),
    SecretRule("authorization", r"\b(?:[Bb]asic|BASIC)\s+([A-Za-z0-9+/]{12,}={0,2})", is_tricky),
    SecretRule(
        "authorization",
        r"(?i)\bdigest\s+username=[^\r\n]*?\b(?:response)=[\"']?([0-9a-f]{32,})|\bsignature=\"([A-Za-z0-9+/=]{16,})\"",
    ),
    SecretRule(
        "header",
        r"(?i)\bx-(?:[a-z0-9]+-)*(?:key|token|secret|auth|password|signature)" + _IS + r"([^\s\"'`\\,;]{6,})",
        is_no_count,
    ),
    SecretRule(
        "cookie", r"(?i)\b(?:set-)?cookie\s*:\s*((?:[^\r\n\"'`]|=\"[^\"\r\n]*\"){6,})", lambda text: "=" in text
    ),
)

FLAGS: Final = (
    SecretRule(
        "flag", r"(?i)(?:^|\s)--?(?:[a-z0-9]+-)*" + _FIELD + r"(?:\s+|=)[\"']?([^\s\"'`-][^\s\"'`]{3,})", is_no_word
    ),
    SecretRule("flag", r"(?i)(?:^|\s)--?(?:[a-z0-9]+-)*" + _FIELD + r"(?:\s+|=)" + _QUOTED, is_value),
    SecretRule(
        "flag",
        r"\b(?:curl|wget|http|https|xh)\b[^\n]*?\s(?:-u|--user|--proxy-user|-a)[ =]?[\"']?[^\s:\"']+:([^\s\"']{3,})",
    ),
    SecretRule(
        "flag", r"\b(?:mysql|mysqldump|mariadb|mysqladmin|sshpass)\b[^\n|]*?\s-p\s?[\"']?([^\s\"']{4,})", is_value
    ),
    SecretRule("flag", r"\b(?:docker|podman|helm registry)\s+login\b[^\n|]*?\s-p\s+[\"']?([^\s\"']{4,})", is_value),
    SecretRule("flag", r"\b(?:add-)?authtoken\s+([A-Za-z0-9_-]{16,})", is_dense),
    SecretRule("flag", r"\b(?:redis-cli)\b[^\n|]*?\s-a\s+[\"']?([^\s\"']{4,})", is_value),
)

NUMBERS_AND_WORDS: Final = (
    SecretRule("card", r"(?i)\bcard[ _-]?(?:number|no)" + _IS + r"((?:\d[ -]?){12,18}\d)"),
    SecretRule("card", r"(?i)\b(?:cvc|cvv|cvv2|security[ _-]?code)" + _IS + r"(\d{3,4})\b"),
    SecretRule("pin", r"(?i)\b(?:pin|otp|(?:2fa|verification|sms)[ _-]?code)" + _IS + r"(\d{4,8})\b"),
    SecretRule(
        "seed-phrase",
        r"(?i)\b(?:mnemonic|(?:seed|recovery|secret)[ _-]?phrase)(?: is)?"
        + _CLOSE
        + r"[:=]?"
        + _OPEN
        + r"((?:[a-z]{3,8}[\s,]+){11,23}[a-z]{3,8})\b",
    ),
)

IN_CONTEXT: Final = (*URLS, *HEADERS, *FLAGS, *NUMBERS_AND_WORDS, *ASSIGNMENTS)
