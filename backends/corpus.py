"""The folders that make up one agent's memory, and the one-to-one map between shown paths and files.

Both engines, reading, watching and provenance use the same `Corpus`, so that a path which a search
returned is a path that can be read. Nothing here opens a file for writing.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeAlias

from backends.media import kind_of
from backends.patterns import is_literal, matcher, unescape
from backends.presence import is_folder

#: Folders that QMD and every sensible indexer leave alone; both engines skip the same ones.
IGNORED_FOLDERS = frozenset({"node_modules", "vendor", "dist", "build", "__pycache__"})
#: Why a file whose name no shown path can carry is not memory.
UNSHOWABLE = "no path can show its name (not UTF-8, a backslash, or like ~ or C: at the start)"
#: Hears of every such file: a printable form of its shown path, and why.
Refuse: TypeAlias = Callable[[str, str], object]


def _ignore(path: str, why: str) -> None:
    """Nobody asked."""


class Kind(StrEnum):
    """What a root holds, which decides ranking room, decay and provenance."""

    CURATED = "curated"
    DAILY = "daily"
    SESSION = "session"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One folder of memory.

    `patterns` are globs relative to `path`; the first that matches any file is in force, so that one slot can
    say "`MEMORY.md`, else `memory.md`". `shown` is the prefix of shown paths: empty for files at the top of the
    workspace, `memory/`, or `qmd/<name>/` for a folder outside it. `without` names folders inside that belong to
    somebody else. `trusted` is false for text that did not come from the agent or its owner. `media` names the kinds
    of files (`image`, `audio`) that the root holds, and holds alone; empty for a root of texts.
    """

    name: str
    kind: Kind
    path: Path
    patterns: tuple[str, ...]
    shown: str
    without: tuple[str, ...] = ()
    trusted: bool = True
    media: tuple[str, ...] = ()

    def pattern(self) -> str:
        """The pattern in force now: the first that matches a file, else the first."""
        if len(self.patterns) == 1:
            return self.patterns[0]
        present = (pattern for pattern in self.patterns if next(self._matching(pattern), None))
        return next(present, self.patterns[0])

    def holds(self, relative: str) -> bool:
        """Whether `relative` (with `/`) is a path that this root would index."""
        return (
            is_plain(self.shown + relative)
            and not is_ignored(relative)
            and not self._is_left_out(relative)
            and self._is_of_kind(relative)
            and any(matcher(pattern)(relative) for pattern in self.patterns)
        )

    def reaches(self, relative: str) -> bool:
        """Whether the folder `relative` is one whose files, or those below it, this root might index."""
        if self.names_files:
            return any(unescape(pattern).startswith(f"{relative}/") for pattern in self.patterns)
        return not is_ignored(relative) and not self._is_left_out(relative)

    @property
    def names_files(self) -> bool:
        """Whether the patterns name single files, so that other files cannot be of interest."""
        return all(map(is_literal, self.patterns))

    def folders(self) -> Iterator[str]:
        """Every folder that is there and can hold files of this root, relative to it; empty text is the root itself."""
        if self.names_files:
            named = sorted({unescape(pattern).rpartition("/")[0] for pattern in self.patterns})
            yield from (folder for folder in named if is_folder(self.path / folder))
        else:
            yield from (folder for folder, _ in _tree(self.path) if not folder or not self._is_left_out(folder))

    def files(self, refuse: Refuse = _ignore) -> Iterator[Found]:
        """Every regular file in force, in path order. Links inside the root are skipped; a missing root is empty.

        What is given can be shown, indexed and read: a file that `holds` would deny goes to `refuse`.
        """
        for found in self._matching(self.pattern(), refuse):
            shown = self.shown + found.relative
            if is_plain(shown):
                yield found
            else:
                refuse(printable(shown), UNSHOWABLE)

    def _matching(self, pattern: str, refuse: Refuse = _ignore) -> Iterator[Found]:
        if is_literal(pattern):
            yield from self._literal(unescape(pattern))
            return
        matches = matcher(pattern)

        def odd(relative: str, why: str) -> None:
            if relative.endswith(".md") and matches(relative) and not self._is_left_out(relative):
                refuse(printable(self.shown + relative), why)

        for found in walk(self.path, odd):
            if matches(found.relative) and not self._is_left_out(found.relative) and self._is_of_kind(found.relative):
                yield found

    def _is_of_kind(self, relative: str) -> bool:
        return not self.media or kind_of(relative) in self.media

    def _is_left_out(self, relative: str) -> bool:
        return bool(self.without) and any(f"{relative}/".startswith(f"{folder}/") for folder in self.without)

    def _literal(self, relative: str) -> Iterator[Found]:
        # A listing, not a stat: on a case-blind disk `memory.md` opens `MEMORY.md`, and one file must
        # not appear under two names.
        parent, _, name = relative.rpartition("/")
        try:
            with os.scandir(self.path / parent) as entries:
                for entry in entries:
                    if entry.name == name and entry.is_file(follow_symlinks=False):
                        yield _found(relative, entry)
        except OSError:
            return


class Found(NamedTuple):
    """One file of a root as the disk describes it. `size` is from `stat`, and so is `mtime_ns` within 64 bits."""

    relative: str
    mtime_ns: int
    size: int


@dataclass(frozen=True, slots=True)
class Located:
    """A file by its place in the corpus."""

    root: Root
    relative: str

    @property
    def path(self) -> str:
        """The shown path."""
        return self.root.shown + self.relative

    @property
    def file(self) -> Path:
        """The file on disk. It may not exist, and may be a link: `open_regular` decides."""
        return self.root.path / self.relative


@dataclass(frozen=True, slots=True)
class Corpus:
    """All roots of one agent, in order of precedence: a file that two roots cover belongs to the first."""

    agent_id: str
    workspace: Path
    roots: tuple[Root, ...]

    def of_texts(self) -> Corpus:
        """The same without images and recordings."""
        return replace(self, roots=tuple(root for root in self.roots if not root.media))

    def root(self, name: str) -> Root | None:
        """The root of that name."""
        return next((root for root in self.roots if root.name == name), None)

    def locate(self, shown: str) -> Located | None:
        """The place that a shown path names, or None when no root would index it. Purely textual."""
        if not is_plain(shown):
            return None
        for root in self.roots:
            if shown.startswith(root.shown) and root.holds(shown[len(root.shown) :]):
                return Located(root, shown[len(root.shown) :])
        return None

    def files(self, refuse: Refuse = _ignore) -> Iterator[tuple[Root, Found]]:
        """Every file once, with the first root that covers it; `refuse` hears of names that cannot be shown."""
        seen: set[str] = set()
        for root in self.roots:
            base = os.path.realpath(root.path)
            for found in root.files(refuse):
                real = f"{base}/{found.relative}"
                if real not in seen:
                    seen.add(real)
                    yield root, found


class Owners:
    """Says which root a file belongs to. Looks at the disk, where roots may be links; not for the event loop."""

    def __init__(self, corpus: Corpus) -> None:
        self._bases = [(root, os.path.realpath(root.path) + os.sep) for root in corpus.roots]

    def of(self, place: Located) -> Located:
        """The same file under the first root that covers it: nested roots must not show one file twice."""
        own = next(base for root, base in self._bases if root is place.root)
        file = own + place.relative
        for root, base in self._bases:
            if root is place.root:
                return place
            if file.startswith(base) and root.holds(file[len(base) :]):
                return Located(root, file[len(base) :])
        return place


def is_plain(relative: str) -> bool:
    """Whether a path is relative, `/`-separated, real text and free of anything that could climb or surprise."""
    return _PLAIN.fullmatch(relative) is not None


# One pattern, since every file of every sync is looked at: no root, home or drive in front, no name that is empty, `.`
# or `..`. Python gives bytes of a name that are not UTF-8 as lone surrogates, which neither JSON nor SQLite can carry.
_NAME = r"(?!\.{1,2}(?:/|\Z))[^/\0\\\ud800-\udfff]+"
_PLAIN = re.compile(rf"(?!~|[^/]*:){_NAME}(?:/{_NAME})*")


def printable(path: str) -> str:
    r"""A path for people, whatever its bytes: what is not UTF-8 stands as `\xff`."""
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")


def is_ignored(relative: str) -> bool:
    """Whether a path runs through a hidden or build folder, or is a hidden file."""
    return any(part.startswith(".") or part in IGNORED_FOLDERS for part in PurePosixPath(relative).parts)


def walk(top: Path, odd: Refuse = _ignore) -> Iterator[Found]:
    """Every regular file below `top` in path order, without following links inside it. `top` itself may be a link.

    `odd` hears of everything else but links, by its path below `top`, and why it is no file.
    """
    for folder, entries in _tree(top, odd):
        for entry in entries:
            try:
                found = _found(f"{folder}/{entry.name}" if folder else entry.name, entry)
            except OSError:
                continue
            yield found


def _tree(top: Path, odd: Refuse = _ignore) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Every folder that can hold memory, `top` first and as empty text, with its regular files."""
    stack = [""]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(top / folder if folder else top) as scan:
                entries = sorted(scan, key=lambda entry: entry.name, reverse=True)
        except OSError:
            continue
        files: list[os.DirEntry[str]] = []
        for entry in entries:
            if entry.name.startswith(".") or entry.name in IGNORED_FOLDERS:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    inner = f"{folder}/{entry.name}" if folder else entry.name
                    odd(inner, "a folder")
                    stack.append(inner)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry)
                elif not entry.is_symlink():
                    odd(f"{folder}/{entry.name}" if folder else entry.name, "no regular file")
            except OSError:
                continue
        yield folder, files[::-1]


def _found(relative: str, entry: os.DirEntry[str]) -> Found:
    info = entry.stat(follow_symlinks=False)
    return Found(relative, mtime_ns(info), info.st_size)


def mtime_ns(info: os.stat_result) -> int:
    """The time of the last change in ns of Unix time, within the 64 bits that indexes and calendars can hold."""
    return min(max(info.st_mtime_ns, _EARLIEST_NS), _LATEST_NS)


# File systems count further than 1677 to 2262, and anybody can set a time.
_EARLIEST_NS, _LATEST_NS = -(2**63), 2**63 - 1


_READING = os.O_RDONLY | os.O_CLOEXEC
_INSIDE = _READING | os.O_NOFOLLOW
# Opening a pipe waits for a writer for ever without O_NONBLOCK, and a terminal could become the daemon's own.
_FILE = _INSIDE | os.O_NONBLOCK | os.O_NOCTTY


def open_regular(located: Located, *, exact: bool = False) -> int:
    """Open a file of the corpus for reading and return its descriptor.

    No link inside the root is followed at any level and only a regular file is opened: every component is
    opened relative to the one before, so what was checked is what is read. With `exact`, for names that did not come
    from a listing, other spellings of a name are missing on every disk. Raises `OSError` (`FileNotFoundError` for a
    missing file, `ELOOP` or `ENOTDIR` for a link, `ENXIO` for what is no regular file).
    """
    *folders, name = located.relative.split("/")
    folder = os.open(located.root.path, _READING | os.O_DIRECTORY)
    try:
        for part in folders:
            inner = _open_inside(folder, part, _INSIDE | os.O_DIRECTORY, exact=exact)
            os.close(folder)
            folder = inner
        descriptor = _open_inside(folder, name, _FILE, exact=exact)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.ENXIO, "not a regular file")
    return descriptor


def _open_inside(folder: int, name: str, flags: int, *, exact: bool) -> int:
    if exact and not is_spelled_so(folder, name):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return os.open(name, flags, dir_fd=folder)


def is_spelled_so(folder: int, name: str) -> bool:
    """Whether a folder (its descriptor) that opens `name` may hold it under this very name.

    Many disks take `NOTE.md` for `note.md`, or one Unicode form for the other: under such a name a file would escape
    what is decided by names. The folder is listed only when another spelling opens as well.
    """
    others = {name.swapcase(), unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)} - {name}
    return not any(os.access(other, os.F_OK, dir_fd=folder) for other in others) or name in os.listdir(folder)


def read_text(located: Located, *, max_bytes: int) -> str:
    """Read at most `max_bytes` of a corpus file as UTF-8; undecodable bytes become U+FFFD.

    Raises `OSError`: `EILSEQ` for UTF-16.
    """
    with os.fdopen(open_regular(located), "rb") as stream:
        data = stream.read(max_bytes)
    refuse_utf16(data)
    return data.decode("utf-8-sig", errors="replace")


def refuse_utf16(beginning: bytes) -> None:
    """Raise `OSError` (`EILSEQ`) for the first bytes of a file that says it is UTF-16."""
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise OSError(errno.EILSEQ, "it is UTF-16; save it as UTF-8")


def split_lines(text: str) -> list[str]:
    """The lines of a file as every line number here counts them: ended by LF or CR LF, and by nothing else."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
