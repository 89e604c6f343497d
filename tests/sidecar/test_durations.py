from __future__ import annotations

import pytest

from sidecar.durations import seconds, size_bytes


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("5m", 300),
        (5, 300),
        ("5", 300),
        ("1h30m", 5400),
        ("250ms", 0.25),
        (" 2D ", 172800),
        (0, 0),
        ("0", 0),
        ("1.5h", 5400),
    ],
)
def test_durations(written: object, expected: float) -> None:
    """Units, compounds, and bare numbers in minutes."""
    assert seconds(written) == expected


@pytest.mark.parametrize("written", ["", "m", "5 m", "1h30", "-5m", "5x", True, None, [], "9" * 400, float("nan"), -1])
def test_what_is_no_duration(written: object) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="duration"):
        seconds(written)


@pytest.mark.parametrize(("written", "expected"), [(10, 10), ("2mb", 2097152), ("1.5 KB", 1536), ("7", 7)])
def test_sizes(written: object, expected: int) -> None:
    """Sizes count in 1024."""
    assert size_bytes(written) == expected


@pytest.mark.parametrize("written", ["-1", "2 parsecs", None, True])
def test_what_is_no_size(written: object) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueError, match="size"):
        size_bytes(written)
