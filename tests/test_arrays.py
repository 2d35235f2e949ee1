"""Products of which every line is made of its own row alone, whatever library multiplies."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.arrays import HEIGHT, multiply


@pytest.mark.parametrize("outputs", [1, 3, 10])
@pytest.mark.parametrize("width", [1, 13, 65, 409, 410, 5000])  # from products of 1,024 rows to those of 64, and more work
def test_a_line_is_the_same_alone_and_among_others_to_the_last_digit(width: int, outputs: int) -> None:
    draw = np.random.default_rng(width * outputs)
    rows, matrix = draw.normal(size=(HEIGHT + 100, width)), draw.normal(size=(outputs, width)).T
    whole = multiply(rows, matrix)
    np.testing.assert_allclose(whole, rows @ matrix, atol=1e-9)
    for place in (0, 63, 64, 255, HEIGHT - 1, HEIGHT, HEIGHT + 99):
        assert (multiply(rows[place : place + 1], matrix)[0] == whole[place]).all()
        some = draw.permutation(len(rows))[:77]
        some[5] = place
        assert (multiply(rows[some], matrix)[5] == whole[place]).all()
