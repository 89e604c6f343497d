"""Many clients at once: what the gateway takes, beside bare Starlette on a socket of the same kind.

The bare server reads the body and sends as many bytes as the gateway does; it knows no routes, bodies, ids or log.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from tests.bench.asking import Session
from tests.bench.conversation import corpus
from tests.bench.daemons import config, place
from tests.bench.timing import Timed, at_most, timed
from tests.running import Running, running

CLIENTS = (1, 8, 32)
NOTES, TALKS = 100, 12
#: How long each way is asked in a block, and how many blocks take turns, for each number of clients.
BLOCK_S, BLOCKS = 1.0, 4
ADDED_MS = 1.0
NOTHING, SEARCH, GET, BARE = "nothing, by the gateway", "search", "get", "nothing, by bare Starlette"

SERVER = """
import socket, sys
import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
async def answer(request):
    await request.body()
    return Response(b"x" * int(request.path_params["size"]), media_type="application/json")
app = Starlette(routes=[Route("/{size}", answer, methods=["POST"])])
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
sock.listen(512)
print("listens", flush=True)
options = {"http": "h11", "ws": "none", "lifespan": "off", "loop": "none", "access_log": False, "log_config": None}
uvicorn.Server(uvicorn.Config(app, server_header=False, date_header=False, **options)).run(sockets=[sock])
"""


@dataclass(frozen=True, slots=True)
class Way:
    """What is sent to which socket."""

    name: str
    socket: Path
    route: str
    body: bytes


@dataclass
class Loaded:
    """One way under a number of clients; `inside` is the time that the reply itself tells, where it does."""

    times: Timed
    inside: Timed
    seconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Requests a second."""
        return len(self.times.took_ms) / sum(self.seconds)

    def block(self, way: Way, clients: int, seconds: float) -> None:
        """Ask with so many clients, each as soon as it is answered, for so long."""
        over_at = time.perf_counter() + seconds
        with ThreadPoolExecutor(clients) as pool:
            took_s = timed(lambda: list(pool.map(lambda _: self._client(way, over_at), range(clients)))) / 1000
        self.seconds.append(took_s)

    def _client(self, way: Way, over_at: float) -> None:
        with Session(way.socket) as session:
            while (started := time.perf_counter()) < over_at:
                reply = session.post(way.route, way.body)
                self.times.took_ms.append((time.perf_counter() - started) * 1000)
                if told := re.search(rb'"tookMs":([0-9.]+)', reply):
                    self.inside.took_ms.append(float(told[1]))


def measure(clients: Sequence[int] = CLIENTS, *, block_s: float = BLOCK_S) -> dict[int, dict[str, Loaded]]:
    """Every way under each number of clients. The agent `off` has no memory: its engine answers from nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as stack:
        folder = Path(name)
        settings = config(folder / "main", folder / "off")
        settings["agents"]["list"][1]["memorySearch"] = {"enabled": False}
        asked = corpus(NOTES, talks=TALKS)
        place(asked, folder / "main")
        daemon = stack.enter_context(running(folder, settings))
        daemon.sync("main")
        ways = [*_ways(daemon, asked.questions[0])]
        size = len(_once(ways[0]))
        bare = stack.enter_context(_bare(daemon.client.path.with_name("bare.sock")))
        ways.append(Way(BARE, bare, f"/{size}", ways[0].body))
        return {count: _under(count, ways, block_s) for count in clients}


def _ways(daemon: Running, question: str) -> Iterator[Way]:
    path = daemon.search("main", question)["results"][0]["path"]
    asked: tuple[tuple[str, str, str, dict[str, str]], ...] = (
        (NOTHING, "off", "memory_search", {"query": question}),
        (SEARCH, "main", "memory_search", {"query": question}),
        (GET, "main", "memory_get", {"path": path}),
    )
    for name, agent, tool, body in asked:
        sent = orjson.dumps({**body, "sessionKey": f"agent:{agent}:main"})
        yield Way(name, daemon.client.path, f"/v1/agents/{agent}/{tool}", sent)


def _once(way: Way) -> bytes:
    with Session(way.socket) as session:
        return session.post(way.route, way.body)


@contextmanager
def _bare(socket: Path) -> Iterator[Path]:
    with subprocess.Popen([sys.executable, "-c", SERVER, str(socket)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield socket
        finally:
            process.terminate()


def _under(clients: int, ways: Sequence[Way], block_s: float) -> dict[str, Loaded]:
    loaded = {way.name: Loaded(Timed(way.name), Timed(way.name)) for way in ways}
    for _ in range(BLOCKS):
        for way in ways:
            loaded[way.name].block(way, clients, block_s)
    return loaded


def report(found: dict[int, dict[str, Loaded]]) -> bool:
    """Print the table, and what the gateway adds for one client."""
    for clients, ways in found.items():
        print(f"load: {clients} clients at once")
        for way in ways.values():
            inside = f", {way.inside.p50:.2f} ms of it inside" if way.inside.took_ms else ""
            print(f"{way.times.row()}   {way.rate:,.0f} a second{inside}")
    alone = found[min(found)]
    bare, answered = alone[BARE].times.p50, alone[SEARCH]
    met = at_most("the gateway adds to bare Starlette", alone[NOTHING].times.p50 - bare, ADDED_MS, "ms")
    around = answered.times.p50 - answered.inside.p50 - bare
    met = at_most("and to a search, beside what the search itself takes", around, ADDED_MS, "ms") and met
    print(flush=True)
    return met


def run() -> bool:
    """Measure and print."""
    return report(measure())
