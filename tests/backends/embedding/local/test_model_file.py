import os
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backends.embedding.base import EmbeddingSpec, EmbeddingUnavailableError
from backends.embedding.local.model_file import DEFAULT_MODEL, address, located, obtain, present
from tests.backends.embedding.local.hub import Hub, hub_of
from tests.running import until


def gguf(body: bytes) -> bytes:
    """The smallest whole GGUF file: one tensor that `body` is."""
    name = b"t"
    tensor = struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, len(body), 0, 0)
    return struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + tensor + body


MODEL = gguf(os.urandom(300_000))


@pytest.fixture
def hub() -> Iterator[Hub]:
    with hub_of(MODEL) as hub:
        yield hub


def spec(folder: Path) -> EmbeddingSpec:
    return EmbeddingSpec(model_path="hf:owner/repo/some/model.gguf", model_cache_dir=str(folder / "models"))


def fetched(folder: Path, hub: Hub) -> Path:
    return obtain(spec(folder), environ={"HF_ENDPOINT": hub.url})


def refused(folder: Path, hub: Hub) -> EmbeddingUnavailableError:
    with pytest.raises(EmbeddingUnavailableError) as caught:
        fetched(folder, hub)
    return caught.value


def left(folder: Path) -> set[str]:
    return {file.name for file in (folder / "models").rglob("*") if file.is_file()}


def test_a_model_is_downloaded_once_and_is_for_its_owner_alone(tmp_path: Path, hub: Hub) -> None:
    assert not present(spec(tmp_path))
    file = fetched(tmp_path, hub)
    assert file.read_bytes() == MODEL
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert present(spec(tmp_path))
    assert fetched(tmp_path, hub) == file
    assert [asked["path"] for asked in hub.asked] == ["/owner/repo/resolve/main/some/model.gguf"]
    assert left(tmp_path) == {"model.gguf", "model.gguf.lock"}


def test_a_cut_download_goes_on_where_it_was_cut(tmp_path: Path, hub: Hub) -> None:
    hub.cuts = [100_000, 50_000]
    assert fetched(tmp_path, hub).read_bytes() == MODEL
    assert [asked.get("range") for asked in hub.asked] == [None, "bytes=100000-", "bytes=150000-"]
    assert hub.served == len(MODEL)


def test_a_file_that_changed_meanwhile_is_begun_anew(tmp_path: Path, hub: Hub) -> None:
    hub.cuts = [100_000, 0, 0, 0]
    assert refused(tmp_path, hub).code == "local_offline"
    hub.content, hub.tag = gguf(os.urandom(200_000)), '"second"'
    assert fetched(tmp_path, hub).read_bytes() == hub.content
    assert hub.asked[-1]["if-range"] == '"first"'


def test_an_html_page_is_called_one_and_is_not_kept(tmp_path: Path, hub: Hub) -> None:
    hub.content = b"<!DOCTYPE html><html><body>Please log in</body></html>"
    error = refused(tmp_path, hub)
    assert (error.code, error.message) == ("local_bad_file", "model.gguf is an HTML page, not a GGUF model.")
    assert left(tmp_path) == {"model.gguf.lock"}


def test_a_file_that_ends_before_its_tensors_is_refused(tmp_path: Path, hub: Hub) -> None:
    hub.content = MODEL[:40]
    error = refused(tmp_path, hub)
    assert error.code == "local_bad_file"
    assert "cut off" in error.message
    assert not present(spec(tmp_path))


@pytest.mark.parametrize(("status", "code"), [(404, "local_refused"), (401, "local_refused"), (503, "local_offline")])
def test_a_hub_that_refuses_is_named_with_a_next_step(tmp_path: Path, hub: Hub, status: int, code: str) -> None:
    hub.status = status
    error = refused(tmp_path, hub)
    assert error.code == code
    assert str(status) in error.message
    assert "local.modelPath" in error.hint


def test_without_network_the_next_step_is_said(tmp_path: Path) -> None:
    with hub_of(b"") as gone:
        url = gone.url
    with pytest.raises(EmbeddingUnavailableError) as caught:
        obtain(spec(tmp_path), environ={"HF_ENDPOINT": url})
    assert caught.value.code == "local_offline"


FETCH = """
import sys
from backends.embedding.base import EmbeddingSpec
from backends.embedding.local.model_file import obtain
obtain(EmbeddingSpec(model_path="hf:owner/repo/some/model.gguf", model_cache_dir=sys.argv[1]))
"""


def test_two_processes_download_a_file_once(tmp_path: Path, hub: Hub) -> None:
    command = [sys.executable, "-c", FETCH, str(tmp_path / "models")]
    both = [subprocess.Popen(command, env={**os.environ, "HF_ENDPOINT": hub.url}) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
    assert hub.served == len(MODEL)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_named(tmp_path: Path, hub: Hub) -> None:
    part = located(spec(tmp_path)).with_name("model.gguf.part")
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    assert refused(tmp_path, hub).code == "local_disk_full"


def test_a_missing_file_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingUnavailableError) as caught:
        obtain(EmbeddingSpec(model_path=str(tmp_path / "none.gguf")))
    assert caught.value.code == "local_no_file"


def test_a_path_may_begin_with_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert located(EmbeddingSpec(model_path="~/m.gguf")) == tmp_path / "m.gguf"


def test_the_cache_is_one_folder_for_all_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert located(EmbeddingSpec()).parent.parent.parent == tmp_path / "qmd-sidecar" / "models"


def test_the_default_is_on_the_public_hub() -> None:
    assert address(DEFAULT_MODEL, {}) == (
        "https://huggingface.co/ggml-org/embeddinggemma-300m-qat-q8_0-GGUF/resolve/main/embeddinggemma-300m-qat-Q8_0.gguf"
    )


@pytest.mark.parametrize("path", ["hf:model.gguf", "hf:a/../../x.gguf", "hf:/a/b/c.gguf", "hf:a/b/c.bin", "hf:a/b:Q8"])
def test_an_address_that_names_no_file_is_refused(path: str) -> None:
    spec = EmbeddingSpec(model_path=path)
    assert not present(spec)
    with pytest.raises(EmbeddingUnavailableError) as caught:
        located(spec)
    assert caught.value.code == "local_bad_address"


def test_load_fetches_in_the_background_and_says_so(tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder: Any = pytest.importorskip("backends.embedding.local.embedder")
    pytest.importorskip("xllamacpp", reason="the package xllamacpp is not installed: make setup")
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    with pytest.raises(EmbeddingUnavailableError) as caught:
        embedder.load(spec(tmp_path))
    assert caught.value.code == "local_downloading"
    until(lambda: present(spec(tmp_path)), what="the model")
