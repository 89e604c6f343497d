"""Vectors are read out of a reply only when it holds exactly what was asked for."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

from backends.embedding.remote.rows import indexed_rows, parsed, rows
from backends.embedding.remote.wire import RefusedError, Reply, Trouble


def encoded(*numbers: float) -> str:
    return base64.b64encode(np.array(numbers, dtype="<f4").tobytes()).decode()


def test_lists_of_numbers_become_rows_of_float32() -> None:
    read = rows([[1, 2.5], [0.25, -3]], 2)
    assert read.dtype == np.float32
    assert read.tolist() == [[1.0, 2.5], [0.25, -3.0]]


def test_base64_is_read_as_little_endian_float32() -> None:
    assert rows([encoded(1.5, -2.0), [3, 4]], 2).tolist() == [[1.5, -2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "raw",
    [
        None,
        {"0": [1.0]},
        [[1.0]],
        [[1.0], [1.0], [1.0]],
        [[1.0], [1.0, 2.0]],
        [[], []],
        [[1.0], None],
        [[1.0], ["1.0"]],
        [[1.0], [True]],
        [[1.0], [[1.0]]],
        [[1.0], [10**400]],
        [[1.0], "not base64!"],
        [[1.0], "AAC!APw=="],
        [[1.0], "é"],
        [[1.0], base64.b64encode(b"12345").decode()],
    ],
)
def test_anything_else_is_refused_without_quoting_it(raw: object) -> None:
    with pytest.raises(RefusedError) as refused:
        rows(raw, 2)
    assert refused.value.trouble is Trouble.REPLY
    assert not re.search("base64!|1.0|None", refused.value.detail)


@pytest.mark.parametrize("odd", [[None, 0.0], [1e300, 0.0], [float("nan"), 0.0], encoded(float("inf"), 0.0)])
def test_a_number_that_is_none_spoils_its_own_row_only(odd: object) -> None:
    assert np.isfinite(rows([[1.0, 2.0], odd], 2)).all(axis=1).tolist() == [True, False]


def test_nan_is_read_as_servers_written_in_python_send_it() -> None:
    read = parsed(Reply(200, b'{"rows": [[NaN, Infinity]]}'))
    assert not np.isfinite(rows(read["rows"], 1)).any()


@pytest.mark.parametrize("body", [b"", b"[1]", b"<html>", b'{"a": ', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(RefusedError) as refused:
        parsed(Reply(200, body))
    assert refused.value.trouble is Trouble.REPLY


def test_entries_are_put_into_the_order_of_their_texts() -> None:
    swapped = [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]
    assert indexed_rows(swapped, 2).tolist() == [[1.0], [2.0]]


def test_entries_without_any_index_are_in_order() -> None:
    assert indexed_rows([{"embedding": [1.0]}, {"embedding": [2.0]}], 2).tolist() == [[1.0], [2.0]]
    zeros = [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}]
    assert indexed_rows(zeros, 2).tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("indexes", [[1, 1], [1, 2], [None, 1], [0, "1"], [False, True], [0, 1, 2], [0]])
def test_entries_that_are_not_one_for_each_text_are_refused(indexes: list[object]) -> None:
    entries = [{"index": index, "embedding": [1.0]} for index in indexes]
    with pytest.raises(RefusedError) as refused:
        indexed_rows(entries, 2)
    assert refused.value.trouble is Trouble.REPLY
