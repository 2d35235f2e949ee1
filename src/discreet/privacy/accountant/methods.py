"""Methods that bound a composition in one direction, on one side.

For pairs:

* one use of a loss with a closed form: balls;
* losses that all live on a lattice: convolution, exact but for rounding;
* few values in all: every outcome is listed;
* otherwise the contour integral, where the characteristic function provably fades (Gaussians, sampled Gaussians, many Laplaces);
* where it does not, or is not precise enough, a contour for losses that are cut and a payoff that is smoothed;
* otherwise laws rounded up and down to a lattice.

Each method gives a bound on delta(e), disclosure included, that holds for every e and is good near the saddle. All of them pass
through ``certain``, the one gate to whatever compares or inverts bounds: what is no number says nothing, and so does a method
that leaves the doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import cast

from discreet.balls import lower, precision, upper
from discreet.exact import down, up
from discreet.privacy.accountant.contour import Contour, Saddle, open_contour
from discreet.privacy.accountant.cut_gaussian import CutGaussian
from discreet.privacy.accountant.cutting import CutList, Kept, settle
from discreet.privacy.accountant.enumeration import list_outcomes
from discreet.privacy.accountant.far_jumps import Split, expect, split_far
from discreet.privacy.accountant.far_values import split_values
from discreet.privacy.accountant.jumps import Apart, take_apart
from discreet.privacy.accountant.lattice import MOST_POINTS, Convolution, common_step, convolve
from discreet.privacy.accountant.sampled_density import SampledDensity
from discreet.privacy.accountant.smoothing import open_smoothed
from discreet.privacy.accountant.tails import moment_delta, typical_delta
from discreet.privacy.losses import Atoms, Batch, SampledGaussian, SampledLattice
from discreet.privacy.losses.base import Loss, Parts
from discreet.privacy.losses.parts import disclosure
from discreet.privacy.losses.rounding import Smooth, round_atoms

__all__ = ["Aim", "Bound", "certain", "closed_delta", "is_closed", "pair_bound"]

_LEAST = 5e-324  # what underflowed is not nothing
_FEW = 10  # uses: characteristic functions of fewer fade too slowly for more than a millionth
_MANY = 10**6
_HOPELESS = 10**10  # uses: rounding of so many lattice laws leaves nothing
_HEAVY = 4e3  # times the variance: a tilt that sees so much more of it sees tails that hardly ever matter
_LIGHT = 30.0  # times the variance: a tilt that sees no more is where it should be
_ASTRAY = 2.2  # of ln delta
_SURE = 0.999  # a delta that no more work makes any better
_NONE = 1e-6  # of the spread: an epsilon that is next to nothing
_WINDOW = 12.0  # standard deviations: no window is smaller
_DIGITS = 30.0  # of a convolution, in logarithms
_SHORT = 4  # parts: so few are quickly added up at many nodes
_WORK = 5 << 22  # terms of a smoothed contour: a third of a second or so
_LISTS = 1 << 23  # the same, of lists
_NEXT = 1e-14  # relative: where outcomes say that delta is crossed, it nearly is
_FURTHER = 1e-8
_KNOWN = 0.5  # of delta: where a bracket is wider, it is none


@dataclass(frozen=True)
class Bound:
    """A bound on delta(e) for any float e; it is best near one of them, where that is known better than from a saddle."""

    at: Callable[[float], float]
    near: float | None = None
    close: float = _FURTHER  # relative: how far from there a crossing may be, to begin with

    def __call__(self, e: float) -> float:
        return self.at(e)

    def invert(self, target: float, guess: float, most: float, width: float, *, top: bool) -> float:
        """An epsilon >= 0 that certainly holds (``top``) or is certainly needed, to a relative ``width``."""

        def height(e: float) -> float:
            delta = self(e)
            gap = math.log(max(delta, 1e-320)) - math.log(target)
            return max(gap, 1e-300) if delta > target else min(gap, 0.0)  # the sign decides: it must not be rounded

        # Bracket the crossing, starting from the guess: far from it a bound is valid but poor, so the way there is a little
        # longer than the slope says, and never much longer than the one before.
        reach = max(abs(guess) * self.close, 1e-4 * self.close)
        low = high = min(max(guess, 0.0), most)
        f_low = f_high = height(low)
        while f_low <= 0:
            if low == 0:
                return 0.0
            high, f_high = low, f_low
            low = max(low - reach, 0.0)
            f_low = height(low)
            reach = _further(reach, f_low, f_low - f_high, guess)
        while f_high > 0:
            if high >= min(most, 1e300):
                return most if top else high
            low, f_low = high, f_high
            high = min(high + reach, most)
            f_high = height(high)
            reach = _further(reach, f_high, f_low - f_high, guess)
        # False position (Anderson and Bjorck): the end that stays is weighed down. Once steps are as short as is asked, one goes
        # across the crossing, so that the other end comes near too; and three of them at least halve what is left.
        w_low, w_high, least = f_low, f_high, max(width * high / 8, math.ulp(high))
        before = [math.inf] * 3  # how far the ends were apart
        for _ in range(200):
            if high - low <= width * high:
                break
            before = [*before[1:], high - low]
            middle = high - w_high * (high - low) / (w_high - w_low) if w_high != w_low else low
            if high - low < 3 * least or before[2] > before[0] / 2:
                middle = (low + high) / 2
            elif not low + least <= middle <= high - least:
                middle, least = min(max(middle, low + least), high - least), 4 * least
            if not low < middle < high:
                break
            f = height(middle)
            if f > 0:
                w_high *= 1 - f / w_low if f < w_low else 0.5
                low, w_low = middle, f
            else:
                w_low *= 1 - f / w_high if f > w_high else 0.5
                high, w_high = middle, f
        return high if top else low


def _further(reach: float, height: float, fallen: float, guess: float) -> float:
    """How far to go on, after a step over which a height fell so much towards zero: a tenth of the guess is no step too many."""
    wanted = 1.25 * reach * abs(height) / fallen if fallen > 0 else math.inf
    return min(max(2 * reach, wanted), max(30 * reach, abs(guess) / 10 if fallen > 0 else 0.0))


@dataclass(frozen=True)
class Aim:
    """What a bound is for: delta at this epsilon, or the epsilon of this delta; ``rough`` where a millionth will do, but soon."""

    epsilon: float | None = None
    log_delta: float | None = None
    rough: bool = False


def certain(delta: float, *, top: bool) -> float:
    """A bound on a probability that certainly holds: 1 from above and 0 from below where there is no number."""
    if math.isnan(delta):
        return 1.0 if top else 0.0
    return min(1.0, max(0.0, delta))


def pair_bound(parts: Parts, saddle: Callable[[], Saddle], aim: Aim, *, top: bool) -> Bound:
    """A bound on delta(e) from above or below, for any float e."""
    if is_closed(parts):
        outcomes = None if aim.log_delta is None else list_outcomes(parts, aim.log_delta)
        near = outcomes.crossing(aim.log_delta or 0.0) if outcomes else None
        return Bound(lambda e: cast(float, closed_delta(parts, Fraction(e), top=top)), near, _close(near))
    try:
        bound = _bound_composition(parts, saddle, aim, top=top)
    except ArithmeticError:  # numbers beyond the doubles
        return Bound(lambda _: certain(math.nan, top=top))
    return Bound(lambda e: _evaluate(bound, e, top=top), bound.near, bound.close)


def _close(near: float | None) -> float:
    return _FURTHER if near is None else _NEXT


def _evaluate(bound: Bound, e: float, *, top: bool) -> float:
    try:
        return certain(bound(e), top=top)
    except ArithmeticError:
        return certain(math.nan, top=top)


def closed_delta(parts: Parts, epsilon: Fraction, *, top: bool) -> float | None:
    """One use of a loss with a closed form, at exactly this epsilon; None where there is none."""
    if not is_closed(parts):
        return None
    (loss, _), bits = parts[0], 128
    while True:
        with precision(bits):
            value = loss.hockey_stick(epsilon)
            assert value is not None
            if value.is_finite() and (value.rel_accuracy_bits() > 56 or bits > 1 << 14):
                return certain(upper(value) if top else lower(value), top=top)
            if bits > 1 << 14:
                return certain(math.nan, top=top)
        bits *= 2


def is_closed(parts: Parts) -> bool:
    """Whether it is one use that has a closed form."""
    (loss, count), *others = parts
    return not others and count == 1 and _is_closed(loss)


@lru_cache(maxsize=256)
def _is_closed(loss: Loss) -> bool:
    """Whether one use has a closed form."""
    return loss.hockey_stick(Fraction(0)) is not None


def _bound_composition(parts: Parts, find: Callable[[], Saddle], aim: Aim, *, top: bool) -> Bound:
    sure = up(disclosure(parts)) if top else down(disclosure(parts, top=False))
    if outcomes := list_outcomes(parts, find().log_delta if aim.log_delta is None else aim.log_delta):
        near = outcomes.crossing(aim.log_delta) if aim.log_delta else None
        return Bound(lambda e: _with_disclosure(outcomes.delta(e, top=top), sure, top=top), near, _close(near))
    saddle = find()
    if all(loss.exact for loss, _ in parts) and sum(count for _, count in parts) < _HOPELESS:
        laws = [(atoms, count) for loss, count in parts if (atoms := loss.lattice(None, up=top))]
        if law := convolve(laws, saddle.tilt):
            return _law_bound(law, sure + _lost(laws, top=top), top=top)
    if any(isinstance(loss, Batch) for loss, _ in parts) and (lattice := _bound_on_lattice(parts, saddle, sure, top=top)):
        return lattice  # which is as fine as it needs to be, where a list is not
    sampled = any(isinstance(loss, (SampledGaussian, SampledLattice)) for loss, _ in parts)
    late = sampled and (
        sum(count for _, count in parts) < _FEW
        or any(isinstance(loss, SampledLattice) for loss, _ in parts)
        or _is_astray(parts, saddle, aim)
    )
    contour = None if late else _contour(parts, saddle, top=top)
    plain = _contour_bound(contour, parts, sure, top=top) if contour else None
    if plain and contour and _precise(contour, saddle, aim):
        return plain
    if aim.rough and not sampled and (lattice := _bound_on_lattice(parts, saddle, sure, top=top)):
        return lattice
    smooth = _bound_smoothed(parts, aim, sure, top=top)
    bounds = [bound for bound in (plain, smooth) if bound]
    if (
        smooth
        and not plain
        and _reaches(saddle, aim, smooth.near)
        and _is_poor(smooth, parts, aim, saddle, top=top)
        and (lattice := _bound_on_lattice(parts, saddle, sure, top=top))
    ):
        bounds.append(lattice)
    if bounds:
        return Bound(lambda e: (min if top else max)(bound(e) for bound in bounds), smooth.near if smooth else None)
    if late and (contour := _contour(parts, saddle, top=top)):
        return _contour_bound(contour, parts, sure, top=top)
    if lattice := _bound_on_lattice(parts, saddle, sure, top=top):
        return lattice
    if top and aim.log_delta is None:
        return Bound(lambda e: moment_delta(parts, e))
    return Bound(lambda _: 1.0 if top else sure)  # moments have an epsilon of their own


def _is_astray(parts: Parts, saddle: Saddle, aim: Aim) -> bool:
    """Whether a saddle sees tails that hardly ever matter, so that its epsilon belongs to another delta."""
    seen, there = saddle.spread**2, sum(count * loss.mean_variance()[1] for loss, count in parts)
    if seen > _HEAVY * there or seen < _LIGHT * there or aim.log_delta is None:
        return seen > _HEAVY * there
    expected = expect(parts, aim.log_delta)
    return expected is not None and abs(expected.log_delta(saddle.epsilon) - aim.log_delta) > _ASTRAY


def _reaches(saddle: Saddle, aim: Aim, near: float | None) -> bool:
    """Whether a law that is convolved at the saddle's tilt has digits left where it is asked: some e^-30 of e^(K - x e)."""
    e = max(saddle.epsilon, saddle.epsilon if near is None else near) if aim.epsilon is None else aim.epsilon
    return saddle.log_scale - saddle.tilt * e - _DIGITS < (saddle.log_delta if aim.log_delta is None else aim.log_delta)


def _is_poor(bound: Bound, parts: Parts, aim: Aim, saddle: Saddle, *, top: bool) -> bool:
    """Whether a bound says hardly anything within a tenth of the epsilon that is expected."""
    if aim.epsilon is not None:
        return (bound(aim.epsilon) >= 1 if top else bound(aim.epsilon) <= 0) and typical_delta(parts, aim.epsilon) < _SURE
    e, wanted = saddle.epsilon if bound.near is None else bound.near, aim.log_delta or 0.0
    if e <= _NONE * saddle.spread:
        return False
    return math.log(max(bound(1.1 * e), 1e-320)) > wanted if top else math.log(max(bound(0.9 * e), 1e-320)) < wanted


def _bound_on_lattice(parts: Parts, saddle: Saddle, sure: float, *, top: bool) -> Bound | None:
    """On the finest lattice that can be convolved, of a few; None where there is none."""
    if any(loss.divisor is None for loss, _ in parts) or sum(count for _, count in parts) >= _HOPELESS:
        return None
    for step, shared in dict.fromkeys(_step(parts, saddle, 4.0 ** (1 - i)) for i in range(5)):
        laws = _round(parts, saddle, step, shared=shared, top=top)
        if laws and (law := convolve(laws, saddle.tilt)):
            return _law_bound(law, sure + _lost(laws, top=top), top=top)
    return None


def _contour(parts: Parts, saddle: Saddle, *, top: bool) -> Contour | None:
    """A contour for laws that dominate, or are dominated by, these; None where there is none."""
    try:
        return open_contour(tuple((loss.listed(up=top), count) for loss, count in parts), saddle)
    except ArithmeticError:  # numbers beyond the doubles: another road may do
        return None


def _contour_bound(contour: Contour, parts: Parts, sure: float, *, top: bool) -> Bound:
    lost = math.fsum(count * loss.listed(up=top).lost for loss, count in parts) * (1 + 2.0**-40) if top else 0.0
    return Bound(lambda e: _with_disclosure(contour.delta(e, up=top), sure + lost, top=top))


def _precise(contour: Contour, saddle: Saddle, aim: Aim) -> bool:
    """Whether a contour belongs to the epsilon asked for, and knows it to some 1e-9."""
    e = saddle.epsilon if aim.epsilon is None else aim.epsilon
    low, high = contour.delta(e, up=False), contour.delta(e, up=True)
    if aim.log_delta is not None and not abs(math.log(max(high, 1e-320)) - aim.log_delta) < 2:
        return False
    return high - low <= (1e-6 if aim.rough else 3e-10) * high * max(contour.tilt * e, 1.0)


def _bound_smoothed(parts: Parts, aim: Aim, sure: float, *, top: bool) -> Bound | None:
    """The best of those that are tried: large losses taken apart, and all of them together."""
    bounds, near, best = list[Callable[[float], float]](), None, min if top else max
    apart: Split | Apart | None = split_far(parts, aim.epsilon, aim.log_delta, _WORK)
    if apart:
        bounds, near = [partial(apart.bound, top=top)], apart.epsilon
    if not (apart and apart.is_precise) and (kept := settle(parts, top=top, epsilon=aim.epsilon, log_delta=aim.log_delta)):
        taken = apart is not None and apart.width < _KNOWN
        near = near if taken else kept.saddle.epsilon
        bounds += _bound_kept(parts, kept, aim, taken=taken, top=top)
    if not bounds:
        return None
    return Bound(lambda e: _with_disclosure(best(bound(e) for bound in bounds), sure, top=top), near)


def _bound_kept(parts: Parts, kept: Kept, aim: Aim, *, taken: bool, top: bool) -> list[Callable[[float], float]]:
    """Of losses that are cut; large ones are taken apart unless they are (``taken``)."""
    listed = [loss for loss, _ in kept.parts if isinstance(loss, CutList)]
    drawn = any(isinstance(loss, (CutGaussian, SampledDensity)) for loss, _ in kept.parts)  # along a line
    effort, bounds = _WORK, list[Callable[[float], float]]()
    if listed:  # which differ from side to side where they are not the law itself
        effort = _LISTS if all(loss.exact for loss in listed) else _LISTS >> 2
    apart: Split | Apart | None = None
    if not taken:
        apart = split_values(parts, kept, aim.log_delta, effort) or take_apart(kept, effort, aim.log_delta)
    if apart:
        bounds = [partial(apart.bound, top=top)]
        if apart.is_precise:
            return bounds
    nodes = 1 << 17
    if drawn and not listed:
        nodes = 1 << 18  # few steps fade late
    if listed and len(kept.parts) <= _SHORT and all(loss.exact for loss in listed):
        nodes = 1 << 21  # lists hardly fade
    if contour := open_smoothed(kept.parts, kept.saddle, effort, nodes):
        lost = kept.lost if top else 0.0
        bounds.append(lambda e: contour.bound(e, top=top) + lost)
    return bounds


def _lost(laws: list[tuple[Atoms, int]], *, top: bool) -> float:
    """Mass above the lattices, which an upper bound counts as disclosed."""
    return sum(count * atoms.lost for atoms, count in laws) * (1 + 2.0**-40) if top else 0.0


def _law_bound(law: Convolution, sure: float, *, top: bool) -> Bound:
    return Bound(lambda e: _with_disclosure(law.delta(e, up=top), sure, top=top))


def _with_disclosure(delta: float, sure: float, *, top: bool) -> float:
    """Both parts of delta together, their sum rounded away from the truth."""
    return (delta + sure) * (1 + 2.0**-50) + _LEAST if top else (delta + sure) * (1 - 2.0**-50)


def _step(parts: Parts, saddle: Saddle, points: float) -> tuple[Fraction, bool]:
    """The step of one lattice, fine enough for about a millionth of epsilon (``points`` = 4), or coarser; is it all laws' own?"""
    uses = sum(count * (min(1.0, float(loss.pure)) if isinstance(loss, Smooth) else 4.0) for loss, count in parts)
    fine = math.sqrt(4e-4 * max(saddle.epsilon, 1e-3 * saddle.spread) / ((saddle.tilt + 1) * uses)) * 2 / points
    fine = min(fine, max(saddle.spread, 1 / saddle.tilt) / 16)
    least = max(loss.reach(0.0) for loss, _ in parts) / 2**18  # no law needs more points than that
    fine = max(fine, least)
    divisors = [loss.divisor for loss, _ in parts if loss.divisor]
    shared = common_step(divisors) if divisors else Fraction(0)
    if shared and shared >= fine / 16:
        return shared / max(1, math.ceil(float(shared) / fine)), True
    return Fraction(2) ** math.floor(math.log2(max(fine / 32, least))), False


def _round(parts: Parts, saddle: Saddle, step: Fraction, *, shared: bool, top: bool) -> list[tuple[Atoms, int]] | None:
    """All laws on one lattice, unless that would be too much to convolve."""
    span = 2 * sum(count * loss.reach(0.0) for loss, count in parts)
    points = 2.0 ** math.ceil(math.log2(max(min(_WINDOW * saddle.spread, span) / float(step), 1.0)))
    if points * len(parts) > MOST_POINTS >> 1:
        return None
    laws = []
    for loss, count in parts:
        own = step if shared or not loss.divisor else loss.divisor / max(1, math.ceil(2 * float(loss.divisor) / float(step)))
        atoms = loss.lattice(own, up=top)
        if atoms is None:  # too many points
            return None
        if not shared and loss.divisor:
            atoms = round_atoms(atoms, step, up=top)
        laws.append((atoms, count))
    return laws
