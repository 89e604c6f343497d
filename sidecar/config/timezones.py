"""The time zone in which an agent's user lives: the configured one, else the host's, else UTC."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_LOCALTIME = Path("/etc/localtime")
#: The key of a zone that this machine has a file for and no name.
UNNAMED = "localtime"
_FOLDER = "zoneinfo/"


def named_zone(name: str) -> ZoneInfo:
    """The zone of an IANA name. Raises ValueError for a name that the system does not know."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        if name.upper() == "UTC":
            return utc()
        raise ValueError("not a time zone of this system: use an IANA name like Europe/Paris") from error


def host_zone(environ: Mapping[str, str], *, localtime: Path = _LOCALTIME) -> ZoneInfo:
    """The zone of this machine: `TZ`, else what `localtime` links to or holds, else UTC."""
    candidates = [environ.get("TZ", "").lstrip(":"), _linked(localtime)]
    for name in filter(None, candidates):
        try:
            return named_zone(name)
        except ValueError:
            continue
    try:
        with localtime.open("rb") as stream:
            return ZoneInfo.from_file(stream, key=UNNAMED)
    except (OSError, ValueError):
        return utc()


def _linked(localtime: Path) -> str:
    target = str(localtime.resolve())
    return target.partition(_FOLDER)[2]


def utc() -> ZoneInfo:
    """UTC as a ZoneInfo, also where no zone files are installed (slim containers)."""
    try:
        return ZoneInfo("UTC")
    except ZoneInfoNotFoundError:
        # RFC 8536, version 1: no transitions, one type of offset 0, four characters of abbreviation.
        counts = b"".join(count.to_bytes(4, "big") for count in (0, 0, 0, 0, 1, 4))
        return ZoneInfo.from_file(io.BytesIO(b"TZif" + bytes(16) + counts + bytes(6) + b"UTC\0"), key="UTC")
