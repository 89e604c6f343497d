"""Session transcripts to sanitized Markdown."""

from exporter.export import export_name, export_sessions, transcript_lines
from exporter.job import Change, ExportJob, ExportReport, Failure
from exporter.markdown import day_said
from exporter.owners import Exported, Owners, owners
from exporter.purge import Buried, bury
from exporter.redact import BadPatternError, Redacted, Redactor, compile_pattern
from exporter.transcript import is_transcript, open_transcript

__all__ = [
    "BadPatternError",
    "Buried",
    "Change",
    "ExportJob",
    "ExportReport",
    "Exported",
    "Failure",
    "Owners",
    "Redacted",
    "Redactor",
    "bury",
    "compile_pattern",
    "day_said",
    "export_name",
    "export_sessions",
    "is_transcript",
    "open_transcript",
    "owners",
    "transcript_lines",
]
