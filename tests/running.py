"""A real daemon in a process of its own, for tests and benchmarks: started, asked over its socket, ended.

with running(folder, config={...}) as daemon:
    daemon.search("main", "when does the boat leave?")
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psutil

from sidecar.client import Client, ClientError, RefusedError
from tests.api.strict import undocumented

REPOSITORY = Path(__file__).parent.parent
QMD = REPOSITORY / ".qmd" / "node_modules"
#: A real embedding model in GGUF form, where `make qmd` could make it.
MODEL = REPOSITORY / ".qmd" / "minilm.gguf"
START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 20.0


def real_qmd_path() -> str:
    """A PATH on which the real qmd and its Node come first."""
    folders = [*map(str, QMD.glob("node-*/bin")), str(QMD / ".bin"), os.environ["PATH"]]
    return os.pathsep.join(folders)


def path_without_qmd(folder: Path) -> str:
    """A PATH that holds what a daemon needs, and no qmd."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for tool in ("sh", "env", "python3"):
        for place in ("/bin", "/usr/bin"):
            if (Path(place) / tool).exists() and not (tools / tool).exists():
                (tools / tool).symlink_to(Path(place) / tool)
    return str(tools)


def until(condition: Callable[[], Any], *, deadline_s: float = 30.0, what: str = "") -> Any:
    """The first true value of a condition; fails when it does not come in time."""
    give_up_at = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > give_up_at:
            raise AssertionError(f"{what or condition} did not come within {deadline_s} s")
        time.sleep(0.02)


@contextmanager
def alongside(work: Callable[[], None], over: Event) -> Iterator[None]:
    """Work that a second thread goes on with until it is over."""
    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def processes_of(marker: str) -> list[psutil.Process]:
    """Every living process whose environment or command line names `marker`, but ourselves."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            words = [*process.cmdline(), *process.environ().values()]
        except psutil.Error:
            continue
        if any(marker in word for word in words):
            found.append(process)
    return found


@dataclass
class Running:
    """A running daemon, its socket and its log."""

    process: subprocess.Popen[bytes]
    client: Client
    folder: Path
    state: Path
    log: Path

    def call(self, method: str, route: str, body: Mapping[str, Any] | None = None) -> Any:
        """One request, whose reply must be one that is documented. Raises `sidecar.client.ClientError`."""
        reply = self.client.call(method, route, body)
        assert undocumented(method, route, reply) == []
        return reply

    def search(self, agent: str, query: str, **more: Any) -> dict[str, Any]:
        """A search with an operator's key."""
        body = {"query": query, "sessionKey": f"agent:{agent}:main", **more}
        reply: dict[str, Any] = self.call("POST", f"/v1/agents/{agent}/memory_search", body)
        return reply

    def get(self, agent: str, path: str, **more: Any) -> dict[str, Any]:
        """A read with an operator's key."""
        body = {"path": path, "sessionKey": f"agent:{agent}:main", **more}
        reply: dict[str, Any] = self.call("POST", f"/v1/agents/{agent}/memory_get", body)
        return reply

    def sync(self, agent: str, **more: Any) -> dict[str, Any]:
        """Sync and wait for it."""
        reply: dict[str, Any] = self.call("POST", f"/v1/agents/{agent}/sync", {"wait": True, **more})
        return reply

    def ready(self) -> bool:
        """Whether `/readyz` says so. Fails when the daemon has ended."""
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        try:
            return bool(self.call("GET", "/readyz")["ready"])
        except ClientError:
            return False

    def logged(self) -> str:
        """The log, with a line for every request that was answered: lines are written a moment after the reply."""
        try:
            self.client.call("GET", "/nowhere")
        except RefusedError as error:
            last = error.request_id or ""
        until(lambda: last in self.log.read_text(encoding="utf-8"))
        return self.log.read_text(encoding="utf-8")

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Signal the daemon, and its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_DEADLINE_S)


@contextmanager
def running(
    folder: Path,
    config: Mapping[str, Any],
    *,
    path: str | None = None,
    wait: bool = True,
    within: Sequence[str] = (),
    runtime: Path | None = None,
    **environ: str,
) -> Iterator[Running]:
    """Start a daemon with its state in `folder`; end it, and check that it left no process, at the end.

    `within` is a command that runs the command after it, such as one that sets limits. `runtime` is the folder of its
    socket, whose path has to be short: one of its own where left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json5").write_text(json.dumps(config), encoding="utf-8")
    with nullcontext(runtime) if runtime else tempfile.TemporaryDirectory(prefix="qs-") as short:
        daemon = _start(folder, Path(short), path or path_without_qmd(folder), environ, within)
        try:
            if wait:
                until(daemon.ready, deadline_s=START_DEADLINE_S, what="readiness")
            yield daemon
        finally:
            if daemon.process.poll() is None:
                daemon.process.terminate()
                try:
                    daemon.process.wait(STOP_DEADLINE_S)
                except subprocess.TimeoutExpired:
                    daemon.process.kill()
                    daemon.process.wait()
                    raise
        until(lambda: not processes_of(str(folder)), deadline_s=10, what="the end of every child")


def _start(folder: Path, short: Path, path: str, environ: Mapping[str, str], within: Sequence[str]) -> Running:
    state, log, socket = folder / "state", folder / "daemon.log", short / "s.sock"
    command = [*within, sys.executable, "-m", "sidecar", "run", "--config", str(folder / "config.json5")]
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [*command, "--state-dir", str(state), "--socket", str(socket)],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={
                "PATH": path,
                "HOME": str(folder),
                "LANG": "C.UTF-8",
                "XDG_RUNTIME_DIR": str(short),
                **{key: value for key, value in os.environ.items() if key.startswith(("OPENBLAS", "PYTHON"))},
                **environ,
            },
            cwd=folder,
        )
    return Running(process, Client(socket, timeout_s=60), folder, state, log)
