"""Calibration: the least noise, the most repetitions, the largest sample for a target (epsilon, delta).

What comes back was evaluated and holds: its guarantee is (epsilon, delta)-DP by the certified upper bound of ``Privacy``, for
the neighbours of the guarantees that were handed in. And it is nearly the best: a value worse by a relative 1e-9 (or one
repetition more) was evaluated too, and fails. With the default delta = 0 the target is pure.

The cost must fall when noise grows, and grow with repetitions and rate. The search brackets the target geometrically, then
closes in by false position (Anderson and Bjorck 1973) on ln(cost / epsilon) over ln(noise), where most curves are nearly
straight: ten evaluations or fewer, as a rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, probability
from discreet.privacy.guarantee import Privacy
from discreet.privacy.losses.parts import directions, disclosure, supremum

__all__ = ["count", "noise", "rate"]

_CLOSE = 1e-9  # how far the answer may lie from a value that fails, relatively
_SLACK = 0.01  # how much of ln(cost) may go the wrong way before a curve is refused: bounds are not perfectly smooth
_FAR = 750.0  # ln(cost / epsilon) of a cost that is zero or infinite; all others are smaller
_NEAR = 8.0  # beyond this only the sign is used to interpolate
_MOST = 1 << 62


@called_as("lambda sigma: Gaussian(sensitivity=1, sigma=sigma).privacy, epsilon=1, delta=1e-6")
def noise(
    make: Callable[[float], Privacy], *, epsilon: object, delta: object = 0, low: object = 1e-12, high: object = 1e12
) -> float:
    """The smallest noise s between ``low`` and ``high`` for which ``make(s)`` is (epsilon, delta)-DP.

    >>> import discreet as dp
    >>> def steps(sigma):
    ...     return 1000 * dp.Gaussian(sensitivity=1, sigma=sigma).privacy.sampled(0.01)
    >>> round(noise(steps, epsilon=2, delta=1e-6), 4)
    1.029
    """
    target = _Target(epsilon, delta, make)
    least, most = float(positive("low", low)), float(positive("high", high))
    if least >= most:
        raise ParameterError(f"low must be below high, not {low} and {high}; write low=0.1, high=100.")
    found = _edge(lambda s: target.height(make(s)), min(max(1.0, least), most), least, most, more_is_safer=True, step=4)
    if found is None:
        raise ParameterError(
            f"{target} is out of reach: noise of {most:g} still costs epsilon = {make(most).epsilon(target.delta):.6g}; "
            "raise epsilon, delta or high, or lower what does not depend on the noise."
        )
    return found


@called_as("lambda rate: gdp(1).sampled(rate), epsilon=1, delta=1e-6")
def rate(make: Callable[[float], Privacy], *, epsilon: object, delta: object = 0) -> float:
    """The largest sampling rate q, at most 1, for which ``make(q)`` is (epsilon, delta)-DP.

    >>> from discreet.privacy import gdp
    >>> round(rate(lambda q: 1000 * gdp(1).sampled(q), epsilon=2, delta=1e-6), 5)
    0.00944
    """
    target = _Target(epsilon, delta, make)
    found = _edge(lambda q: target.height(make(q)), 1.0, 1e-12, 1.0, more_is_safer=False, step=4)
    if found is None:
        raise ParameterError(
            f"{target} is out of reach: a rate of 1e-12 still costs epsilon = {make(1e-12).epsilon(target.delta):.6g}; "
            "raise epsilon or delta, or lower what does not depend on the rate."
        )
    return found


@called_as("pure(0.1), epsilon=1")
def count(privacy: Privacy, *, epsilon: object, delta: object = 0) -> int:
    """The largest k for which ``k * privacy`` is (epsilon, delta)-DP; 0 where not even one is.

    >>> from discreet.privacy import pure
    >>> count(pure(0.1), epsilon=1), count(pure(0.1), epsilon=1, delta=1e-6)
    (10, 10)
    """
    target = _Target(epsilon, delta)
    if not target.height(privacy) <= 0:
        return 0
    if not privacy.parts:
        raise ParameterError("This guarantee is free: any number of repetitions fits; give one that costs something.")
    found = _edge(lambda k: target.height(int(k) * privacy), 1, 1, _MOST, more_is_safer=False, step=1000)
    if found is None or found >= _MOST:
        raise ParameterError(f"More than 2^62 repetitions fit within {target}; there is nothing to count.")
    return int(found)


@dataclass(frozen=True, init=False)
class _Target:
    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: object, delta: object, make: object = Privacy) -> None:
        if not callable(make):
            raise ParameterError(
                f"What is calibrated is a function that gives a guarantee, not {type(make).__name__}; "
                "write lambda s: Gaussian(sensitivity=1, sigma=s).privacy."
            )
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon))
        object.__setattr__(self, "delta", probability("delta", delta, zero=True, hint="a small chance such as 1e-6"))

    def __str__(self) -> str:
        return f"epsilon = {float(self.epsilon):g} with delta = {float(self.delta):g}"

    def height(self, privacy: Privacy) -> float:
        """ln(cost / epsilon): at most 0 exactly when the guarantee holds."""
        if not isinstance(privacy, Privacy):
            raise ParameterError(
                f"Calibration needs guarantees, not {type(privacy).__name__}; write lambda s: Gaussian(...).privacy."
            )
        cost = privacy.epsilon(self.delta)
        if cost == 0 or cost == math.inf:
            return math.copysign(_FAR, cost - 1)
        size = math.log(cost) - math.log(self.epsilon)
        holds = Fraction(cost) <= self.epsilon or self._holds_exactly(privacy)
        return min(size, 0.0) if holds else max(size, 2.0**-52)

    def _holds_exactly(self, privacy: Privacy) -> bool:
        """Whether all losses are within epsilon but for delta: in fractions, since 3 * 0.1 rounded up is above 0.3."""
        for parts in directions(privacy.parts):
            largest = supremum(parts)
            if largest is None or largest > self.epsilon or disclosure(parts) > self.delta:
                return False
        return True


def _edge(
    height: Callable[[float], float], start: float, least: float, most: float, *, more_is_safer: bool, step: float
) -> float | None:
    """The last value that holds before they fail: whole if ``start`` is, a limit where none fails, None where none holds."""
    sign, whole = (1 if more_is_safer else -1), isinstance(start, int)
    seen: list[tuple[float, float]] = []

    def look(x: float) -> float:
        h = height(x)
        for y, g in seen:
            if (h - g if (x > y) == more_is_safer else g - h) > _SLACK:
                raise ParameterError(
                    f"Between {min(x, y):.6g} and {max(x, y):.6g} the cost goes the wrong way; "
                    "calibrate something whose cost falls with noise and grows with repetitions and rate."
                )
        seen.append((x, h))
        return h

    # Bracket: with u = +-ln(x), go up until it holds or down until it fails, guided by the slope between the last two looks.
    x, h, slope, longest, boost = start, look(start), 1.0, math.log(step), 1.0
    ends = {h <= 0: (x, h)}
    while len(ends) < 2:
        holds = h <= 0
        if x == (least if holds == more_is_safer else most):
            return x if holds else None
        reach = min(boost * abs(h) / slope + _CLOSE, longest)
        y = min(max(x * math.exp(sign * (-reach if holds else reach)), least), most)
        y = math.ceil(y) if whole else y
        g = look(y)
        known = max(abs(g), abs(h)) < _FAR
        slope = min(max((g - h) / (sign * math.log(x / y)), 0.1), 8.0) if known else slope
        longest, boost = (math.log(1e3) if known else 1.5 * longest), 1.25 * boost
        x, h = y, g
        ends[h <= 0] = (x, h)

    # Close in: false position, the weight of an end that stays shrinking (Anderson and Bjorck), bisection when that is slow.
    (good, h_good), (bad, h_bad), last, gap = ends[True], ends[False], None, math.inf
    h_good, h_bad = max(h_good, -_NEAR), min(h_bad, _NEAR)
    for turn in range(200):
        left, right = sign * math.log(bad), sign * math.log(good)
        if abs(good - bad) <= 1 if whole else right - left <= _CLOSE:
            break
        u = left + (right - left) * h_bad / (h_bad - h_good)
        if turn % 4 == 3:
            u, gap = ((left + right) / 2 if right - left > gap / 8 else u), right - left
        margin = 0.0 if whole else min(0.9 * _CLOSE, (right - left) / 2)
        x = math.exp(sign * min(max(u, left + margin), right - margin))
        x = min(max(round(x), min(good, bad) + 1), max(good, bad) - 1) if whole else x
        h = look(x)
        if h <= 0:
            if last is True:
                h_bad *= 1 - h / h_good if h > h_good else 0.5
            good, h_good = x, h
        else:
            if last is False:
                h_good *= 1 - h / h_bad if h < h_bad else 0.5
            bad, h_bad = x, h
        last = h <= 0
    return good
