"""Every code that the sources can give, read from the sources."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tests.running import REPOSITORY

PACKAGES: Final = ("sidecar", "backends", "exporter", "scope")


def trees(folder: str, *words: str) -> Iterator[ast.Module]:
    """The sources below a folder of the repository that hold one of the words; below "" all of them."""
    for file in _files(folder):
        text = _read(file)
        if any(word in text for word in words):
            yield _parsed(file)


@cache
def _files(folder: str) -> tuple[Path, ...]:
    roots = [REPOSITORY / folder] if folder else [REPOSITORY / package for package in PACKAGES]
    return tuple(sorted(file for root in roots for file in (root.rglob("*.py") if root.is_dir() else [root])))


@cache
def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(_read(file))


def given(positions: Mapping[str, int], folder: str = "") -> set[str]:
    """The literal codes in calls: `positions` says which argument of a function or class is the code."""
    return {code for tree in trees(folder, *positions) for code in _given(tree, positions)}


def _given(tree: ast.Module, positions: Mapping[str, int]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            at = positions.get(_name(node.func))
            if at is not None and at < len(node.args):
                yield from _text(node.args[at])


def keyed(folder: str, name: str) -> set[str]:
    """The keys of the table `name`."""
    found = {
        key
        for tree in trees(folder, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and [_name(target) for target in node.targets] == [name]
        for word in (node.value.keys if isinstance(node.value, ast.Dict) else [])
        if word is not None
        for key in _text(word)
    }
    assert found, f"no table {name} in {folder}"
    return found


def valued(folder: str = "") -> set[str]:
    """The values of `"code"` in dictionaries."""
    return {
        code
        for tree in trees(folder, '"code"')
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and key.value == "code"
        for code in _text(value)
    }


def declared(folder: str) -> set[str]:
    """The codes that classes declare: `code = ".."`."""
    return {
        code
        for tree in trees(folder, "code = ")
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef)
        for node in owner.body
        if isinstance(node, ast.Assign) and [_name(target) for target in node.targets] == ["code"]
        for code in _text(node.value)
    }


def _name(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _text(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
