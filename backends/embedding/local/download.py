"""Fetching a large file once: resumed after a cut, checked, shared by processes, and in its place only when whole."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import orjson

from backends.embedding.base import EmbeddingUnavailableError
from backends.embedding.local.fetching import Fetch, FetchError, Stream
from backends.full_disk import is_full_disk
from backends.gguf import NotWholeError, check_whole

_LOCK_WAIT_S = 3600.0
_LOCK_PAUSE_S = 0.2
#: So many cuts in a row that brought nothing: then the network is taken for absent.
_FRUITLESS_CUTS = 3
_MOST_CUTS = 50
_BY_HAND = "Download it by hand and set local.modelPath to the file"


def download(url: str, file: Path, fetch: Fetch, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Bring a GGUF file to its place, 0600. A second process waits for the first one.

    Raises `EmbeddingUnavailableError`; what had come stays in `<file>.part` for the next time, unless it was wrong.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(file):
            if not file.exists():
                _Download(url, file, fetch).run(sleep)
    except OSError as error:
        raise _disk_error(error, file.parent) from error


class _Download:
    """One file on its way. `<file>.part.json` names the version (URL, validator) whose bytes `<file>.part` holds."""

    def __init__(self, url: str, file: Path, fetch: Fetch) -> None:
        self._url = url
        self._file = file
        self._part = file.with_name(f"{file.name}.part")
        self._origin = file.with_name(f"{file.name}.part.json")
        self._fetch = fetch

    def run(self, sleep: Callable[[float], None]) -> None:
        fruitless = 0
        for _ in range(_MOST_CUTS):
            before = self._have()
            try:
                self._continue()
            except FetchError as error:
                fruitless = 0 if self._have() > before else fruitless + 1
                if fruitless == _FRUITLESS_CUTS:
                    raise _offline(str(error)) from None
                sleep(0.5 * 2**fruitless)
            else:
                return self._finish()
        raise _offline("cut too often")

    def _have(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _continue(self) -> None:
        """Ask for what is missing and keep what comes. Raises `FetchError` when it is not all."""
        validator, have = self._validator(), self._have()
        headers = {"range": f"bytes={have}-", "if-range": validator} if validator and have else {}
        with self._fetch(self._url, headers) as stream:
            if stream.status == 416:
                self._drop()
                raise FetchError("nothing is left to fetch")
            start = _start(stream, have)
            _refuse_status(stream)
            total = _total(stream, start)
            if not start:
                self._origin.write_bytes(orjson.dumps({"url": self._url, "validator": _validator_of(stream)}))
            with _opened(self._part, start) as out:
                for chunk in stream.chunks:
                    out.write(chunk)
        if total is not None and self._have() != total:
            raise FetchError("the connection ended early")

    def _validator(self) -> str:
        try:
            origin = orjson.loads(self._origin.read_bytes())
        except (OSError, ValueError):
            return ""
        return str(origin["validator"]) if origin["url"] == self._url else ""

    def _finish(self) -> None:
        try:
            check_model(self._part)
        except EmbeddingUnavailableError:
            self._drop()
            raise
        self._part.replace(self._file)
        self._drop()

    def _drop(self) -> None:
        self._part.unlink(missing_ok=True)
        self._origin.unlink(missing_ok=True)


def check_model(file: Path) -> dict[str, int | float | bool | str]:
    """The metadata of a whole GGUF file. Raises `EmbeddingUnavailableError` that names what it is instead."""
    try:
        return check_whole(file)
    except NotWholeError:
        with file.open("rb") as stream:
            head = stream.read(512).lstrip().lower()
    name = file.name.removesuffix(".part")
    if head.startswith((b"<!doctype", b"<html")):
        message = f"{name} is an HTML page, not a GGUF model."
    elif head.startswith(b"gguf"):
        message = f"{name} is a GGUF model that is cut off, or damaged."
    else:
        message = f"{name} is not a GGUF model."
    raise EmbeddingUnavailableError("local_bad_file", message, hint="Check local.modelPath, or remove the file.")


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    descriptor = os.open(file.with_name(f"{file.name}.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    give_up_at = time.monotonic() + _LOCK_WAIT_S
    try:
        while not _locked(descriptor):
            if time.monotonic() > give_up_at:
                raise EmbeddingUnavailableError(
                    "local_locked", "Another process is downloading the model.", hint="It is tried again later."
                )
            time.sleep(_LOCK_PAUSE_S)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _opened(part: Path, start: int) -> Iterator[BinaryIO]:
    place = os.O_APPEND if start else os.O_TRUNC
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | place, 0o600), "wb") as out:
        yield out
        out.flush()
        os.fsync(out.fileno())


def _start(stream: Stream, have: int) -> int:
    """Where the bytes of a reply belong: behind what is there, or at the beginning when the file has changed."""
    if stream.status != 206:
        return 0
    if not stream.headers.get("content-range", "").startswith(f"bytes {have}-"):
        raise FetchError("another range than asked for")
    return have


def _total(stream: Stream, start: int) -> int | None:
    length = stream.headers.get("content-length", "")
    return start + int(length) if length.isdecimal() else None


def _validator_of(stream: Stream) -> str:
    """What tells this version of the file from others; a weak tag cannot vouch for bytes."""
    tag = stream.headers.get("etag", "")
    return tag if tag and not tag.startswith("W/") else stream.headers.get("last-modified", "")


def _refuse_status(stream: Stream) -> None:
    status = stream.status
    if status in (200, 206):
        return
    if status == 429 or status >= 500:
        raise FetchError(f"status {status}")
    if status in (401, 403):
        message, hint = f"The model's host refuses the download (status {status}).", _BY_HAND
    else:
        message, hint = f"The model's host does not have this file (status {status}).", "Check local.modelPath"
    raise EmbeddingUnavailableError("local_refused", message, hint=f"{hint}.")


def _offline(detail: str) -> EmbeddingUnavailableError:
    return EmbeddingUnavailableError(
        "local_offline", f"The model cannot be downloaded ({detail}).", hint=f"Check the network. {_BY_HAND}."
    )


def _disk_error(error: OSError, folder: Path) -> EmbeddingUnavailableError:
    if is_full_disk(error):
        return EmbeddingUnavailableError(
            "local_disk_full", f"There is no room for the model in {folder}.", hint="Make room, or set modelCacheDir."
        )
    return EmbeddingUnavailableError(
        "local_unwritable", f"The model cannot be kept in {folder} ({type(error).__name__}).", hint="Set modelCacheDir."
    )
