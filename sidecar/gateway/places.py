"""How many requests may be worked on at once.

They count from the moment when they are whole: a slow sender takes no place from anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sidecar.gateway.errors import Code, GatewayError

#: Requests at once.
MAX_IN_FLIGHT: Final = 64
#: Listeners to events at once: each is a connection that stays, and takes no place of a request.
MAX_LISTENERS: Final = 16


class Places:
    """A number of places; whoever finds none is refused at once, and told when to come back."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.in_use = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold a place inside the block. Raises `GatewayError` (`overloaded`)."""
        if self.in_use >= self.number:
            raise GatewayError(
                Code.OVERLOADED, "too many requests at once", hint="try again in a second", headers={"Retry-After": "1"}
            )
        self.in_use += 1
        try:
            yield
        finally:
            self.in_use -= 1
