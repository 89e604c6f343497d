"""OpenClaw's own command line, through which everything that is changed of it is changed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sidecar.client import ClientError

#: The id of our plugin, which is also its key in OpenClaw's configuration.
PLUGIN_ID: Final = "qmd-sidecar"
#: The plugin as this package ships it.
PLUGIN_FOLDER: Final = Path(__file__).parent.parent / "integrations" / "openclaw"
SLOT: Final = "plugins.slots.memory"
ENTRY: Final = f"plugins.entries.{PLUGIN_ID}"
#: A command starts Node and reads all plugins: seconds, on a small machine many.
COMMAND_S: Final = 180.0
_SHOWN_LINES: Final = 6


class HostError(ClientError):
    """OpenClaw is not there, or one of its commands failed."""

    code = "openclaw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Who holds the memory slot, and our plugin's entry; None where the configuration has no word on it."""

    holder: str | None
    entry: dict[str, Any] | None

    def leaves(self) -> dict[str, Any]:
        """Every value by its key."""
        return {SLOT: self.holder, **dict(_leaves(ENTRY, self.entry))}


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield key, value
        return
    for name, each in value.items():
        yield from _leaves(f"{key}.{name}", each)


class Host:
    """One OpenClaw, by the name or path of its command. Every method raises `HostError`."""

    def __init__(self, command: str = "openclaw") -> None:
        found = shutil.which(command)
        if found is None:
            raise HostError(f"there is no command {command}", hint="name it with --openclaw PATH")
        self._command = found

    def run(self, *arguments: str) -> str:
        """What a command prints on its standard output."""
        done = self._finished(arguments)
        if done.returncode:
            raise HostError(f"openclaw {' '.join(arguments[:2])} failed: {_last_words(done)}", hint="openclaw doctor")
        return done.stdout

    def settings(self) -> Settings:
        """What its configuration says of plugins, as far as it is about ours; defaults included."""
        done = self._finished(("config", "get", "plugins", "--json"))
        plugins = {} if done.returncode else _decoded(done.stdout, "config get")
        entry = plugins.get("entries", {}).get(PLUGIN_ID)
        return Settings(holder=plugins.get("slots", {}).get("memory"), entry=entry)

    def merge(self, key: str, value: Mapping[str, Any]) -> None:
        """Set keys of its configuration, and leave their neighbours as they are."""
        self.run("config", "set", key, json.dumps(value), "--strict-json", "--merge")

    def read(self, *arguments: str) -> Any:
        """The JSON that a command prints."""
        return _decoded(self.run(*arguments, "--json"), " ".join(arguments[:2]))

    def call(self, method: str, **params: Any) -> Any:
        """What the running gateway answers."""
        done = self._finished(("gateway", "call", method, "--params", json.dumps(params), "--json"))
        if done.returncode:
            raise HostError(f"the gateway refused {method}: {_reason(done)}", hint="openclaw gateway status")
        return _decoded(done.stdout, method)

    def _finished(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        # A session of its own keeps Ctrl-C from it: a plugin command that is killed leaves a lock of five minutes, for
        # which the next start of the gateway waits without a word.
        process = subprocess.Popen(
            [self._command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            out, said = process.communicate(timeout=COMMAND_S)
        except KeyboardInterrupt:
            process.communicate()
            raise
        except subprocess.TimeoutExpired:
            raise HostError(
                f"openclaw {' '.join(arguments[:2])} is not done after {COMMAND_S:g} s, and goes on by itself",
                hint="look at it with `ps`, and wait for its end before the next start of the gateway",
            ) from None
        return subprocess.CompletedProcess(arguments, process.returncode, out, said)


def _decoded(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise HostError(f"openclaw {what} printed no JSON", hint="openclaw --version") from None


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why the gateway refused, in its own words."""
    try:
        return str(json.loads(done.stdout)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return _last_words(done)


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return " | ".join(lines[-_SHOWN_LINES:]) or f"exit code {done.returncode}"
