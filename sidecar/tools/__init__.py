"""What an agent's gateway can ask of its memory: one module a tool, each behind the one door of `admission`."""
