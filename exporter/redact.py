"""Replace secrets by `[redacted:<kind>]` before anything is written, indexed or logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import re2

from exporter.redact_rules import SECRET_RULES, SecretRule

_MARK: Final = "[redacted:"
# A replacement can uncover a second secret beside it; real text settles in two passes.
_MAX_PASSES: Final = 8


class BadPatternError(ValueError):
    """A configured pattern that google-re2 cannot compile; `pattern` is the culprit, the message has the reason."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(
            f"pattern {pattern!r} cannot be used: {reason}. Patterns are google-re2: no look-around, no back-references"
        )
        self.pattern = pattern


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text without its secrets, and how many of each kind were replaced."""

    text: str
    counts: Mapping[str, int]


class Redactor:
    """All rules compiled once: the built-in table, then the operator's `patterns` (kind `custom`).

    A value that one of `allow` matches as a whole is left alone. Time is linear in the text, and the
    result of a second run is the result of the first. Raises `BadPatternError`.
    """

    def __init__(self, patterns: Sequence[str] = (), allow: Sequence[str] = ()) -> None:
        self._rules = (*SECRET_RULES, *(SecretRule("custom", pattern) for pattern in patterns))
        self._compiled = [_compile(rule.pattern) for rule in self._rules]
        self._allow = [_compile(pattern) for pattern in allow]
        self._which = _prefilter(self._rules)
        self._any = _compile("|".join(f"(?:{rule.pattern})" for rule in self._rules))
        self.fingerprint: str = _fingerprint(self._rules, allow)
        """Changes when any rule changes, so that old exports are made anew."""

    def redact(self, text: str) -> Redacted:
        """Replace every secret in `text`; lone surrogates, which no file can hold, become `?`."""
        text = text.encode("utf-8", "replace").decode()
        counts: Counter[str] = Counter()
        for _ in range(_MAX_PASSES):
            changed = self._pass(text, counts)
            if changed == text:
                break
            text = changed
        return Redacted(text, dict(counts))

    def _pass(self, text: str, counts: Counter[str]) -> str:
        for index in self._candidates(text):
            text = self._apply(index, text, counts)
        return text

    def _candidates(self, text: str) -> Sequence[int]:
        """The rules worth running. The set says none both for clean text and when it ran out of memory: asked twice."""
        if found := self._which.Match(text):
            return sorted(found)
        return range(len(self._rules)) if self._any.search(text) else ()

    def _apply(self, index: int, text: str, counts: Counter[str]) -> str:
        rule, pattern = self._rules[index], self._compiled[index]
        mark, pieces, done = f"{_MARK}{rule.kind}]", [], 0
        for match in pattern.finditer(text):
            start, end = match.span(1) if pattern.groups else match.span()
            if start < end and self._is_secret(rule, text[start:end]):
                pieces += [text[done:start], mark]
                done = end
                counts[rule.kind] += 1
        return "".join([*pieces, text[done:]]) if pieces else text

    def _is_secret(self, rule: SecretRule, value: str) -> bool:
        if value.startswith(_MARK) or value in f"{_MARK}{rule.kind}]":
            return False
        if rule.accept is not None and not rule.accept(value):
            return False
        return not any(allowed.fullmatch(value) for allowed in self._allow)


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # it would print the operator's pattern to stderr
    options.max_mem = 64 << 20
    return options


def _compile(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        reason = error.args[0] if error.args else "not a pattern"
        raise BadPatternError(pattern, reason.decode() if isinstance(reason, bytes) else str(reason)) from error


def _prefilter(rules: Sequence[SecretRule]) -> Any:
    """All patterns as one automaton: a single pass tells which of them are worth running."""
    every = re2.Set.SearchSet(_options())
    for rule in rules:
        every.Add(rule.pattern)
    every.Compile()
    return every


def _fingerprint(rules: Sequence[SecretRule], allow: Sequence[str]) -> str:
    words = [f"{rule.kind}\0{rule.pattern}" for rule in rules]
    return sha256("\1".join([*words, "\2", *allow]).encode("utf-8", "replace")).hexdigest()[:16]
