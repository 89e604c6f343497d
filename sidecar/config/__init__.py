"""The configuration: OpenClaw's keys in JSON5, validated once, resolved per agent."""

from sidecar.config.agent_names import folder_name
from sidecar.config.difference import changed_keys, needs_restart
from sidecar.config.documents import dotted
from sidecar.config.embedding import ChosenBy, EmbeddingChoice, choose
from sidecar.config.errors import ConfigError, Finding, Severity
from sidecar.config.loader import fingerprint, inspect, load
from sidecar.config.report import check, show
from sidecar.config.roots import resolve_corpus, sessions_dir, sessions_enabled
from sidecar.config.schema import Compaction, Limits, Memory, Provider, Qmd, Sidecar
from sidecar.config.search import MemorySearch
from sidecar.config.settings import AgentSettings, Settings

__all__ = [
    "AgentSettings",
    "ChosenBy",
    "Compaction",
    "ConfigError",
    "EmbeddingChoice",
    "Finding",
    "Limits",
    "Memory",
    "MemorySearch",
    "Provider",
    "Qmd",
    "Settings",
    "Severity",
    "Sidecar",
    "changed_keys",
    "check",
    "choose",
    "dotted",
    "fingerprint",
    "folder_name",
    "inspect",
    "load",
    "needs_restart",
    "resolve_corpus",
    "sessions_dir",
    "sessions_enabled",
    "show",
]
