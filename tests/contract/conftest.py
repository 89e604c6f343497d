"""One suite over every engine: each is set up once, over notes that are only read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from tests.contract.desk import Desk
from tests.contract.differences import why
from tests.contract.engines import ENGINES, Engine
from tests.contract.notes import ARCHIVE, CONVERSATIONS, LIBRARY, PAIR

Make = Callable[..., Desk]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the known differences, and no others; and keep an engine in one process, where it is set up once."""
    for item in items:
        called = getattr(item, "callspec", None)
        if called is None or not isinstance(engine := called.params.get("engine"), Engine):
            continue
        item.add_marker(pytest.mark.together(engine.name))
        case = called.id.replace(engine.name, "", 1).strip("-")
        reason = why(item.originalname, engine.name, case)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


def _marked(engine: Engine) -> object:
    return pytest.param(engine, id=engine.name, marks=[pytest.mark.real_qmd] if engine.real_qmd else [])


@pytest.fixture(scope="package")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="package", params=map(_marked, ENGINES))
def engine(request: pytest.FixtureRequest) -> Engine:
    engine: Engine = request.param
    return engine


@contextmanager
def _making(engine: Engine, runner: asyncio.Runner, folders: pytest.TempPathFactory) -> Iterator[Make]:
    """Make desks over notes (and conversations), synced; leave them at the end."""
    made: list[Desk] = []

    def make(notes: Mapping[str, str], conversations: Mapping[str, str] | None = None) -> Desk:
        desk = Desk(engine, folders.mktemp(engine.name), runner, conversations)
        made.append(desk)
        desk.write(notes)
        desk.sync()
        return desk

    try:
        yield make
    finally:
        for desk in made:
            desk.leave()


@pytest.fixture(scope="package")
def shared(engine: Engine, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """For corpora that are only read."""
    with _making(engine, runner, tmp_path_factory) as make:
        yield make


@pytest.fixture
def make(engine: Engine, runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """For a corpus that one test changes."""
    with _making(engine, runner, tmp_path_factory) as make:
        yield make


@pytest.fixture(scope="package")
def library(shared: Make) -> Desk:
    """Notes of every sort. Only read."""
    return shared(LIBRARY)


@pytest.fixture(scope="package")
def archive(shared: Make) -> Desk:
    """Three hundred files, a tenth of them conversations. Only read."""
    return shared(ARCHIVE, CONVERSATIONS)


@pytest.fixture(scope="package")
def pair(shared: Make) -> Desk:
    """Two files. Only read."""
    return shared(PAIR)
