"""Logging: one event a line, JSON for machines, plain for a terminal, never query or memory text.

Modules log with the standard library and put their facts into `extra={"fields": {...}}`. `setup` opens the log of a
daemon, `places` says where it is, `reading` and `journal` read it again. docs/logging.md names every event.
"""
