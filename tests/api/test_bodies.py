"""What a body may hold: the schema and the parser are of one mind where JSON leaves room."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from sidecar.gateway.bodies import MAX_WHOLE, GetBody, SearchBody, parse
from sidecar.gateway.errors import GatewayError
from sidecar.gateway.openapi import document


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


@pytest.mark.parametrize(
    "text", ["2026-W05-6", "20260131", "2026-1-31", "2026-02-30", "２０２６-01-31", "2026-01-31T00:00"]
)
def test_a_day_has_one_spelling(text: str) -> None:
    """That of the schema; what else a version of Python takes for a date is refused by all of them."""
    with pytest.raises(GatewayError):
        parse(SearchBody, f'{{"query": "boat", "after": "{text}"}}'.encode())


@pytest.mark.parametrize("text", ["null", "[]", '"a"', "6"])
def test_a_body_that_is_no_object_is_told_so(text: str) -> None:
    """In words of JSON and not of Python."""
    with pytest.raises(GatewayError) as refused:
        parse(GetBody, text.encode())
    assert refused.value.message == "the body: must be an object"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"query": "boat", "maxResult": 3}', "maxResult: no such field; did you mean maxResults?"),
        ('{"query": "boat", "max_results": 3}', "max_results: no such field; did you mean maxResults?"),
        ('{"query": "boat", "colour": 3}', "colour: no such field"),
        ('{"query": "boat", "caller": {"owners": true}}', "caller.owners: no such field"),
        ("{}", "query: is missing"),
    ],
)
def test_a_field_that_is_wrongly_named_or_missing_is_told(text: str, told: str) -> None:
    """With the nearest field there is, as for keys of the configuration."""
    with pytest.raises(GatewayError) as refused:
        parse(SearchBody, text.encode())
    assert refused.value.message == told


@pytest.mark.parametrize("text", ["\\u001e", "\\u0085", "\\ufeff", "\\u0000 ", "\\u3000"])
def test_a_query_without_a_word_is_refused_by_schema_and_parser(text: str) -> None:
    """Dialects of patterns differ in what white space is."""
    body = f'{{"query": "{text}"}}'
    with pytest.raises(GatewayError):
        parse(SearchBody, body.encode())
    schema = document()["components"]["schemas"]["SearchBody"]["properties"]["query"]
    assert not jsonschema_rs.is_valid(schema, json.loads(body)["query"])
