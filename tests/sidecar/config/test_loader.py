from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.config import ConfigError, load


def write(path: Path, text: str = "{}") -> Path:
    """A configuration file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(home: Path) -> None:
    """And nothing is created."""
    settings = load(environ={"HOME": str(home)})
    assert (settings.path, settings.memory.backend) == (None, "auto")
    assert list(home.iterdir()) == []


def test_files_are_looked_for_in_the_documented_order(home: Path) -> None:
    """Flag, our variable, OpenClaw's variable, our folder, OpenClaw's folder."""
    files = {
        "flag": write(home / "flag.json5"),
        "SIDECAR_CONFIG": write(home / "ours.json5"),
        "OPENCLAW_CONFIG_PATH": write(home / "theirs.json"),
        "xdg": write(home / "xdg" / "qmd-sidecar" / "config.json5"),
        "openclaw": write(home / ".openclaw" / "openclaw.json"),
    }
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "xdg")}
    environ |= {name: str(files[name]) for name in ("SIDECAR_CONFIG", "OPENCLAW_CONFIG_PATH")}
    assert load(files["flag"], environ=environ).path == files["flag"]
    found = [load(environ=environ).path]
    for name in ("SIDECAR_CONFIG", "OPENCLAW_CONFIG_PATH"):
        del environ[name]
        found.append(load(environ=environ).path)
    files["xdg"].unlink()
    found.append(load(environ=environ).path)
    assert found == list(files.values())[1:]


@pytest.mark.parametrize("variable", ["SIDECAR_CONFIG", "OPENCLAW_CONFIG_PATH"])
def test_a_named_file_must_exist(home: Path, variable: str) -> None:
    """Falling back to another file in silence would run the wrong memory."""
    write(home / ".openclaw" / "openclaw.json")
    with pytest.raises(ConfigError) as caught:
        load(environ={"HOME": str(home), variable: str(home / "none.json5")})
    assert caught.value.findings[0].code == "unreadable"


def test_the_state_folder_of_an_openclaw_user_lies_beside_the_file(home: Path) -> None:
    """In a folder of our own."""
    write(home / ".openclaw" / "openclaw.json")
    assert load(environ={"HOME": str(home)}).state_dir == home / ".openclaw" / "qmd-sidecar"


def test_the_state_folder_by_precedence(home: Path) -> None:
    """Flag, variable, configuration, XDG."""
    file = write(home / "c.json5", "{sidecar: {stateDir: 'state'}}")
    environ = {"HOME": str(home)}
    assert load(file, environ={**environ, "SIDECAR_STATE_DIR": "/env"}, state_dir=Path("/flag")).state_dir == Path(
        "/flag"
    )
    assert load(file, environ={**environ, "SIDECAR_STATE_DIR": "/env"}).state_dir == Path("/env")
    assert load(file, environ=environ).state_dir == home / "state"
    assert load(environ={**environ, "XDG_STATE_HOME": "/x"}).state_dir == Path("/x/qmd-sidecar")


def test_the_socket_by_precedence(home: Path) -> None:
    """Flag, variable, configuration, runtime folder, state folder."""
    file = write(home / "c.json5", "{sidecar: {socket: {path: '~/s.sock'}}}")
    environ = {"HOME": str(home)}
    named = {**environ, "SIDECAR_SOCKET": "/env.sock"}
    assert load(file, environ=named, socket=Path("/flag.sock")).socket == Path("/flag.sock")
    assert load(file, environ=named).socket == Path("/env.sock")
    assert load(file, environ=environ).socket == home / "s.sock"
    assert load(environ={**environ, "XDG_RUNTIME_DIR": "/r"}).socket == Path("/r/qmd-sidecar/sidecar.sock")
    assert load(environ=environ, state_dir=Path("/s")).socket == Path("/s/run/sidecar.sock")


@pytest.mark.parametrize(("slot", "disabled"), [("none", True), ("memory-core", False)])
def test_the_memory_slot_can_turn_us_off(home: Path, slot: str, disabled: bool) -> None:
    """Only `none` does; other plugins' names are accepted."""
    file = write(home / "c.json5", f"{{plugins: {{slots: {{memory: '{slot}'}}, entries: {{x: '${{UNSET}}'}}}}}}")
    settings = load(file, environ={"HOME": str(home)})
    assert settings.disabled is disabled
    assert [agent.off_by for agent in settings.agents.values()] == ["plugins.slots.memory" if disabled else ""]


def test_what_we_read_of_other_sections(home: Path) -> None:
    """Exactly the documented keys."""
    file = write(
        home / "c.json5",
        """{tools: {sessions: {visibility: 'agent'}, x: 1}, session: {store: '~/st', dmScope: 'x'},
            models: {providers: {google: {apiKey: 'k', baseUrl: 'u', api: 'a', headers: {h: 'v'}, models: []}}}}""",
    )
    settings = load(file, environ={"HOME": str(home)})
    google = settings.providers["google"]
    assert (settings.visibility, settings.session.store) == ("agent", "~/st")
    assert (google.base_url, google.api) == ("u", "a")


def test_a_command_below_the_home_folder_is_expanded(home: Path) -> None:
    """No shell does it for us."""
    file = write(home / "c.json5", "{memory: {qmd: {command: '~/bin/qmd'}}}")
    assert load(file, environ={"HOME": str(home)}).memory.qmd.command == str(home / "bin" / "qmd")


def test_secrets_do_not_print(home: Path) -> None:
    """Neither from the file nor from the environment."""
    file = write(home / "c.json5", "{memory: {search: {remote: {apiKey: 'hunter2', headers: {a: 'hunter2'}}}}}")
    assert "hunter2" not in repr(load(file, environ={"HOME": str(home), "OPENAI_API_KEY": "hunter2"}))


def test_a_relative_log_file_starts_beside_the_configuration(home: Path) -> None:
    """A service has no useful working folder."""
    file = write(home / "c.json5", "{sidecar: {log: {file: 'log/x.log'}}}")
    assert load(file, environ={"HOME": str(home)}).sidecar.log.file == str(home / "log" / "x.log")
