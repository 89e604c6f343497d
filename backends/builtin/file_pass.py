"""Making the keyword rows of an index what the disk says: changed files by time, size and hash.

Every batch is one transaction, so that notes are searchable while the rest is read, and a kill loses at most the
batch at hand.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import apsw

from backends.base import Source
from backends.builtin.discovery import compare, known_files
from backends.builtin.forgetting import forget_vectors, note_lost
from backends.builtin.identity import Cut
from backends.builtin.intake import Piece, UnfitError, decoded, pieces, read
from backends.builtin.media import MediaFiles
from backends.builtin.meta import publish, read_generation, read_meta, write_meta
from backends.builtin.options import Report
from backends.builtin.upkeep import keep_log_short
from backends.corpus import Corpus, Found, Kind, Located, Root
from backends.dates import day_of

#: A batch ends after so many files or so much time, whichever comes first.
BATCH_FILES = 256
BATCH_S = 0.25


class FilePass:
    """Runs over the files of one corpus. The counts add up over the runs.

    `skipped` are the files that are not indexed, or not as they are, with the reason.
    """

    def __init__(
        self, connection: apsw.Connection, corpus: Corpus, cut: Cut, media: MediaFiles, report: Report
    ) -> None:
        self._connection = connection
        self._corpus = corpus
        self._cut = cut
        self._media = media
        self._report = report
        self._generation = 0
        self.changed = 0
        self.removed = 0
        self.unchanged = 0
        self.skipped: dict[str, str] = {}

    def forget(self) -> None:
        """Have every file read again. The rows stay and answer until their file's turn comes."""
        self._connection.execute("UPDATE files SET hash = '', mtime = -1")
        write_meta(self._connection, declined_media=[])

    def run(self) -> None:
        """Bring the rows up to date once."""
        self._media.readmit(self._connection)
        difference = compare(self._corpus, known_files(self._connection))
        self.unchanged = len(difference.same)
        earlier: Mapping[str, str] = read_meta(self._connection).get("skipped", {})
        self.skipped = {path: why for path, why in earlier.items() if path in difference.same} | {**difference.refused}
        if difference.gone or self.skipped != earlier:
            with self._connection:
                self._remove(difference.gone)
                self._publish()
        total, done = len(difference.suspects), 0
        queue = iter(difference.suspects)
        while done < total:
            done += self._batch(queue)
            keep_log_short(self._connection)
            self._report({"phase": "files", "done": done, "total": total})

    def _batch(self, queue: Iterator[tuple[Root, Found]]) -> int:
        until = time.monotonic() + BATCH_S
        done = 0
        with self._connection:
            self._generation = read_generation(self._connection) + 1
            for root, found in queue:
                self._take(Located(root, found.relative), found)
                done += 1
                if done >= BATCH_FILES or time.monotonic() > until:
                    break
            self._publish()
        return done

    def _take(self, located: Located, found: Found) -> None:
        """Index one file, or say why not. One bad file never stops the others."""
        try:
            self._index(located, found)
        except UnfitError as unfit:
            self.skipped[located.path] = unfit.reason
            # Recorded as seen, so that the next scan does not count it as changed.
            self._replace(located, found, "", ())
        except FileNotFoundError:
            self._remove((located.path,))
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, type(error).__name__)
            self.skipped[located.path] = f"cannot be read ({name})"

    def _index(self, located: Located, found: Found) -> None:
        if medium := self._media.of(located):
            digest = medium.digest(found)
            self._put(located, found, digest, lambda: [medium.piece(digest)])
            return
        data = read(located, found)
        text = decoded(data)
        if text.flaw:
            self.skipped[located.path] = text.flaw
        digest = hashlib.sha256(data).hexdigest()
        self._put(located, found, digest, lambda: pieces(located, text.text, self._cut))

    def _put(self, located: Located, found: Found, digest: str, parts: Callable[[], Sequence[Piece]]) -> None:
        known = self._connection.execute("SELECT hash, root FROM files WHERE path = ?", (located.path,)).fetchone()
        if known == (digest, located.root.name):
            self._note(located, found, digest)
            self.unchanged += 1
        else:
            self._replace(located, found, digest, parts())
            self.changed += 1

    def _note(self, located: Located, found: Found, digest: str) -> None:
        root = located.root
        day = day_of(located.relative, root.kind, found.mtime_ns / 1e9)
        values = (Source.of(root.kind), digest, found.mtime_ns, found.size, root.name, located.relative)
        self._connection.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (located.path, *values, day and day.isoformat()),
        )

    def _replace(self, located: Located, found: Found, digest: str, parts: Sequence[Piece]) -> None:
        path = located.path
        kept = self._vectors_of(path)
        lost = self._forget_chunks(path)
        if located.root.kind is Kind.SESSION:
            forget_vectors(self._connection, lost - {piece.digest for piece in parts})
        self._note(located, found, digest)
        for position, piece in enumerate(parts):
            self._insert((path, str(Source.of(located.root.kind))), position, piece, kept)

    def _vectors_of(self, path: str) -> dict[str, tuple[str, bytes]]:
        rows = self._connection.execute(
            "SELECT hash, model, embedding FROM chunks WHERE path = ? AND stamp > 0", (path,)
        )
        return {digest: (model, embedding) for digest, model, embedding in rows}

    def _insert(
        self, place: tuple[str, str], position: int, piece: Piece, kept: Mapping[str, tuple[str, bytes]]
    ) -> None:
        identity = hashlib.sha256("\0".join((place[0], str(position), piece.digest)).encode()).hexdigest()[:32]
        model, embedding = kept.get(piece.digest, ("", b""))
        lines = (piece.chunk.start_line, piece.chunk.end_line)
        stamp = self._generation if embedding else 0
        self._connection.execute(
            "INSERT INTO chunks"
            " (id, path, source, start_line, end_line, hash, model, text, embedding, updated_at, stamp)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (identity, *place, *lines, piece.digest, model, piece.chunk.text, embedding, int(time.time()), stamp),
        )
        self._connection.execute(
            "INSERT INTO chunks_fts (rowid, text, id, path, source, model, start_line, end_line)"
            " VALUES (last_insert_rowid(), ?, ?, ?, ?, ?, ?, ?)",
            (piece.terms, identity, *place, model, *lines),
        )

    def _remove(self, paths: Sequence[str]) -> None:
        lost: set[str] = set()
        for path in paths:
            digests = self._forget_chunks(path)
            known = self._connection.execute("DELETE FROM files WHERE path = ? RETURNING source", (path,)).fetchall()
            lost |= digests if known == [(Source.SESSIONS,)] else set()
            self.removed += len(known)
        note_lost(self._connection, lost)

    def _forget_chunks(self, path: str) -> set[str]:
        """Drop the rows of a file, and the digests of their texts."""
        rows = self._connection.execute("SELECT number, hash FROM chunks WHERE path = ?", (path,)).fetchall()
        if rows:
            self._connection.executemany("DELETE FROM chunks_fts WHERE rowid = ?", [(number,) for number, _ in rows])
            self._connection.execute("DELETE FROM chunks WHERE path = ?", (path,))
        return {str(digest) for _, digest in rows}

    def _publish(self) -> None:
        """Tell readers that something is new; why files are missing stays with them, also after a kill."""
        publish(self._connection, skipped=self.skipped)
