"""The figures of earlier runs in `recorded.json`: what must not get worse."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.quality.questions import HERE
from tests.quality.scoring import LOOKED_AT, Verdict, figures, grouped

RECORDED = HERE / "recorded.json"
TOLERANCE = 0.005
#: Of kinds and languages the recall alone: they are small, and one place up or down says little about them.
_OF_GROUPS = (f"recall@{LOOKED_AT}",)
_FEWER_ARE_BETTER = "false answers"


def measured(verdicts: Sequence[Verdict]) -> dict[str, float]:
    """What is recorded of a run: `total MRR`, `kind table recall@6` and so on, with their values."""
    return {
        f"{group} {name}": round(value, 4)
        for group, members in grouped(verdicts).items()
        for name, value in figures(members).items()
        if group == "total" or name in _OF_GROUPS
    }


def read(engine: str, file: Path = RECORDED) -> dict[str, float]:
    """What is recorded of an engine; empty where nothing is."""
    return dict(_all(file).get(engine, {}))


def write(engine: str, values: Mapping[str, float], file: Path = RECORDED) -> None:
    """Record the figures of an engine, and leave those of others."""
    text = json.dumps(_all(file) | {engine: values}, indent=2)
    file.write_text(text + "\n", encoding="utf-8")


def worse(values: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """A line for each figure that is worse than recorded, or that only one side has."""
    lines = [
        f"{name}: {values[name]:.4f}, recorded {before[name]:.4f}" for name in values if _fell(name, values, before)
    ]
    lines += [f"{name}: {values[name]:.4f}, not recorded" for name in values if name not in before]
    return lines + [f"{name}: not measured, recorded {before[name]:.4f}" for name in before if name not in values]


def _fell(name: str, values: Mapping[str, float], before: Mapping[str, float]) -> bool:
    if name not in before:
        return False
    loss = before[name] - values[name]
    return (-loss if name.endswith(_FEWER_ARE_BETTER) else loss) > TOLERANCE


def _all(file: Path) -> dict[str, dict[str, float]]:
    if not file.exists():
        return {}
    values: dict[str, dict[str, float]] = json.loads(file.read_text(encoding="utf-8"))
    return values
