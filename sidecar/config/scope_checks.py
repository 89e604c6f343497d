"""What is odd about a scope: rules that decide nothing, and a default that is left to be guessed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from scope import Policy, idle_rules
from sidecar.config.json5 import KeyPath
from sidecar.config.sections import Reader

_SCOPE: Final[KeyPath] = ("memory", "qmd", "scope")


def run(reader: Reader, policy: Policy, agent_ids: Collection[str]) -> None:
    """Every remark about a scope that is written; they go to `reader`."""
    written = reader.tree.get(_SCOPE)
    if not isinstance(written, dict):
        return
    if "default" not in written:
        message = "there is no default, so what no rule allows is denied"
        reader.warn(_SCOPE, "no_default", message, 'write default: "deny"')
    for idle in idle_rules(policy, agent_ids):
        reader.warn((*_SCOPE, "rules", idle.number - 1), "idle_rule", f"decides nothing: {idle.why}", idle.hint)
