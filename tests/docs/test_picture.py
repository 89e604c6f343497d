"""A terminal's colours as a picture."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.docs.picture import PICTURE, drawn

SVG = "{http://www.w3.org/2000/svg}"


def test_coloured_words_become_spans() -> None:
    """What has no colour stays as it is, and what XML would take for itself is text."""
    picture = ElementTree.fromstring(drawn("main \x1b[32m● ready\x1b[0m <b>\n\n\x1b[1mend\x1b[0m\n"))
    first, last = picture.iter(f"{SVG}text")
    assert ["".join(line.itertext()) for line in (first, last)] == ["main ● ready <b>", "end"]
    assert [span.text for span in picture.iter(f"{SVG}tspan")] == ["● ready"]


def test_the_picture_is_small() -> None:
    """It is text, which loads with the page."""
    assert PICTURE.stat().st_size < 10_000
