"""The real `qmd`, run as isolated child processes: one set per agent, warm where possible, never trusted blindly."""

from backends.qmd.backend import QmdBackend
from backends.qmd.home import QmdHome, QmdOptions
from backends.qmd.pool import ResidentPool

__all__ = ["QmdBackend", "QmdHome", "QmdOptions", "ResidentPool"]
