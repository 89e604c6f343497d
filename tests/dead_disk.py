"""A disk that answers nobody, as a network disk whose server is gone: a real one, of FUSE, mounted over a folder."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_LIBC = ctypes.CDLL(None, use_errno=True)
_FORCE, _DETACH = 1, 2
_HEADER = struct.Struct("=IIQQIIII")
_VERSION = 7, 31


@contextmanager
def dead(folder: Path) -> Iterator[None]:
    """Whoever looks into the folder hangs until the block ends. Skips the test where nothing may be mounted."""
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("needs FUSE")
    try:
        options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        if _LIBC.mount(b"dead", os.fsencode(folder), b"fuse", 0, options.encode()):
            pytest.skip("may not mount")
        try:
            _greet(device)
            yield
        finally:
            _LIBC.umount2(os.fsencode(folder), _FORCE | _DETACH)
    finally:
        os.close(device)


def _greet(device: int) -> None:
    """Answer the kernel's first word; without that even the mount would hang."""
    _, _, number, *_ = _HEADER.unpack_from(os.read(device, 1 << 17))
    said = struct.pack("=IIII", *_VERSION, 0, 0).ljust(64, b"\0")
    os.write(device, struct.pack("=IiQ", 16 + len(said), 0, number) + said)
