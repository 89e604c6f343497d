"""Changed files, told as they change: by the system where it can, by looking again where it cannot."""

from sidecar.watching.unindexed import Unindexed
from sidecar.watching.watch import Layout, Watching

__all__ = ["Layout", "Unindexed", "Watching"]
