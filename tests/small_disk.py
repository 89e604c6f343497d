"""A state folder on a small disk of its own, which a test fills up and frees again."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.running import Running, running

_CHUNK_BYTES = 1 << 16


class SmallDisk:
    """The disk of a running daemon, in a world of mounts that only the daemon sees."""

    def __init__(self, daemon: Running) -> None:
        self.daemon = daemon
        self.state = Path(f"/proc/{daemon.process.pid}/root{daemon.state}")

    def fill(self) -> None:
        """Leave no byte."""
        with contextlib.suppress(OSError), (self.state / "ballast").open("ab", buffering=0) as ballast:
            while ballast.write(b"\0" * _CHUNK_BYTES):
                pass

    def free(self) -> None:
        """Give the room back."""
        (self.state / "ballast").unlink()


@contextmanager
def on_a_small_disk(folder: Path, config: dict[str, Any], *, size: str) -> Iterator[SmallDisk]:
    """A daemon whose state is on a disk of `size`, as `mount` has it; skips where nobody may mount one."""
    state = folder / "state"
    state.mkdir(parents=True)
    tools = {name: shutil.which(name) for name in ("unshare", "mount", "sh")}
    mount = f"{tools['mount']} -t tmpfs -o mode=700,size={size} tmpfs '{state}'"
    within = [str(tools["unshare"]), "-rm", str(tools["sh"]), "-c"]
    if not all(tools.values()) or subprocess.run([*within, mount], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    with running(folder, config, within=[*within, f'{mount} && exec "$@"', "sh"]) as daemon:
        yield SmallDisk(daemon)
