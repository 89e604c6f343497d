"""The one cutter of passages, for hits of every engine: from places in files to the lines that answer, in order."""

from __future__ import annotations

from backends.passages.assembling import Assembled, assemble
from backends.passages.candidates import Candidate
from backends.passages.file import MAX_FILE_BYTES
from backends.passages.ordering import Ranking

__all__ = ["MAX_FILE_BYTES", "Assembled", "Candidate", "Ranking", "assemble"]
