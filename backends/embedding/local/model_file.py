"""Where a model's file is: on this machine, or at an `hf:` address from which it is fetched once for all agents."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from xdg_base_dirs import xdg_cache_home

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.catalog import default_model
from backends.embedding.local.download import download
from backends.embedding.local.fetching import Fetch, fetch

DEFAULT_MODEL = default_model("local")
_HUB = "https://huggingface.co"
#: No part may begin with a dot: the parts become folders of the cache.
_ADDRESS = re.compile(r"hf:((?:[A-Za-z0-9_-][A-Za-z0-9._-]*/){2,8}[A-Za-z0-9_-][A-Za-z0-9._-]*\.gguf)")


def located(spec: EmbeddingSpec) -> Path:
    """Where the file of a specification is, or will be. Raises `EmbeddingUnavailableError` for a bad address."""
    path = spec.model_path or DEFAULT_MODEL
    if not path.startswith("hf:"):
        return Path(path).expanduser()
    folder = Path(spec.model_cache_dir).expanduser() if spec.model_cache_dir else _default_cache()
    return folder / _parts(path)


def present(spec: EmbeddingSpec) -> bool:
    """Whether the file is on this machine; costs a stat."""
    try:
        return located(spec).is_file()
    except (EmbeddingUnavailableError, OSError):
        return False


def obtain(spec: EmbeddingSpec, *, fetch: Fetch = fetch, environ: Mapping[str, str] = os.environ) -> Path:
    """The file of a specification, downloaded if need be; minutes. Raises `EmbeddingUnavailableError`."""
    file = located(spec)
    if present(spec):
        return file
    path = spec.model_path or DEFAULT_MODEL
    if not path.startswith("hf:"):
        raise EmbeddingUnavailableError(
            "local_no_file", f"There is no model file {file}.", hint="Correct local.modelPath, or put the file there."
        )
    download(address(path, environ), file, fetch)
    return file


def address(path: str, environ: Mapping[str, str]) -> str:
    """The URL of `hf:owner/repo/file.gguf`, at HF_ENDPOINT where that is set."""
    owner, repository, file = _parts(path).split("/", 2)
    endpoint = environ.get("HF_ENDPOINT") or _HUB
    return f"{endpoint.rstrip('/')}/{owner}/{repository}/resolve/main/{file}"


def _parts(path: str) -> str:
    match = _ADDRESS.fullmatch(path)
    if match is None:
        raise EmbeddingUnavailableError(
            "local_bad_address",
            f"{path!r} is not the address of a model file.",
            hint="Write local.modelPath as hf:owner/repository/file.gguf, or as the path of a file.",
        )
    return match[1]


def _default_cache() -> Path:
    return xdg_cache_home() / "qmd-sidecar" / "models"
