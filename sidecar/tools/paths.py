"""Which file a caller's path names, and that file opened: what was checked is what is read."""

from __future__ import annotations

import errno
import os
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath

from backends.corpus import Corpus, Located, Owners, open_regular

#: No such file can be here: its name is longer than the disk takes, or has characters that it does not.
_IMPOSSIBLE_NAME = (errno.ENAMETOOLONG, errno.EILSEQ)
#: A link, a socket, a pipe, a device or a folder.
_NO_FILE = (errno.ELOOP, errno.ENOTDIR, errno.ENXIO, errno.ENODEV)


class PathNotAllowedError(Exception):
    """The path is not one that the agent's roots hold."""


def locate(corpus: Corpus, path: str) -> Located:
    """The file that a caller names, by shown path or by absolute path inside a root, under the root that searches show.

    Of the disk only the roots are looked at, and never the file. Raises `PathNotAllowedError`.
    """
    located = _from_absolute(corpus, path) if path.startswith("/") else corpus.locate(path)
    if located is None or not (located.root.media or located.relative.lower().endswith(".md")):
        raise PathNotAllowedError
    return Owners(corpus).of(located)


def _from_absolute(corpus: Corpus, path: str) -> Located | None:
    if os.path.normpath(path) != path or "\0" in path:
        return None
    for root in corpus.roots:
        for base in (root.path, Path(os.path.realpath(root.path))):
            if path.startswith(f"{base}/") and root.holds(path[len(f"{base}/") :]):
                return Located(root, path[len(f"{base}/") :])
    return None


def opened(located: Located) -> int | None:
    """The descriptor of a file, None when it is not there.

    Raises `PathNotAllowedError` when a link or something that is no regular file stands on the way, and `OSError` for
    what the disk cannot give.
    """
    try:
        return open_regular(located, exact=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in _IMPOSSIBLE_NAME:
            return None
        if error.errno not in _NO_FILE:
            raise
        if error.errno == errno.ENOTDIR and not _through_link(located):
            return None
        raise PathNotAllowedError from error


def _through_link(located: Located) -> bool:
    """Whether a folder on the way is a link. Asked so that a link never tells what exists behind it."""
    steps = accumulate(
        PurePosixPath(located.relative).parts, lambda folder, part: folder / part, initial=located.root.path
    )
    return any(step.is_symlink() for step in islice(steps, 1, None))
