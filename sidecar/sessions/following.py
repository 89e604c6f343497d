"""Conversations as they grow: exported once enough was said, and at once when one begins, is reset or deleted.

What stays below the thresholds waits for the next sync that somebody, or the clock, asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path

from backends.corpus import Corpus, Kind, Root
from exporter import Exported, is_transcript, open_transcript
from sidecar.config.search import SessionSync
from sidecar.sessions.conversations import Conversations

#: What is written within this time is looked at together.
DEBOUNCE_S = 5.0
#: What the watch says when anything may have happened; no transcript is called so.
UNCLEAR = "transcripts"
_GONE = -1
_PIECE_BYTES = 1 << 16


def watched(agent_id: str, folder: Path) -> Corpus:
    """A folder of transcripts as something to watch: what is told are their names."""
    root = Root(name=UNCLEAR, kind=Kind.SESSION, path=folder, patterns=("*.jsonl*",), shown="", trusted=False)
    return Corpus(agent_id, folder, (root,))


class Following:
    """Calls `due` when transcripts of a folder are to be exported.

    Growth is what a transcript has more than at its last export, of which `conversations` knows; only what is new is
    read, to count its lines. What looks at the disk runs in `pool`.
    """

    def __init__(
        self,
        folder: Path,
        conversations: Conversations,
        thresholds: SessionSync,
        due: Callable[[], object],
        pool: Executor,
        *,
        debounce_s: float = DEBOUNCE_S,
    ) -> None:
        self.folder = folder
        self._conversations = conversations
        self._thresholds = thresholds
        self._due = due
        self._pool = pool
        self._debounce_s = debounce_s
        self._dirty: set[str] = set()
        self._planned: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None
        #: The sizes for which an export was asked: of one that fails, only more growth is a reason to ask again.
        self._asked: dict[str, int] = {}
        #: Lines by transcript, and the part of it that they were counted in.
        self._counted: dict[str, tuple[int, int, int]] = {}

    def heard(self, names: Iterable[str]) -> None:
        """Transcripts were written, made or removed. To be called on the loop."""
        told = {name for name in names if name == UNCLEAR or is_transcript(name)}
        if not told:
            return
        self._dirty |= told
        loop = asyncio.get_running_loop()
        at = loop.time() + (0.0 if any(map(self._is_news, told)) else self._debounce_s)
        if self._planned is None or at < self._planned.when():
            self.close()
            self._planned = loop.call_at(at, self._start)

    @property
    def is_busy(self) -> bool:
        """Whether something that was heard is still to be looked at."""
        return self._planned is not None or (self._looking is not None and not self._looking.done())

    def close(self) -> None:
        """Plan nothing any more."""
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None

    def _is_news(self, name: str) -> bool:
        """Whether a transcript is one that was never seen: where a session begins, or was reset or deleted."""
        return name != UNCLEAR and name not in self._asked and not self._conversations.knows(name)

    def _start(self) -> None:
        self._planned = None
        if self._looking is not None and not self._looking.done():
            # Its turn comes after the look that is under way, which may be at a disk that does not answer.
            self._planned = asyncio.get_running_loop().call_later(self._debounce_s, self._start)
            return
        names, self._dirty = self._dirty, set()
        self._looking = asyncio.create_task(self._look(names))

    async def _look(self, names: set[str]) -> None:
        if await asyncio.get_running_loop().run_in_executor(self._pool, self._is_any_due, names):
            self._due()

    def _is_any_due(self, names: set[str]) -> bool:
        known = self._conversations.book().by_transcript
        if UNCLEAR in names:
            names = {*known, *self._present()}
        # Of all, so that no reason is left over for the next look.
        due = [name for name in names if self._is_due(name, known.get(name))]
        return bool(due)

    def _present(self) -> list[str]:
        try:
            return [path.name for path in self.folder.iterdir() if is_transcript(path.name)]
        except OSError:
            return []

    def _is_due(self, name: str, known: Exported | None) -> bool:
        if known is not None and known.left_out:
            return False
        size = self._size(name)
        before = self._before(name, known)
        if size == before or not self._is_enough(name, before, size):
            return False
        self._asked[name] = size
        self._counted.pop(name, None)
        return True

    def _before(self, name: str, known: Exported | None) -> int:
        """The size up to which a transcript was exported, or was asked to be."""
        exported = _GONE if known is None else known.size_bytes
        asked = self._asked.get(name, _GONE)
        if asked <= exported:
            self._asked.pop(name, None)
        return max(asked, exported)

    def _size(self, name: str) -> int:
        try:
            return (self.folder / name).lstat().st_size
        except OSError:
            return _GONE

    def _is_enough(self, name: str, before: int, size: int) -> bool:
        if _GONE in (before, size):
            return True
        # One that became shorter was written anew.
        start = before if size > before else 0
        if size - start >= max(1, self._thresholds.delta_bytes):
            return True
        return self._lines(name, start, size) >= max(1, self._thresholds.delta_messages)

    def _lines(self, name: str, start: int, end: int) -> int:
        """How many lines end between two places of a transcript; what was counted before is not read again."""
        counted = self._counted.get(name)
        first, upto, lines = counted if counted and counted[0] == start and counted[1] <= end else (start, start, 0)
        try:
            with open_transcript(self.folder / name) as file:
                file.seek(upto)
                while upto < end and (piece := file.read(min(_PIECE_BYTES, end - upto))):
                    upto += len(piece)
                    lines += piece.count(b"\n")
        except OSError:
            # The export will say what is wrong with it.
            return 0
        self._counted[name] = first, upto, lines
        return lines
