"""Which model files are on this machine: without them qmd downloads, or hangs for ever and prints nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backends.base import BackendError, Failure, Notice

_VARIABLES = {"embed": "QMD_EMBED_MODEL", "rerank": "QMD_RERANK_MODEL"}
_DEFAULTS = {"embed": "embeddinggemma-300M-Q8_0.gguf", "rerank": "qwen3-reranker-0.6b-q8_0.gguf"}
_ACTION = "Run `qmd pull` once with network, or set QMD_EMBED_MODEL to a local GGUF file, then run a sync."


def is_present(kind: str, document: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> bool:
    """Whether the model for `kind` (`embed`, `rerank`) can be loaded without network. Looks at the disk.

    The environment is asked before `document` (index.yml), since it is what the next sync writes there.
    """
    models = document.get("models")
    configured = models.get(kind) if isinstance(models, dict) else None
    spec = environ.get(_VARIABLES[kind]) or (configured if isinstance(configured, str) else "") or _DEFAULTS[kind]
    if Path(spec).is_absolute():
        return _has_content(Path(spec))
    name = spec.rpartition("/")[2].casefold()
    return any(file.name.casefold().endswith(name) and _has_content(file) for file in _listing(folder))


def missing() -> BackendError:
    """The failure of a search by meaning that cannot run."""
    return BackendError(
        Failure.MODEL_MISSING, "There are no vectors, or no embedding model to ask them with.", hint=_ACTION
    )


def keywords_only() -> Notice:
    """What a `query` search says when only its keyword half ran."""
    return Notice("semantic_off", "Only keywords were searched: vectors or the embedding model are missing.", _ACTION)


def _has_content(file: Path) -> bool:
    try:
        return file.is_file() and file.stat().st_size > 0
    except OSError:
        return False


def _listing(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
