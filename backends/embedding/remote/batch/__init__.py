"""Batch APIs: many texts at a lower price, answered within hours, by jobs that outlive the process that asked."""
