"""The daemon examines itself: in its own environment, with its own children, through its own search path."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from sidecar.doctor.examining import examine
from sidecar.doctor.subject import Subject
from sidecar.gateway.asked import body_of
from sidecar.gateway.bodies import DoctorBody, parse
from sidecar.gateway.errors import json_response
from sidecar.gateway.view import DaemonView

THREADS = 4
#: With this name the end of the daemon does not wait for one that a dead disk holds.
_THREADS_NAME = "reader-doctor"
#: Each starts children and walks every folder: two at once would only take longer.
_turn = asyncio.Semaphore(1)


async def doctor(daemon: DaemonView, request: Request) -> Response:
    """Look for everything that is wrong, and mend what is safe to mend when asked to."""
    body = parse(DoctorBody, await body_of(request))
    # Who waits for a turn takes no place from those who search.
    async with _turn:
        with request.state.places.taken():
            report = await _examined(daemon, body)
    return json_response(report)


async def _examined(daemon: DaemonView, body: DoctorBody) -> dict[str, Any]:
    # Threads of its own: a disk that does not answer must not keep those that read for callers.
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix=_THREADS_NAME)
    subject = Subject(
        settings=daemon.settings,
        environ=os.environ,
        pool=pool,
        live=daemon,
        deep=body.deep,
        shell_path=body.shell_path or "",
    )
    try:
        return await examine(subject, body.chosen, fix=body.fix)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
