"""How often something is repeated: drawn by the law that its price is computed for."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.noise.repetitions import geometric, logarithmic, poisson

LAWS: dict[str, tuple[Callable[[Fraction], int], Fraction, Callable[[int, float], float]]] = {
    "geometric": (geometric, Fraction(1, 6), lambda k, g: g * (1 - g) ** (k - 1)),
    "logarithmic": (logarithmic, Fraction(1, 15), lambda k, g: (1 - g) ** k / (k * math.log(1 / g))),
    "poisson": (poisson, Fraction(5, 2), lambda k, m: m**k / (math.factorial(k) * math.expm1(m))),
    "poisson, seldom": (poisson, Fraction(1, 10), lambda k, m: m**k / (math.factorial(k) * math.expm1(m))),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_number_of_repetitions_has_its_law(name: str) -> None:
    """Chi-square over cells that expect ten and more; false alarm 1e-7. Finds a chance to stop that is a fifth too large, and a
    count that begins at 0."""
    draw, parameter, law = LAWS[name]
    many = 4000
    drawn = np.array([draw(parameter) for _ in range(many)])
    assert drawn.min() >= 1
    expected = np.array([many * law(k, float(parameter)) for k in range(1, 60)])
    cells = int((np.cumsum(expected[::-1])[::-1] >= 10).sum())
    expected = np.append(expected[: cells - 1], many - expected[: cells - 1].sum())
    counted = np.bincount(np.minimum(drawn, cells), minlength=cells + 1)[1:]
    assert ((counted - expected) ** 2 / expected).sum() < chi2.isf(1e-7, cells - 1)


def test_long_draws_and_sure_ones_come_to_an_end() -> None:
    assert geometric(Fraction(1)) == logarithmic(Fraction(1)) == 1
    assert max(geometric(Fraction(1, 2000)) for _ in range(40)) > 256  # false alarm 1e-70: (1 - e^-0.13)^40 is smaller
