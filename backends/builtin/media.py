"""Images and recordings in an index: one chunk each, found by the words of its path and by a vector of its bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import apsw

from backends.builtin.chunking import Chunk
from backends.builtin.intake import Piece, UnfitError
from backends.builtin.meta import read_meta, write_meta
from backends.builtin.options import IndexJob
from backends.corpus import Corpus, Found, Located, open_regular
from backends.embedding import Media
from backends.media import HEAD_BYTES, begins_like, type_of
from backends.text.tokens import index_terms

_PART_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class MediaFile:
    """One image or recording on disk, of at most `most_bytes`."""

    located: Located
    mime: str
    most_bytes: int

    def digest(self, found: Found) -> str:
        """The SHA-256 of its bytes. Raises `UnfitError` for what cannot be sent to a model, and `OSError`."""
        if found.size > self.most_bytes:
            raise self._too_large()
        total = hashlib.sha256()
        for part in self._parts():
            total.update(part)
        return total.hexdigest()

    def medium(self, digest: str) -> Media:
        """Its bytes, as long as they are those of the digest. Raises `UnfitError` and `OSError`."""
        data = b"".join(self._parts())
        if hashlib.sha256(data).hexdigest() != digest:
            raise UnfitError("it was changed meanwhile; the next sync takes it")
        return Media(self.mime, data)

    def _parts(self) -> Iterator[bytes]:
        with os.fdopen(open_regular(self.located), "rb") as stream:
            head = stream.read(HEAD_BYTES)
            if not begins_like(self.mime, head):
                ending = self.located.relative.rpartition(".")[2]
                raise UnfitError(f"its bytes are not those of a .{ending} file")
            yield head
            left = self.most_bytes - len(head)
            # A file may have grown since it was listed.
            while left >= 0 and (part := stream.read(min(_PART_BYTES, left + 1))):
                left -= len(part)
                yield part
            if left < 0:
                raise self._too_large()

    def _too_large(self) -> UnfitError:
        return UnfitError(f"larger than multimodal.maxFileBytes ({self.most_bytes})")

    def piece(self, digest: str) -> Piece:
        """Its one chunk: nothing is known of it but its path, of which the ending is a part."""
        relative = self.located.relative
        return Piece(Chunk(1, 1, relative), digest, " ".join(index_terms(relative)))


@dataclass(frozen=True, slots=True)
class MediaFiles:
    """The images and recordings of a corpus, each of at most `most_bytes`."""

    corpus: Corpus
    most_bytes: int
    roots: tuple[str, ...] = field(init=False)

    @classmethod
    def of_job(cls, job: IndexJob) -> MediaFiles:
        """Those that a job is about."""
        return cls(job.corpus, job.options.most_media_bytes)

    def __post_init__(self) -> None:
        object.__setattr__(self, "roots", tuple(root.name for root in self.corpus.roots if root.media))

    def of(self, located: Located) -> MediaFile | None:
        """What stands at a place, None for a text."""
        mime = type_of(located.relative) if located.root.media else None
        return MediaFile(located, mime, self.most_bytes) if mime else None

    def at(self, path: str) -> MediaFile | None:
        """What a shown path names, None for a text and for what no root holds."""
        located = self.corpus.locate(path)
        return self.of(located) if located else None

    def condition(self) -> str:
        """What holds for chunks of these files alone, as SQL; its values are `roots`."""
        marks = ",".join("?" * len(self.roots))
        return f"path IN (SELECT path FROM files WHERE root IN ({marks}))"  # noqa: S608 - only question marks

    def readmit(self, connection: apsw.Connection) -> None:
        """Have every such file looked at again when another size is allowed than before."""
        if not self.roots or read_meta(connection).get("most_media_bytes") == self.most_bytes:
            return
        marks = ",".join("?" * len(self.roots))
        with connection:
            connection.execute(f"UPDATE files SET mtime = -1 WHERE root IN ({marks})", self.roots)  # noqa: S608
            write_meta(connection, most_media_bytes=self.most_bytes)
