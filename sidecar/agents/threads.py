"""The threads of one agent: a disk that hangs holds those of the agents whose notes are on it, and no others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

#: More gain nothing: most of a search holds the interpreter's lock, and each keeps an open index.
READERS = 2
FILE_READERS = 2
#: How the names of the threads begin.
NAMES = ("reader", "file-reader")


class Threads:
    """`search` runs what searches. `files` reads whole files for callers: one folder of many may be on a dead disk.

    A thread is started when there is work for it.
    """

    def __init__(self) -> None:
        reader, file_reader = NAMES
        self.search = ThreadPoolExecutor(READERS, thread_name_prefix=reader)
        self.files = ThreadPoolExecutor(FILE_READERS, thread_name_prefix=file_reader)

    def close(self) -> None:
        """Take no more work, and wait for none that is under way."""
        for pool in (self.search, self.files):
            pool.shutdown(wait=False, cancel_futures=True)
