"""Keys that are sent as they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from backends.embedding.remote.wire import Request, Send


@dataclass(frozen=True, slots=True)
class HeaderKey:
    """A key in a header. A header of that name that the configuration gives itself wins; an empty key sends none."""

    key: str = field(repr=False)
    header: str = "authorization"
    prefix: str = "Bearer "

    def signed(self, request: Request, send: Send) -> Request:
        """The request with the key."""
        if not self.key or self.header in map(str.lower, request.headers):
            return request
        return replace(request, headers={**request.headers, self.header: self.prefix + self.key})

    def renewed(self) -> bool:
        """A refused key stays refused."""
        return False


def bearer(key: str) -> HeaderKey:
    """A key sent as `Authorization: Bearer`; none where it is empty."""
    return HeaderKey(key)


def google_key(key: str) -> HeaderKey:
    """A key in the header that Google reads: in the address it would stand in the logs of every proxy."""
    return HeaderKey(key, header="x-goog-api-key", prefix="")
