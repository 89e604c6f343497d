"""Which model files are on this machine: without them qmd downloads, or hangs for ever and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from backends.base import BackendError, Failure, Notice
from backends.gguf import NotWholeError, check_whole

_VARIABLES = {"embed": "QMD_EMBED_MODEL", "rerank": "QMD_RERANK_MODEL"}
_DEFAULTS = {"embed": "embeddinggemma-300M-Q8_0.gguf", "rerank": "qwen3-reranker-0.6b-q8_0.gguf"}
_ACTION = "Run `qmd pull` once with network, or set QMD_EMBED_MODEL to a local GGUF file, then run a sync."
#: The smallest embedding models have some ten megabytes; what is below this is an error page or a torn download.
_LEAST_BYTES = 1024 * 1024


class Presence(StrEnum):
    """What is known of a model file without loading it."""

    PRESENT = "present"
    ABSENT = "absent"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Models:
    """The embedding model and the reranker of one agent's qmd."""

    embed: Presence = Presence.ABSENT
    rerank: Presence = Presence.ABSENT


def look(document: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> Models:
    """Look for both models: milliseconds, no network. `document` is index.yml, `folder` where qmd keeps downloads."""
    return Models(presence("embed", document, environ, folder), presence("rerank", document, environ, folder))


def presence(kind: str, document: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> Presence:
    """Whether the model for `kind` (`embed`, `rerank`) can be loaded without network. Looks at the disk.

    The environment is asked before `document` (index.yml), since it is what the next sync writes there.
    """
    models = document.get("models")
    configured = models.get(kind) if isinstance(models, dict) else None
    spec = environ.get(_VARIABLES[kind]) or (configured if isinstance(configured, str) else "") or _DEFAULTS[kind]
    if Path(spec).is_absolute():
        return state_of(Path(spec))
    name = spec.rpartition("/")[2].casefold()
    states = {state_of(file) for file in _listing(folder) if file.name.casefold().endswith(name)}
    return next((state for state in (Presence.PRESENT, Presence.BROKEN) if state in states), Presence.ABSENT)


def state_of(file: Path) -> Presence:
    """Whether a file is a GGUF that is whole, and large enough to be a model."""
    try:
        if file.stat().st_size < _LEAST_BYTES:
            return Presence.BROKEN
        check_whole(file)
    except NotWholeError:
        return Presence.BROKEN
    except OSError:
        return Presence.ABSENT
    return Presence.PRESENT


def missing(embed: Presence = Presence.ABSENT) -> BackendError:
    """The failure of a search by meaning, or of an embed, that cannot run."""
    if embed is Presence.BROKEN:
        return BackendError(Failure.MODEL_MISSING, "The embedding model's file is damaged.", hint=_repair())
    return BackendError(
        Failure.MODEL_MISSING, "There are no vectors, or no embedding model to ask them with.", hint=_ACTION
    )


def keywords_only(embed: Presence = Presence.ABSENT) -> Notice:
    """What a `query` search says when only its keyword half ran."""
    if embed is Presence.BROKEN:
        return Notice("semantic_off", "Only keywords were searched: the embedding model's file is damaged.", _repair())
    return Notice("semantic_off", "Only keywords were searched: vectors or the embedding model are missing.", _ACTION)


def _repair() -> str:
    return f"Remove the damaged file from qmd's models folder. {_ACTION}"


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
