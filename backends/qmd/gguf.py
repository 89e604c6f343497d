"""Whether a GGUF model file is whole: its header says where the last tensor begins, and a torn download ends before.

Layout as in the GGUF specification, versions 2 and 3 (ggml-org/ggml, docs/gguf.md): header, metadata, tensor infos,
then the tensors. Nothing of the model itself is read.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

_HEADER = struct.Struct("<4sIQQ")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_STRING, _ARRAY = 8, 9
#: Bytes of each plain metadata type, by its number.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_MOST_ENTRIES = 1_000_000


class NotWholeError(Exception):
    """The file is no GGUF, or ends before its header or its tensors do."""


def check_whole(file: Path) -> None:
    """Return when the file can hold all that its header names. Raises `NotWholeError`, `OSError`."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        magic, version, tensors, entries = _HEADER.unpack(_read(stream, _HEADER.size))
        if magic != b"GGUF" or version < 2 or not 0 < tensors < _MOST_ENTRIES or entries > _MOST_ENTRIES:
            raise NotWholeError
        for _ in range(entries):
            _skip_string(stream)
            _skip_value(stream, _u32(stream))
        last = max(_tensor_offset(stream) for _ in range(tensors))
        if stream.tell() + last >= size:
            raise NotWholeError


def _tensor_offset(stream: BinaryIO) -> int:
    _skip_string(stream)
    _skip(stream, 8 * _u32(stream))
    _skip(stream, 4)
    return _u64(stream)


def _skip_value(stream: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _skip_string(stream)
    elif kind == _ARRAY:
        inner, count = _u32(stream), _u64(stream)
        if inner in _SIZES:
            _skip(stream, _SIZES[inner] * count)
            return
        if count > _MOST_ENTRIES or inner == _ARRAY:
            raise NotWholeError
        for _ in range(count):
            _skip_value(stream, inner)
    elif kind in _SIZES:
        _skip(stream, _SIZES[kind])
    else:
        raise NotWholeError


def _skip_string(stream: BinaryIO) -> None:
    _skip(stream, _u64(stream))


def _skip(stream: BinaryIO, count: int) -> None:
    # Beyond the end is no error here: the next read says so.
    stream.seek(min(count, 2**62), 1)


def _u32(stream: BinaryIO) -> int:
    return int(_U32.unpack(_read(stream, 4))[0])


def _u64(stream: BinaryIO) -> int:
    return int(_U64.unpack(_read(stream, 8))[0])


def _read(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise NotWholeError
    return data
