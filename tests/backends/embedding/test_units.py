"""Vectors of length one."""

from __future__ import annotations

import numpy as np

from backends.embedding.units import unit_rows


def test_a_row_has_length_one() -> None:
    """Also one whose squares float32 cannot hold."""
    rows = unit_rows(np.array([[3, 4], [3e30, 4e30], [3e-30, 4e-30]], dtype=np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8]] * 3, atol=1e-6)
    assert rows.dtype == np.float32


def test_zeros_stay_and_what_is_no_number_spreads_over_its_row() -> None:
    """And over no other."""
    rows = unit_rows(np.array([[0, 0], [np.nan, 1], [np.inf, 1], [0, 2]], dtype=np.float32))
    assert rows[0].tolist() == [0, 0]
    assert np.isnan(rows[1:3]).all()
    assert rows[3].tolist() == [0, 1]
