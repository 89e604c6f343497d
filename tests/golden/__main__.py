"""Keep the state that this release leaves: `python -m tests.golden NAME`, once for every format that was released."""

from __future__ import annotations

import sys
import tarfile
import tempfile
from pathlib import Path

from tests.golden.made import lay, use
from tests.running import running

#: What tells of one daemon, and not of the state that it leaves.
_PASSING = ("sidecar.lock", "run", "log")


def main() -> None:
    """Write `tests/golden/NAME.tar.xz`."""
    with tempfile.TemporaryDirectory(prefix="golden-") as folder:
        home = Path(folder)
        with running(home / "daemon", lay(home)) as daemon:
            use(daemon)
        with tarfile.open(Path(__file__).with_name(f"{sys.argv[1]}.tar.xz"), "w:xz") as kept:
            for entry in sorted((home / "daemon" / "state").iterdir()):
                if entry.name not in _PASSING:
                    kept.add(entry, entry.name, filter=_anonymous)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


main()
