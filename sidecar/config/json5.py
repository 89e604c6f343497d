"""JSON5 text to plain values, and the line on which every key stands.

Values come from compiled parsers (orjson for plain JSON, pyjson5 for the rest), which report no
lines; lines are looked for only when something must be said about a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pyjson5

#: The steps from the top of a document to a value: names in objects, numbers in lists.
KeyPath = tuple[str | int, ...]

#: Deeper nesting is no configuration; the bound keeps every walk within Python's stack.
MAX_DEPTH = 100


class Json5Error(ValueError):
    """The text is not JSON5. `line` is 1-based."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def decode(text: str) -> Any:
    """The value that the text holds; an empty text is an empty object. Raises `Json5Error`."""
    if not text.strip():
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _decode_json5(text)
    if _depth(value) > MAX_DEPTH:
        raise Json5Error(f"nested more than {MAX_DEPTH} levels deep", 1)
    return value


def _decode_json5(text: str) -> Any:
    try:
        return pyjson5.decode(text, MAX_DEPTH)
    except pyjson5.Json5Exception as error:
        # The parser's own message may quote the text, which may hold a secret: only the place is kept.
        near = re.search(r"near (\d+)", str(error))
        offset = int(near[1]) if near else len(text)
        raise Json5Error("not valid JSON5", text.count("\n", 0, max(0, offset - 1)) + 1) from None
    except (ValueError, OverflowError, RecursionError):
        raise Json5Error("not valid JSON5", 1) from None


def _depth(value: Any) -> int:
    """How deep the nesting is. Level by level, since recursion is what is to be guarded against."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [child for parent in level for child in children(parent)]
    return depth


def children(value: Any) -> list[Any]:
    """The values directly inside an object or a list."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n\r\u2028\u2029]*|/\*.*?\*/)"""
    r"""|(?P<punct>[{}\[\]:,])"""
    r"""|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"""|(?P<bare>(?:(?!//|/\*)[^\s{}\[\]:,"'])+)""",
    re.DOTALL,
)


def lines(text: str) -> dict[KeyPath, int]:
    """The line of every key and list item of a text that `decode` accepts."""
    found: dict[KeyPath, int] = {(): 1}
    _value((), found, _tokens(text))
    return found


Token = tuple[str, int]


def _tokens(text: str) -> Iterator[Token]:
    line = 1
    for match in _TOKEN.finditer(text):
        token = match[0]
        if match.lastgroup != "skip":
            yield token, line
        line += token.count("\n")


def _value(at: KeyPath, found: dict[KeyPath, int], tokens: Iterator[Token], token: Token | None = None) -> None:
    opening, line = token or next(tokens, ("", 1))
    found.setdefault(at, line)
    if opening == "{":
        _members(at, found, tokens)
    elif opening == "[":
        _items(at, found, tokens)


def _members(at: KeyPath, found: dict[KeyPath, int], tokens: Iterator[Token]) -> None:
    for key, line in tokens:
        if key == "}":
            return
        if key == ",":
            continue
        inner = (*at, _name(key))
        # The last of two equal keys is in force, for the parser as for the reader.
        found[inner] = line
        next(tokens, None)
        _value(inner, found, tokens)


def _items(at: KeyPath, found: dict[KeyPath, int], tokens: Iterator[Token]) -> None:
    index = 0
    for token in tokens:
        if token[0] == "]":
            return
        if token[0] != ",":
            _value((*at, index), found, tokens, token)
            index += 1


def _name(key: str) -> str:
    quoted = key if key[0] in "\"'" else f'"{key}"'
    return str(pyjson5.decode(quoted)) if "\\" in quoted else quoted[1:-1]
