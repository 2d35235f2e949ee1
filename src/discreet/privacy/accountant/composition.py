"""The bounds of a composition, with a record added or removed.

Upper bounds come from the worst pairs, lower bounds from pairs that are attained; where there is a pair, ``methods`` lead to its
bounds, and where there are moments, ``moments``. The better of the two counts.

Pairs that differ by direction are composed in both, all one way (neighbours differ by one record, added or removed), and the
larger bound counts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from discreet.balls import log, precision, upper
from discreet.exact import down, up
from discreet.privacy.accountant.contour import LEAST, find_saddle
from discreet.privacy.accountant.methods import Aim, closed_delta, is_closed, pair_bound
from discreet.privacy.accountant.tails import (
    log_moment_bound,
    moment_delta,
    moment_epsilon,
    typical_delta,
    typical_epsilon,
)
from discreet.privacy.losses import BoundedRange, Box, Family, Loss, Moments
from discreet.privacy.losses.base import Parts
from discreet.privacy.losses.parts import canonical, directions, disclosure, supremum

__all__ = [
    "canonical",
    "delta_bounds",
    "directions",
    "disclosure",
    "epsilon_bounds",
    "log_moment_bound",
    "supremum",
    "tradeoff",
]

_NOTHING = Fraction(1, 2**400)


_TINY = 1e-12  # a delta that is tried where nothing is known
_POOR = 1e-4  # relative: where a bracket is wider, mechanisms that hardly ever matter are set aside
_RARE = Fraction(1, 20)  # of delta
_FEW = 8  # different mechanisms: their total variations are soon added up
_KNOWN = 1e-9  # relative: where a bracket is as narrow as that, moments cannot lower it further
_WIDTH = 1e-12  # relative: how well a crossing is known
_ASTRAY = 2.0  # times an epsilon: an order that says so much more is not the best one
_NEXT = 2.0**-50  # relative: a few doubles away
_FARTHEST = Fraction(2**900)  # epsilon: products of a larger one leave the doubles


@lru_cache(maxsize=1024)
def delta_bounds(parts: Parts, epsilon: Fraction, *, rough: bool = False) -> tuple[float, float]:
    """A lower and an upper bound on delta(epsilon); ``rough`` ones, for curves of many points, are certified as well."""
    ways, attained = directions(parts), directions(_members(parts))
    low, high = _delta(attained[0], epsilon, rough=rough, top=False), _delta(ways[0], epsilon, rough=rough, top=True)
    if len(ways) > 1 and (_is_soon_told(ways[1], epsilon) or _other_delta(_worst(ways[1]), epsilon) > low):
        # else the other direction is certainly no worse
        low = max(low, _delta(attained[-1], epsilon, rough=rough, top=False))
        high = max(high, _delta(ways[1], epsilon, rough=rough, top=True))
    if high > low * (1 + _KNOWN):
        high = min(high, max(moment_delta(_worst(way), down(epsilon)) for way in ways))
    if high > low * (1 + _POOR) and not rough:
        low = max([low, *(typical_delta(way, up(epsilon), mean) for way in attained if (mean := _mean(way)) > epsilon)])
    if (
        high > 2 * low
        and not rough
        and low < _TINY < high
        and max(_epsilon(way, Fraction(_TINY), None, top=True) for way in ways) <= down(epsilon)
    ):
        high = _TINY  # delta falls
    return min(low, high), max(low, high)


@lru_cache(maxsize=1024)
def epsilon_bounds(parts: Parts, delta: Fraction) -> tuple[float, float]:
    """A lower and an upper bound on the smallest epsilon >= 0 that holds with this delta."""
    if len(parts) <= _FEW and _is_private(parts, delta):
        return 0.0, 0.0
    ways, attained = directions(parts), directions(_members(parts))

    def bracket(way: Parts, member: Parts) -> tuple[float, float]:
        least, most = _summit_epsilon(member, delta), supremum(way)
        if most is not None and least >= up(most) * (1 - _WIDTH) and delta > disclosure(_worst(way)):
            return least, up(most)
        high = _epsilon(way, delta, None, top=True)
        return max(least, _epsilon(member, delta, high if member == way else None, top=False)), high

    low, high = bracket(ways[0], attained[0])
    if len(ways) > 1 and not _holds(_worst(ways[1]), low, delta):  # else the other direction is certainly no worse
        low, high = map(max, zip((low, high), bracket(ways[1], attained[-1]), strict=True))
    if high > low * (1 + _KNOWN):
        high = min(high, max(_moments_epsilon(_worst(way), delta) for way in ways))
    if high > 1.05 * low and up(delta) < 0.999:
        low = max([low, *(typical_epsilon(way, up(delta)) for way in attained if _mean(way) > low)])
    if high > low * (1 + _POOR) and (rest := _without_rare(parts, delta)):
        others, rare = rest
        low = max(low, _epsilon(directions(_members(others))[0], delta, None, top=False))  # one direction will do
        high = min(high, max(_lowest_epsilon(way, delta - rare) for way in directions(others)))
    return min(low, high), max(low, high)


def _is_soon_told(parts: Parts, epsilon: Fraction) -> bool:
    """Whether delta has a closed form, or no loss is larger than this epsilon: then it costs less than any moments."""
    most = supremum(parts)
    return (most is not None and epsilon >= most) or is_closed(_worst(parts))


def _other_delta(parts: Parts, epsilon: Fraction) -> float:
    """What moments say of the other direction: at the order where a contour would be opened, unless that says nothing."""
    found = moment_delta(parts, down(epsilon), _order(parts, epsilon=float(min(epsilon, _FARTHEST))))
    return found if found < 1 else moment_delta(parts, down(epsilon))


def _order(parts: Parts, *, epsilon: float | None = None, log_delta: float | None = None) -> float | None:
    """Where a contour would be opened: moments are at their best nearby; None where that is not known."""
    try:
        return find_saddle(parts, epsilon=epsilon, log_delta=log_delta).tilt if _has_pair(parts) else None
    except OverflowError:  # more uses than doubles can count
        return None


def _without_rare(parts: Parts, delta: Fraction) -> tuple[Parts, Fraction] | None:
    """The composition without mechanisms that hardly ever do anything, and a bound on the chance that one of them does.

    With t the sum of their total variations, delta(e) of all is at most t + delta(e) of the others (each may be replaced by one
    that ignores the record, at the price of its total variation), and at least delta(e) of the others.
    """
    costs = [count * _total_variation(loss) for loss, count in parts]
    others = tuple(part for part, cost in zip(parts, costs, strict=True) if cost > delta * _RARE)
    rare = sum((cost for cost in costs if cost <= delta * _RARE), Fraction(0))
    return (others, rare) if rare and rare < delta else None


def _is_private(parts: Parts, delta: Fraction) -> bool:
    """Whether all total variations together are at most delta; most often the first is more."""
    left = delta
    for loss, count in parts:
        left -= count * _total_variation(loss)
        if left < 0:
            return False
    return True


def _total_variation(loss: Loss) -> Fraction:
    """delta(0) of one use, in the worse direction, from above; 1 where it has no closed form."""
    with precision(128):
        both = [_bounding(way).hockey_stick(Fraction(0)) for way in (loss, loss.reverse)[: 1 if loss.reverse is loss else 2]]
        return max(Fraction(min(upper(value), 1.0)) if value is not None and value.is_finite() else Fraction(1) for value in both)


def _mean(parts: Parts) -> float:
    """Of the loss, roughly: what is typical (``typical_epsilon``) never exceeds it, as K(-y) >= -y times the mean."""
    try:
        return math.fsum(count * loss.mean_variance()[0] for loss, count in parts) * (1 + 2.0**-10)
    except OverflowError:  # more than doubles can count
        return math.inf


def _holds(parts: Parts, epsilon: float, delta: Fraction) -> bool:
    """Whether a closed form, or moments alone, say that delta holds at this epsilon, in one direction."""
    closed = closed_delta(parts, Fraction(epsilon), top=True) if math.isfinite(epsilon) else None
    if closed is not None:
        return closed <= delta
    sure = disclosure(parts)
    if delta <= sure:
        return False
    found = moment_epsilon(parts, delta - sure, _order(parts, log_delta=log(delta - sure)))
    return (found if found < _ASTRAY * epsilon else moment_epsilon(parts, delta - sure)) <= epsilon


def _lowest_epsilon(parts: Parts, delta: Fraction) -> float:
    """An upper bound in one direction, from pairs or from moments."""
    return min(_epsilon(parts, delta, None, top=True), _moments_epsilon(_worst(parts), delta)) if parts else 0.0


def _moments_epsilon(parts: Parts, delta: Fraction) -> float:
    """From moments alone, in one direction; infinity where disclosure takes all of delta."""
    sure = disclosure(parts)
    return moment_epsilon(parts, delta - sure) if delta > sure else math.inf


def _summit_epsilon(parts: Parts, delta: Fraction) -> float:
    """A lower bound from the one outcome in which all losses are as large as they can be.

    With m its mass and S its loss, delta(e) >= m (1 - e^(e - S)), so that epsilon >= S + ln(1 - delta / m): of a small delta that
    is nearly all there is.
    """
    largest, masses = supremum(parts, top=False), [(loss.pure_mass, count) for loss, count in parts]
    if largest is None or not masses or not min(masses)[0] > 0:
        return 0.0
    try:
        log_mass = math.fsum(count * math.log(mass) for mass, count in masses) * (1 + 2.0**-40)
    except OverflowError:  # more uses than doubles can count
        return 0.0
    finite = delta - disclosure(parts, top=False)
    share = max(math.exp(min(log(finite) - log_mass, 0.0) + 2.0**-30), LEAST) if finite > 0 else 1.0
    return max(0.0, down(largest + Fraction(math.log1p(-share) * (1 + 2.0**-40)))) if share < 1 else 0.0


def tradeoff(parts: Parts, rate: Fraction) -> float:
    """The least false-negative rate at this false-positive rate, from below: the best epsilon by golden section, any is valid."""
    if not parts:
        return down(1 - rate)
    fpr = up(rate)

    def allowed(epsilon: float) -> float:
        delta = delta_bounds(parts, Fraction(epsilon), rough=True)[1]
        return max(1 - delta - math.exp(epsilon) * fpr, math.exp(-epsilon) * (1 - delta - fpr)) - 2.0**-50

    most = supremum(parts)
    high = min(up(most) if most is not None else math.inf, epsilon_bounds(parts, Fraction(1, 10**12))[1], 600.0)
    if disclosure(parts) > Fraction(1, 10**12):
        high = min(up(most) if most is not None else 600.0, 600.0)
    best, low, ratio = allowed(0.0), 0.0, (math.sqrt(5) - 1) / 2
    for _ in range(24):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        f_left, f_right = allowed(left), allowed(right)
        best = max(best, f_left, f_right)
        low, high = (low, right) if f_left >= f_right else (left, high)
    return min(1.0, max(0.0, best))


def _worst(parts: Parts) -> Parts:
    """What bounds each family from above."""
    return canonical(tuple((_bounding(loss), count) for loss, count in parts))


def _bounding(loss: Loss) -> Loss:
    if isinstance(loss, Family):
        return _bounding(loss.worst)
    return Box(_NOTHING, max(loss.infinity, loss.reverse.infinity)) if _vanishes(loss) else loss


def _members(parts: Parts) -> Parts:
    """What each family attains."""
    members = [(loss.member, count) for loss, count in parts]
    return canonical(tuple((Box(Fraction(0), loss.infinity) if _vanishes(loss) else loss, count) for loss, count in members))


def _vanishes(loss: Loss) -> bool:
    """Whether its losses would be lost among the doubles: then it lies between no loss at all and one that is not."""
    both = (loss.pure, loss.reverse.pure)
    return all(largest is not None and 0 < largest < _NOTHING for largest in both)


# One direction, one side of the bracket.


def _delta(parts: Parts, epsilon: Fraction, *, top: bool, rough: bool = False) -> float:
    most = supremum(parts)
    parts = _worst(parts) if top else parts
    if not parts:
        return 0.0
    sure = disclosure(parts, top=top)
    if sure == 1 or (most is not None and epsilon >= most):
        return up(sure) if top else down(sure)
    if epsilon > _FARTHEST:  # delta falls in epsilon, to what is disclosed
        if not top:
            return down(sure)
        epsilon = _FARTHEST
    e = down(epsilon) if top else up(epsilon)
    answers = [1.0 if top else 0.0]
    if _has_pair(parts):
        near = float(epsilon)  # the same on both sides, so that what is opened serves both
        closed, aim = closed_delta(parts, epsilon, top=top), Aim(epsilon=near, rough=rough)
        answers.append(pair_bound(parts, lambda: find_saddle(parts, epsilon=near), aim, top=top)(e) if closed is None else closed)
    if top and _has_moments(parts):
        answers.append(moment_delta(parts, e))
    return min(answers) if top else max(answers)


def _epsilon(parts: Parts, delta: Fraction, near: float | None, *, top: bool) -> float:
    largest = supremum(parts, top=top)
    parts = _worst(parts) if top else parts
    if not parts:
        return 0.0
    sure = disclosure(parts, top=top)
    most = math.inf if largest is None else up(largest) if top else down(largest)
    if delta <= sure:
        return most if delta == sure else math.inf
    if most == 0:
        return 0.0
    answers = [most if top else 0.0]
    target = down(delta) if top else up(delta)
    if _has_pair(parts) and target > 0:
        try:
            log_delta = log(delta - sure)
            bound = pair_bound(parts, lambda: find_saddle(parts, log_delta=log_delta), Aim(log_delta=log_delta), top=top)
            finest = is_closed(parts)
            if finest and near:  # the other side's answer, of a curve that is known to nearly all digits
                bound = replace(bound, close=_NEXT)
            if near is None or math.isinf(near):
                near = find_saddle(parts, log_delta=log_delta).epsilon if bound.near is None else bound.near
            answers.append(bound.invert(target, near, most, 0.0 if finest else _WIDTH, top=top))
        except OverflowError:  # more uses than doubles can count: the largest loss and the moments still hold
            pass
    if top and _has_moments(parts):
        answers.append(moment_epsilon(parts, delta - sure))
    return min(answers) if top else max(answers)


def _has_pair(parts: Parts) -> bool:
    return not any(isinstance(loss, Moments) for loss, _ in parts)


def _has_moments(parts: Parts) -> bool:
    return any(isinstance(loss, (Moments, BoundedRange)) for loss, _ in parts)
