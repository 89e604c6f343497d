"""The real `qmd`, run as isolated child processes: one set per agent, warm where possible, never trusted blindly."""
