"""A served provider for each entry of the contract, and embedders that wait for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from backends.embedding.remote import transport
from backends.embedding.remote.creation import create_remote
from backends.embedding.remote.embedder import RemoteEmbedder
from backends.embedding.remote.retrying import Patience
from tests.backends.embedding.remote.contract import ENTRIES, Entry
from tests.backends.embedding.remote.serving import Provider, serving


@dataclass
class Desk:
    """A running provider, and embedders of it whose pauses are written down instead of slept."""

    entry: Entry
    provider: Provider
    pauses: list[float] = field(default_factory=list)

    def embedder(self, **spec: Any) -> RemoteEmbedder:
        """An embedder that is probed already; what it asked for that is forgotten."""
        patience = Patience(sleep=self.pauses.append, dice=lambda: 0.0)
        asked = {"base_url": self.provider.url + self.entry.path, **spec}
        made = create_remote(replace(self.entry.spec, **asked), send=transport.send, patience=patience)
        self.provider.forget()
        return made


@pytest.fixture(params=ENTRIES, ids=lambda entry: entry.id)
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    entry: Entry = request.param
    with serving(entry.speech()) as provider:
        yield Desk(entry, provider)


@pytest.fixture
def openai_desk() -> Iterator[Desk]:
    """The first entry alone, for what does not depend on the provider."""
    with serving(ENTRIES[0].speech()) as provider:
        yield Desk(ENTRIES[0], provider)
