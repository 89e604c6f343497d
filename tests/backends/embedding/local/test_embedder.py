import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest

from backends.embedding.base import Embedder, EmbeddingSpec, EmbeddingUnavailableError, Vectors
from backends.embedding.choice import create, resolve
from backends.embedding.local.embedder import LocalEmbedder, load
from backends.embedding.local.process import Child, ModelProcess, ModelProgram
from tests.running import until

TEXTS = ["The boat leaves at nine.", "Anna likes green tea.", "日本語の文章", "Über allen Gipfeln ist Ruh", "x"]
LONG = "The captain wants tea. " * 60


def served(address: str) -> Embedder:
    """llama.cpp's own server, as the provider `openai-compatible` reaches it."""
    embedder = create(EmbeddingSpec(provider="openai-compatible", model="any", base_url=f"{address}/v1"))
    assert embedder is not None
    return embedder


def living(process: ModelProcess) -> Child:
    child: Child = until(lambda: process.child, what="the model's process")
    return child


def ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def alone(embedder: LocalEmbedder, **changes: object) -> ModelProgram:
    """The program of an embedder, for a process that nobody else shares."""
    return replace(embedder.process._program, **changes)  # type: ignore[arg-type]


def test_vectors_are_those_of_the_server_of_llama_cpp(embedder: LocalEmbedder, llama_server: str) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert (np.einsum("ij,ij->i", rows, served(llama_server).embed(TEXTS)) > 0.999).all()


def test_a_question_lies_near_what_answers_it(embedder: LocalEmbedder) -> None:
    cosines = embedder.embed(TEXTS[:2]) @ embedder.embed_query("When does the ship sail?")
    assert cosines[0] > cosines[1] + 0.2


def test_a_text_longer_than_the_context_counts_with_its_beginning(embedder: LocalEmbedder) -> None:
    whole, beginning, other = embedder.embed([LONG * 4, LONG, "Anna likes green fields and hills. " * 60])
    assert whole @ beginning > 0.95
    assert whole @ beginning > whole @ other


def test_half_a_character_is_no_reason_to_fail(embedder: LocalEmbedder) -> None:
    assert np.isfinite(embedder.embed(["broken \ud83d text", ""])).all()


def test_no_texts_are_no_rows(embedder: LocalEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.process.child is None


def test_the_identity_is_known_before_the_model_is_loaded(embedder: LocalEmbedder) -> None:
    identity = embedder.identity
    assert (identity.provider, identity.model, identity.dims) == ("local", "minilm.gguf", 384)
    assert identity.key
    assert embedder.process.child is None


def test_fewer_dimensions_are_the_first_ones(embedder: LocalEmbedder, model: Path) -> None:
    fewer = load(EmbeddingSpec(model_path=str(model), dims=100))
    row, whole = fewer.embed_query("tea"), embedder.embed_query("tea")[:100]
    assert np.allclose(row, whole / np.linalg.norm(whole), atol=1e-6)
    with pytest.raises(EmbeddingUnavailableError) as caught:
        load(EmbeddingSpec(model_path=str(model), dims=1000))
    assert caught.value.code == "local_dims"


def test_two_embedders_of_a_file_share_its_process(embedder: LocalEmbedder, model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(model)
    other = load(EmbeddingSpec(model_path=str(link)))
    embedder.embed_query("tea")
    pid = living(embedder.process).pid
    other.embed_query("tea")
    assert living(other.process).pid == pid


def test_a_process_killed_while_idle_is_replaced(embedder: LocalEmbedder) -> None:
    before = embedder.embed_query("tea")
    pid = living(embedder.process).pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: embedder.process.child is None)
    assert np.allclose(embedder.embed_query("tea"), before)
    assert living(embedder.process).pid != pid


def test_a_batch_outlives_the_process_that_was_killed_under_it(
    embedder: LocalEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    rows: list[Vectors] = []
    embedder.embed_query("tea")
    thread = threading.Thread(target=lambda: rows.append(embedder.process.rows([LONG] * 16)))
    thread.start()
    until(lambda: embedder.process._busy)
    os.kill(living(embedder.process).pid, signal.SIGKILL)
    thread.join(60)
    assert rows[0].shape == (16, 384)
    assert [record.message for record in caplog.records] == ["local model ended"]


def test_a_question_goes_before_documents_that_wait(embedder: LocalEmbedder) -> None:
    order: list[str] = []
    embedder.embed_query("tea")

    def documents() -> None:
        embedder.embed([LONG] * 12)
        order.append("documents")

    thread = threading.Thread(target=documents)
    thread.start()
    until(lambda: embedder.process._busy)
    embedder.embed_query("tea")
    order.append("question")
    thread.join(100)
    assert order == ["question", "documents"]


def test_an_idle_model_is_unloaded_and_loaded_again(embedder: LocalEmbedder) -> None:
    process = ModelProcess(alone(embedder), idle_s=0.1)
    process.rows(["tea"])
    until(lambda: process.child is None, what="the end of the idle process")
    assert process.rows(["tea"]).shape == (1, 384)
    process.close()


def test_a_model_that_takes_too_much_memory_is_ended(embedder: LocalEmbedder) -> None:
    process = ModelProcess(alone(embedder, argv=(sys.executable, str(FAKE), "grow"), max_rss_bytes=150_000_000))
    with pytest.raises(EmbeddingUnavailableError) as caught:
        process.rows(["tea"])
    assert caught.value.code == "local_memory"
    assert process.child is None


FAKE = Path(__file__).with_name("fake_model.py")


def test_a_model_that_dies_with_every_batch_is_given_pauses(embedder: LocalEmbedder, tmp_path: Path) -> None:
    now = 0.0
    started = tmp_path / "started"
    argv = (sys.executable, str(FAKE), "die", str(started))
    process = ModelProcess(alone(embedder, argv=argv), clock=lambda: now)

    def code() -> str:
        with pytest.raises(EmbeddingUnavailableError) as caught:
            process.rows(["tea"])
        return caught.value.code

    assert [code(), code()] == ["local_crashed", "local_pausing"]
    assert len(started.read_text()) == 2
    now = 1.5
    assert [code(), code()] == ["local_crashed", "local_pausing"]
    now = 3.0
    assert code() == "local_pausing"
    now = 4.0
    assert code() == "local_crashed"


PARENT = """
import sys
from backends.embedding.base import EmbeddingSpec
from backends.embedding.local.embedder import load
embedder = load(EmbeddingSpec(model_path=sys.argv[1]))
embedder.embed_query("tea")
print(embedder.process.child.pid, flush=True)
while True:
    embedder.embed(["The captain wants tea. " * 60] * 16)
"""


def test_the_process_ends_with_a_parent_that_was_killed(model: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(model)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout:
        pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    until(lambda: ended(pid), what="the end of the model's process")


def test_nobody_can_reach_the_model_over_the_network(embedder: LocalEmbedder) -> None:
    embedder.embed_query("tea")
    child = psutil.Process(living(embedder.process).pid)
    assert child.net_connections("inet") == []
    assert not any(Path(socket.laddr).exists() for socket in child.net_connections("unix") if socket.laddr)


def test_a_file_that_only_looks_like_a_model_is_refused_by_its_process(model: Path, tmp_path: Path) -> None:
    content = bytearray(model.read_bytes())
    content[content.index(b"token_embd.weight")] = ord("X")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(content)
    embedder = load(EmbeddingSpec(model_path=str(broken)))
    with pytest.raises(EmbeddingUnavailableError) as caught:
        embedder.embed_query("tea")
    assert caught.value.code == "local_not_loaded"


def test_a_file_that_is_no_model_is_named(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>Not found</html>")
    with pytest.raises(EmbeddingUnavailableError, match="is an HTML page, not a GGUF model"):
        load(EmbeddingSpec(model_path=str(page)))


def test_auto_takes_a_model_that_is_there(model: Path, tmp_path: Path) -> None:
    assert resolve(EmbeddingSpec(model_path=str(model))) == "local"
    assert resolve(EmbeddingSpec(model_path=str(tmp_path / "none.gguf"))) != "local"
    assert isinstance(create(EmbeddingSpec(provider="local", model_path=str(model))), LocalEmbedder)
