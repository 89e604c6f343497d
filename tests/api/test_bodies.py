"""What a body may hold: the schema and the parser are of one mind where JSON leaves room."""

from __future__ import annotations

import pytest

from sidecar.gateway.bodies import MAX_WHOLE, GetBody, SearchBody, parse
from sidecar.gateway.errors import GatewayError


@pytest.mark.parametrize("text", ["6", "6.0", "60e-1"])
def test_a_whole_number_is_whole_however_it_is_written(text: str) -> None:
    """JSON has one kind of numbers, and some languages write all of them with a point."""
    body = parse(SearchBody, b'{"query": "boat", "maxResults": %s}' % text.encode())
    assert body.max_results == 6


@pytest.mark.parametrize("text", ["6.5", "1e300", "-0.0", "true", '"6"', str(MAX_WHOLE + 1), "1" + "0" * 400])
def test_what_is_no_line_number_is_refused(text: str) -> None:
    """Also a number that no reader of JSON holds exactly."""
    with pytest.raises(GatewayError) as refused:
        parse(GetBody, b'{"path": "a.md", "from": %s}' % text.encode())
    assert refused.value.code.label in {"invalid_request", "invalid_json"}


def test_the_greatest_line_number_can_be_answered() -> None:
    """It comes back in the reply."""
    assert parse(GetBody, b'{"path": "a.md", "from": %d}' % MAX_WHOLE).start == MAX_WHOLE
