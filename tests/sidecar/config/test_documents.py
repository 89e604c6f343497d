from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from sidecar.config import ConfigError
from sidecar.config.documents import Tree, dotted, read

SECTIONS = frozenset({"memory", "agents"})


def write(folder: Path, **texts: str) -> Path:
    """Write files by stem and return the one called `main`."""
    for name, text in texts.items():
        (folder / f"{name}.json5").write_text(text, encoding="utf-8")
    return folder / "main.json5"


def refused(path: Path) -> tuple[str, str, int | None]:
    """Code, file name and line of the error."""
    with pytest.raises(ConfigError) as caught:
        read(path, SECTIONS)
    (finding,) = caught.value.findings
    return finding.code, Path(finding.file or "").name, finding.line


def test_includes_merge_in_order_and_siblings_win(tmp_path: Path) -> None:
    """Objects merge, lists join, later values win, and the file's own keys win over what it includes."""
    main = write(
        tmp_path,
        a="{memory: {x: 1, y: 1, list: [1]}}",
        b="{memory: {y: 2, z: 2, list: [2]}}",
        main="{$include: ['./a.json5', 'b.json5'], memory: {z: 3, list: [3]}}",
    )
    assert read(main, SECTIONS).value == {"memory": {"x": 1, "y": 2, "z": 3, "list": [1, 2, 3]}}


def test_every_value_remembers_its_file_and_line(tmp_path: Path) -> None:
    """A key that came through an include is reported where it was written."""
    main = write(tmp_path, inner="{\n qmd: {\n  command: 'x' } }", main="{\n memory: {$include: 'inner.json5'} }")
    assert read(main, SECTIONS).written(("memory", "qmd", "command")) == (str(tmp_path / "inner.json5"), 3)


def test_nested_includes_are_relative_to_their_own_file(tmp_path: Path) -> None:
    """A folder of fragments can be moved as a whole."""
    (tmp_path / "parts").mkdir()
    write(tmp_path / "parts", outer="{$include: 'inner.json5'}", inner="{x: 1}")
    main = write(tmp_path, main="{memory: {$include: 'parts/outer.json5'}}")
    assert read(main, SECTIONS).value == {"memory": {"x": 1}}


def test_a_circle_of_includes_is_refused(tmp_path: Path) -> None:
    """Nothing loops, and the line with the include is named."""
    main = write(tmp_path, b="{\n\n$include: 'main.json5'}", main="{$include: 'b.json5'}")
    assert refused(main) == ("bad_include", "b.json5", 3)


@pytest.mark.parametrize(("depth", "fine"), [(10, True), (11, False)])
def test_ten_levels_of_includes_are_allowed(tmp_path: Path, depth: int, fine: bool) -> None:
    """The limit is OpenClaw's."""
    chain = {f"f{level}": f"{{$include: 'f{level + 1}.json5'}}" for level in range(1, depth)}
    main = write(tmp_path, main="{$include: 'f1.json5'}", **chain, **{f"f{depth}": "{memory: {}}"})
    if fine:
        assert read(main, SECTIONS).value == {"memory": {}}
    else:
        assert refused(main)[0] == "bad_include"


def test_a_missing_include_is_reported_where_it_is_named(tmp_path: Path) -> None:
    """The reader is sent to the line to mend, not to a file that does not exist."""
    assert refused(write(tmp_path, main="{\n memory: {\n $include: 'no.json5'}}")) == ("unreadable", "main.json5", 3)


def test_an_include_of_a_link_to_itself_is_reported_where_it_is_named(tmp_path: Path) -> None:
    """It is no file, like one that is missing."""
    (tmp_path / "loop.json5").symlink_to("loop.json5")
    assert refused(write(tmp_path, main="{\n memory: {$include: 'loop.json5'}}")) == ("unreadable", "main.json5", 2)


def test_sections_of_others_are_not_even_opened(tmp_path: Path) -> None:
    """An include that only OpenClaw can read does not stop us."""
    assert read(write(tmp_path, main="{channels: {$include: 'no.json5'}, memory: {}}"), SECTIONS).value == {
        "memory": {}
    }


@pytest.mark.parametrize("value", ["3", "[1]", "['a', 2]", "''", "'a\\0'", "{}"])
def test_an_include_that_names_no_file_is_refused(tmp_path: Path, value: str) -> None:
    """Wrong types get the same clear error."""
    assert refused(write(tmp_path, main=f"{{memory: {{$include: {value}}}}}"))[0] == "bad_include"


def test_siblings_of_an_included_list_are_refused(tmp_path: Path) -> None:
    """A list cannot take keys."""
    assert refused(write(tmp_path, list="[1]", main="{memory: {$include: 'list.json5', x: 1}}"))[0] == "bad_include"


def test_a_fifo_does_not_hang_the_start(tmp_path: Path) -> None:
    """Only plain files are configurations."""
    os.mkfifo(tmp_path / "main.json5")
    assert refused(tmp_path / "main.json5")[0] == "unreadable"


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    """The error is about reading, and no descriptor stays open."""
    before = psutil.Process().num_fds()
    assert refused(tmp_path)[0] == "unreadable"
    assert psutil.Process().num_fds() == before


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"\xff\xfe{", "not_utf8"), (b"[1]", "not_an_object"), (b"{", "bad_json5"), (b" " * 3_000_000, "unreadable")],
)
def test_files_that_are_no_configuration(tmp_path: Path, data: bytes, code: str) -> None:
    """Each failure has its own code."""
    file = tmp_path / "main.json5"
    file.write_bytes(data)
    assert refused(file)[0] == code


def test_a_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    """Editors of other systems write one."""
    file = tmp_path / "main.json5"
    file.write_bytes(b"\xef\xbb\xbf{memory:{}}")
    assert read(file, SECTIONS).value == {"memory": {}}


def test_no_file_is_an_empty_tree() -> None:
    """Defaults need no file."""
    assert read(None, SECTIONS) == Tree({})


def test_key_paths_are_written_as_people_write_them() -> None:
    """Indices in brackets, names with dots."""
    assert dotted(("agents", "list", 0, "workspace")) == "agents.list[0].workspace"
