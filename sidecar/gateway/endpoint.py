"""The gateway in the world: a listening socket with a server on it, laid anew when somebody removes the file."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Collection
from pathlib import Path

from starlette.types import ASGIApp

from sidecar.errors import StartupError
from sidecar.gateway.listener import Listener, listen
from sidecar.gateway.peer import allowed_uids, protocol_for
from sidecar.gateway.server import Server, server

log = logging.getLogger(__name__)


class Endpoint:
    """Serves `app` at `path`. Raises `StartupError` from the constructor, before anything is served.

    `inherited` is the socket that listens at `path` already; its file and the mode of it are the service manager's.
    """

    def __init__(
        self,
        app: ASGIApp,
        path: Path,
        *,
        mode: int,
        group: str | None,
        extra_uids: Collection[int],
        inherited: socket.socket | None = None,
    ) -> None:
        self._app = app
        self._path = path
        self._mode = mode
        self._group = group
        self._extra_uids = extra_uids
        self._listener = Listener(inherited, path, ours=False) if inherited else listen(path, mode=mode, group=group)
        self._servers: dict[asyncio.Task[None], Server] = {}
        self._told = False

    def start(self) -> None:
        """Begin to serve."""
        self._serve(self._listener)

    def _serve(self, listener: Listener) -> None:
        running = server(self._app, protocol_for(allowed_uids(self._extra_uids)))
        task = asyncio.create_task(running.serve(sockets=[listener.sock]))
        self._servers[task] = running
        task.add_done_callback(lambda done: self._servers.pop(done, None))

    async def tend(self) -> None:
        """Listen again when the socket file is gone; calls under way on the old socket are answered."""
        if self._listener.in_place:
            return
        try:
            listener = listen(self._path, mode=self._mode, group=self._group)
        except StartupError as error:
            # Something else lies there, for as long as it pleases somebody.
            if not self._told:
                log.error("the socket cannot be laid again", extra={"fields": {"reason": error.code}})  # noqa: TRY400
            self._told = True
            return
        log.warning("the socket file was removed; listening again", extra={"fields": {"socket": str(self._path)}})
        self._exit()
        self._listener, self._told = listener, False
        self._serve(self._listener)

    async def drain(self) -> None:
        """Stop accepting, and answer what is under way within the server's drain time."""
        self._exit()
        await asyncio.gather(*self._servers, return_exceptions=True)

    def _exit(self) -> None:
        for running in self._servers.values():
            running.should_exit = True

    def close(self) -> None:
        """Remove the file: to whoever waits for the end of the daemon, this is it."""
        self._listener.close()
