"""The engines of the suite, each built as the daemon builds it, over real notes and with the real qmd."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from backends.base import Backend, Failure
from backends.builtin import BuiltinBackend, BuiltinOptions
from backends.corpus import Corpus
from backends.failover import Failover
from tests.backends.builtin.conftest import KEYWORDS_ONLY, InProcessWriter
from tests.backends.qmd.making import running
from tests.running import real_qmd_path


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One engine: how it is built over a corpus with its state in a folder, and what its answers say of it.

    `instead_of` is why it was not the first choice that answered.
    """

    name: str
    build: Callable[[Corpus, Path], AbstractAsyncContextManager[Backend]]
    answers: str
    via: str
    instead_of: Failure | None = None
    real_qmd: bool = False


@asynccontextmanager
async def _builtin(corpus: Corpus, state: Path) -> AsyncIterator[BuiltinBackend]:
    with ThreadPoolExecutor(2) as pool:
        options = BuiltinOptions(index=state / "main.sqlite", embedding=KEYWORDS_ONLY)
        backend = BuiltinBackend(corpus=corpus, options=options, writer=InProcessWriter(None), pool=pool)
        try:
            yield backend
        finally:
            await backend.close()


@asynccontextmanager
async def _qmd(corpus: Corpus, state: Path, *, resident: bool) -> AsyncIterator[Backend]:
    environ = {"PATH": real_qmd_path(), "HOME": str(state)}
    async with running(corpus, state / "qmd", environ, resident=resident) as backend:
        yield backend


@asynccontextmanager
async def _failover(corpus: Corpus, state: Path, *, command: str) -> AsyncIterator[Backend]:
    environ = {"PATH": real_qmd_path(), "HOME": str(state)}
    async with (
        _builtin(corpus, state) as second,
        running(corpus, state / "qmd", environ, statistics=second.statistics, command=command) as first,
    ):
        both = Failover(first, second)
        try:
            yield both
        finally:
            await both.close()


@asynccontextmanager
async def _broken(corpus: Corpus, state: Path) -> AsyncIterator[Backend]:
    """The program is there, and what should run it is not: a Node that was removed."""
    script = state / "qmd-without-node"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text("#!/nowhere/node\n")
    script.chmod(0o755)
    async with _failover(corpus, state, command=str(script)) as both:
        yield both


ENGINES = (
    Engine(name="builtin", build=_builtin, answers="builtin", via="index"),
    Engine(name="resident", build=partial(_qmd, resident=True), answers="qmd", via="resident", real_qmd=True),
    Engine(name="command", build=partial(_qmd, resident=False), answers="qmd", via="command", real_qmd=True),
    Engine(name="failover", build=partial(_failover, command="qmd"), answers="qmd", via="resident", real_qmd=True),
    Engine(name="broken", build=_broken, answers="builtin", via="index", instead_of=Failure.BROKEN_INSTALL),
)
