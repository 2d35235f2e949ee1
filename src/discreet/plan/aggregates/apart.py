"""Sums and products of quotients whose noises are independent, such as the difference of two means over two counts.

Let r_i = N_i / D_i be the terms. What noise may have done is shared out among them: N_i - r_i D_i may be z u_i standard
deviations from 0, where the u_i are the coordinates of a point on the unit sphere, and the ends of the interval are the least
and the largest sum of the r_i over that sphere. This is the profile of the joint likelihood: where the terms are linear it is
the hypotenuse of their half-widths, and where a denominator is nearly 0 it is narrower than adding squares of the terms' own
intervals, each of which would have the whole z (Zou and Donner 2008): no term is z deviations off if the others are too.

**Which z**: at an end, what was tested is the linear form sum u_i (N_i - r_i D_i) / s_i, s_i being the deviation of the noise
within the brackets; its noise has deviation 1, and z is the half-width of its law, exactly (``noises.reach``). The end moves
z, and z the end: two rounds are enough. Where a denominator of two quotients is not far from 0, z is less (``curved``). It
covers to second order in the noise, which ``benchmarks/intervals.py`` holds against simulation.

**Products** of two are the same with r_1 r_2 instead of the sum: over the inside of the sphere, too, a product is largest on
the sphere, as it has no largest value elsewhere, and each quotient may be off to either side. A quotient of quotients is the
product with the second one upside down.

The sphere is looked at in shares of z^2, 24ths of it, so that many terms are as little work as two: the best shares for all
but one term are known for every rest (the max-plus convolution of what terms gain).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.plan.aggregates.curved import shrinks
from discreet.plan.forms import Form, Linear, Ratio
from discreet.plan.noises import Noise, reach

_SHARES = 24
_ROUNDS = 2
_ANGLES = np.sqrt(np.arange(_SHARES + 1) / _SHARES)


def interval(terms: Sequence[Form], miss: float) -> tuple[Reals, Reals]:
    """The ends of the interval of a sum of forms without a common release; NaN where a denominator may be 0."""
    assert len(terms) > 1
    known = np.logical_and.reduce([one.known(miss) for one in terms if isinstance(one, Ratio)])
    lower, upper = (np.where(known, _end(terms, miss, sign), np.nan) for sign in (-1, 1))
    return lower, upper


def interval_of_product(first: Form, second: Form, miss: float) -> tuple[Reals, Reals]:
    """The ends of the interval of a product of two forms without a common release; NaN where a denominator may be 0."""
    known = np.logical_and.reduce([one.known(miss) for one in (first, second) if isinstance(one, Ratio)])
    lower, upper = (np.where(known, _end_of_product((first, second), miss, sign), np.nan) for sign in (-1, 1))
    return lower, upper


def _end_of_product(terms: tuple[Form, Form], miss: float, sign: int) -> Reals:
    """The least (-1) or the largest (1) product."""
    z = np.full_like(_values(terms[0]), 1.96)
    for step in range(_ROUNDS + 1):
        sides = [[_ends(one, z, side) for side in (-1, 1)] for one in terms]
        tried = [(a, b[::-1]) for a in sides[0] for b in sides[1]]  # what one has of z^2 the other has not
        firsts, seconds = (np.concatenate(each) for each in zip(*tried, strict=True))
        with np.errstate(invalid="ignore"):
            products = np.nan_to_num(sign * firsts * seconds, nan=math.inf, posinf=math.inf, neginf=-math.inf)
        best = products.argmax(axis=0)[None]
        if step < _ROUNDS:
            chosen = [np.take_along_axis(each, best, axis=0)[0] for each in (firsts, seconds)]
            share = best[0] % (_SHARES + 1)
            shares = _ANGLES[share], _ANGLES[_SHARES - share]
            z = _half(terms, chosen, shares, miss) * shrinks(terms, (chosen[0], chosen[1]), shares, miss, product=True)
    found: Reals = sign * np.take_along_axis(products, best, axis=0)[0]
    return found


def _end(terms: Sequence[Form], miss: float, sign: int) -> Reals:
    """The least (-1) or the largest (1) sum."""
    z = np.full_like(_values(terms[0]), 1.96)
    for _ in range(_ROUNDS):
        ends = [_ends(one, z, sign) for one in terms]
        shares = _best(ends, sign)
        chosen = [np.take_along_axis(each, at[None], axis=0)[0] for each, at in zip(ends, shares, strict=True)]
        angles = [_ANGLES[at] for at in shares]
        z = _half(terms, chosen, angles, miss)
        if len(terms) == 2:
            z = z * shrinks((terms[0], terms[1]), (chosen[0], chosen[1]), (angles[0], angles[1]), miss, product=False)
    ends = [_ends(one, z, sign) for one in terms]
    found: Reals = sum(np.take_along_axis(each, at[None], axis=0)[0] for each, at in zip(ends, _best(ends, sign), strict=True))
    return found


def _values(one: Form) -> Reals:
    return one.values if isinstance(one, Linear) else one.under.values


def _ends(one: Form, z: Reals, sign: int) -> Reals:
    """How far a term goes with every share of z."""
    far = _ANGLES[:, None] * z
    if isinstance(one, Linear):
        return one.values + sign * far * one.deviation
    return one.within(far)[sign > 0]


def _best(ends: Sequence[Reals], sign: int) -> list[NDArray[np.intp]]:
    """The shares of z^2 with which the sum goes furthest, for every term."""
    total = sign * ends[0]
    picked = []
    for one in ends[1:-1]:
        best = np.full_like(total, -math.inf)
        pick = np.zeros(total.shape, dtype=np.intp)
        for mine in range(_SHARES + 1):  # of this term; the rest is for those before
            there = total[: _SHARES + 1 - mine] + sign * one[mine]
            better = there > best[mine:]
            best[mine:] = np.where(better, there, best[mine:])
            pick[mine:] = np.where(better, mine, pick[mine:])
        total = best
        picked.append(pick)
    last = np.argmax(total[::-1] + sign * ends[-1], axis=0)  # all that is there is shared out
    found, rest = [last], _SHARES - last
    for pick in reversed(picked):
        mine = np.take_along_axis(pick, rest[None], axis=0)[0]
        found.append(mine)
        rest = rest - mine
    return [rest, *reversed(found)]


def _half(terms: Sequence[Form], ends: Sequence[Reals], shares: Sequence[Reals], miss: float) -> Reals:
    """The half-width of the noise of what is tested at an end, in its standard deviations."""
    noises: list[Noise] = []
    for term, end, share in zip(terms, ends, shares, strict=True):
        r = np.where(np.isfinite(end), end, 0.0)
        mine = term.noises(r)
        deviation = np.sqrt(sum((one.deviation**2 for one in mine), np.zeros_like(r)))
        scale = share / np.where(deviation > 0, deviation, np.inf)
        noises += [Noise(one.spread, one.weight * scale, one.many) for one in mine]
    deviation = np.sqrt(sum((one.deviation**2 for one in noises), np.zeros_like(shares[0])))
    return reach(noises, miss) / np.where(deviation > 0, deviation, 1.0)
