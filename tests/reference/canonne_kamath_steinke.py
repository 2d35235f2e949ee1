"""The rejection samplers of Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (2020).

Integers, Fractions and a fair die; no floats, no logarithms, no balls.
"""

from __future__ import annotations

import math
import secrets
from fractions import Fraction


def bernoulli(chance: Fraction) -> bool:
    return secrets.randbelow(chance.denominator) < chance.numerator


def bernoulli_exp(exponent: Fraction) -> bool:
    """True with probability e^(-exponent), exponent >= 0 (Algorithm 1)."""
    while exponent > 1:
        if not _bernoulli_exp_below_one(1, 1):
            return False
        exponent -= 1
    return _bernoulli_exp_below_one(exponent.numerator, exponent.denominator)


def _bernoulli_exp_below_one(numerator: int, denominator: int) -> bool:
    """The parity of how many coins of probability g, g/2, g/3, ... come up heads before the first tails."""
    rounds = 1
    while secrets.randbelow(denominator * rounds) < numerator:
        rounds += 1
    return rounds % 2 == 1


def discrete_laplace(scale: Fraction) -> int:
    """P(x) proportional to e^(-|x| / scale) (Algorithm 2)."""
    t, s = scale.numerator, scale.denominator
    while True:
        low = secrets.randbelow(t)
        if not bernoulli_exp(Fraction(low, t)):
            continue
        high = 0
        while _bernoulli_exp_below_one(1, 1):
            high += 1
        size = (low + t * high) // s
        negative = secrets.randbelow(2) == 1
        if not (negative and size == 0):
            return -size if negative else size


def discrete_gaussian(variance: Fraction) -> int:
    """P(x) proportional to e^(-x^2 / 2 variance) (Algorithm 3)."""
    scale = math.isqrt(math.floor(variance)) + 1
    while True:
        drawn = discrete_laplace(Fraction(scale))
        if bernoulli_exp((abs(drawn) - variance / scale) ** 2 / (2 * variance)):
            return drawn
