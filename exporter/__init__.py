"""Session transcripts to sanitized Markdown."""

from exporter.export import export_name, export_sessions, transcript_line
from exporter.job import Change, ExportJob, ExportReport, Failure
from exporter.owners import Exported, Owners, owners
from exporter.redact import BadPatternError, Redacted, Redactor

__all__ = [
    "BadPatternError",
    "Change",
    "ExportJob",
    "ExportReport",
    "Exported",
    "Failure",
    "Owners",
    "Redacted",
    "Redactor",
    "export_name",
    "export_sessions",
    "owners",
    "transcript_line",
]
