"""Amounts: decimals that err on the safe side, by as little as a float can."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import rational
from discreet.privacy.budget import Amount, cut_digits, decimal_down, decimal_up

F = Fraction
amounts = st.one_of(st.fractions(0, 10**9), st.floats(1e-300, 1e9).map(F), st.decimals(0, 1000, places=6).map(F))


@given(amounts)
def test_decimals_err_on_the_safe_side(exact: Fraction) -> None:
    above, below = decimal_up(exact), decimal_down(exact)
    assert rational("amount", below) <= exact <= rational("amount", above)
    assert above <= math.nextafter(math.nextafter(below, math.inf), math.inf)


@given(st.decimals(0, 1000, places=6).map(F))
def test_decimals_somebody_may_have_typed_are_shown_as_typed(exact: Fraction) -> None:
    assert decimal_up(exact) == decimal_down(exact) == float(exact)


@given(amounts.filter(bool))
def test_short_numbers_keep_their_direction_and_size(exact: Fraction) -> None:
    assert cut_digits(exact, math.floor) <= exact <= cut_digits(exact, math.ceil)
    assert cut_digits(exact, math.ceil) - cut_digits(exact, math.floor) <= exact / 10**7
    assert cut_digits(cut_digits(exact, math.ceil), math.ceil) == cut_digits(exact, math.ceil)


@pytest.mark.parametrize(("kind", "counted"), [("pure", 1.0), ("approximate", 1.0), ("concentrated", 0.25)])
def test_float_is_the_currency(kind: str, counted: float) -> None:
    assert float(Amount(1.0, 0.0, 0.25, kind)) == counted  # type: ignore[arg-type]
