"""A `systemctl`, a `launchctl` and what goes with them: scripts that write down how they were called."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

COMMANDS = ("systemctl", "launchctl", "loginctl", "runuser")
#: Words that only ask.
ASKING = {"show", "show-user", "print"}
#: One call a line, its words apart by tabs; without the options that every call has.
_SCRIPT = """#!/bin/sh
line=${{0##*/}}
for word in "$@"; do
  case $word in --no-pager|--no-ask-password) ;; *) line="$line\t$word" ;; esac
done
printf '%s\\n' "$line" >>{calls}
case $line in
{answers}
esac
"""


class FakeManagers:
    """The commands in a folder for PATH. Whatever was not told otherwise succeeds and says nothing."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "managers"
        self.bin.mkdir()
        self._calls = folder / "calls"
        self._answers: list[str] = []
        for name in COMMANDS:
            (self.bin / name).touch(mode=0o755)
        self._save()

    def answer(self, *start: str, code: int = 0, out: str = "", err: str = "") -> None:
        """How commands end that start with these words; the newest answer that fits is given."""
        said = f"printf %s {quote(out)}; printf %s {quote(err)} >&2; exit {code}"
        self._answers.insert(0, f"{quote(chr(9).join(start))}*) {said} ;;")
        self._save()

    def is_running(self, pid: int) -> None:
        """Let systemd and launchd say that the daemon runs."""
        shown = f"LoadState=loaded\nActiveState=active\nSubState=running\nMainPID={pid}\n"
        self.answer("systemctl", "--user", "show", "qmd-sidecar.service", out=shown)
        printed = f"gui/501/ai.qmd-sidecar = {{\n\tstate = running\n\n\tpid = {pid}\n\tspawn type = daemon (3)\n}}\n"
        self.answer("launchctl", "print", "gui/501/ai.qmd-sidecar", out=printed)

    @property
    def calls(self) -> list[list[str]]:
        """Every command so far that asks for a change."""
        lines = self._calls.read_text(encoding="utf-8").splitlines() if self._calls.exists() else []
        calls = [line.split("\t") for line in lines]
        return [call for call in calls if not ASKING & set(call)]

    def _save(self) -> None:
        script = _SCRIPT.format(calls=quote(str(self._calls)), answers="\n".join(self._answers))
        for name in COMMANDS:
            (self.bin / name).write_text(script, encoding="utf-8")
