"""What is an image or a recording, by name and by its first bytes."""

from __future__ import annotations

import pytest

from backends.media import HEAD_BYTES, begins_like, kind_of, type_of

HEADS = {
    "jpg": b"\xff\xd8\xff\xe0\0\x10JFIF",
    "jpeg": b"\xff\xd8\xff\xe1\0\x10Exif",
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "webp": b"RIFF\x24\0\0\0WEBPVP8 ",
    "gif": b"GIF89a\1\0\1\0\0\0\0\0",
    "heic": b"\0\0\0\x18ftypheic\0\0\0\0",
    "heif": b"\0\0\0\x18ftypmif1\0\0\0\0",
    "mp3": b"ID3\4\0\0\0\0\0\0",
    "wav": b"RIFF\x24\0\0\0WAVEfmt ",
    "ogg": b"OggS\0\2\0\0\0\0\0\0\0\0",
    "opus": b"OggS\0\2\0\0\0\0\0\0\0\0",
    "m4a": b"\0\0\0\x20ftypM4A \0\0\0\0",
    "aac": b"\xff\xf1\x50\x80\0\0\0\0",
    "flac": b"fLaC\0\0\0\x22",
}


@pytest.mark.parametrize("ending", HEADS)
def test_each_format_is_known_by_its_first_bytes(ending: str) -> None:
    """And not by those of any other format, but for two names of one container."""
    mime = type_of(f"a/b.{ending}")
    assert mime is not None
    others = {other for other, head in HEADS.items() if begins_like(mime, head[:HEAD_BYTES])}
    family = next(names for names in FAMILIES if ending in names)
    assert others == family
    assert not begins_like(mime, b"MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff\0\0")
    assert not begins_like(mime, b"")


FAMILIES = [
    {"jpg", "jpeg"},
    {"heic", "heif"},
    {"ogg", "opus"},
    *({ending} for ending in HEADS if ending not in ("jpg", "jpeg", "heic", "heif", "ogg", "opus")),
]


def test_an_mp3_without_a_tag_begins_with_a_frame() -> None:
    """Layer III of MPEG 1 or 2; an ADTS frame, which begins almost alike, is no mp3."""
    assert begins_like("audio/mpeg", b"\xff\xfb\x90\x64")
    assert begins_like("audio/mpeg", b"\xff\xf3\x90\x64")
    assert not begins_like("audio/mpeg", b"\xff\xf1\x90\x64")
    assert not begins_like("audio/aac", b"\xff\xfb\x90\x64")


def test_cameras_write_endings_in_capitals() -> None:
    """A name without an ending, or with one of a text, is neither kind."""
    assert (kind_of("DCIM/IMG_1.JPG"), kind_of("a.Mp3")) == ("image", "audio")
    assert [kind_of(path) for path in ("a.md", "png", "x.png/readme", "a.png.exe")] == [None] * 4
