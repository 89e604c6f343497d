"""Every link of every page leads to a file that is there, and to a heading that is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.running import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _text(page: Path) -> str:
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def _anchors(page: Path) -> set[str]:
    """How GitHub names the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", _text(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


LINKS = [(page.name, target) for page in PAGES for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", _text(page))]


@pytest.mark.parametrize(("name", "target"), sorted({*LINKS}))
def test_a_link_leads_somewhere(name: str, target: str) -> None:
    """From the folder of its page."""
    page = next(page for page in PAGES if page.name == name)
    path, _, anchor = target.partition("#")
    file = page.parent / path if path else page
    assert file.exists()
    assert not anchor or anchor in _anchors(file)


def test_every_page_is_reached_from_the_readme() -> None:
    """A page that nothing leads to is not read."""
    linked = {target.partition("#")[0] for name, target in LINKS if name == "README.md"}
    assert {f"docs/{page.name}" for page in PAGES[1:]} - linked == set()
