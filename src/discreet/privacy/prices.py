"""What one use of a mechanism costs in the currencies of the filters, whether neighbours differ by one record more or one less.

* (epsilon, delta): the largest finite loss and the probability of total disclosure. On a Poisson sample of rate q the pair
  (ln(1 + q (e^epsilon - 1)), q delta) holds in both directions (Balle, Barthe, Gaboardi 2018, theorem 8).
* (rho, delta): the law's own zero-concentrated cost, or e tanh(e/2) of anything (e, delta)-DP (Kairouz, Oh, Viswanath 2015: with
  probability delta a leak, else a post-processed randomized response), whichever is less.
* D_order: exact for Gaussian noise, zCDP and Renyi facts; else the moments from above, order * rho, or epsilon, whichever is
  least. Total disclosure has no finite divergence.

Prices are exact where they are rational and rounded up where they are not. They add up, since each holds given the past.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from discreet.exact import up
from discreet.privacy.accountant.composition import log_moment_bound
from discreet.privacy.losses import Concentrated, Gaussian, Loss, Renyi, SampledLattice
from discreet.privacy.losses.boxes import tanh_rho

__all__ = ["Price", "add", "as_approximate", "as_concentrated", "as_divergence"]

Price = tuple[Fraction, ...] | None

_BITS = 2048  # a sum whose denominator outgrows this is rounded up, so that spending never gets slower


@lru_cache(maxsize=1024)
def as_approximate(loss: Loss) -> Price:
    """(epsilon, delta), or None."""
    sides = [loss, loss.reverse]
    if isinstance(loss, SampledLattice):  # adding is covered by what removing costs
        sides = [loss.reverse if loss.adding else loss]
    largest = [side.pure for side in sides if side.pure is not None]
    return (max(largest), max(side.infinity for side in sides)) if len(largest) == len(sides) else None


@lru_cache(maxsize=1024)
def as_concentrated(loss: Loss) -> Price:
    """(rho, delta), or None."""
    own, other, pair = loss.rho, loss.reverse.rho, as_approximate(loss)
    costs = [(tanh_rho(pair[0]), pair[1])] if pair else []
    if own is not None and other is not None and not _leaks(loss):
        costs.append((max(own, other), Fraction(0)))
    return min(costs) if costs else None


@lru_cache(maxsize=1024)
def as_divergence(loss: Loss, order: Fraction) -> Fraction | None:
    """D_order, or None where it is not known to be finite."""
    if _leaks(loss):
        return None
    if isinstance(loss, Renyi):
        return _chord(loss, order)
    cost, pair = as_concentrated(loss), as_approximate(loss)
    bounds = [order * cost[0]] if cost else []
    bounds += [pair[0]] if pair else []
    if not isinstance(loss, (Gaussian, Concentrated)):
        x = up(order - 1)  # divergences grow with the order
        moment = max(log_moment_bound(((side, 1),), x) for side in (loss, loss.reverse))
        bounds += [max(Fraction(0), Fraction(moment)) / Fraction(x)] if math.isfinite(moment) else []
    return min(bounds) if bounds else None


def _leaks(loss: Loss) -> bool:
    return bool(loss.infinity or loss.reverse.infinity)


def _chord(loss: Renyi, order: Fraction) -> Fraction | None:
    """K(x) = x D_(1+x) is convex and K(0) = 0: between known orders it lies below the chord, beyond the last nothing is known."""
    x = order - 1
    knots = [(Fraction(0), Fraction(0)), *((known - 1, (known - 1) * value) for known, value in loss.divergences)]
    for (left, low), (right, high) in pairwise(knots):
        if left < x <= right:
            return (low + (high - low) * (x - left) / (right - left)) / x
    return None


def add(spent: Fraction, price: Fraction) -> Fraction:
    """Their sum: exact, until it would be too long to keep adding to."""
    amount = spent + price
    return amount if amount.denominator.bit_length() <= _BITS else Fraction(math.ceil(amount * 2**_BITS), 2**_BITS)
