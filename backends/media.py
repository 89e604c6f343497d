"""Images and recordings as memory: which files they are by name, and whether their first bytes agree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

IMAGE: Final = "image"
AUDIO: Final = "audio"
KINDS: Final = (IMAGE, AUDIO)

#: The media type of each ending, lower-case and without its dot. Opus comes in the container of Ogg (RFC 7845).
TYPES: Final[Mapping[str, str]] = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "gif": "image/gif",
    "heic": "image/heic",
    "heif": "image/heif",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "opus": "audio/ogg",
    "m4a": "audio/mp4",
    "aac": "audio/aac",
    "flac": "audio/flac",
}
#: So many of the first bytes tell what a file is.
HEAD_BYTES: Final = 16

# Brands of HEIF (ISO/IEC 23008-12), the only ones of the ISO container that are pictures here.
_HEIF: Final = rb".{4}ftyp(?:hei[cxmsf]|hev[cxms]|mif[12]|msf1)"
_HEADS: Final[Mapping[str, re.Pattern[bytes]]] = {
    mime: re.compile(head, re.DOTALL)
    for mime, head in {
        "image/jpeg": rb"\xff\xd8\xff",
        "image/png": rb"\x89PNG\r\n\x1a\n",
        "image/webp": rb"RIFF.{4}WEBP",
        "image/gif": rb"GIF8[79]a",
        "image/heic": _HEIF,
        "image/heif": _HEIF,
        # A tag, or the sync word of a frame of layer III.
        "audio/mpeg": rb"ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]",
        "audio/wav": rb"RIFF.{4}WAVE",
        "audio/ogg": rb"OggS",
        "audio/mp4": rb"(?!%b).{4}ftyp" % _HEIF,
        # ADIF, or the sync word of an ADTS frame, which has no layer.
        "audio/aac": rb"ADIF|\xff[\xf0\xf1\xf8\xf9]",
        "audio/flac": rb"fLaC",
    }.items()
}


def type_of(path: str) -> str | None:
    """The media type that the ending of a path names, None for any other ending."""
    name = path.rpartition("/")[2]
    return TYPES.get(name.rpartition(".")[2].lower()) if "." in name else None


def kind_of(path: str) -> str | None:
    """`image` or `audio` by the ending of a path, None for any other ending."""
    mime = type_of(path)
    return mime and mime.partition("/")[0]


def begins_like(mime: str, head: bytes) -> bool:
    """Whether the first `HEAD_BYTES` of a file are those of its media type."""
    return _HEADS[mime].match(head) is not None
