"""Sums and differences of quotients whose noises are independent, such as the difference of two means over two counts.

Let r_i = N_i / D_i be the terms. What noise may have done is shared out among them: N_i - r_i D_i may be z u_i standard
deviations from 0, where the u_i are the coordinates of a point on the unit sphere, and the ends of the interval are the least and
the largest sum of the r_i over that sphere. This is the profile of the joint likelihood: where the terms are linear it is the
hypotenuse of their half-widths, and where a denominator is nearly 0 it is narrower than adding squares of the terms' own
intervals, each of which would have the whole z (Zou and Donner 2008): no term is z deviations off if the others are too.

**Which z**: at an end, what was tested is the linear form sum u_i (N_i - r_i D_i) / s_i, s_i being the deviation of the noise
within the brackets; its noise has deviation 1, and z is the half-width of its law, exactly (``noises.reach``). The end moves z,
and z the end: two rounds are enough. It covers to second order in the noise, which ``benchmarks/intervals.py`` holds against
simulation.

The sphere is looked at in shares of z^2, 24ths of it, so that many terms are as little work as two: the best shares for all but
one term are known for every rest (the max-plus convolution of what terms gain).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
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


def _end(terms: Sequence[Form], miss: float, sign: int) -> Reals:
    """The least (-1) or the largest (1) sum."""
    z = np.full_like(_values(terms[0]), 1.96)
    for _ in range(_ROUNDS):
        ends = [_ends(one, z, sign) for one in terms]
        shares = _best(ends, sign)
        chosen = [np.take_along_axis(each, at[None], axis=0)[0] for each, at in zip(ends, shares, strict=True)]
        z = _half(terms, chosen, [_ANGLES[at] for at in shares], miss)
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
