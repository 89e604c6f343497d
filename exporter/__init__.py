"""Session transcripts to sanitized Markdown."""

from exporter.export import ExportJob, ExportReport, Failure, export_name, export_sessions, transcript_line
from exporter.redact import BadPatternError, Redacted, Redactor

__all__ = [
    "BadPatternError",
    "ExportJob",
    "ExportReport",
    "Failure",
    "Redacted",
    "Redactor",
    "export_name",
    "export_sessions",
    "transcript_line",
]
