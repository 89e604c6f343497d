"""A model file is whole when it can hold all that its header names."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backends.gguf import NotWholeError, check_whole


def text(value: str) -> bytes:
    """A string as GGUF writes it."""
    return struct.pack("<Q", len(value)) + value.encode()


def model() -> bytes:
    """A header with metadata of every shape, one tensor at offset 64, and its data."""
    metadata = [
        text("general.name") + struct.pack("<I", 8) + text("tiny"),
        text("general.alignment") + struct.pack("<II", 4, 32),
        text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"),
        text("scores") + struct.pack("<IIQ", 9, 6, 3) + bytes(12),
    ]
    tensor = text("weight") + struct.pack("<IQQIQ", 2, 4, 4, 0, 64)
    return struct.pack("<4sIQQ", b"GGUF", 3, 1, len(metadata)) + b"".join(metadata) + tensor + bytes(64 + 64)


def test_a_whole_file_is_whole(tmp_path: Path) -> None:
    """Metadata of every shape is stepped over."""
    (tmp_path / "m.gguf").write_bytes(model())
    check_whole(tmp_path / "m.gguf")


@pytest.mark.parametrize("kept", range(0, len(model()) - 64, 7))
def test_a_torn_file_is_not(tmp_path: Path, kept: int) -> None:
    """Wherever the download stopped before the last tensor began."""
    (tmp_path / "m.gguf").write_bytes(model()[:kept])
    with pytest.raises(NotWholeError):
        check_whole(tmp_path / "m.gguf")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_no_bytes_surprise(tmp_path: Path, noise: bytes) -> None:
    """Whatever follows a good magic, it is whole or it is not."""
    (tmp_path / "m.gguf").write_bytes(struct.pack("<4sI", b"GGUF", 3) + noise)
    try:
        check_whole(tmp_path / "m.gguf")
    except NotWholeError:
        return
