"""How far apart two tables are for a plan: what was counted on both, against what every mechanism was calibrated to."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms import Exponential, Gaussian, Laplace, Threshold
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.selection import Selection
from discreet.plan.plan import Plan
from discreet.plan.release import Release

__all__ = ["moves", "prepared", "side", "tight"]


class _Recorder:
    """Stands in for a selection and keeps the scores it is given."""

    def __init__(self, inside: Selection) -> None:
        self.error = inside.error
        self.scores: list[list[int]] = []

    def release(self, scores: Any) -> int:
        self.scores.append([int(score) for score in scores])
        return 0


def prepared(plan: Plan, found: Mapping[Any, Any]) -> dict[tuple[str, int], Any]:
    """What every mechanism adds noise to, by statistic and side: sums and counts of keys as they are, selections as scores."""
    return {(one.label, side(one)): _scores(one, found[one.statistic, one.bits]) for one in plan.releases if one.mechanism}


def side(release: Release) -> int:
    """Which end of an interval a release is; 0 for what is no end."""
    return getattr(release.mechanism, "side", 0)


def moves(plan: Plan, before: Mapping[Any, Any], after: Mapping[Any, Any]) -> dict[tuple[str, int], tuple[Fraction, Fraction]]:
    """For every release what it moved, and what it may move. Both are squares where noise is Gaussian, or a cost is a rho.

    Sums: the distance of the vectors, in the mechanism's norm. Selections: a law that is shift-invariant costs weight * range,
    where range is that of the change of scores (as epsilon; its square over 8 as rho); groups are drawn independently: costs add.
    """
    named = {(one.label, side(one)): one for one in plan.releases if one.mechanism}
    return {name: _moved(release, before[name], after[name]) for name, release in named.items()}


def _moved(release: Release, before: Any, after: Any) -> tuple[Fraction, Fraction]:
    mechanism = release.mechanism
    if isinstance(mechanism, Threshold):
        away = [abs(before.get(key, 0) - after.get(key, 0)) for key in {**before, **after}]
        assert max(away, default=0) <= 1
        return Fraction(sum(away)), Fraction(release.times)
    if isinstance(mechanism, Laplace):
        return Fraction(sum(abs(a - b) for a, b in zip(before, after, strict=True))), Fraction(mechanism.sensitivity)
    if isinstance(mechanism, Gaussian):
        return Fraction(sum((a - b) ** 2 for a, b in zip(before, after, strict=True))), Fraction(mechanism.sensitivity) ** 2
    selection = mechanism.selection if isinstance(mechanism, Quantile) else mechanism
    assert isinstance(selection, Selection)
    ranges = [_range(a, b) * selection.weight for a, b in zip(before, after, strict=True)]
    if isinstance(selection, Exponential):
        return sum((each**2 for each in ranges), Fraction(0)), release.times * selection.epsilon**2
    return sum(ranges, Fraction(0)), release.times * selection.epsilon


def _scores(release: Release, held: Any) -> Any:
    if isinstance(release.mechanism, Selection) and not release.statistic.tabular:
        return [held]
    if isinstance(release.mechanism, Laplace | Gaussian) and release.statistic.tabular:
        return [cell for line in held for cell in line]
    if not isinstance(release.mechanism, Quantile):
        return held
    spy = copy.copy(release.mechanism)
    recorder = _Recorder(release.mechanism.selection)
    object.__setattr__(spy, "selection", recorder)
    spy.release(np.array(held, dtype=np.int64))
    return recorder.scores


def _range(before: Sequence[int], after: Sequence[int]) -> int:
    change = [b - a for a, b in zip(before, after, strict=True)]
    return max(change) - min(change)


def tight(moved: Fraction, allowed: Fraction, *, squares: bool) -> bool:
    """Whether a bound is attained: to 99 %, or to the whole number above."""
    if squares and moved and moved.denominator == allowed.denominator == 1:
        return (math.isqrt(int(moved) - 1) + 1) ** 2 >= Fraction(98, 100) * allowed
    return moved >= Fraction(98 if squares else 99, 100) * allowed
