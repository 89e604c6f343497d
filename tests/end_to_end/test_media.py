"""Images below an extra path, from the configuration to the answer."""

from __future__ import annotations

from pathlib import Path

from tests.running import running


def test_images_are_found_and_named_but_never_shown(tmp_path: Path) -> None:
    """By name, where the model reads texts only: that is told, and so is what was not taken."""
    photos = tmp_path / "workspace" / "photos"
    photos.mkdir(parents=True)
    (photos / "corvo-harbour.png").write_bytes(b"\x89PNG\r\n\x1a\nsecret pixels")
    (photos / "program.png").write_bytes(b"MZ\x90\0")
    (photos / "notes.md").write_text("The ferry leaves at nine.\n", encoding="utf-8")
    search = {"provider": "static", "extraPaths": ["photos"], "multimodal": {"enabled": True, "maxFileBytes": 1000}}
    config = {
        "memory": {"backend": "builtin"},
        "agents": {"defaults": {"workspace": str(photos.parent), "memorySearch": search}},
    }
    with running(tmp_path, config) as daemon:
        daemon.sync("main")
        reply = daemon.search("main", "corvo harbour")
        hit = next(each for each in reply["results"] if each.get("media"))
        assert (hit["path"], hit["media"], hit["citation"]) == ("photos/corvo-harbour.png", "image/png", hit["path"])
        assert hit["snippet"].startswith("[image] photos/corvo-harbour.png")
        assert "media_by_name" in [notice["code"] for notice in reply["notices"]]
        read = daemon.get("main", hit["citation"])
        assert (read["path"], read["text"], read["media"]) == (hit["path"], "", "image/png")
        assert daemon.search("main", "when does the ferry leave")["results"][0]["path"] == "photos/notes.md"
