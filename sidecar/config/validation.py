"""Checking a block of the tree against its model, and saying what is wrong in the words of the file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from sidecar.config.documents import Tree
from sidecar.config.errors import Finding, Severity
from sidecar.config.json5 import KeyPath

Model = TypeVar("Model", bound=BaseModel)


def build(model: type[Model], value: dict[str, Any]) -> Model:
    """The model of a block. Raises ValidationError.

    The block goes through JSON because pydantic's strict mode then takes a list for a tuple and a text for
    an enum, and still no text for a number.
    """
    return model.model_validate_json(json.dumps(value))


def problems(model: type[BaseModel], value: dict[str, Any], at: KeyPath, tree: Tree) -> list[Finding]:
    """What keeps a block, which stands at `at`, from being this model; warnings where a number was clamped."""
    try:
        shaped = build(model, value).model_dump(mode="json", by_alias=True)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return [_finding(dict(detail), model, value, at, tree) for detail in details]
    return [
        tree.finding((*at, *path), "clamped", f"out of range: {used} is used", "", severity=Severity.WARNING)
        for path, used in _clamped(value, shaped)
    ]


#: Numbers that depend on their neighbours, which another layer may still set.
_RELATIVE = frozenset({"overlap", "vectorWeight", "textWeight"})


def _clamped(written: Any, used: Any, at: KeyPath = ()) -> Iterator[tuple[KeyPath, float]]:
    """The numbers that were written and not taken as they are."""
    if isinstance(written, dict) and isinstance(used, dict):
        for key in (key for key in written if key in used and key not in _RELATIVE):
            yield from _clamped(written[key], used[key], (*at, key))
    elif isinstance(written, int | float) and isinstance(used, int | float) and written != used:
        yield at, used


def _finding(detail: dict[str, Any], model: type[BaseModel], value: Any, at: KeyPath, tree: Tree) -> Finding:
    local = _within(value, detail["loc"])
    if detail["type"] == "extra_forbidden":
        return tree.finding((*at, *local), "unknown_key", "unknown key", _suggestion(model, local))
    if detail["type"] == "missing":
        missing = detail["loc"][-1]
        return tree.finding((*at, *local), "missing_key", f"the key {missing} is missing", f"add {missing}")
    if detail["type"] == "json_invalid":
        return tree.finding(at, "bad_text", "a text is not valid Unicode", "look at the variables in it")
    message, _, hint = detail["msg"].removeprefix("Value error, ").partition(": ")
    return tree.finding((*at, *local), "bad_value", message.replace("Input should", "should"), hint)


def _within(value: Any, steps: tuple[str | int, ...]) -> KeyPath:
    """The steps that exist in the value. Pydantic adds steps of its own for unions and for what is missing."""
    path: list[str | int] = []
    for step in steps:
        inside = step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))
        if not inside:
            break
        value = value[step]
        path.append(step)
    return tuple(path)


def _suggestion(model: type[BaseModel], path: KeyPath) -> str:
    """The nearest key beside the unknown one, else the place where a key of this name belongs."""
    name = str(path[-1])
    siblings = _model_at(model, path[:-1])
    near = difflib.get_close_matches(name, list(_keys(siblings)) if siblings else [], n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    homes = [".".join(keys) for keys in _all_keys(model) if keys[-1] == name]
    if homes:
        return f"this key belongs in {homes[0]}"
    return "known here: " + ", ".join(sorted(_keys(siblings))) if siblings else "remove it"


def _keys(model: type[BaseModel]) -> dict[str, type[BaseModel] | None]:
    """The keys of a model as they are written, with the model inside each, if there is one."""
    return {field.alias or name: _inner(field.annotation) for name, field in model.model_fields.items()}


def _inner(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_inner, get_args(annotation))), None)


def _model_at(model: type[BaseModel], path: KeyPath) -> type[BaseModel] | None:
    inner: type[BaseModel] | None = model
    for step in path:
        if isinstance(step, str) and inner is not None:
            inner = _keys(inner).get(step)
    return inner


def _all_keys(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, inner in _keys(model).items():
        yield (*above, key)
        if inner is not None:
            yield from _all_keys(inner, (*above, key))
