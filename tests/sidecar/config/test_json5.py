from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.config import json5

TEXT = """// first
{ a: 1,
  'b"': [ 10,
    { /* c:
      */ c: "x // {" } ],
  "d\\u0065": {}, // last
}
"""


def test_every_key_has_its_line() -> None:
    """Comments, quotes and nesting do not move a key to another line."""
    found = json5.lines(TEXT)
    assert {path: line for path, line in found.items() if path} == {
        ("a",): 2, ('b"',): 3, ('b"', 0): 3, ('b"', 1): 4, ('b"', 1, "c"): 5, ("de",): 6
    }  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


def paths(value: object, at: json5.KeyPath = ()) -> set[json5.KeyPath]:
    """Every key path of a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {at}.union(*(paths(item, (*at, key)) for key, item in items))


@given(JSON)
def test_lines_and_values_agree_on_the_keys(value: object) -> None:
    """The line finder reads the same structure as the parser, whatever the keys hold."""
    text = json.dumps(value, indent=1)
    assert json5.decode(text) == value
    assert set(json5.lines(text)) == paths(value)


@pytest.mark.parametrize(("text", "line"), [("{\n a: 1,\n b: }\n", 3), ("{\n a: 'x\n", 2), ("{a:1} b", 1)])
def test_a_syntax_error_names_its_line_and_no_text(text: str, line: int) -> None:
    """The place is told, the content is not: it may be a secret."""
    with pytest.raises(json5.Json5Error) as caught:
        json5.decode(text)
    assert (caught.value.line, str(caught.value)) == (line, "not valid JSON5")


@pytest.mark.parametrize("text", ["[" * 5000, "[" * 500 + "]" * 500, "{a:" * 120 + "1" + "}" * 120])
def test_deep_nesting_is_refused(text: str) -> None:
    """No file can exhaust the stack."""
    with pytest.raises(json5.Json5Error):
        json5.decode(text)


def test_an_empty_file_is_an_empty_configuration() -> None:
    """A file that was just created is no error."""
    assert json5.decode(" \n") == {}
