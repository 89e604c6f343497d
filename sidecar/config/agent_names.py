"""Agent ids as folder and file names, one to one.

The names must stay apart on disks that fold case, so anything but plain lower case gets a tail of
its hash. The tail starts with a dot, which a plain id cannot hold: no plain id can imitate one.
"""

from __future__ import annotations

import hashlib
import re

MAX_CHARS = 200

_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


def folder_name(agent_id: str) -> str:
    """The folder name of an agent: the id itself when plain, else a readable stem and 16 hex digits of its hash.

    Raises ValueError for ids that are empty, `.`, `..`, longer than 200 characters, or hold `/` or NUL.
    """
    if problem := _problem(agent_id):
        raise ValueError(problem)
    if _PLAIN.fullmatch(agent_id):
        return agent_id
    stem = re.sub(r"[^a-z0-9_-]+", "-", agent_id.lower()).strip("-")[:40] or "agent"
    digest = hashlib.sha256(agent_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{stem}.{digest[:16]}"


def _problem(agent_id: str) -> str:
    if not agent_id.strip():
        return "an agent id must not be empty"
    if agent_id in {".", ".."} or "/" in agent_id or "\0" in agent_id:
        return "an agent id must not be `.` or `..`, nor hold `/` or NUL"
    if len(agent_id) > MAX_CHARS:
        return f"an agent id has at most {MAX_CHARS} characters"
    return ""
