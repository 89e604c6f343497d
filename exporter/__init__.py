"""Session transcripts to sanitized Markdown."""
