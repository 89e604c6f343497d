"""How many requests may be worked on at once.

They count from the moment when they are whole: a slow sender takes no place from anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sidecar.gateway.errors import Code, GatewayError


class Places:
    """A number of places; whoever finds none is refused at once, and told when to come back."""

    def __init__(self, number: int) -> None:
        self._free = number

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place inside the block. Raises `GatewayError` (`overloaded`)."""
        if self._free <= 0:
            raise GatewayError(
                Code.OVERLOADED, "too many requests at once", hint="try again in a second", headers={"Retry-After": "1"}
            )
        self._free -= 1
        try:
            yield
        finally:
            self._free += 1
