"""How far noise takes two quotients from what their sum or product is said to be, where a denominator is not far from 0.

What is tested at an end e, r_1 + r_2 = e or r_1 r_2 = e, is a curved surface in numerators and denominators, and its distance
from released numbers, in standard deviations of their noise, is the least over all r_2 of the hypotenuse of both terms' |N -
r D| / s(r). Where denominators are far from 0 the surface is flat for the noise, and the law of that distance is that of a
linear form. Near 0 noise comes back to the surface on another of its sheets, where the other denominator is nearly 0:
distances are less, and with the linear form's quantile an interval is too wide, by much, as its ends run off to infinity
there.

So the two laws are held against each other, on the likeliest numbers that the end could be true of: the same 1,024 noises for
both, a low-discrepancy sequence (Roberts 2018: multiples of powers of the root of x^(d+1) = x + 1) through the inverse of
their laws. It is the same in every answer: nothing here is random. The quotient of both quantiles is what an end's z is
multiplied by.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from discreet.arrays import Reals
from discreet.plan.forms import Form, Ratio, Source

_POINTS = 1024
_FAR = 4.0  # half-widths from 0 beyond which a surface is flat
_PLACES = 9  # at which a least distance is looked for
_AT_ONCE = 64  # groups
_BETWEEN = 0.5, 1.25  # which no law of both leaves, and which keep a law that underflowed harmless


def shrinks(
    terms: tuple[Form, Form], chosen: tuple[Reals, Reals], shares: tuple[Reals, Reals], miss: float, *, product: bool
) -> Reals:
    """What the half-width of a linear form is to be multiplied by, in every group; ``chosen``: both quotients at the end,
    ``shares``: of its distance."""
    first, second = terms
    found = np.ones_like(chosen[0])
    if (
        not isinstance(first, Ratio)
        or not isinstance(second, Ratio)
        or not all(_single(one) for one in (*first.weights, *second.weights))
    ):
        return found
    near = [np.abs(one.under.values) < _FAR * one.under.half(miss) for one in (first, second)]
    here = np.flatnonzero((near[0] | near[1]) & np.isfinite(chosen[0]) & np.isfinite(chosen[1]))
    laws = tuple((one.release.spread.law, one.release.spread.scale) for one in (*first.weights, *second.weights))
    noises = _noises(laws)
    mine, others = noises[: len(first.weights)], noises[len(first.weights) :]
    for start in range(0, here.size, _AT_ONCE):
        at = here[start : start + _AT_ONCE]
        one = _Term(first, at, chosen[0][at], mine)
        two = _Term(second, at, chosen[1][at], others)
        value = chosen[0][at] * chosen[1][at] if product else chosen[0][at] + chosen[1][at]
        linear = np.abs(shares[0][at, None] * one.alone() + shares[1][at, None] * two.alone())
        curved = np.sqrt(_least(one, two, value[:, None], product=product))
        of_linear, of_curved = (np.quantile(each, 1 - miss, axis=1) for each in (linear, curved))
        found[at] = np.where(of_linear > 0, of_curved / np.where(of_linear > 0, of_linear, 1.0), 1.0)
    return np.clip(found, *_BETWEEN)


def _single(source: Source) -> bool:
    return isinstance(source.many, int) and source.many == 1 and source.release.spread.law in ("laplace", "gaussian")


class _Term:
    """A quotient in some groups: numerators and denominators that the end could be true of, with every noise added."""

    def __init__(self, ratio: Ratio, at: np.ndarray[tuple[int], np.dtype[np.intp]], r: Reals, noises: Reals) -> None:
        sources = list(ratio.weights)
        over, under = (np.array([side.weights.get(one, 0.0) for one in sources]) for side in (ratio.over, ratio.under))
        squares = np.square([one.release.spread.deviation for one in sources])
        self.of_over, self.of_both, self.of_under = over**2 @ squares, over * under @ squares, under**2 @ squares
        self.r = r
        away = (ratio.over.values[at] - r * ratio.under.values[at]) / np.maximum(self.variance(r), 1e-300)
        likely = ratio.under.values[at] - (self.of_both - r * self.of_under) * away
        self._noise = over @ noises - r[:, None] * (under @ noises)
        self.under = likely[:, None] + under @ noises
        self.over = (r * likely)[:, None] + over @ noises

    def variance(self, r: Reals) -> Reals:
        """Of N - r D."""
        return np.asarray(self.of_over - 2 * r * self.of_both + r * r * self.of_under)

    def alone(self) -> Reals:
        """How far noise alone takes N - r D from 0, in its deviations."""
        return np.asarray(self._noise / np.sqrt(np.maximum(self.variance(self.r), 1e-300))[:, None])

    def squared(self, r: Reals) -> Reals:
        """The square of how far N - r D is from 0, in its deviations."""
        return np.asarray((self.over - r * self.under) ** 2 / np.maximum(self.variance(r), 1e-300))


def _least(one: _Term, two: _Term, value: Reals, *, product: bool) -> Reals:
    """The square of the distance: the least between the r that are best for one term alone, and where no denominator is left."""

    def far(r: Reals) -> Reals:
        return one.squared(value / r if product else value - r) + two.squared(r)

    with np.errstate(all="ignore"):
        start = value * one.under / one.over if product else value - one.over / one.under
        step = (two.over / two.under - start) / (_PLACES - 1)
        found = np.array([far(start + i * step) for i in range(_PLACES)])
        place = np.clip(np.nan_to_num(found, nan=math.inf).argmin(axis=0), 1, _PLACES - 2)[None]
        before, here, after = (np.take_along_axis(found, place + i, axis=0)[0] for i in (-1, 0, 1))
        bend = before - 2 * here + after
        moved = np.clip(np.where(bend > 0, (before - after) / (2 * bend), 0.0), -1.0, 1.0)
        best = np.fmin(np.fmin.reduce(found), far(start + (place[0] + moved) * step))
        at_end = [one.under**2 / one.of_under, two.under**2 / two.of_under]
        if product:  # one quotient is 0 and the other infinite
            return np.asarray(np.fmin(best, np.fmin(at_end[0] + two.squared(0 * value), at_end[1] + one.squared(0 * value))))
        return np.asarray(np.fmin(best, at_end[0] + at_end[1]))


@lru_cache(maxsize=64)
def _noises(laws: tuple[tuple[str, float], ...]) -> Reals:
    """The same points of several noises in every call: a row a noise."""
    root = 2.0
    for _ in range(40):
        root = (1 + root) ** (1 / (len(laws) + 1))
    rows = []
    for i, (law, scale) in enumerate(laws):
        place = (0.5 + np.arange(1, _POINTS + 1) * root ** -(i + 1)) % 1.0
        if law == "laplace":
            rows.append(-scale * np.sign(place - 0.5) * np.log(np.maximum(1 - 2 * np.abs(place - 0.5), 1e-300)))
        else:
            rows.append(scale * np.array([NormalDist().inv_cdf(min(max(x, 1e-12), 1 - 1e-12)) for x in place.tolist()]))
    return np.array(rows)
