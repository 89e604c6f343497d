"""One agent's notes and one engine over them, driven synchronously on a loop that the whole suite shares."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from backends.base import Answer, Hit, SyncReport, SyncRequest
from backends.corpus import Corpus, Kind, Root, read_text, split_lines
from tests.backends.qmd.making import corpus_of, query, write
from tests.contract.engines import Engine

#: Far beyond what any engine needs, so that a busy machine fails no test.
TIMEOUT_S = 40.0


class Desk:
    """Notes in `folder/workspace`, conversations (if any) in `folder/sessions`, the state in `folder/state`."""

    def __init__(
        self, engine: Engine, folder: Path, runner: asyncio.Runner, conversations: Mapping[str, str] | None = None
    ) -> None:
        self.workspace = folder / "workspace"
        self.state = folder / "state"
        (self.workspace / "memory").mkdir(parents=True)
        self.corpus: Corpus = corpus_of(self.workspace, *_sessions(folder / "sessions", conversations or {}))
        self._runner = runner
        self._stack = AsyncExitStack()
        self.backend = self._run(self._stack.enter_async_context(engine.build(self.corpus, self.state)))

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(work)

    def write(self, files: Mapping[str, str]) -> None:
        write(self.workspace, files)

    def sync(self) -> SyncReport:
        report: SyncReport = self._run(self.backend.sync(SyncRequest(reason="test")))
        return report

    def sync_while_asked(self, text: str, *, times: int) -> tuple[SyncReport, list[Answer]]:
        """A forced sync, and the answers to a question that is asked again and again beside it."""

        async def ask() -> list[Answer]:
            return [await self._ask(text) for _ in range(times)]

        async def both() -> tuple[SyncReport, list[Answer]]:
            return await asyncio.gather(self.backend.sync(SyncRequest(reason="test", force=True)), ask())

        result: tuple[SyncReport, list[Answer]] = self._run(both())
        return result

    def answer(self, text: str, **fields: Any) -> Answer:
        answer: Answer = self._run(self._ask(text, **fields))
        return answer

    def answers(self, texts: list[str], **fields: Any) -> list[Answer]:
        """The answers to questions that are asked all at once."""

        async def together() -> list[Answer]:
            return await asyncio.gather(*(self._ask(text, **fields) for text in texts))

        answers: list[Answer] = self._run(together())
        return answers

    async def _ask(self, text: str, **fields: Any) -> Answer:
        asked: dict[str, Any] = {"min_score": 0.35, "timeout_s": TIMEOUT_S, **fields}
        return await self.backend.search(query(text, **asked))

    def paths(self, text: str, **fields: Any) -> list[str]:
        return [hit.path for hit in self.answer(text, **fields).hits]

    def best(self, text: str, **fields: Any) -> Hit:
        return self.answer(text, **fields).hits[0]

    def lines(self, shown: str) -> list[str]:
        """The lines of the file that a shown path names."""
        located = self.corpus.locate(shown)
        assert located is not None, shown
        return split_lines(read_text(located, max_bytes=2**20))

    def close(self) -> None:
        self._run(self.backend.close())

    def leave(self) -> None:
        """Close everything that was opened for this desk."""
        self._run(self._stack.aclose())


def _sessions(folder: Path, conversations: Mapping[str, str]) -> list[Root]:
    write(folder, conversations)
    root = Root(name="sessions", kind=Kind.SESSION, path=folder, patterns=("**/*.md",), shown="qmd/sessions/")
    return [root] if conversations else []
