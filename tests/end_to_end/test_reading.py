"""Reading as a gateway sees it: what a search cites is read as it was quoted, and what is left out is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.client import RefusedError
from tests.contract.notes import ODD_NAMES
from tests.running import Running, running


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Notes with odd names, long lines and wrong bytes."""
    memory = tmp_path_factory.mktemp("reading") / "workspace" / "memory"
    for word, name in ODD_NAMES.items():
        (memory / name).parent.mkdir(parents=True, exist_ok=True)
        (memory / name).write_text(f"# Note\n\nFirst line.\nThe {word} is lit.\n", encoding="utf-8")
    (memory / "long.md").write_text(f"{'word ' * 5_000}\nafter\n", encoding="utf-8")
    (memory / "many.md").write_text("a line\n" * 1_000, encoding="utf-8")
    (memory / "utf16.md").write_text("one\n", encoding="utf-16")
    return memory


@pytest.fixture(scope="module")
def daemon(memory: Path) -> Iterator[Running]:
    """One daemon over them, on the built-in engine, that cites."""
    workspace = memory.parent
    config = {
        "memory": {"backend": "builtin", "citations": "on"},
        "agents": {"defaults": {"workspace": str(workspace)}},
    }
    with running(workspace.parent, config) as daemon:
        daemon.sync("main")
        yield daemon


@pytest.mark.parametrize("word", ODD_NAMES)
def test_a_citation_is_read_as_a_path(daemon: Running, word: str) -> None:
    """Pasted back as it stands, it gives what was quoted; so do path and lines."""
    results = daemon.search("main", word, minScore=0)["results"]
    assert f"memory/{ODD_NAMES[word]}" in [result["path"] for result in results]
    for result in results:
        quoted = result["snippet"].removesuffix(f"\n\nSource: {result['citation']}")
        lines = result["endLine"] - result["startLine"] + 1
        for reply in (
            daemon.get("main", result["citation"]),
            daemon.get("main", result["path"], **{"from": result["startLine"], "lines": lines}),
        ):
            assert (reply["path"], reply["from"]) == (result["path"], result["startLine"])
            assert reply["text"].strip() == quoted


def test_a_long_file_says_where_it_goes_on(daemon: Running) -> None:
    """Two hundred lines when no number is named; what is asked for is not called truncated at the end."""
    reply = daemon.get("main", "memory/many.md")
    assert (reply["lines"], reply["truncated"], reply["nextFrom"]) == (200, True, 201)
    end = daemon.get("main", "memory/many.md", **{"from": 990, "lines": 50})
    assert (end["lines"], end.keys() & {"truncated", "nextFrom", "partial"}) == (11, set())


def test_a_line_that_was_cut_is_called_partial(daemon: Running) -> None:
    """`nextFrom` is the line after it: its rest is not to be had, which is said."""
    reply = daemon.get("main", "memory/long.md")
    assert (reply["lines"], reply["truncated"], reply["partial"], reply["nextFrom"]) == (1, True, True, 2)
    assert daemon.get("main", "memory/long.md", **{"from": 2})["text"] == "after"


def test_a_column_beyond_a_line_leads_to_the_line_after_it(daemon: Running) -> None:
    """Who reads on does not come back to the same line."""
    reply = daemon.get("main", "memory/long.md", **{"from": 1, "column": 1_000_000})
    assert (reply["text"], reply["lines"], reply["nextFrom"]) == ("", 0, 2)
    within = daemon.get("main", "memory/long.md", column=20_001)
    assert (within["text"], within["nextFrom"]) == ("word " * 1_000, 2)
    assert "nextColumn" not in within


def test_utf16_is_an_error_with_a_next_step(daemon: Running) -> None:
    """Searches do not know the file either."""
    with pytest.raises(RefusedError, match="UTF-16; save it as UTF-8") as caught:
        daemon.get("main", "memory/utf16.md")
    assert caught.value.code == "unreadable"
