"""A fake qmd that changes its mind: hangs, deaths, floods, lies and locks, drawn from a seed."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.fake_qmd import FakeQmd
from tests.running import alongside

VERBS = ("search", "query", "mcp", "update")
#: What a qmd that is out of its mind may do, and the reason (if any) that a caller may read for it. Honest moments
#: are there so that the breaker closes now and then and the next fault meets an engine that is trusted.
MISCHIEF = {
    "honest": None,
    "noise": None,
    "foreign": None,
    "crash_after": None,
    "hang": "timeout",
    "silent": "timeout",
    "exit": "exited",
    "garbage": "bad_output",
    "flood": "bad_output",
    "truncated": "bad_output",
    "locked": "locked",
}
REASONS = frozenset(reason for reason in MISCHIEF.values() if reason)
HONEST_SHARE = 0.3
#: How long one mood lasts where nothing else is said, in seconds.
MOOD_S = (0.1, 0.5)


def mood(draw: random.Random, kinds: Sequence[str] = tuple(MISCHIEF)) -> dict[str, str]:
    """One behaviour of these kinds for each verb."""
    if draw.random() < HONEST_SHARE:
        return {}
    return {verb: draw.choice(kinds) for verb in VERBS}


@contextmanager
def mischief(
    fake: FakeQmd, seed: int, *, kinds: Sequence[str] = tuple(MISCHIEF), mood_s: tuple[float, float] = MOOD_S
) -> Iterator[None]:
    """Change what `fake` does again and again inside the block; it is honest afterwards. A mood lasts `mood_s`."""
    over, draw = threading.Event(), random.Random(seed)

    def change() -> None:
        while not over.wait(draw.uniform(*mood_s)):
            fake.behave(**mood(draw, kinds))

    try:
        with alongside(change, over):
            yield
    finally:
        fake.behave()
