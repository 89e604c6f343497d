"""Replace secrets by `[redacted:<kind>]` before anything is written, indexed or logged."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final, NamedTuple, cast

import re2

from exporter.redaction import SECRET_RULES, SecretRule
from exporter.redaction.disguise import BASE64, WRAP, View, base64_runs, joined, unescaped

_MARK: Final = re.compile(rb"\[redacted:[a-z0-9-]+\]")
# A replacement can uncover a second secret beside it; real text settles in two passes.
_MAX_PASSES: Final = 8
# base64 of base64, as in a secret of Kubernetes that was encoded by hand before.
_MAX_DEPTH: Final = 2
# Raised when texts are read in another way, or values judged in another way, by the same patterns.
_METHOD: Final = "3"
_BASE64_KIND: Final = "base64"
_CUSTOM_KIND: Final = "custom"

KINDS: Final = (*dict.fromkeys(rule.kind for rule in SECRET_RULES), _BASE64_KIND, _CUSTOM_KIND)
"""Every `<kind>` that a mark can name."""


class BadPatternError(ValueError):
    """A configured pattern that cannot be used; `pattern` is the culprit, `reason` says why without quoting it."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"a pattern of sidecar.redact cannot be used by google-re2: {reason}")
        self.pattern = pattern
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text without its secrets, and how many of each kind were replaced."""

    text: str
    counts: Mapping[str, int]


class _Span(NamedTuple):
    """Bytes `start` to `end` of the text are a secret of rule number `rule`."""

    start: int
    end: int
    rule: int


class Redactor:
    """All rules compiled once: the built-in table, then the operator's `patterns` (kind `custom`).

    A value that one of `allow` matches as a whole is left alone. Time is linear in the text, and the
    result of a second run is the result of the first. Raises `BadPatternError`.
    """

    def __init__(self, patterns: Sequence[str] = (), allow: Sequence[str] = ()) -> None:
        self._rules = (*SECRET_RULES, *(SecretRule(_CUSTOM_KIND, pattern) for pattern in patterns))
        self._compiled = [compile_pattern(rule.pattern) for rule in self._rules]
        self._allow = [compile_pattern(pattern) for pattern in allow]
        # Behind the rules: what asks for a closer look. Their numbers in the prefilter tell them apart.
        worth = [*(rule.pattern for rule in self._rules), BASE64, WRAP]
        self._base64, self._wrap = len(self._rules), len(self._rules) + 1
        self._which = _prefilter(worth)
        self._any = _compile("|".join(f"(?:{pattern})" for pattern in worth))
        self.fingerprint: str = _fingerprint(self._rules, allow)
        """Changes when any rule changes, so that old exports are made anew."""

    def redact(self, text: str) -> Redacted:
        """Replace every secret in `text`; lone surrogates, which no file can hold, become `?`."""
        data = text.encode("utf-8", "replace")
        counts: Counter[str] = Counter()
        for _ in range(_MAX_PASSES):
            spans = _apart(self._found(data, _MAX_DEPTH), data)
            if not spans:
                break
            data = self._replaced(data, spans)
            counts.update(self._kind(span.rule) for span in spans)
        return Redacted(data.decode(), dict(counts))

    def _kind(self, rule: int) -> str:
        return _BASE64_KIND if rule == self._base64 else self._rules[rule].kind

    def _replaced(self, data: bytes, spans: Iterable[_Span]) -> bytes:
        pieces, done = [], 0
        for span in spans:
            pieces += [data[done : span.start], f"[redacted:{self._kind(span.rule)}]".encode()]
            done = span.end
        return b"".join([*pieces, data[done:]])

    def _found(self, data: bytes, depth: int) -> list[_Span]:
        plain = View([data])
        found = self._seen(plain, depth)
        for view in unescaped(plain):
            found += self._seen(view, depth)
        return found

    def _seen(self, view: View, depth: int) -> list[_Span]:
        """The secrets of one view, where they stand in the text itself."""
        worth = self._worth(view.text)
        found = list(self._matches(view.text, worth))
        if depth and self._base64 in worth:
            found += self._encoded(view.text, depth)
        spans = _below(view, found)
        if self._wrap in worth and (whole := joined(view, {span.start for span in found})):
            wrapping = [index for index in self._worth(whole.text) if index < self._base64 and self._rules[index].wraps]
            spans += _below(whole, [*self._matches(whole.text, wrapping)])
        return spans

    def _encoded(self, text: bytes, depth: int) -> Iterator[_Span]:
        for start, end, plain in base64_runs(text):
            if self._found(plain, depth - 1):
                yield _Span(start, end, self._base64)

    def _matches(self, text: bytes, worth: Iterable[int]) -> Iterator[_Span]:
        for index in worth:
            if index >= self._base64:
                return
            rule, pattern = self._rules[index], self._compiled[index]
            groups = range(1, pattern.groups + 1)
            for match in pattern.finditer(text):
                start, end = _secret(match, groups)
                if rule.wraps:
                    start = end - len(text[start:end].lstrip(b"_"))
                if start < end and self._is_secret(rule, text[start:end]):
                    yield _Span(start, end, index)

    def _worth(self, text: bytes) -> Sequence[int]:
        """What is worth running. The set says nothing both for clean text and when out of memory: asked twice."""
        if found := self._which.Match(text):
            return sorted(found)
        return range(self._wrap + 1) if self._any.search(text) else ()

    def _is_secret(self, rule: SecretRule, value: bytes) -> bool:
        if rule.accept is not None and not rule.accept(value.decode("utf-8", "replace")):
            return False
        return not any(allowed.fullmatch(value) for allowed in self._allow)


def compile_pattern(pattern: str) -> Any:
    """A rule's pattern or an allowed one. Raises `BadPatternError`, also for one that matches where nothing stands."""
    compiled = _compile(pattern)
    if compiled.search(""):
        raise BadPatternError(pattern, "it matches the empty text")
    return compiled


def _secret(match: Any, groups: Iterable[int]) -> tuple[int, int]:
    """The first of the groups that took part, or the whole match."""
    for group in groups:
        start, end = match.span(group)
        if start >= 0:
            return start, end
    return cast("tuple[int, int]", match.span())


def _below(view: View, spans: list[_Span]) -> list[_Span]:
    if view.under is None or not spans:
        return spans
    starts, ends, rules = zip(*spans, strict=True)
    origins = view.origins(starts + ends)
    return [*map(_Span, origins[: len(spans)], origins[len(spans) :], rules)]


def _apart(found: Iterable[_Span], data: bytes) -> list[_Span]:
    """The spans in their order, overlapping ones as one, without those that begin in a mark."""
    marks = [match.span() for match in _MARK.finditer(data)]
    spans: list[_Span] = []
    for span in sorted({*found}):
        if _mark_around(marks, span.start):
            continue
        end = max(span.end, _mark_around(marks, span.end - 1))
        if spans and span.start < spans[-1].end:
            before = spans.pop()
            span = _Span(before.start, before.end, min(before.rule, span.rule))
        spans.append(_Span(span.start, max(span.end, end), span.rule))
    return spans


def _mark_around(marks: Sequence[tuple[int, int]], offset: int) -> int:
    """The end of the mark that the byte at `offset` is part of; 0 where there is none."""
    before = bisect_right(marks, offset, key=itemgetter(0)) if marks else 0
    end = marks[before - 1][1] if before else 0
    return end if offset < end else 0


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False  # it would print the operator's pattern to stderr
    options.max_mem = 64 << 20
    return options


def _compile(pattern: str) -> Any:
    try:
        return re2.compile(pattern, _options())
    except re2.error as error:
        reason = error.args[0] if error.args else b"not a pattern"
        # Behind the colon stands the pattern, which may itself be a secret.
        raise BadPatternError(pattern, bytes(reason).decode("utf-8", "replace").partition(":")[0]) from None


def _prefilter(patterns: Iterable[str]) -> Any:
    """All patterns as one automaton: a single pass tells which of them are worth running."""
    every = re2.Set.SearchSet(_options())
    for pattern in patterns:
        every.Add(pattern)
    every.Compile()
    return every


def _fingerprint(rules: Sequence[SecretRule], allow: Sequence[str]) -> str:
    words = [f"{rule.kind}\0{rule.pattern}" for rule in rules]
    return sha256("\1".join([_METHOD, *words, "\2", *allow]).encode("utf-8", "replace")).hexdigest()[:16]
