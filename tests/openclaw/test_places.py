"""The plugin looks for the daemon where the command line does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.client.finding import sockets
from tests.openclaw.node import needs_node
from tests.openclaw.plugin import Plugin, plugin

pytestmark = needs_node


@pytest.fixture(scope="module")
def asked() -> Iterator[Plugin]:
    """A plugin without settings."""
    with plugin() as asked:
        yield asked


def same_places(asked: Plugin, environ: dict[str, str]) -> list[str]:
    """Where both look."""
    # The command line's flags have these variables for defaults.
    named = {key: Path(environ[key]).expanduser() for key in ("SIDECAR_SOCKET", "SIDECAR_STATE_DIR") if key in environ}
    config, socket = environ.get("SIDECAR_CONFIG"), named.get("SIDECAR_SOCKET")
    theirs = sockets(
        environ, config=Path(config) if config else None, state_dir=named.get("SIDECAR_STATE_DIR"), socket=socket
    )
    ours: list[str] = asked.step(sockets=environ)
    assert ours == [str(path) for path in theirs]
    return ours


def point(folder: Path, socket: str, state: Path) -> None:
    """A pointer file as a running daemon writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("daemon.json").write_text(json.dumps({"socket": socket, "stateDir": str(state)}))


def test_without_anything_in_the_default_folders(asked: Plugin, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    assert same_places(asked, home) == [str(tmp_path / ".local/state/qmd-sidecar/run/sidecar.sock")]
    runtime = same_places(asked, {**home, "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    assert runtime[0] == str(tmp_path / "run/qmd-sidecar/sidecar.sock")
    same_places(asked, {**home, "XDG_RUNTIME_DIR": "relative", "XDG_STATE_HOME": str(tmp_path / "elsewhere")})


def test_a_named_socket_is_the_only_one(asked: Plugin, tmp_path: Path) -> None:
    assert same_places(asked, {"HOME": str(tmp_path), "SIDECAR_SOCKET": "/srv/memory.sock"}) == ["/srv/memory.sock"]


def test_beside_the_configuration_of_openclaw(asked: Plugin, tmp_path: Path) -> None:
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "openclaw.json").write_text("{}")
    home = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    assert same_places(asked, home) == [str(tmp_path / ".openclaw/qmd-sidecar/run/sidecar.sock")]
    other = tmp_path / "other" / "openclaw.json"
    other.parent.mkdir()
    other.write_text("{}")
    named = same_places(asked, {**home, "OPENCLAW_CONFIG_PATH": str(other)})
    assert named == [str(tmp_path / "other/qmd-sidecar/run/sidecar.sock")]


def test_where_a_running_daemon_says_that_it_listens(asked: Plugin, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    point(tmp_path / "run" / "qmd-sidecar", "/tmp/elsewhere.sock", tmp_path / "state")
    assert same_places(asked, environ)[1] == "/tmp/elsewhere.sock"
    mine = same_places(asked, {**environ, "SIDECAR_STATE_DIR": str(tmp_path / "state")})
    assert mine[0] == "/tmp/elsewhere.sock"
    others = same_places(asked, {**environ, "SIDECAR_STATE_DIR": str(tmp_path / "another")})
    assert "/tmp/elsewhere.sock" not in others


def test_a_pointer_that_is_half_written_or_behind_a_link_counts_for_nothing(asked: Plugin, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    point(tmp_path / "run" / "qmd-sidecar", "/tmp/elsewhere.sock", tmp_path / "state")
    (tmp_path / "run" / "qmd-sidecar" / "daemon.json").write_text('{"socket": "/tmp/else')
    assert len(same_places(asked, environ)) == 2
    point(tmp_path / "strange", "/tmp/strange.sock", tmp_path / "state")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "qmd-sidecar").symlink_to(tmp_path / "strange")
    assert "/tmp/strange.sock" not in same_places(asked, {**environ, "XDG_RUNTIME_DIR": str(tmp_path / "linked")})
