"""`${VAR}` in configured texts, and the `.env` file that OpenClaw reads.

Only upper-case names are variables, `$${NAME}` stands for a literal `${NAME}`. A missing variable is
an error, except where a key is expected: there it means that there is no key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sidecar import places
from sidecar.config.documents import Tree
from sidecar.config.errors import Finding, Severity
from sidecar.config.files import read_text
from sidecar.config.json5 import KeyPath

_REFERENCE = re.compile(r"\$(\$?)\{([A-Z_][A-Z0-9_]*)\}")
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]*)\s*=\s*(.*?)\s*")
_MAX_BYTES: Final = 256 * 1024


def openclaw_dir(environ: Mapping[str, str]) -> Path:
    """OpenClaw's own folder: `OPENCLAW_STATE_DIR`, else `~/.openclaw`."""
    named = environ.get("OPENCLAW_STATE_DIR", "").strip()
    return expand(named, environ) if named else places.home(environ) / ".openclaw"


def expand(text: str, environ: Mapping[str, str], *, base: Path | None = None) -> Path:
    """A configured path: `~` is the user's home, a relative path starts at `base` (default: the working folder)."""
    if text == "~" or text.startswith("~/"):
        return places.home(environ) / text[2:]
    return Path(os.path.abspath((base or Path()) / text))  # noqa: PTH100 - resolve() would follow links


def env_file(environ: Mapping[str, str]) -> Path:
    """OpenClaw's file of variables."""
    return openclaw_dir(environ) / ".env"


def with_env_file(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment over the variables of `<openclaw>/.env`; a variable set to nothing counts as not set."""
    variables = {name: value for name, value in environ.items() if value}
    return {**_read_env(env_file(environ)), **variables}


def _read_env(path: Path) -> dict[str, str]:
    try:
        text = read_text(path, max_bytes=_MAX_BYTES)
    except (OSError, UnicodeDecodeError):
        return {}
    matches = filter(None, map(_LINE.fullmatch, text.splitlines()))
    return {match[1]: value for match in matches if (value := _unquoted(match[2]))}


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] in "\"'`":
        closing = value.find(value[0], 1)
        if closing > 0:
            inner = value[1:closing]
            return inner.replace("\\n", "\n") if value[0] == '"' else inner
    return value.partition(" #")[0].rstrip()


def substitute(value: Any, at: KeyPath, tree: Tree, variables: Mapping[str, str], findings: list[Finding]) -> Any:
    """`value` with every reference replaced; what is missing is added to `findings`."""
    if isinstance(value, dict):
        if at[-1] == "apiKey":
            return _referenced(value, at, tree, variables, findings)
        return {key: substitute(item, (*at, key), tree, variables, findings) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, (*at, index), tree, variables, findings) for index, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value
    missing = [name for escape, name in _REFERENCE.findall(value) if not escape and not variables.get(name)]
    if missing and _is_key_field(at):
        return None
    for name in missing:
        hint = f"export {name}, add it to the .env file, or write $${{{name}}} for the text itself"
        findings.append(tree.finding(at, "unset_variable", f"the variable {name} is not set", hint))
    # A text that is wrong already is left alone: an empty one would be reported a second time.
    return value if missing else _REFERENCE.sub(lambda match: _replacement(match, variables), value)


def _referenced(
    reference: dict[str, Any], at: KeyPath, tree: Tree, variables: Mapping[str, str], findings: list[Finding]
) -> str | None:
    """The secret that OpenClaw's `{source, provider, id}` names. Only the environment is a source that we can read."""
    if reference.get("source") == "env" and isinstance(reference.get("id"), str):
        return variables.get(reference["id"])
    message, hint = "this secret is kept where the sidecar cannot read it", "use ${VARIABLE}, or the source env"
    findings.append(tree.finding(at, "secret_not_readable", message, hint, severity=Severity.WARNING))
    return None


def _replacement(match: re.Match[str], variables: Mapping[str, str]) -> str:
    escape, name = match.groups()
    return match[0][1:] if escape else variables.get(name, "")


def _is_key_field(at: KeyPath) -> bool:
    return at[-1] == "apiKey" or "headers" in at[-2:-1]
