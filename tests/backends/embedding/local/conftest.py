"""The real model in its real process, and llama.cpp's own server beside it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from backends.embedding.base import EmbeddingSpec
from backends.embedding.local.embedder import LocalEmbedder, load
from tests.running import MODEL

SERVER = Path(__file__).with_name("llama_server.py")


@pytest.fixture
def model() -> Path:
    """The real model's file, where it and the package that runs it are here."""
    if find_spec("xllamacpp") is None or not MODEL.exists():
        pytest.skip("xllamacpp or the real model is not here: make setup qmd")
    return MODEL


@pytest.fixture
def embedder(model: Path) -> Iterator[LocalEmbedder]:
    """The embedder of the real model; its process ends with the test."""
    embedder = load(EmbeddingSpec(model_path=str(model)))
    yield embedder
    embedder.process.close()


@pytest.fixture
def llama_server(model: Path) -> Iterator[str]:
    """The address of llama.cpp's own server with an OpenAI-style API (`/v1/embeddings`), without a key."""
    process = subprocess.Popen(
        [sys.executable, str(SERVER), str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        yield process.stdout.readline().strip()
    process.kill()
    process.wait()
