"""The state of every release so far: this one opens it, builds nothing anew, and keeps every promise made in it."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator

import pytest

from tests.golden.made import BURIED, FLUSH, NOTES, PURGED, lay
from tests.running import REPOSITORY, Running, running

STATES = sorted((REPOSITORY / "tests" / "golden").glob("*.tar.xz"))


@pytest.fixture(scope="module", params=STATES, ids=lambda file: file.name.removesuffix(".tar.xz"))
def daemon(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A daemon on that state, in another place than where it was made."""
    home = tmp_path_factory.mktemp("home")
    with tarfile.open(request.param) as state:
        state.extractall(home / "daemon" / "state", filter="data")
    with running(home / "daemon", lay(home)) as daemon:
        yield daemon


def test_the_index_answers_and_is_not_built_anew(daemon: Running) -> None:
    """Whatever its format has become meanwhile."""
    (report,) = daemon.sync("main")["reports"]
    assert report["changed"] == 0
    assert report["unchanged"] >= len(NOTES)
    assert daemon.search("main", "when does the boat leave?")["results"][0]["path"] == "memory/boat.md"


def test_what_was_forgotten_stays_forgotten(daemon: Running) -> None:
    """Both transcripts are there as they were before the purges."""
    export = daemon.call("POST", "/v1/agents/main/export", {})["export"]
    assert export["forgotten"] == 1
    assert export["failed"] == 0
    for text in (PURGED, BURIED):
        assert not [hit for hit in daemon.search("main", text)["results"] if text in hit["snippet"]]
    assert daemon.search("main", "tomatoes terrace", corpus="sessions")["results"]


def test_a_session_is_not_flushed_twice(daemon: Running) -> None:
    """It was, by the release before."""
    assert daemon.call("POST", "/v1/agents/main/memory_flush", FLUSH)["reason"] == "already_flushed"
