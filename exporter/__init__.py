"""Session transcripts to sanitized Markdown."""

from exporter.export import export_name, export_sessions, transcript_line
from exporter.job import Change, ExportJob, ExportReport, Failure
from exporter.purge import Buried, bury
from exporter.redact import BadPatternError, Redacted, Redactor, compile_pattern

__all__ = [
    "BadPatternError",
    "Buried",
    "Change",
    "ExportJob",
    "ExportReport",
    "Failure",
    "Redacted",
    "Redactor",
    "bury",
    "compile_pattern",
    "export_name",
    "export_sessions",
    "transcript_line",
]
