"""The daemon from start to stop. Everything is wired here; nothing else knows the whole."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson

import sidecar
from backends.base import Backend
from backends.files import write_atomically
from backends.qmd import ResidentPool
from sidecar.agents import Agent
from sidecar.config import AgentSettings, Settings, resolve_corpus
from sidecar.engines import Engines, Shared, build
from sidecar.errors import StartupError
from sidecar.exporting import export_job
from sidecar.fleet import Fleet
from sidecar.gateway.app import application
from sidecar.gateway.listener import Listener, check_length, listen
from sidecar.gateway.routes import DaemonView
from sidecar.gateway.server import serve, server
from sidecar.governor import Governor
from sidecar.logs import logging_to
from sidecar.places import POINTER, run_dirs
from sidecar.scheduler import Scheduler
from sidecar.state import StateLock, private_folder
from sidecar.watching import Watching
from sidecar.worker.process import Worker

log = logging.getLogger(__name__)

READERS = 4
TEND_INTERVAL_S = 15.0
CLOSE_TIMEOUT_S = 10.0

OnReady = Callable[[Settings], None]


def run(settings: Settings, *, log_level: str | None = None, on_ready: OnReady | None = None) -> int:
    """Run the daemon until it is told to stop; returns the exit code. `on_ready` is called on a thread of its own."""
    try:
        check_length(settings.socket)
        private_folder(settings.state_dir)
        logs = settings.sidecar.log
        file = Path(logs.file).expanduser() if logs.file else None
        with logging_to(level=log_level or logs.level, file=file), StateLock(settings.state_dir):
            asyncio.run(Daemon(settings, environ=os.environ).serve(on_ready))
    except StartupError as error:
        print(error, file=sys.stderr)  # noqa: T201 - there is no log to say it in
        return error.exit_code
    return 0


class Daemon:
    """One daemon: the agents, the worker that indexes for them, and the gateway in front."""

    def __init__(self, settings: Settings, *, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._started_at = time.time()
        self._stopping = asyncio.Event()
        self._booted = asyncio.Event()
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._scheduler = Scheduler()
        self._worker = Worker()
        resident = settings.memory.qmd.resident
        self._residents = ResidentPool(
            limit=resident.max,
            idle_s=resident.idle_minutes * 60,
            max_rss_bytes=resident.max_rss_mb * 2**20,
        )
        self._fleet = Fleet({})

    async def serve(self, on_ready: OnReady | None) -> None:
        """Start, answer until told to stop, stop in order. Raises `StartupError` before anything is served."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop_signal, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)
        socket = self._settings.sidecar.socket
        listener = listen(self._settings.socket, mode=socket.mode, group=socket.group)
        try:
            self._fleet = Fleet(self._build_agents())
            await self._serve_on(listener, on_ready)
        finally:
            listener.close()

    async def _serve_on(self, listener: Listener, on_ready: OnReady | None) -> None:
        running = server(application(self._view()), extra_uids=self._settings.sidecar.socket.allow_uids)
        serving = asyncio.create_task(serve(running, listener))
        pointers = self._write_pointers()
        self._scheduler.start()
        background = [asyncio.create_task(self._boot(on_ready)), asyncio.create_task(self._watching().run())]
        try:
            await asyncio.wait({serving, asyncio.create_task(self._stopping.wait())}, return_when="FIRST_COMPLETED")
            log.info("stopping")
        finally:
            self._stopping.set()
            self._scheduler.stop()
            running.should_exit = True
            for task in background:
                task.cancel()
            await asyncio.gather(serving, *background, return_exceptions=True)
            await self._close()
            self._remove_pointers(pointers)
        log.info("stopped")

    def _view(self) -> DaemonView:
        return DaemonView(
            settings=self._settings,
            fleet=self._fleet,
            pool=self._pool,
            started_at=self._started_at,
            state=self._state,
            worker_status=self._worker.status,
            stop=self._stopping.set,
        )

    def _state(self) -> str:
        if self._stopping.is_set():
            return "draining"
        return "ready" if self._booted.is_set() and self._fleet.ready else "starting"

    def _build_agents(self) -> dict[str, Agent]:
        shared = Shared(
            writer=self._worker,
            pool=self._pool,
            governor=Governor.of_this_machine(self._environ),
            residents=self._residents,
            environ=self._environ,
        )
        self._scheduler.every(TEND_INTERVAL_S, "worker.tend", self._worker.tend)
        return {agent.id: self._build_agent(agent, shared) for agent in self._settings.agents.values()}

    def _build_agent(self, settings: AgentSettings, shared: Shared) -> Agent:
        corpus, notices = resolve_corpus(self._settings, settings)
        engines = build(self._settings, settings, corpus, shared)
        agent = Agent(
            settings,
            corpus=corpus,
            policy=self._settings.policy,
            search=engines.search,
            engines=self._synced(settings, engines),
            notices=notices,
            before_sync=self._exporting(settings),
            on_synced=engines.on_synced,
            environment=engines.qmd_environment,
            next_update=lambda: self._scheduler.next_run(f"{settings.id}.update"),
        )
        if agent.enabled:
            self._schedule(agent, settings, engines)
        return agent

    def _exporting(self, settings: AgentSettings) -> Callable[[], Awaitable[None]] | None:
        """What turns an agent's new conversations into files before an index looks for them."""
        job = export_job(self._settings, settings)
        if job is None:
            return None

        async def export() -> None:
            report = await self._worker.export(job)
            if report["written"] or report["failures"]:
                counts = {key: report[key] for key in ("written", "removed", "turns", "bad_lines")}
                log.info("sessions exported", extra={"fields": {"agent": settings.id, **counts}})

        return export

    def _synced(self, settings: AgentSettings, engines: Engines) -> dict[str, tuple[Backend, float]]:
        """The engines by name, each with its least pause between unforced syncs in seconds."""
        pauses = {
            "builtin": settings.search.sync.watch_debounce_ms / 1000,
            "qmd": self._settings.memory.qmd.update.debounce_ms / 1000,
        }
        present = {"builtin": engines.builtin, "qmd": engines.qmd}
        return {name: (engine, pauses[name]) for name, engine in present.items() if engine is not None}

    def _schedule(self, agent: Agent, settings: AgentSettings, engines: Engines) -> None:
        update = self._settings.memory.qmd.update
        own_interval_s = settings.search.sync.interval_minutes * 60.0
        if engines.builtin is not None:
            interval_s = own_interval_s or update.interval_s
            self._scheduler.every(interval_s, f"{agent.id}.index", lambda: agent.run_sync("builtin", "interval"))
        if engines.qmd is not None:
            self._scheduler.every(update.interval_s, f"{agent.id}.update", lambda: agent.run_sync("qmd", "interval"))

    async def _boot(self, on_ready: OnReady | None) -> None:
        """Bring every agent up to date in the background, or first when the configuration wants that."""
        update = self._settings.memory.qmd.update
        agents = [agent for agent in self._fleet if agent.enabled]
        syncs = [agent.run_sync(name, "boot") for agent in agents for name in agent.boot_engines(qmd=update.on_boot)]
        boot = asyncio.gather(*syncs)
        if update.wait_for_boot_sync:
            await asyncio.wait({boot}, timeout=update.update_timeout_ms / 1000)
        self._booted.set()
        log.info("ready", extra={"fields": {"socket": str(self._settings.socket), "agents": len(self._fleet.ids)}})
        if on_ready is not None:
            threading.Thread(target=on_ready, args=(self._settings,), daemon=True, name="on-ready").start()
        await boot

    def _watching(self) -> Watching:
        """The watch over every agent that wants one."""
        agents = {agent.id: agent for agent in self._fleet if agent.enabled and agent.settings.search.sync.watch}
        corpora = {agent_id: agent.corpus for agent_id, agent in agents.items()}
        return Watching(corpora, lambda agent_id, paths: agents[agent_id].changed(paths))

    def _write_pointers(self) -> list[Path]:
        """Tell clients of this user where we are: in the shared runtime folder, and in our own state folder."""
        content = orjson.dumps(
            {
                "pid": os.getpid(),
                "socket": str(self._settings.socket),
                "stateDir": str(self._settings.state_dir),
                "version": sidecar.__version__,
                "startedAt": self._started_at,
            }
        )
        pointers = [private_folder(folder) / POINTER for folder in run_dirs(self._environ, self._settings.state_dir)]
        for pointer in pointers:
            write_atomically(pointer, content)
        return pointers

    def _remove_pointers(self, pointers: Iterable[Path]) -> None:
        """Remove what we wrote, unless another daemon of this user has written its own since."""
        for pointer in pointers:
            with contextlib.suppress(OSError, ValueError):
                if orjson.loads(pointer.read_bytes())["pid"] == os.getpid():
                    pointer.unlink()

    def _on_stop_signal(self, number: int) -> None:
        if self._stopping.is_set():
            # The second time means now. Children hang on pipes of ours and end with us.
            self._settings.socket.unlink(missing_ok=True)
            os._exit(128 + number)
        self._stopping.set()

    def _on_hangup(self) -> None:
        log.warning("SIGHUP is reserved for reload; restart the daemon to read a changed configuration")

    async def _close(self) -> None:
        """End children and close files. What does not end in time hangs on our pipes and ends with us."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._fleet.close()
                await self._residents.close()
                await self._worker.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
