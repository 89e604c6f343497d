"""docs/configuration.md, made from the models that check a configuration.

python -m tests.docs.configuration
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from sidecar.config import needs_restart, unused
from sidecar.config.schema import Compaction, Memory, Provider, Session, SessionTools, Sidecar
from sidecar.config.search import MemorySearch
from tests.api.reference import word
from tests.running import REPOSITORY

Json: TypeAlias = dict[str, Any]

PAGE: Final = REPOSITORY / "docs" / "configuration.md"
#: Where each model stands in a file.
PLACES: Final[Mapping[str, type[BaseModel]]] = {
    "memory": Memory,
    "agents.defaults.memorySearch": MemorySearch,
    "agents.defaults.compaction": Compaction,
    "sidecar": Sidecar,
    "models.providers.<id>": Provider,
    "session": Session,
    "tools.sessions": SessionTools,
}
HEAD: Final = """# Configuration

Made by `python -m tests.docs.configuration` from the models that check a configuration.

The file is JSON5 with OpenClaw's keys; [the README](../README.md#configuration) says where it is looked for. What is
wrong is told with its file and line by `qmd-sidecar config check`, what holds by `qmd-sidecar config show --origin`.

- **Unknown keys** are errors below `memory`, `memorySearch`, `compaction.memoryFlush` and `sidecar`. Elsewhere they are
  OpenClaw's and nobody's business.
- **`${NAME}`** in a text is a variable of the environment, else of the `.env` file in OpenClaw's folder; `$${NAME}` is
  the text itself. A variable that is not set is an error, but for keys and headers: there it means none.
- **`$include`** names a file or a list of files, relative to the one that it stands in. Objects merge, lists join, and
  keys beside it win.
- **Durations** are texts such as `30s`, `5m`, `1h30m`; a bare number counts minutes. **Sizes** are texts such as
  `500kb`, `2mb`; a bare number counts bytes. Numbers in keys that end in `Ms` are milliseconds.
- **Numbers** whose range is told are brought into it, with a notice; others that cannot be are errors.
- A change holds [after a reload](operating.md#changing-the-configuration), or after a restart where the table says so.

## Agents

| key | type | default | |
|---|---|---|---|
| `agents.list[].id` | string | `main` | The agent's name; no colon, no slash. Case does not tell two agents apart. |
| `agents.list[].workspace` | path | | Its folder. A second agent needs one of its own. |
| `agents.list[].memorySearch` | object | | [As below](#agentsdefaultsmemorysearch), key by key over the defaults. |
| `agents.list[].compaction` | object | | [As below](#agentsdefaultscompaction), likewise. |
| `agents.entries.<id>` | object | | The newer spelling of the same: the id is the key. |
| `agents.defaults.workspace` | path | `~/.openclaw/workspace` | For the one agent without a workspace. |
| `agents.defaults.userTimezone` | string | the host's | Whose calendar "today" is on, such as `Europe/Lisbon`. |
| `agents.entries.<id>.memory.search` | object | | The newer spelling of the agent's `memorySearch`. |
| `memory.search` | object | | The newer spelling of `agents.defaults.memorySearch`; it wins, key by key. |
| `plugins.slots.memory` | string | | `none` turns the memory of all agents off. |
"""
ENVIRONMENT: Final = """## Environment

| variable | |
|---|---|
| `SIDECAR_CONFIG`, `OPENCLAW_CONFIG_PATH` | The configuration file; the first one set counts. |
| `SIDECAR_STATE_DIR`, `SIDECAR_SOCKET` | As `--state-dir` and `--socket`, and before what the file says. |
| `SIDECAR_AGENT` | The agent that client verbs mean. |
| `SIDECAR_LOG_LEVEL` | As `run --log-level`: it wins over the file, also after a reload. |
| `OPENCLAW_STATE_DIR` | OpenClaw's folder, in place of `~/.openclaw`: for `.env` and transcripts. |
| `XDG_CONFIG_HOME`, `XDG_STATE_HOME`, `XDG_RUNTIME_DIR` | The base folders of configuration, state and socket. |

Keys of embedding providers: [embedding.md](embedding.md)."""


def page() -> str:
    """The whole page."""
    sections = [_section(path, schema) for path, schema in schemas()]
    return "\n\n".join([HEAD.strip(), *sections, _unused(), ENVIRONMENT]) + "\n"


def keys() -> dict[str, Json]:
    """Every key of the models by its dotted path, with its schema."""
    return {f"{path}.{name}": value for path, schema in schemas() for name, value in schema["properties"].items()}


def schemas() -> Iterator[tuple[str, Json]]:
    """Every object of a configuration by its dotted path, outer ones first."""
    for path, model in PLACES.items():
        document = model.model_json_schema(mode="serialization")
        yield from _objects(path, document, document.get("$defs", {}))


def _objects(path: str, schema: Json, shapes: Json) -> Iterator[tuple[str, Json]]:
    yield path, schema
    for name, value in schema["properties"].items():
        if (inner := _inner(value, shapes)) is not None:
            mark = "[]" if value.get("type") == "array" else ""
            yield from _objects(f"{path}.{name}{mark}", inner, shapes)


def _inner(value: Json, shapes: Json) -> Json | None:
    """The object that a key holds, or holds a list of; None for a plain value."""
    name = (value.get("items") or value).get("$ref", "").rpartition("/")[2]
    shape: Json = shapes.get(name, {})
    return shape if "properties" in shape else None


def _section(path: str, schema: Json) -> str:
    rows = [_row(path, name, value, schema) for name, value in schema["properties"].items()]
    table = "\n".join(["| key | type | default | |", "|---|---|---|---|", *rows])
    return f"{'#' * min(3, 2 + path.count('.'))} {path}\n\n{_line(schema['description'])}\n\n{table}"


def _row(path: str, name: str, value: Json, schema: Json) -> str:
    is_needed = name in schema.get("required", [])
    default = "needed" if is_needed else _default(value.get("default"))
    meaning = _line(value["description"]) + (" **Needs a restart.**" if _is_fixed(f"{path}.{name}") else "")
    return f"| `{name}` | {_type(path, name, value)} | {default} | {meaning} |"


def _is_fixed(key: str) -> bool:
    return needs_restart(tuple(key.split(".")))


def _default(value: Any) -> str:
    """A default as it would be written; objects say their own, key by key."""
    if value is None or isinstance(value, dict):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _type(path: str, name: str, value: Json) -> str:
    """The type in a few words; an object is a link to its own section."""
    held = value.get("items") or value
    shape = held.get("$ref", "").rpartition("/")[2]
    if shape == "Mode":
        return "`search`, `vsearch`, `query`"
    if shape:
        kind = "list" if held is not value else "object"
        return f"[{kind}](#{_anchor(f'{path}.{name}' + ('[]' if kind == 'list' else ''))})"
    if "anyOf" in value:
        # Null is what a key is that nobody wrote.
        value = {"anyOf": [one for one in value["anyOf"] if one.get("type") != "null"]}
    return word(value).replace("|", "\\|")


def _anchor(heading: str) -> str:
    """How GitHub names a heading: lower case, without punctuation."""
    return "".join(character for character in heading.lower() if character.isalnum() or character in "-_")


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _unused() -> str:
    rows = [
        f"| `{prefix}.{key}` | {hint} |"
        for prefix, listed in {
            "memory": unused.MEMORY,
            "memorySearch": unused.SEARCH,
            "compaction": unused.COMPACTION,
            "agents.defaults": {"contextLimits": "memory_get has limits of its own"},
        }.items()
        for key, hint in listed.items()
    ]
    head = "## Keys of OpenClaw that have no effect\n\nThey are accepted, with one notice each (`unused_key`)."
    return "\n".join([head, "", "| key | instead |", "|---|---|", *rows])


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
