"""How often something random is repeated, at least once: three laws of a whole number K, drawn exactly.

    geometric     P[K = k] = g (1 - g)^(k-1)           coins that come up with probability g, until the first does
    logarithmic   P[K = k] = (1 - g)^k / (k ln(1/g))   a geometric k that is kept with probability 1/k, or else drawn again
    Poisson       P[K = k] = m^k / (k! (e^m - 1))      a coin for every k, K = k given K >= k: m^k / k! against what is left

The parameters are rationals. The first two laws use coins of rational probability alone. The third's are r / (e^m - s), with
rational r and s: irrational, since e^m is, so that any number of their binary digits is found by balls of enough precision.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.balls import arb, ball
from discreet.errors import EntropyError
from discreet.noise.coins import Chance, bernoulli, uniform

_TOSSES = 256  # coins at a time
_PATIENCE = 1 << 20  # rounds that a working generator never needs
_STUCK = "Millions of coins did not settle one draw; the system's generator cannot be working."


def geometric(stop: Fraction) -> int:
    """A whole number of at least 1: repeated until a coin of this probability says stop.

    >>> geometric(Fraction(1))
    1
    """
    for turn in range(_PATIENCE):
        heads = np.flatnonzero(bernoulli(Chance(stop), _TOSSES))
        if heads.size:
            return turn * _TOSSES + int(heads[0]) + 1
    raise EntropyError(_STUCK)


def logarithmic(stop: Fraction) -> int:
    """A whole number k of at least 1, with probability proportional to (1 - stop)^k / k.

    Among geometric ones k is kept with probability 1/k; what is left is (1 - stop)^k / k up to a constant.
    """
    for _ in range(_PATIENCE):
        drawn = geometric(stop)
        if uniform(drawn, 1)[0] == 0:
            return drawn
    raise EntropyError(_STUCK)


def poisson(rate: Fraction) -> int:
    """A whole number of at least 1, Poisson with this rate where that is not 0."""
    term, before = rate, Fraction(1)  # rate^k / k!, and the sum of those below
    for k in range(1, _PATIENCE):
        if bernoulli(_share(rate, term, before), 1)[0]:
            return k
        term, before = term * rate / (k + 1), before + term
    raise EntropyError(_STUCK)


def _share(rate: Fraction, term: Fraction, before: Fraction) -> Chance:
    """term / (e^rate - before)."""

    def value() -> arb:
        return ball(term) / (ball(rate).exp() - ball(before))

    return Chance(value)
