"""Sums of independent noises: how far from 0 a weighted sum may be before noise alone does not explain it.

**One or two kinds of noise that is not much more than a unit**, as in most shares and quotients: the law itself. A mechanism adds
whole units, with known masses; of equal noises with equal weights the masses are convolved, once, and kept. For a X + b Y, with Y
the one that spreads further,

    P(|a X + b Y| >= d) = 2 sum over x of P(X = x) P(Y >= (d - a x) / |b|)      (both are symmetric, d > 0)

Sums of many noises, and Laplace noise beside Gaussian noise, are looked up in the same way where units do not show: X at eight
points a standard deviation, Y at forty with straight lines between. More than 64 such Laplace noises count as Gaussian, a ninth
of a noise wider: their fourth cumulant moves the 5 % quantile by 0.105 / m in relation.

**Three kinds or more, of which units show**: the law itself as well (``laws.several``).

**All else**: Gaussian noises add up to Gaussian noise. Of Laplace noises with scales b_1 > b_2 > ... the sum has the
characteristic function prod 1 / (1 + b_i^2 t^2), which partial fractions split into Laplace noises again (Kotz, Kozubowski,
Podgorski 2001, 2.3):

    P(|X| > d) = sum c_i exp(-d / b_i),    c_i = prod over j != i of b_i^2 / (b_i^2 - b_j^2)

Equal scales have no such coefficients: scales are moved apart, always upwards, so that a probability is stated too large and
never too small; by at most a thousandth for three noises, one in a hundred for more. Of more than seven noises the smallest
together count as one of the same variance, whose tail at 5 % is heavier than that of their sum. Here noise is real: where it is
hardly more than a unit, its scale is raised to the half-width that the mechanism itself states (of two kinds only where the other
does not blur its units: a quotient's denominator that is barely known not to be 0 would make its interval far too wide), and of
three kinds or more half of the largest jump that the others do not blur is added, as for a binomial law: less than a fortieth of
a standard deviation.

All this is arithmetic on public facts after the release, in plain doubles.

>>> bool(tail(np.array([3.0]), [np.array([1.0])])[0] > 0.0497)
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.plan.laws.several import reach_of_several
from discreet.plan.release import Spread

Many = NDArray[np.int64] | int


@dataclass(frozen=True, eq=False)
class Noise:
    """One kind of noise in a sum: its spread, for every group the weight that it has, and how many such noises are added up."""

    spread: Spread
    weight: Reals
    many: Many = 1

    @property
    def deviation(self) -> Reals:
        """The standard deviation of what it adds."""
        return np.abs(self.weight) * (np.sqrt(self.many) * self.spread.deviation)

    @property
    def single(self) -> bool:
        """Whether it is one noise, in all groups."""
        return isinstance(self.many, int) and self.many == 1

    def like(self, numbers: Reals) -> Noise:
        """The same, with a weight for each of these numbers."""
        return Noise(self.spread, np.broadcast_to(self.weight, numbers.shape), self.many)

    def at(self, groups: slice) -> Noise:
        """The same, in some of the groups."""
        return Noise(self.spread, self.weight[groups], self.many if isinstance(self.many, int) else self.many[groups])


_STEPS = 32  # halvings of a distance
_AT_ONCE = 4  # halvings whose middles are tried together
_FEW_GROUPS = 48  # for which that is quicker
_MOST = 7  # noises that are looked at one by one
_APART = {1: 0.0, 2: 1e-6, 3: 2e-4, 4: 2e-3}  # how far scales are moved apart, in relation
_CELLS = 50  # cells a scale: noises of fewer units are looked at unit by unit
_FARTHEST = {"laplace": 40.0, "gaussian": 9.0}  # scales beyond which noise is not looked for
_LEAST = 1e-9  # a scale that is smaller than this in relation to the largest says nothing
_FINE, _COARSE = 40, 8  # points a standard deviation, of the noise that spreads further and of the other
_GAUSSIAN = 64  # so many large Laplace noises are as good as Gaussian
_RARE = 1e-6  # of the noise that spreads less
_MOST_GROUPS = 2**12  # at a time
_SHOWS, _LARGE = 0.05, 0.15  # of a standard deviation: units that are larger show; count as if nothing blurred them
_PARTS = 6  # of the least unit, of which others may be multiples
_BLURRED = 0.6  # of a unit: where the others deviate by more, exp(-(0.6 * 2 pi)^2 / 2) of it is left, less than a thousandth
_TIE = 1e-9  # numbers that are nearer than this, in relation, are equal


def tail(distance: Reals, scales: Sequence[Reals]) -> Reals:
    """P(|X| > distance) for the sum X of Laplace noises with these scales, rounded up."""
    ordered = np.sort(np.array(np.broadcast_arrays(*scales), dtype=np.float64), axis=0)
    if len(ordered) > _MOST:
        rest = np.sqrt((ordered[: 1 - _MOST] ** 2).sum(axis=0))
        ordered = np.sort(np.vstack([rest[None], ordered[1 - _MOST :]]), axis=0)
    largest = ordered[-1]
    some = largest > 0
    unit = np.where(some, largest, 1.0)
    ordered = np.maximum(ordered / unit, _LEAST)
    apart = 1 + _APART.get(len(ordered), 1e-2)
    for i in range(1, len(ordered)):
        np.maximum(ordered[i], ordered[i - 1] * apart, out=ordered[i])
    far = np.maximum(distance, 0.0) / unit
    squares = ordered**2
    with np.errstate(under="ignore"):
        found = np.exp(-far / ordered)
        for i, square in enumerate(squares):
            for j, other in enumerate(squares):
                if j != i:
                    found[i] *= square / (square - other)
    return np.where(some, np.minimum(np.maximum(found.sum(axis=0), 0.0), 1.0), np.where(distance > 0, 0.0, 1.0))


def explains(distance: Reals, noises: Sequence[Noise], miss: float) -> NDArray[np.bool_]:
    """Whether noise alone is this far from 0 with probability ``miss`` or more, in every group."""
    return _explain(distance, _kinds(noises, distance), miss)


def reach(noises: Sequence[Noise], miss: float) -> Reals:
    """The half-width that a weighted sum of noises stays within, but for ``miss``, in every group."""
    like = np.zeros(np.broadcast_shapes((1,), *(np.shape(one.weight) for one in noises), *(np.shape(one.many) for one in noises)))
    some = _kinds(noises, like)
    if len(some) == 1 and some[0].single:
        return np.abs(some[0].weight) * some[0].spread.half(1 - miss)
    if len(some) > 2:
        shown = _jumps(some) ** 2 > _SHOWS**2 * sum((one.deviation**2 for one in some), np.zeros(1))
        if shown.any():
            found = like if shown.all() else _reach(some, miss)
            many = [np.broadcast_to(one.many, like.shape)[shown].astype(np.float64) for one in some]
            found[shown] = reach_of_several([one.spread for one in some], [one.weight[shown] for one in some], many, miss)
            return found
    return _reach(some, miss) if some else like


def _reach(some: Sequence[Noise], miss: float) -> Reals:
    """The same, by halving what is between 0 and more than it can be."""
    low = np.zeros(np.broadcast_shapes(*(np.shape(one.weight) for one in some)))
    high = low.copy()
    for one in some:
        high = high + 2 * np.abs(one.weight) * np.sqrt(one.many) * (one.spread.half(1 - miss) + 3 * one.spread.scale)
    return halved(low, high, lambda tried: _explain(tried, [one.like(tried) for one in some], miss), _STEPS)


@lru_cache(maxsize=1024)
def reach_of_one(noises: tuple[tuple[Spread, float], ...], miss: float) -> float:
    """The same for a sum of single noises with these weights."""
    return float(reach([Noise(spread, np.full(1, weight)) for spread, weight in noises], miss)[0])


def halved(low: Reals, high: Reals, inside: Callable[[Reals], NDArray[np.bool_]], steps: int) -> Reals:
    """Where ``inside`` ends between two numbers, in every group: the upper end of what is left after so many halvings.

    For few groups, all numbers that the next four halvings could meet are tried in one call: the same numbers, and the same end.
    """
    at_once, all_groups = _AT_ONCE if low.size <= _FEW_GROUPS and not steps % _AT_ONCE else 1, np.arange(low.size)
    size = 2**at_once
    for _ in range(steps // at_once):
        tried = np.empty((size + 1, low.size))
        tried[0], tried[size] = low, high
        width = size
        while width > 1:
            tried[width // 2 :: width] = (tried[:-1:width] + tried[width::width]) / 2
            width //= 2
        found = inside(tried[1:-1] if at_once > 1 else tried[1])
        place = np.zeros(low.size, dtype=np.intp)
        for step in (size >> i for i in range(1, at_once + 1)):
            place += step * (found[place + step - 1, all_groups] if at_once > 1 else found)
        low, high = tried[place, all_groups], tried[place + 1, all_groups]
    return high


def _explain(distance: Reals, some: Sequence[Noise], miss: float) -> NDArray[np.bool_]:
    if not some:
        return np.asarray(distance <= 0)
    if len(some) == 1 and some[0].single:
        return np.asarray(distance <= some[0].weight * some[0].spread.half(1 - miss))
    if len(some) <= 2 and not _is_plain(some):
        return np.asarray(_exceeds(distance, some[0], some[1] if len(some) == 2 else None) >= miss)
    effective = [
        (
            one.spread.law,
            one.weight * np.sqrt(one.many) * (_own_scale(one, some, miss) if len(some) == 2 else scale_of(one.spread, miss)),
        )
        for one in some
    ]
    if len(some) > 2:
        distance = distance - _jumps(some) / 2
    if all(law == "gaussian" for law, _ in effective):
        deviation = np.sqrt(sum((scale**2 for _, scale in effective), np.zeros_like(distance)))
        return np.asarray(distance <= _normal(miss) * deviation)
    as_laplace = _normal(miss) / math.log(1 / miss)  # the same half-width, and a heavier tail beyond it
    return np.asarray(tail(distance, [scale if law == "laplace" else scale * as_laplace for law, scale in effective]) >= miss)


def above(distance: float, noises: Sequence[tuple[Spread, float]]) -> float:
    """P(X > distance) for a weighted sum X of one noise or two, rounded up: exact while the coarser one has a scale of less than
    100 units; of a wider one a few units at a time count as the largest of them."""
    some = [(spread, abs(weight)) for spread, weight in noises if weight * spread.scale]
    some.sort(key=lambda one: (one[0].scale / one[0].unit, one[0].scale * one[1]))
    if not some:
        return float(distance < 0)
    fine, weight = some[-1]
    if len(some) == 1:
        return float(_at_least(fine, np.array([np.floor(distance / (weight * fine.unit)) + 1]))[0])
    (coarse, other), _ = some
    units = coarse.scale / coarse.unit
    width = max(1, math.floor(units / _CELLS))
    far = math.ceil(_FARTHEST[coarse.law] * units / width)
    cells = width * np.arange(-far, far + 1.0)
    reached = _at_least(coarse, cells)
    with np.errstate(all="ignore"):  # beyond all doubles nothing is known, and what is no number fits nowhere
        rest = distance - other * coarse.unit * (cells + width - 1)
        inside = (reached - np.append(reached[1:], 0.0)) @ _at_least(fine, np.floor(rest / (weight * fine.unit)) + 1)
    return min(1.0, float(inside + 1 - reached[0]))


def _at_least(spread: Spread, units: Reals) -> Reals:
    """P(X >= k) in whole units: q^k / (1 + q) for discrete Laplace noise, k > 0; P(Z >= k - 1/2) for rounded Gaussian noise."""
    rate = spread.unit / spread.scale
    if spread.law == "gaussian":
        return np.array([math.erfc(x) / 2 for x in (rate / math.sqrt(2) * (units - 0.5)).tolist()])
    tails: Reals = np.exp(-rate * np.where(units > 0, units, 1 - units)) / (1 + math.exp(-rate))
    return np.where(units > 0, tails, 1 - tails)


def _own_scale(one: Noise, both: Sequence[Noise], miss: float) -> Reals:
    """The scale of one of two noises: its own where the other blurs its units, so that no half-width has to end on one."""
    other = next(noise for noise in both if noise is not one)
    blurred = other.deviation >= _BLURRED * one.weight * one.spread.unit
    return np.where(blurred, one.spread.scale, scale_of(one.spread, miss))


@lru_cache(maxsize=1024)
def scale_of(spread: Spread, miss: float) -> float:
    """The scale (Laplace) or standard deviation (Gaussian) of real-valued noise that is not less far from 0 at ``miss``."""
    quantile = math.log(1 / miss) if spread.law == "laplace" else _normal(miss)
    return max(spread.scale, spread.half(1 - miss) / quantile)


def _normal(miss: float) -> float:
    return NormalDist().inv_cdf(1 - miss / 2)


def _kinds(noises: Sequence[Noise], like: Reals) -> list[Noise]:
    """Noises with the same law and the same weights, as one kind, with weights of one sign; none without weight."""
    found: list[Noise] = []
    for one in noises:
        weight = np.broadcast_to(np.abs(one.weight), like.shape)
        if one.spread.law == "none" or not (weight * one.many).any():
            continue
        for place, other in enumerate(found):
            if (other.spread is one.spread or other.spread == one.spread) and np.array_equal(other.weight, weight):
                found[place] = Noise(one.spread, weight, other.many + one.many)
                break
        else:
            found.append(Noise(one.spread, weight, one.many))
    return found


def _is_plain(noises: Sequence[Noise]) -> bool:
    """Whether units do not show, and the sum has a law in closed form: Gaussian, or of single Laplace noises."""
    if any(one.spread.deviation < _FINE * one.spread.unit for one in noises):
        return False
    return all(one.spread.law == "gaussian" for one in noises) or all(
        one.spread.law == "laplace" and one.single for one in noises
    )


def _exceeds(distance: Reals, first: Noise, second: Noise | None) -> Reals:
    """P(|sum| >= distance) for the sum of one or two kinds of noise, by their laws."""
    if distance.size > _MOST_GROUPS:
        parts = [slice(start, start + _MOST_GROUPS) for start in range(0, distance.size, _MOST_GROUPS)]
        return np.concatenate([_exceeds(distance[one], first.at(one), second and second.at(one)) for one in parts])
    found = np.ones_like(distance)
    some = distance > 0
    if second is None:
        for count, here in _each(first.many, some):
            law, far = law_of(first.spread, count, _FINE), distance[here] * (1 - _TIE)
            found[here] = 2 * law.tail(far / np.maximum(first.weight[here], 1e-300))
        return np.minimum(found, 1.0)
    swapped = first.deviation > second.deviation
    for inner, outer, chosen in ((first, second, some & ~swapped), (second, first, some & swapped)):
        for inside, mine in _each(inner.many, chosen):
            for outside, here in _each(outer.many, mine):
                points, masses = law_of(inner.spread, inside, _COARSE).points
                far = (distance[here] * (1 - _TIE))[:, None] - inner.weight[here][:, None] * points[None]
                law = law_of(outer.spread, outside, _FINE)
                found[here] = 2 * (law.tail(far / np.maximum(outer.weight[here], 1e-300)[:, None]) @ masses)
    return np.minimum(found, 1.0)


def _jumps(noises: Sequence[Noise]) -> Reals:
    """The largest unit, weighed, that the other noises do not blur; 0 where there is none. Units that are multiples of a common
    step, as in sums of counts, blur nothing: their sum has it too."""
    squares = [one.deviation**2 for one in noises]
    total = sum(squares, np.zeros(1))
    jumps = [np.abs(one.weight) * (one.spread.unit if one.spread.mechanism is not None else 0.0) for one in noises]
    found = np.zeros_like(total)
    for jump, own in zip(jumps, squares, strict=True):
        shown = (total - own < (_BLURRED * jump) ** 2) | (total < (jump / _LARGE) ** 2)
        found = np.where(shown, np.maximum(found, jump), found)
    least = np.minimum.reduce([np.where(jump > 0, jump, np.inf) for jump in jumps])
    parts = [_PARTS * jump / least for jump in jumps]
    common = np.logical_and.reduce([np.abs(one - np.rint(one)) < _TIE * (1 + one) for one in parts])
    return np.where(common & np.isfinite(least), np.maximum(found, least), found)


def _each(many: Many, chosen: NDArray[np.bool_]) -> list[tuple[int, NDArray[np.bool_]]]:
    """The different numbers of noises among some groups, and where they are."""
    if isinstance(many, int):
        return [(many, chosen)] if chosen.any() else []
    counts = np.broadcast_to(many, chosen.shape)
    return [(int(count), chosen & (counts == count)) for count in np.unique(counts[chosen])]


@dataclass(frozen=True, eq=False)
class Law:
    """The law of a sum of equal noises: masses at the multiples of a step around 0, or spread evenly around them (``smooth``)."""

    step: float
    masses: Reals
    smooth: bool

    @cached_property
    def _above(self) -> Reals:
        above: Reals = np.concatenate([np.cumsum(self.masses[::-1])[::-1], [0.0, 0.0]])
        return np.minimum(above, 1.0)

    @cached_property
    def points(self) -> tuple[Reals, Reals]:
        """Where the masses are, and the masses; what is far out and rare stands at the ends."""
        top = len(self.masses) // 2
        cut = min(int(np.searchsorted(np.cumsum(self.masses), _RARE)), top)
        masses = self.masses[cut : len(self.masses) - cut].copy()
        masses[[0, -1]] += (1 - masses.sum()) / 2
        return np.arange(cut - top, top - cut + 1, dtype=np.float64) * self.step, masses

    def tail(self, least: Reals) -> Reals:
        """P(X >= least)."""
        size = len(self.masses)
        place = np.clip(least / self.step + size // 2 + self.smooth / 2, 0.0, size)
        place = np.nan_to_num(place)  # of no number nothing is known
        if not self.smooth:
            return self._above[np.ceil(place - _TIE).astype(np.intp)]
        whole = place.astype(np.intp)
        return self._above[whole] + (place - whole) * (self._above[whole + 1] - self._above[whole])


@lru_cache(maxsize=1024)
def law_of(spread: Spread, many: int, points: int) -> Law:
    """The law of a sum of so many noises, in real units; of no more than so many points a standard deviation."""
    if not many or not spread.deviation:
        return Law(1.0, np.ones(1), smooth=False)
    unit = spread.deviation if spread.mechanism is None else spread.unit  # the real law has none
    deviation = spread.deviation / unit * math.sqrt(many)  # in units
    scale = spread.scale / unit
    smooth = spread.mechanism is None or deviation > points
    step = deviation / points if smooth else 1.0
    far = 6.5 * deviation + (21 * scale if spread.law == "laplace" else 0.0)  # beyond it less than a thousand-millionth
    top = math.ceil(far / step) + 1
    edges = (np.arange(-top, top + 2, dtype=np.float64) - 0.5) * step
    gaussian = spread.law == "gaussian"
    if smooth and (gaussian or many > _GAUSSIAN):
        masses = _gaussian_masses(edges, deviation if gaussian else deviation * (1 + 0.11 / many))
    else:
        if gaussian:
            masses = _gaussian_masses(edges, scale)
        elif smooth:
            masses = _laplace_masses(edges, scale)
        else:
            masses = np.exp(-np.abs(np.arange(-top, top + 1)) / scale)
        masses = _convolved(masses / masses.sum(), many)
    return Law(step * unit, masses / masses.sum(), smooth=smooth)


def _gaussian_masses(edges: Reals, deviation: float) -> Reals:
    return np.diff([0.5 * math.erf(x / (deviation * math.sqrt(2))) for x in edges])


def _laplace_masses(edges: Reals, scale: float) -> Reals:
    return np.diff(np.sign(edges) * -np.expm1(-np.abs(edges) / scale) / 2)


def _convolved(masses: Reals, many: int) -> Reals:
    """Masses around the middle, as many times with themselves; what would lie beyond the ends is too little to matter."""
    if many == 1:
        return masses
    size = 2 * len(masses)
    found = np.fft.irfft(np.fft.rfft(np.roll(np.pad(masses, (0, size - len(masses))), -(len(masses) // 2))) ** many, size)
    return np.maximum(np.roll(found, len(masses) // 2)[: len(masses)], 0.0)
