"""Images below an extra path, from the configuration to the answer."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.backends.embedding.remote.serving import serving
from tests.backends.embedding.remote.serving_gemini import GeminiSpeech
from tests.running import running

PIXELS = b"\x89PNG\r\n\x1a\nsecret pixels"


def test_images_are_found_and_named_but_never_shown(tmp_path: Path) -> None:
    """Their bytes go to the model and nowhere else; what only has the name of an image goes nowhere."""
    photos = tmp_path / "workspace" / "photos"
    photos.mkdir(parents=True)
    (photos / "corvo-harbour.png").write_bytes(PIXELS)
    (photos / "program.png").write_bytes(b"MZ\x90\0")
    (photos / "notes.md").write_text("The ferry leaves at nine.\n", encoding="utf-8")
    search = {
        "provider": "gemini",
        "model": "gemini-embedding-2-preview",
        "extraPaths": ["photos"],
        "multimodal": {"enabled": True, "maxFileBytes": 1000},
    }
    with serving(GeminiSpeech(64)) as provider:
        search["remote"] = {"baseUrl": f"{provider.url}/v1beta", "apiKey": "k-123"}
        config = {
            "memory": {"backend": "builtin"},
            "agents": {"defaults": {"workspace": str(photos.parent), "memorySearch": search}},
        }
        with running(tmp_path, config) as daemon:
            daemon.sync("main")
            reply = daemon.search("main", "corvo harbour")
            hit = next(each for each in reply["results"] if each.get("media"))
            assert (hit["path"], hit["media"], hit["citation"]) == (
                "photos/corvo-harbour.png",
                "image/png",
                hit["path"],
            )
            assert hit["snippet"].startswith("[image] photos/corvo-harbour.png")
            assert (reply["provider"], reply["model"]) == ("gemini", "gemini-embedding-2-preview")
            read = daemon.get("main", hit["citation"])
            assert (read["path"], read["text"], read["media"]) == (hit["path"], "", "image/png")
            assert daemon.search("main", "when does the ferry leave")["results"][0]["path"] == "photos/notes.md"
    sent = [text for texts in provider.batches for text in texts]
    assert base64.b64encode(PIXELS).decode() in sent
    assert not [text for text in sent if text.startswith("TV")]
