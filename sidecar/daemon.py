"""The daemon from start to stop. Everything is wired here; nothing else knows the whole."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson

import sidecar
from backends.base import Backend, Notice
from backends.files import write_atomically
from backends.qmd import ResidentPool, descendants, sweep
from sidecar.agents import Agent
from sidecar.config import AgentSettings, Settings, resolve_corpus
from sidecar.engines import Engines, Shared, build
from sidecar.errors import StartupError
from sidecar.fleet import Fleet
from sidecar.gateway.app import application
from sidecar.gateway.endpoint import Endpoint
from sidecar.gateway.listener import check_length
from sidecar.gateway.view import DaemonView
from sidecar.governor import Governor
from sidecar.logs import logging_to
from sidecar.places import POINTER
from sidecar.probing import Prober
from sidecar.scheduler import Scheduler
from sidecar.sessions.conversations import Conversations
from sidecar.sessions.exporting import Exports, export_job, transcripts_dir
from sidecar.sessions.following import Following, watched
from sidecar.sessions.forgetting import Forgetting
from sidecar.state import StateLock, private_folder, runtime_folder
from sidecar.watching import Watching
from sidecar.worker.process import Worker

log = logging.getLogger(__name__)

READERS = 4
FILE_READERS = 2
POOL_THREADS = ("reader", "file-reader", "watcher")
STUCK_THREADS_S = 2.0
LAY_TIMEOUT_S = 5.0
MAX_DESCRIPTORS = 8192
TEND_INTERVAL_S = 15.0
SWEEP_INTERVAL_S = 120.0
CLOSE_TIMEOUT_S = 10.0

OnReady = Callable[[Settings], None]


def run(settings: Settings, *, log_level: str | None = None, on_ready: OnReady | None = None) -> int:
    """Run the daemon until it is told to stop; returns the exit code. `on_ready` is called on a thread of its own."""
    # Whatever is made from here on, by us or by a library, is ours alone.
    os.umask(0o077)
    logs = settings.sidecar.log
    file = Path(logs.file).expanduser() if logs.file else None
    try:
        check_length(settings.socket)
        private_folder(settings.state_dir)
        with logging_to(level=log_level or logs.level, file=file), StateLock(settings.state_dir):
            _end_orphans(settings.state_dir)
            asyncio.run(Daemon(settings, environ=os.environ).serve(on_ready))
            _leave_stuck_threads()
    except StartupError as error:
        print(error, file=sys.stderr)  # noqa: T201 - there is no log to say it in
        return error.exit_code
    except OSError as error:
        print(f"error: {error}\ntry: see whether {settings.state_dir} can be written", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _leave_stuck_threads() -> None:
    """End the process past threads that a dead disk holds: the interpreter would wait for them for ever."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith(POOL_THREADS)]
    give_up_at = time.monotonic() + STUCK_THREADS_S
    for thread in threads:
        thread.join(max(0.0, give_up_at - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        log.warning("a thread is stuck in a file; leaving without it")
        logging.shutdown()
        os._exit(0)


def _quiet_exceptions(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what asyncio reports; without descriptors it would report every waiting connection, many times a second."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        log.error("no file descriptors left; connections have to wait")
        return
    loop.default_exception_handler(context)


def _raise_descriptor_limit() -> None:
    """Allow as many descriptors as the system lets us: each connection and each child's pipe is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _end_orphans(state_dir: Path) -> None:
    """End what runs on this state folder and is not below us: an earlier daemon's, or strays of our own."""
    if ended := sweep(state_dir, spare=descendants):
        log.warning("orphans ended", extra={"fields": {"processes": ended}})


class Daemon:
    """One daemon: the agents, the worker that indexes for them, and the gateway in front."""

    def __init__(self, settings: Settings, *, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._environ = environ
        self._started_at = time.time()
        self._stopping = asyncio.Event()
        self._booted = asyncio.Event()
        self._pool = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        # Apart from searching: a caller may read from a disk that does not answer.
        self._files = ThreadPoolExecutor(FILE_READERS, thread_name_prefix="file-reader")
        self._endpoint: Endpoint | None = None
        self._pointers: list[Path] = []
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
        _raise_descriptor_limit()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_quiet_exceptions)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop_signal, number)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)
        socket = self._settings.sidecar.socket
        self._fleet = Fleet(self._build_agents())
        self._endpoint = Endpoint(
            application(self._view()),
            self._settings.socket,
            mode=socket.mode,
            group=socket.group,
            extra_uids=socket.allow_uids,
        )
        await self._serve(self._endpoint, on_ready)

    async def _serve(self, endpoint: Endpoint, on_ready: OnReady | None) -> None:
        endpoint.start()
        self._scheduler.every(TEND_INTERVAL_S, "socket.tend", endpoint.tend)
        self._scheduler.every(SWEEP_INTERVAL_S, "orphans.sweep", self._sweep)
        self._scheduler.start()
        watching = self._watching()
        work = [self._boot(on_ready, watching), watching.run(), self._follow()]
        background = [asyncio.create_task(each) for each in work]
        try:
            self._write_pointers()
            await self._stopping.wait()
            log.info("stopping")
        finally:
            self._stopping.set()
            self._scheduler.stop()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await endpoint.close()
            await self._close()
            self._remove_pointers()
        log.info("stopped")

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._pool, _end_orphans, self._settings.state_dir)

    def _view(self) -> DaemonView:
        return DaemonView(
            settings=self._settings,
            fleet=self._fleet,
            files=self._files,
            started_at=self._started_at,
            state=self._state,
            worker_status=self._worker.status,
            prober=Prober(self._worker),
            forgetting=Forgetting(self._settings, self._worker),
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
        job = export_job(self._settings, settings)
        agent = Agent(
            settings,
            corpus=corpus,
            policy=self._settings.policy,
            search=engines.search,
            engines=self._synced(settings, engines),
            notices=notices,
            exports=Exports(settings, job, self._worker.export) if job else None,
            conversations=Conversations(settings.id, job, self._settings.visibility, self._pool) if job else None,
            on_synced=engines.on_synced,
            configured={"builtin": {"embedding": engines.embedding.to_json()}} if engines.embedding else None,
            environment=engines.qmd_environment,
            builtin=engines.builtin,
            next_update=lambda: self._next_update(settings.id),
        )
        if agent.enabled:
            self._schedule(agent, settings, engines)
        return agent

    def _next_update(self, agent_id: str) -> float | None:
        """When the first of an agent's engines is brought up to date next, in Unix seconds."""
        runs = (self._scheduler.next_run(f"{agent_id}.{job}") for job in ("update", "index"))
        return min((run for run in runs if run is not None), default=None)

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
            self._scheduler.every(interval_s, f"{agent.id}.index", lambda: agent.syncs.run("builtin", "interval"))
        if engines.qmd is not None:
            self._scheduler.every(update.interval_s, f"{agent.id}.update", lambda: agent.syncs.run("qmd", "interval"))

    async def _boot(self, on_ready: OnReady | None, watching: Watching) -> None:
        """Bring every agent up to date in the background, or first when the configuration wants that."""
        update = self._settings.memory.qmd.update
        first = {agent: agent.syncs.begin(qmd=update.on_boot) for agent in self._fleet if agent.enabled}
        # What is written between a first look at the files and the first event would be nobody's.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAY_TIMEOUT_S):
                await watching.laid.wait()
        syncs = [agent.syncs.run(name, "boot") for agent, names in first.items() for name in names]
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

        def explain(notice: Notice | None) -> None:
            for agent in agents.values():
                agent.watch_notice = notice

        return Watching(corpora, lambda agent_id, paths: agents[agent_id].changed(paths), explain)

    async def _follow(self) -> None:
        """Watch the transcripts of every agent that remembers conversations, and have enough of them exported."""
        following = {agent.id: followed for agent in self._fleet if (followed := self._following(agent)) is not None}
        if not following:
            return
        corpora = {agent_id: watched(agent_id, each.folder) for agent_id, each in following.items()}
        try:
            await Watching(corpora, lambda agent_id, names: following[agent_id].heard(names)).run()
        finally:
            for each in following.values():
                each.close()

    def _following(self, agent: Agent) -> Following | None:
        sync = agent.settings.search.sync
        if not (agent.enabled and sync.watch and agent.conversations):
            return None
        folder = transcripts_dir(self._settings, agent.settings)
        return Following(folder, agent.conversations, sync.sessions, agent.conversations_grew, self._files)

    def _write_pointers(self) -> None:
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
        for folder in {runtime_folder(self._environ), private_folder(self._settings.state_dir / "run")}:
            pointer = folder / POINTER
            write_atomically(pointer, content)
            self._pointers.append(pointer)

    def _remove_pointers(self) -> None:
        """Remove what we wrote, unless another daemon of this user has written its own since."""
        for pointer in self._pointers:
            with contextlib.suppress(OSError, ValueError):
                if orjson.loads(pointer.read_bytes())["pid"] == os.getpid():
                    pointer.unlink()

    def _on_stop_signal(self, number: int) -> None:
        if self._stopping.is_set():
            # The second time means now. Children hang on pipes of ours and end with us.
            if self._endpoint is not None:
                self._endpoint.abandon()
            self._remove_pointers()
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
        for pool in (self._pool, self._files):
            pool.shutdown(wait=False, cancel_futures=True)
