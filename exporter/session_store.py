"""Which session a transcript belongs to, from the gateway's `sessions.json`, and whether it is a conversation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from exporter.json_text import parsed
from exporter.transcript import opened

STORE_NAME: Final = "sessions.json"
_PARENTS: Final = ("parentSessionKey", "spawnedBy")
# Work that the gateway does by itself. It is long, repeats itself, and buries what people said.
_CHORE_HEADS: Final = frozenset({"cron", "heartbeat"})
_DREAM_PREFIX: Final = "dreaming-narrative-"


class StoreUnreadableError(OSError):
    """`sessions.json` is there and cannot be read, perhaps because the gateway is writing it."""


class SessionStore:
    """The entries of `sessions.json` by session key; a missing file is an empty store.

    Raises StoreUnreadableError: guessing without it would export what must be left out.
    """

    def __init__(self, folder: Path) -> None:
        found = _read(folder / STORE_NAME)
        self.exists = found is not None
        self._entries = found or {}
        self._harmless: set[str] = set()
        self._keys = {name: key for key, entry in self._entries.items() if (name := _transcript_name(entry))}

    def key_of(self, transcript: str) -> str:
        """The session key that a transcript file belongs to now; empty when no session names it."""
        return self._keys.get(transcript, "")

    def is_chore(self, key: str) -> bool:
        """Whether a session is a cron run, a heartbeat, a sub-agent or a dream, or was started by one."""
        seen: set[str] = set()
        waiting = [key]
        while waiting:
            current = waiting.pop()
            if current in seen or current in self._harmless:
                continue
            if _is_chore_key(current):
                return True
            seen.add(current)
            waiting += self._parents_of(current)
        # Families are long, and asked about once for every member.
        self._harmless |= seen
        return False

    def names(self, key: str) -> bool:
        """Whether the store has a session of this key."""
        return key in self._entries

    def parents(self) -> set[tuple[str, str]]:
        """Session keys, each with the key of a session that it was started by."""
        return {(key, parent) for key in self._entries for parent in self._parents_of(key)}

    def _parents_of(self, key: str) -> list[str]:
        entry = self._entries.get(key, {})
        return [parent for name in _PARENTS if isinstance(parent := entry.get(name), str)]


def plain_key(key: str) -> str:
    """A session key as keys are compared within one agent: in lower case, and without `agent:<id>:`."""
    return ":".join(_parts(key))


def _parts(key: str) -> list[str]:
    parts = key.strip().lower().split(":")
    return parts[2:] if parts[0] == "agent" else parts


def is_same_key(one: str, other: str) -> bool:
    """Whether two keys mean one session. Both may name an agent, which is then the same; no key means none."""
    keys = [key.strip().lower() for key in (one, other)]
    if all(key.startswith("agent:") for key in keys):
        return keys[0] == keys[1]
    plain = plain_key(one)
    return bool(plain) and plain == plain_key(other)


def _read(path: Path) -> Mapping[str, Mapping[str, Any]] | None:
    try:
        # A link may lead to it, but a pipe must not be waited for.
        with opened(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            store = parsed(file.read())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreUnreadableError(f"{STORE_NAME} cannot be read") from error
    if not isinstance(store, dict):
        raise StoreUnreadableError(f"{STORE_NAME} is not an object")
    return {key: entry for key, entry in store.items() if isinstance(entry, dict)}


def _transcript_name(entry: Mapping[str, Any]) -> str:
    file, session_id = entry.get("sessionFile"), entry.get("sessionId")
    if isinstance(file, str) and file:
        return PurePosixPath(file).name
    return f"{session_id}.jsonl" if isinstance(session_id, str) and session_id else ""


def _is_chore_key(key: str) -> bool:
    rest = _parts(key)
    if not rest:
        return False
    chore = rest[0] in _CHORE_HEADS or rest[-1] == "heartbeat" or "subagent" in rest
    return chore or any(part.startswith(_DREAM_PREFIX) for part in rest)
