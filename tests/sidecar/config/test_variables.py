from __future__ import annotations

from pathlib import Path

from sidecar.config.variables import with_env_file
from tests.sidecar.config.conftest import Load, Refuse


def command(load_text: Load, text: str, **environ: str) -> str:
    """The command that a configured text becomes."""
    return load_text(f"{{memory: {{qmd: {{command: '{text}'}}}}}}", **environ).memory.qmd.command


def test_upper_case_variables_are_replaced(load_text: Load) -> None:
    """Also within a text, several times."""
    assert command(load_text, "/${A}/${B_2}", A="x", B_2="y") == "/x/y"


def test_other_dollars_stay(load_text: Load) -> None:
    """Lower-case names and escapes are text."""
    assert command(load_text, "/${a}/$${HOME}/$HOME") == "/${a}/${HOME}/$HOME"


def test_an_unset_variable_is_an_error_with_its_place(refuse: Refuse) -> None:
    """An empty value counts as unset."""
    (finding,) = refuse("{memory: {qmd: {\n command: '${NOPE}'}}}", NOPE="")
    assert (finding.code, finding.key, finding.line) == ("unset_variable", "memory.qmd.command", 2)
    assert "NOPE" in finding.message


def test_an_unset_variable_in_a_key_field_means_no_key(load_text: Load) -> None:
    """A machine without the key still starts."""
    settings = load_text(
        "{agents: {defaults: {memorySearch: {remote: {apiKey: '${NOPE}', headers: {'X-Key': 'k ${NOPE}'}}}}}}"
    )
    remote = settings.agents["main"].search.remote
    assert (remote.api_key, remote.headers) == (None, {"X-Key": None})


def test_the_env_file_fills_what_the_environment_leaves_open(home: Path, load_text: Load) -> None:
    """`<openclaw>/.env` is read; the real environment wins."""
    (home / ".openclaw").mkdir()
    (home / ".openclaw" / ".env").write_text("# keys\nexport K1='from file' # why\nK2=file\nbroken\n", encoding="utf-8")
    settings = load_text("{models: {providers: {openai: {apiKey: '${K1}${K2}'}}}}", K2="real")
    key = settings.providers["openai"].api_key
    assert key is not None
    assert key.get_secret_value() == "from filereal"


def test_openclaw_state_dir_moves_the_env_file(tmp_path: Path) -> None:
    """The folder is the one that OpenClaw itself uses."""
    (tmp_path / ".env").write_text('A="x\\ny"\nB=z # note\n', encoding="utf-8")
    variables = with_env_file({"HOME": "/nonexistent", "OPENCLAW_STATE_DIR": str(tmp_path)})
    assert (variables["A"], variables["B"]) == ("x\ny", "z")


def test_a_secret_reference_to_the_environment_is_followed(load_text: Load) -> None:
    """OpenClaw's object form works for the source that we can read."""
    settings = load_text(
        "{agents: {defaults: {memorySearch: {remote: {apiKey: {source: 'env', id: 'K'}}}}}}", K="secret"
    )
    key = settings.agents["main"].search.remote.api_key
    assert key is not None
    assert key.get_secret_value() == "secret"


def test_a_secret_kept_elsewhere_is_told(load_text: Load) -> None:
    """No key, one notice."""
    settings = load_text("{agents: {defaults: {memorySearch: {remote: {apiKey: {source: 'exec', id: 'K'}}}}}}")
    assert settings.agents["main"].search.remote.api_key is None
    assert [notice.code for notice in settings.notices] == ["secret_not_readable"]
