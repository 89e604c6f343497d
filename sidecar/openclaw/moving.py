"""Taking the `memory` settings that OpenClaw dropped over into a configuration file of our own.

OpenClaw's file is read and never written. Its `memory.qmd` is gone from it already: the doctor of newer versions
removes what it does not know, and leaves the former file beside it as `openclaw.json.bak`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sidecar import places
from sidecar.client import ClientError
from sidecar.config import json5
from sidecar.config.documents import INCLUDE, MAX_BYTES
from sidecar.config.files import read_text

#: What of `memory` was about QMD.
KEYS: Final = ("backend", "citations", "qmd")
_HEAD: Final = """// `memory` is what OpenClaw dropped of it, from {source};
// everything else is still read from OpenClaw's file.
"""


class MoveError(ClientError):
    """There is nothing to move, or no room for it."""

    code = "move_config"


def openclaw_file(environ: Mapping[str, str]) -> Path:
    """OpenClaw's configuration file, where OpenClaw itself looks for it."""
    if named := environ.get("OPENCLAW_CONFIG_PATH"):
        return Path(named).expanduser()
    state = environ.get("OPENCLAW_STATE_DIR")
    return (Path(state).expanduser() if state else places.home(environ) / ".openclaw") / "openclaw.json"


def find(openclaw: Path) -> Path | None:
    """The newest backup of OpenClaw's file that holds `memory.qmd`."""
    backups = openclaw.parent.glob(f"{openclaw.name}.bak*")
    newest_first = sorted(backups, key=lambda path: path.stat().st_mtime, reverse=True)
    return next((path for path in newest_first if "qmd" in _memory(path)), None)


def move(openclaw: Path, target: Path) -> Path:
    """Write `target` with the old settings over OpenClaw's present file; returns where they were found.

    Raises `MoveError` where there is nothing to move, and where `target` is there already or cannot be written.
    """
    if "qmd" in _memory(openclaw):
        raise MoveError(f"{openclaw} still holds memory.qmd, which is read as it is", hint="qmd-sidecar config check")
    source = find(openclaw)
    if source is None:
        raise MoveError(f"no backup of {openclaw} holds memory.qmd", hint="qmd-sidecar config check")
    text = json.dumps(_content(openclaw, source), ensure_ascii=False, indent=2)
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(target, "x", encoding="utf-8", opener=_private) as stream:
            stream.write(f"{_HEAD.format(source=source)}{text}\n")
    except FileExistsError:
        raise MoveError(
            f"{target} is there already, and is left alone", hint=f"copy memory.qmd from {source}"
        ) from None
    except OSError as error:
        raise MoveError(f"cannot write {target}: {error.strerror}", hint="check the folder and the disk") from None
    return source


def _content(openclaw: Path, source: Path) -> dict[str, Any]:
    memory = _memory(source)
    state = openclaw.parent / places.FOLDER
    return {
        **({INCLUDE: str(openclaw)} if openclaw.exists() else {}),
        "memory": {key: memory[key] for key in KEYS if key in memory},
        # Beside OpenClaw's file is where the state of a daemon without a file of ours is: its index goes on.
        **({"sidecar": {"stateDir": str(state)}} if state.exists() else {}),
    }


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _memory(path: Path) -> Mapping[str, Any]:
    try:
        value = json5.decode(read_text(path, max_bytes=MAX_BYTES))
    except (OSError, ValueError):
        # A backup that cannot be read is passed over: an older one may be whole.
        return {}
    memory = value.get("memory") if isinstance(value, dict) else None
    return memory if isinstance(memory, dict) else {}
