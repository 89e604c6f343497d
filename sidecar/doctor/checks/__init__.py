"""The checks, in the order in which they are shown."""

from __future__ import annotations

from typing import Final

from sidecar.doctor.checks import agents, configuration, daemons, engines, folders, indexes, machine, socket
from sidecar.doctor.subject import Check, on_disk

#: `daemon` is not among them: whether it answers is seen by whoever asks it.
CHECKS: Final = (
    Check("configuration", on_disk(configuration.configuration)),
    Check("changes", on_disk(configuration.changes), needs_daemon=True),
    Check("folders", on_disk(folders.folders)),
    Check("permissions", on_disk(folders.permissions)),
    Check("disk", on_disk(folders.disk)),
    Check("clock", on_disk(folders.clock)),
    Check("socket", on_disk(socket.socket)),
    Check("daemons", on_disk(daemons.daemons)),
    Check("service", on_disk(machine.service)),
    Check("watching", on_disk(machine.watching)),
    Check("qmd", engines.qmd),
    Check("models", on_disk(engines.models)),
    Check("isolation", on_disk(engines.isolation)),
    Check("collections", on_disk(engines.collections)),
    Check("indexes", on_disk(indexes.indexes)),
    Check("vectors", on_disk(indexes.vectors)),
    Check("embedding", indexes.embedding),
    Check("agents", agents.problems, needs_daemon=True),
    Check("search", agents.search, needs_daemon=True),
)
