"""docs/status.svg, made from what `qmd-sidecar status` prints about a real daemon.

python -m tests.docs.picture
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

from tests.running import REPOSITORY, Running, real_qmd_path, running, until

PICTURE: Final = REPOSITORY / "docs" / "status.svg"
CELL, LINE, MARGIN = 7.7, 19, 14
COLUMNS: Final = 96
#: The colours of the codes that the command line uses, on a dark ground.
COLOURS: Final = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e"}
_CODE: Final = re.compile(r"\x1b\[([\d;]*)m")
FRAME: Final = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">
<title>qmd-sidecar status</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12.8" fill="#e6edf3" xml:space="preserve">
{lines}
</g>
</svg>
"""


def drawn(text: str) -> str:
    """A terminal's text with colour codes as a picture."""
    rows = text.rstrip().split("\n")
    width = max(len(_CODE.sub("", row)) for row in rows)
    lines = [f'<text x="{MARGIN}" y="{MARGIN + LINE * number}">{_row(row)}</text>' for number, row in _numbered(rows)]
    size = {"width": round(2 * MARGIN + CELL * width), "height": 2 * MARGIN + LINE * len(rows)}
    return FRAME.format(lines="\n".join(lines), **size)


def _numbered(rows: list[str]) -> Iterator[tuple[int, str]]:
    return ((number, row) for number, row in enumerate(rows, start=1) if row)


def _row(row: str) -> str:
    """One line: every stretch of a colour is a span."""
    start, *rest = _CODE.split(row)
    spans = [escape(start)]
    for codes, stretch in zip(rest[::2], rest[1::2], strict=True):
        colour = next((COLOURS[code] for code in codes.split(";") if code in COLOURS), "")
        spans.append(f'<tspan fill="{colour}">{escape(stretch)}</tspan>' if colour and stretch else escape(stretch))
    return "".join(spans)


def screen(daemon: Running) -> str:
    """The status of a daemon as a terminal of `COLUMNS` cells shows it; its temporary folders are called `~`."""
    command = [sys.executable, "-m", "sidecar", "status", "--socket", str(daemon.client.path)]
    environ = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "LANG": "C.UTF-8"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environ).stdout
    return shown.replace(str(daemon.folder), "~").replace(str(daemon.client.path.parent), "~/run")


def main() -> int:
    """Start a daemon with two agents and draw its status."""
    with tempfile.TemporaryDirectory(prefix="qs-") as place:
        home = Path(place)
        for name, text in {"work": "The boat leaves at nine.", "ops": "Backups start at half past two."}.items():
            (home / name).mkdir()
            (home / name / "MEMORY.md").write_text(f"{text}\n", encoding="utf-8")
        agents = [{"id": "main", "workspace": str(home / "work")}, {"id": "ops", "workspace": str(home / "ops")}]
        config = {"agents": {"list": [*agents, {"id": "lab", "workspace": str(home / "lab")}]}}
        with running(home, config, path=real_qmd_path()) as daemon:
            until(lambda: all(agent["state"] != "indexing" for agent in daemon.call("GET", "/v1/agents")["agents"]))
            PICTURE.write_text(drawn(screen(daemon)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
