"""Links from what a search shows to the files themselves, for terminals that can open them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

#: A function that gives the address of the file behind a path that is shown; None where there is none.
Addresses = Callable[[str], str | None]


def nowhere(shown: str) -> str | None:
    """The addresses of files that are not to be linked."""
    return None


def addresses(agent: Mapping[str, Any]) -> Addresses:
    """The addresses of an agent's files, by the folders in its status. Nothing is read but whether a file is there."""
    roots = [(str(root.get("shown") or ""), str(root.get("path") or "")) for root in agent.get("roots") or []]

    def address(shown: str) -> str | None:
        files = (Path(folder, shown.removeprefix(prefix)) for prefix, folder in roots if shown.startswith(prefix))
        found = next((file for file in files if file.is_file()), None)
        # With the name of the machine: over ssh another one's file may have the same path.
        return f"file://{socket.gethostname()}{quote(str(found))}" if found else None

    return address


def linked(text: str, address: str | None) -> str:
    """The text as a link (OSC 8), where there is an address."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if address else text
