"""A geometric variable from independent binary digits, and discrete Laplace noise as the difference of two. No floats.

If P(G = x) is proportional to e^(-x/t), the binary digits of G are independent and digit i is 1 with probability
1 / (1 + exp(2^i / t)). The digits from some L upwards together are again geometric, of scale t / 2^L, and are counted by coins of
probability exp(-2^L / t) until the first tails: no digit is dropped.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

from flint import arb, ctx, fmpq

_WIDTH = 128


class Coin:
    """Heads with a probability given as a ball of any precision: binary digits of U against those of p."""

    def __init__(self, chance: Callable[[], arb]) -> None:
        self._chance = chance
        self._first = self._digits(_WIDTH)

    def _digits(self, count: int) -> int:
        with ctx.workprec(2 * count + 128):
            whole = (self._chance() * arb(2) ** count).floor().unique_fmpz()
        assert whole is not None
        return int(whole)

    def flip(self) -> bool:
        drawn = secrets.randbits(_WIDTH)
        if drawn != self._first:
            return drawn < self._first
        known = _WIDTH
        while True:
            known += _WIDTH
            drawn = drawn << _WIDTH | secrets.randbits(_WIDTH)
            digits = self._digits(known)
            if drawn != digits:
                return drawn < digits


class Geometric:
    """P(x) proportional to e^(-x / scale) on x >= 0."""

    def __init__(self, scale: Fraction) -> None:
        def power(i: int) -> arb:
            exact = Fraction(2**i) / scale
            return arb(fmpq(exact.numerator, exact.denominator))

        count = max(0, int(4 * scale).bit_length())
        self._digits = [Coin(lambda i=i: 1 / (1 + power(i).exp())) for i in range(count)]  # type: ignore[misc]
        self._high = Coin(lambda: (-power(count)).exp())

    def draw(self) -> int:
        value = sum(coin.flip() << i for i, coin in enumerate(self._digits))
        while self._high.flip():
            value += 1 << len(self._digits)
        return value


class DiscreteLaplace:
    """P(x) proportional to e^(-|x| / scale): a difference of two geometrics."""

    def __init__(self, scale: Fraction) -> None:
        self._geometric = Geometric(scale)

    def draw(self) -> int:
        return self._geometric.draw() - self._geometric.draw()
