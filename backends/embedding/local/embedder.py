"""The provider `local`: a GGUF model as an `Embedder`."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from backends.embedding.base import (
    EmbeddingIdentity,
    EmbeddingSpec,
    EmbeddingUnavailableError,
    Expected,
    Side,
    Vectors,
)
from backends.embedding.local import model_file
from backends.embedding.local.download import check_model
from backends.embedding.local.process import ModelProcess, ModelProgram, shared
from backends.embedding.remote.prefixes import prefix
from backends.relevance import Spread
from backends.text.scripts import Script

_BATCH_TEXTS = 16
#: About a second of a small machine: so long a question waits for the documents before it.
_BATCH_CHARS = 4_000
_MOST_CONTEXT = 2048
_USUAL_CONTEXT = 512
_MEAN_POOLING = 1
_SAMPLE_BYTES = 1 << 20
_SPARE_BYTES = 1 << 30


class LocalEmbedder:
    """One model file; its process is shared with every other embedder of the file. Calls may come from any thread."""

    batch_texts = _BATCH_TEXTS
    concurrency = 1

    def __init__(self, file: Path, dims: int | None = None) -> None:
        facts = check_model(file)
        kind = str(facts.get("general.architecture", ""))
        size = file.stat().st_size
        self._native = int(facts.get(f"{kind}.embedding_length_out", facts.get(f"{kind}.embedding_length", 0)))
        self._name = f"{facts.get('general.name', '')} {file.name}".replace(" ", "-")
        pooling = int(facts.get(f"{kind}.pooling_type", _MEAN_POOLING)) or _MEAN_POOLING
        context = min(_MOST_CONTEXT, int(facts.get(f"{kind}.context_length", _USUAL_CONTEXT)))
        digest = _digest(file, size)
        self.identity = EmbeddingIdentity(
            provider="local", model=file.name, dims=_length(dims, self._native), key=self._key(digest, pooling)
        )
        program = ModelProgram(file=file, context=context, pooling=pooling, max_rss_bytes=2 * size + _SPARE_BYTES)
        self.process: ModelProcess = shared(program, digest)

    def usual_spread(self, script: Script) -> Spread:
        """Where small sentence models put unrelated and related texts; an index of some size measures its own."""
        return Spread(0.25, 0.6) if script is Script.LATIN else Spread(0.4, 0.75)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One unit row of float32 per text, shape (len(texts), dims). Raises `EmbeddingUnavailableError`."""
        asked = [self._prepared(text, Side.DOCUMENT) for text in texts]
        rows = [self.process.rows(batch) for batch in _small_batches(asked)]
        return self._units(rows)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question, shape (dims,). Raises `EmbeddingUnavailableError`."""
        rows = self.process.rows([self._prepared(text, Side.QUERY)], question=True)
        vector: Vectors = self._units([rows])[0]
        return vector

    def _prepared(self, text: str, side: Side) -> str:
        # Half a character, as a file in another encoding may have, cannot be sent.
        return prefix(self._name, side) + text.encode("utf-8", errors="replace").decode()

    def _units(self, parts: Sequence[Vectors]) -> Vectors:
        if not parts:
            return np.zeros((0, self.identity.dims), dtype=np.float32)
        rows = np.concatenate(parts)
        if rows.shape[1] != self._native:
            raise EmbeddingUnavailableError(
                "local_dims", "The model's vectors are not as long as its file says.", hint="Check local.modelPath."
            )
        cut = rows[:, : self.identity.dims].astype(np.float32)
        norms = np.linalg.norm(cut, axis=1, keepdims=True)
        units: Vectors = np.divide(cut, norms, out=np.zeros_like(cut), where=norms != 0)
        return units

    def _key(self, digest: str, pooling: int) -> str:
        prefixes = "|".join(prefix(self._name, side) for side in Side)
        return hashlib.blake2b(f"{digest}|{pooling}|{prefixes}".encode(), digest_size=8).hexdigest()


def _small_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == _BATCH_TEXTS or sum(map(len, batch)) + len(text) > _BATCH_CHARS):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _length(asked: int | None, native: int) -> int:
    if asked is not None and not 0 < asked <= native:
        raise EmbeddingUnavailableError(
            "local_dims", f"The model's vectors have {native} numbers, not {asked}.", hint="Correct or remove `dims`."
        )
    return asked or native


def _digest(file: Path, size: int) -> str:
    """What tells a file's contents from another's, without reading hundreds of megabytes."""
    digest = hashlib.blake2b(str(size).encode(), digest_size=16)
    with file.open("rb") as stream:
        for start in (0, size // 2, max(0, size - _SAMPLE_BYTES)):
            stream.seek(start)
            digest.update(stream.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def installed() -> bool:
    """Whether the package that runs models is there. Imports nothing."""
    return find_spec("xllamacpp") is not None


def available(spec: EmbeddingSpec) -> bool:
    """Whether `load` finds the package and the model's file; costs a stat."""
    return installed() and model_file.present(spec)


def load(spec: EmbeddingSpec) -> LocalEmbedder:
    """The embedder of a specification; the model itself is loaded by the first call.

    A file that is still to be downloaded is fetched in the background. Raises `EmbeddingUnavailableError`, with the
    code `local_downloading` until it is there.
    """
    if not installed():
        raise EmbeddingUnavailableError(
            "local_missing",
            "The package xllamacpp is not installed.",
            hint="Install the extra: pip install 'qmd-sidecar[local]'",
        )
    file = model_file.located(spec)
    if not model_file.present(spec):
        _fetched(spec, file)
    try:
        return LocalEmbedder(file, spec.dims)
    except OSError as error:
        raise EmbeddingUnavailableError(
            "local_unreadable",
            f"The model file cannot be read ({type(error).__name__}).",
            hint="Check its permissions.",
        ) from error


def expected(spec: EmbeddingSpec) -> Expected:
    """Whose vectors `load` would make: all is known as soon as the file is here. Loads nothing.

    Raises `EmbeddingUnavailableError`.
    """
    if not (installed() and model_file.present(spec)):
        return Expected(provider="local", dims=spec.dims)
    identity = load(spec).identity
    return Expected(provider="local", model=identity.model, key=identity.key, dims=identity.dims)


class _Fetching(threading.Thread):
    """A download in the background, which ends with its process and goes on in the next one."""

    def __init__(self, spec: EmbeddingSpec) -> None:
        super().__init__(daemon=True)
        self._spec = spec
        self.error: EmbeddingUnavailableError | None = None

    def run(self) -> None:
        try:
            model_file.obtain(self._spec)
        except EmbeddingUnavailableError as error:
            self.error = error


_downloads: dict[Path, _Fetching] = {}
_downloading = threading.Lock()


def _fetched(spec: EmbeddingSpec, file: Path) -> None:
    """Return when the file is there at once; else say how its download stands, and see that there is one."""
    if not (spec.model_path or model_file.DEFAULT_MODEL).startswith("hf:"):
        model_file.obtain(spec)
    with _downloading:
        under_way = _downloads.pop(file, None)
        if under_way is not None and under_way.error is not None:
            raise under_way.error
        if under_way is None or not under_way.is_alive():
            under_way = _Fetching(spec)
            under_way.start()
        _downloads[file] = under_way
    raise EmbeddingUnavailableError(
        "local_downloading",
        f"The model {file.name} is being downloaded.",
        hint="Searches use keywords until it is there; then run a sync.",
    )
