"""The kinds of values that configuration keys take: clamped numbers, bounded numbers, durations, paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

from sidecar.durations import seconds, size_bytes


class Strict(BaseModel):
    """Keys in camelCase, none but ours, no silent conversions, no change after loading."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


class Lenient(Strict):
    """The same for objects that hold OpenClaw's own keys beside the ones we read."""

    model_config = ConfigDict(extra="ignore")


def clamp(low: float, high: float) -> AfterValidator:
    """Bring a number into `low..high` instead of refusing it, as OpenClaw does."""
    return AfterValidator(lambda value: type(value)(min(max(value, low), high)))


def _path_text(value: str) -> str:
    text = value.strip()
    if not text:
        raise ValueError("the path is empty: name a file or folder, or leave the key out")
    if "\0" in text:
        raise ValueError("the path holds a NUL character: remove it")
    return text


def _pattern(value: str) -> str:
    pattern = value.strip()
    if not pattern or "\0" in pattern:
        raise ValueError("the pattern is empty or holds a NUL character: write a glob like **/*.md")
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
        raise ValueError("the pattern must stay below its path: move the folder into `path`")
    if _has_bare_comma(pattern):
        raise ValueError("a pattern is one glob, not a list: write {*.md,*.txt}, or one entry per pattern")
    return pattern


def _has_bare_comma(pattern: str) -> bool:
    depth = 0
    for character in pattern:
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            return True
    return False


def _lower(value: Any) -> Any:
    return value.strip().lower() if isinstance(value, str) else value


def _one_of_two_words(word: str, other: str) -> Callable[[Any], Any]:
    return lambda value: other if value == word else value


_LARGEST: Final = 2**31 - 1

Positive = Annotated[int, Field(gt=0, le=_LARGEST)]
NotNegative = Annotated[int, Field(ge=0, le=_LARGEST)]
Unit = Annotated[float, clamp(0.0, 1.0)]
Results = Annotated[int, Field(gt=0), clamp(1, 50)]
Milliseconds = Annotated[int, Field(gt=0, le=24 * 3600 * 1000)]
#: Written back with its unit: a bare number would be read as minutes.
Duration = Annotated[
    float,
    BeforeValidator(seconds),
    PlainSerializer(lambda value: f"{value:.12g}s", when_used="json"),
    WithJsonSchema({"format": "duration"}),
]
Bytes = Annotated[int, BeforeValidator(size_bytes), Field(le=2**53), WithJsonSchema({"format": "size"})]
PathText = Annotated[str, AfterValidator(_path_text), WithJsonSchema({"format": "path"})]
Pattern = Annotated[str, AfterValidator(_pattern), WithJsonSchema({"format": "glob"})]
Word = Annotated[str, BeforeValidator(_lower), Field(min_length=1, max_length=1000)]
Lower = BeforeValidator(_lower)
SqliteIsBuiltin = BeforeValidator(_one_of_two_words("sqlite", "builtin"))
