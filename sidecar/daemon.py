"""The daemon from start to stop. Everything is wired here; nothing else knows the whole."""

from __future__ import annotations

import asyncio
import contextlib
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

from backends.files import drop_half_written
from backends.full_disk import is_full_disk
from backends.qmd import ResidentPool, descendants, sweep
from sidecar.agents import Agent, threads
from sidecar.assembly import Assembly
from sidecar.changes import Changes
from sidecar.config import ConfigError, Settings
from sidecar.configured import Configured
from sidecar.engines import Shared
from sidecar.errors import StartupError
from sidecar.events import Bus, EventType
from sidecar.fleet import Fleet
from sidecar.gateway.app import application
from sidecar.gateway.endpoint import Endpoint
from sidecar.gateway.listener import check_length
from sidecar.gateway.loopback import Loopback
from sidecar.gateway.view import DaemonView
from sidecar.governor import Governor
from sidecar.logs.crashes import loop_crashed
from sidecar.logs.setup import Logs, logging_to
from sidecar.metrics.counts import Counts
from sidecar.metrics.loop_lag import measure
from sidecar.pointers import Pointers
from sidecar.probing import Prober
from sidecar.reloading import Reloaded, Reloading
from sidecar.scheduler import Scheduler
from sidecar.service.launch import Launch
from sidecar.service.notify import PATIENCE_S, summary
from sidecar.sessions.exporting import transcripts_dir
from sidecar.sessions.forgetting import Forgetting
from sidecar.state import StateLock, private_folder
from sidecar.watches import Watches
from sidecar.worker.process import Worker

log = logging.getLogger(__name__)

POOL_THREADS = (*threads.NAMES, "errand", "counter", "watcher")
STUCK_THREADS_S = 2.0
MAX_DESCRIPTORS = 8192
TEND_INTERVAL_S = 15.0
SWEEP_INTERVAL_S = 120.0
CLOSE_TIMEOUT_S = 10.0
#: No job begins this late while anybody looks: those that tend come round within seconds.
OVERDUE_S = 2 * TEND_INTERVAL_S

OnReady = Callable[[Settings], None]


def run(
    configured: Configured, *, launch: Launch, log_level: str | None = None, on_ready: OnReady | None = None
) -> int:
    """Run the daemon until it is told to stop; returns the exit code.

    `launch` is what a service manager handed over; `log_level` wins over the configured one; `on_ready` is called on a
    thread of its own.
    """
    settings = configured.settings
    # Whatever is made from here on, by us or by a library, is ours alone.
    os.umask(0o077)
    try:
        check_length(settings.socket)
        private_folder(settings.state_dir)
        # The lock first: a second daemon has no business in the log of the first.
        with StateLock(settings.state_dir) as lock, logging_to(settings, level=log_level) as logs:
            _end_orphans(settings.state_dir)
            drop_half_written(settings.state_dir)
            daemon = Daemon(configured, environ=os.environ, launch=launch, logs=logs, lock=lock)
            asyncio.run(_serve(daemon, on_ready))
    except StartupError as error:
        print(error, file=sys.stderr)  # noqa: T201 - there is no log to say it in
        return error.exit_code
    except OSError as error:
        step = "free space on the disk of" if is_full_disk(error) else "see whether we may write to"
        print(f"error: {error}\ntry: {step} {settings.state_dir}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


async def _serve(daemon: Daemon, on_ready: OnReady | None) -> None:
    await daemon.serve(on_ready)
    # Here: the end of the loop waits for threads, too.
    _leave_stuck_threads()


def _leave_stuck_threads() -> None:
    """End the process past threads that a dead disk holds: the interpreter would wait for them for ever."""
    ours = [thread for thread in threading.enumerate() if thread.name.startswith(POOL_THREADS)]
    give_up_at = time.monotonic() + STUCK_THREADS_S
    for thread in ours:
        thread.join(max(0.0, give_up_at - time.monotonic()))
    if any(thread.is_alive() for thread in ours):
        log.warning("a thread is stuck in a file; leaving without it")
        logging.shutdown()
        os._exit(0)


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

    def __init__(
        self, configured: Configured, *, environ: Mapping[str, str], launch: Launch, logs: Logs, lock: StateLock
    ) -> None:
        settings = configured.settings
        self._launch = launch
        self._configured = configured
        self._logs = logs
        self._lock = lock
        self._environ = environ
        self._started_at = time.time()
        self._stopping = asyncio.Event()
        self._booted = asyncio.Event()
        self._has_started = False
        self._hung_up = asyncio.Event()
        self._errands = ThreadPoolExecutor(thread_name_prefix="errand")
        self._counter = ThreadPoolExecutor(1, thread_name_prefix="counter")
        self._endpoint: Endpoint | None = None
        self._pointers = Pointers()
        self._scheduler = Scheduler()
        self._worker = Worker()
        resident = settings.memory.qmd.resident
        self._residents = ResidentPool(
            limit=resident.max,
            idle_s=resident.idle_minutes * 60,
            max_rss_bytes=resident.max_rss_mb * 2**20,
        )
        self._fleet = Fleet()
        self._counts = Counts()
        self._bus = Bus()
        self._loopback = Loopback(settings.sidecar.metrics.listen)
        self._watches = Watches(self._fleet, self._transcripts, self._counter)
        self._reloading = Reloading(configured, self._fleet, self._assembly(), self._watches)

    def _assembly(self) -> Assembly:
        shared = Shared(
            writer=self._worker,
            governor=Governor.of_this_machine(self._environ),
            residents=self._residents,
            environ=self._environ,
            publish=self._bus.publish,
        )
        return Assembly(shared, self._worker, self._scheduler)

    def _transcripts(self, agent: Agent) -> Path:
        return transcripts_dir(self._configured.settings, agent.settings)

    async def serve(self, on_ready: OnReady | None) -> None:
        """Start, answer until told to stop, stop in order. Raises `StartupError` before anything is served."""
        _raise_descriptor_limit()
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(loop_crashed)
        loop.set_default_executor(self._errands)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_stop_signal, number)
        loop.add_signal_handler(signal.SIGHUP, self._hung_up.set)
        settings = self._configured.settings
        socket = settings.sidecar.socket
        self._reloading.begin()
        view = self._view()
        self._endpoint = Endpoint(
            application(view),
            settings.socket,
            mode=socket.mode,
            group=socket.group,
            extra_uids=socket.allow_uids,
            inherited=self._launch.socket,
        )
        await self._serve(self._endpoint, view, on_ready)

    async def _serve(self, endpoint: Endpoint, view: DaemonView, on_ready: OnReady | None) -> None:
        endpoint.start()
        self._scheduler.every(TEND_INTERVAL_S, "socket.tend", endpoint.tend)
        self._scheduler.every(TEND_INTERVAL_S, "worker.tend", self._worker.tend)
        self._scheduler.every(TEND_INTERVAL_S, "state.tend", self._tend_state)
        self._scheduler.every(SWEEP_INTERVAL_S, "orphans.sweep", self._sweep)
        self._scheduler.start()
        work = [self._boot(on_ready), self._reload_when_hung_up(), self._attend()]
        work += [self._loopback.run(view), measure(self._counts.loop_lag)]
        background = [asyncio.create_task(each) for each in work]
        settings = self._configured.settings
        try:
            self._pointers.write(
                socket=settings.socket,
                state_dir=settings.state_dir,
                started_at=self._started_at,
                environ=self._environ,
            )
            await self._stopping.wait()
            log.info("stopping")
        finally:
            self._stopping.set()
            self._launch.notifier.stopping()
            self._bus.publish(EventType.DRAINING)
            self._bus.close()
            self._scheduler.stop()
            for task in background:
                task.cancel()
            await asyncio.gather(*background, return_exceptions=True)
            await self._watches.close()
            await endpoint.drain()
            await self._close()
            self._pointers.remove()
            endpoint.close()
        log.info("stopped")

    async def _attend(self) -> None:
        """Tell the service manager how the daemon is, and that its loop and its scheduler live."""
        await self._booted.wait()
        await self._launch.notifier.attend(
            self._status_line,
            ready=lambda: self._state() == "ready",
            alive=lambda: self._scheduler.overdue_s() < OVERDUE_S,
        )

    def _status_line(self) -> str:
        return summary(agent.status()["state"] for agent in self._fleet)

    async def _tend_state(self) -> None:
        """Own the state folder also after somebody removed it: two daemons on one would work against each other."""
        try:
            if self._lock.tend():
                self._logs.reopen()
            self._pointers.tend()
        except StartupError as error:
            log.warning("state folder lost", extra={"fields": {"why": error.message}})
            if error.code == "already_running":
                self._stopping.set()

    async def _sweep(self) -> None:
        await asyncio.to_thread(_end_orphans, self._configured.settings.state_dir)

    def _view(self) -> DaemonView:
        return DaemonView(
            configured=self._configured,
            reload=self._reload,
            fleet=self._fleet,
            started_at=self._started_at,
            state=self._state,
            worker_status=self._worker.status,
            prober=Prober(self._worker),
            counts=self._counts,
            bus=self._bus,
            changes=Changes(self._fleet, self._bus.publish),
            told=self._loopback.told,
            forgetting=Forgetting(lambda: self._configured.settings, self._worker),
            export=self._worker.export,
            stop=self._stopping.set,
        )

    def _state(self) -> str:
        if self._stopping.is_set():
            return "draining"
        self._has_started = self._has_started or (self._booted.is_set() and self._fleet.ready)
        # An agent that joins later is not ready at once, and the others go on meanwhile.
        return "ready" if self._has_started and self._fleet.holds else "starting"

    async def _boot(self, on_ready: OnReady | None) -> None:
        """Bring every agent up to date in the background, or first when the configuration wants that."""
        settings = self._configured.settings
        update = settings.memory.qmd.update
        first = {agent: agent.syncs.begin(qmd=update.on_boot) for agent in self._fleet if agent.enabled}
        # What is written between a first look at the files and the first event would be nobody's.
        await self._watches.lay()
        syncs = [agent.syncs.run(name, "boot") for agent, names in first.items() for name in names]
        boot = asyncio.gather(*syncs)
        if update.wait_for_boot_sync:
            self._launch.notifier.starting(within_s=update.update_timeout_ms / 1000 + PATIENCE_S)
            await asyncio.wait({boot}, timeout=update.update_timeout_ms / 1000)
        self._booted.set()
        log.info("ready", extra={"fields": {"socket": str(settings.socket), "agents": len(self._fleet.ids)}})
        if on_ready is not None:
            threading.Thread(target=on_ready, args=(settings,), daemon=True, name="on-ready").start()
        await boot

    async def _reload(self) -> Reloaded:
        try:
            with self._launch.notifier.reloading(self._status_line):
                reloaded = await self._reloading.reload()
        except Exception:
            self._bus.publish(EventType.RELOADED, successful=False)
            raise
        self._bus.publish(EventType.RELOADED, successful=True)
        self._logs.apply(self._configured.settings)
        return reloaded

    async def _reload_when_hung_up(self) -> None:
        while await self._hung_up.wait():
            self._hung_up.clear()
            self._logs.reopen()
            try:
                await self._reload()
            except ConfigError:
                # Told where it was found, and by `status`.
                continue
            except Exception:
                log.exception("configuration not reloaded")

    def _on_stop_signal(self, number: int) -> None:
        if self._stopping.is_set():
            # The second time means now. Children hang on pipes of ours and end with us.
            if self._endpoint is not None:
                self._endpoint.close()
            self._pointers.remove()
            os._exit(128 + number)
        self._stopping.set()

    async def _close(self) -> None:
        """End children and close files. What does not end in time hangs on our pipes and ends with us."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.gather(self._fleet.close(), self._reloading.close())
                await self._residents.close()
                await self._worker.close()
        for pool in (self._errands, self._counter):
            pool.shutdown(wait=False, cancel_futures=True)
