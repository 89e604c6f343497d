"""What nobody caught: in the daemon, a thread, a task or a finalizer. And what Python itself does not survive."""

from __future__ import annotations

import asyncio
import errno
import faulthandler
import logging
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sidecar.errors import StartupError

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

log = logging.getLogger(__name__)

#: asyncio puts the arguments of a callback, which may be anybody's text, behind its first words.
_FIRST_WORDS = re.compile(r"[A-Za-z ]*")


@contextmanager
def crashes_logged(stderr: int) -> Iterator[None]:
    """Log every exception that reaches the end of the block, of a thread or of a finalizer.

    A fault of the machine code (SIGSEGV, SIGABRT) writes its stacks to `stderr`, if that is open. Raises `SystemExit`
    for what crashed the block: the exception itself would print its message, which may quote text.
    """
    before = threading.excepthook, sys.unraisablehook
    threading.excepthook, sys.unraisablehook = _thread_crashed, _finalizer_crashed
    enabling = stderr >= 0 and not faulthandler.is_enabled()
    if enabling:
        faulthandler.enable(stderr)
    try:
        yield
    except (StartupError, OSError):
        raise
    except Exception:
        log.critical("daemon crashed", exc_info=True)
        raise SystemExit(1) from None
    finally:
        if enabling:
            faulthandler.disable()
        threading.excepthook, sys.unraisablehook = before


def loop_crashed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what asyncio reports; without descriptors it would report every waiting connection, many times a second."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        log.error("no file descriptors left; connections have to wait")
        return
    words = _FIRST_WORDS.match(str(context.get("message", "")))
    fields = {"what": words[0].strip() if words else ""}
    log.error("task crashed", extra={"fields": fields}, exc_info=error)


def _thread_crashed(args: threading.ExceptHookArgs) -> None:
    name = args.thread.name if args.thread else "unknown"
    log.error("thread crashed", extra={"fields": {"thread": name}}, exc_info=args.exc_value)


def _finalizer_crashed(args: UnraisableHookArgs) -> None:
    log.error("finalizer crashed", exc_info=args.exc_value)
