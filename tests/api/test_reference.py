"""The page about the interface."""

from __future__ import annotations

import re

from sidecar.gateway.routes import OPERATIONS
from tests.api.reference import PAGE, page


def test_it_says_what_the_document_says() -> None:
    """When this fails: python -m tests.api.reference."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_route_has_a_section() -> None:
    """In the order of the table."""
    assert re.findall(r"^### ([A-Z]+ /.*)$", page(), re.MULTILINE) == [f"{row.method} {row.path}" for row in OPERATIONS]


def test_every_link_leads_to_a_heading() -> None:
    """Shapes name each other."""
    headings = {heading.lower() for heading in re.findall(r"^#+ (\w+)$", page(), re.MULTILINE)}
    links = {*re.findall(r"\]\(#([^)]+)\)", page())}
    assert links
    assert links <= headings
