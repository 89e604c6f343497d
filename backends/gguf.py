"""What a GGUF model file says of itself, and whether it is whole: a torn download ends before the last tensor begins.

Layout as in the GGUF specification, versions 2 and 3 (ggml-org/ggml, docs/gguf.md): header, metadata, tensor infos,
then the tensors. Nothing of the model itself is read.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, TypeAlias

_HEADER = struct.Struct("<4sIQQ")
_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_STRING, _ARRAY = 8, 9
#: The layout of each plain metadata type, by its number.
_PLAIN = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
#: Bytes of each of them.
_SIZES = {kind: struct.calcsize(layout) for kind, layout in _PLAIN.items()}
_MOST_ENTRIES = 1_000_000
_MOST_STRING_BYTES = 4096
Fact: TypeAlias = int | float | bool | str


class NotWholeError(Exception):
    """The file is no GGUF, or ends before its header or its tensors do."""


def check_whole(file: Path) -> dict[str, Fact]:
    """The plain metadata of a file that can hold all that its header names. Raises `NotWholeError`, `OSError`.

    Arrays (vocabularies above all) and long strings are left out.
    """
    size = file.stat().st_size
    facts: dict[str, Fact] = {}
    with file.open("rb") as stream:
        magic, version, tensors, entries = _HEADER.unpack(_read(stream, _HEADER.size))
        if magic != b"GGUF" or version < 2 or not 0 < tensors < _MOST_ENTRIES or entries > _MOST_ENTRIES:
            raise NotWholeError
        for _ in range(entries):
            name = _string(stream)
            fact = _value(stream, _u32(stream))
            if fact is not None:
                facts[name] = fact
        last = max(_tensor_offset(stream) for _ in range(tensors))
        if stream.tell() + last >= size:
            raise NotWholeError
    return facts


def _tensor_offset(stream: BinaryIO) -> int:
    _skip_string(stream)
    _skip(stream, 8 * _u32(stream))
    _skip(stream, 4)
    return _u64(stream)


def _value(stream: BinaryIO, kind: int) -> Fact | None:
    if kind == _STRING:
        return _string(stream)
    if kind in _PLAIN:
        layout = struct.Struct(_PLAIN[kind])
        fact: Fact = layout.unpack(_read(stream, layout.size))[0]
        return fact
    _skip_value(stream, kind)
    return None


def _string(stream: BinaryIO) -> str:
    count = _u64(stream)
    text = _read(stream, min(count, _MOST_STRING_BYTES)).decode("utf-8", errors="replace")
    _skip(stream, count - min(count, _MOST_STRING_BYTES))
    return text


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
