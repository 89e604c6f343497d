"""The qmd look-alike: an executable `qmd` in a folder of its own, for programs that spawn one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from backends import look_alike
from backends.files import write_atomically

#: Isolated from the caller's Python settings and installed packages; UTF-8 whatever the locale.
OPTIONS = "-ISEXutf8"
#: Where some systems cut the first line of a script.
_LONGEST_FIRST_LINE = 127


class NotOursError(Exception):
    """A `qmd` stands there that somebody else made; it is the first argument."""


def rendered(python: str, sockets: Sequence[Path]) -> str:
    """The look-alike as one file: run by `python`, it asks the daemon at the first of the sockets that answers."""
    program = Path(__file__).with_name("qmd.py").read_text(encoding="utf-8")
    call = f"main({tuple(map(str, sockets))!r}, {look_alike.MARK!r})"
    return f"{_first_line(python)}# {look_alike.MARK}\n{program}\n\n{call}\n"


def install(folder: Path, python: str, sockets: Sequence[Path]) -> Path:
    """Write the look-alike into `folder`, anew where it is there. Raises `NotOursError`, or `OSError`."""
    file = folder / "qmd"
    if os.path.lexists(file) and not look_alike.is_one(file):
        raise NotOursError(file)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomically(file, rendered(python, sockets).encode("utf-8", "surrogateescape"))
    file.chmod(0o755)
    return file


def uninstall(folder: Path) -> bool:
    """Remove the look-alike; False when there is none. Raises `NotOursError`, or `OSError`."""
    file = folder / "qmd"
    if not os.path.lexists(file):
        return False
    if not look_alike.is_one(file):
        raise NotOursError(file)
    file.unlink()
    return True


def _first_line(python: str) -> str:
    """What starts the program: the interpreter, or a shell for one whose path does not fit into a first line.

    The second line is then a command to the shell and a text to Python.
    """
    direct = f"#!{python} {OPTIONS}\n"
    if not any(character.isspace() for character in python) and len(os.fsencode(direct)) <= _LONGEST_FIRST_LINE:
        return direct
    quoted = "'{}'".format(python.replace("'", "'\"'\"'"))
    return f"#!/bin/sh\n'exec' {quoted} '{OPTIONS}' \"$0\" \"$@\"\n"
