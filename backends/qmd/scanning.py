"""One look at the disk before an update: which roots are there, how many files each has, and a fingerprint of them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from backends.corpus import Corpus, Kind
from backends.qmd.collections import Desired, desired
from backends.qmd.ignored import Ignored, ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The corpus as the disk has it. `files` is None for a root that is missing or cannot be read."""

    wanted: Desired
    files: Mapping[str, int | None]
    digests: Mapping[str, str]
    ignored: Ignored

    def signature(self, without: Collection[str] = ()) -> str:
        """A fingerprint of the collections and of every file (place, size, time) but those of some roots."""
        told = [(name, digest) for name, digest in self.digests.items() if name not in without]
        digest = hashlib.blake2b(repr((self.wanted.collections, told)).encode("utf-8", "surrogatepass"), digest_size=16)
        return digest.hexdigest()


def scan(corpus: Corpus) -> Scan:
    """Look at every root. Reads no file; not for the event loop."""
    wanted = desired(corpus)
    files = dict.fromkeys(wanted.names, 0)
    digests = {name: hashlib.blake2b(digest_size=16) for name in wanted.names}
    for root, found in corpus.files():
        if root.name in files:
            files[root.name] += 1
            line = f"{found.relative}\0{found.mtime_ns}\0{found.size}\n"
            digests[root.name].update(line.encode("utf-8", "surrogatepass"))
    return Scan(
        wanted=wanted,
        files=files | dict.fromkeys(wanted.held, None),
        digests={name: digest.hexdigest() for name, digest in digests.items()},
        ignored=ignored(corpus),
    )


def guarded(corpus: Corpus, files: Mapping[str, int | None]) -> dict[str, int | None]:
    """The counts that the guard judges: not those of our own exports, which retention and purges shrink."""
    kinds = {root.name: root.kind for root in corpus.roots}
    return {name: count for name, count in files.items() if kinds.get(name) is not Kind.SESSION}
