"""What moments alone say of a composition: upper bounds that always hold, and lower bounds where losses are typically large.

**From above** (what zCDP and Renyi facts allow, and an alternative for the exponential mechanism): Canonne, Kamath, Steinke
(2020), proposition 12: delta <= e^(K(x) - x e) x^x / (1+x)^(1+x) for every order x > 0. Every order is a valid choice; golden
section only finds a good one. One use on a sample has that curve, moved (``SampledMoments``).

**From below**: P[L <= t] <= e^(K(-y) + y t) (Markov), and delta(e) >= (1 - e^(e - t)) P[L > t] for every t > e. Sums of so many
losses that their law is lost to rounding are still close to their mean, and this says so. Laws are taken as lists that are
dominated; leaving mechanisms out never raises delta, and those that have no list, or are too many, are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.balls import log
from discreet.exact import up
from discreet.privacy.accountant.cut_gaussian import cut_gaussian
from discreet.privacy.accountant.cutting import cut_list
from discreet.privacy.losses import Batch, BoundedRange, Gaussian, SampledGaussian, SampledLattice, SampledMoments
from discreet.privacy.losses.atoms import Atomic
from discreet.privacy.losses.base import Loss, Parts
from discreet.privacy.losses.parts import disclosure
from discreet.privacy.losses.rounding import Smooth

__all__ = ["log_moment_bound", "moment_delta", "moment_epsilon", "typical_delta", "typical_epsilon"]

_LEAST = 1e-50
_FAR = 600.0  # epsilons: beyond it their exponentials leave the doubles
_LARGEST = 2**40  # losses: beyond it their exponents have hardly any digits left
_FEW = 8  # different mechanisms: their lists are soon added up


def log_moment_bound(parts: Parts, x: float) -> float:
    """K(x) from above; the exponential mechanism's is the smaller of its pair's and its zero-concentrated bound, which also
    stands in where a pair's own moments are out of reach. Of more uses than doubles can count nothing is known."""
    return _log_moments(parts)(x)


def _log_moments(parts: Parts) -> Callable[[float], float]:
    """The same as a function of x: what no order changes is found once."""
    each = [(loss, count, _is_exponential(loss)) for loss, count in parts]
    uses = sum(count for _, count in parts)

    def bound(x: float) -> float:
        total = 0.0
        try:
            for loss, count, exponential in each:
                k = loss.log_moment(x)
                k += loss.rounding(x, 0.0) if math.isfinite(k) else 0.0
                if (exponential or math.isinf(k)) and (rho := loss.rho) is not None:
                    k = min(k, float(rho) * x * (x + 1))
                total += count * k
            return total + 2.0**-40 * (abs(total) + uses * 2.0**-4)
        except OverflowError:
            return math.inf

    return bound


def _is_exponential(loss: Loss) -> bool:
    """Whether it is the exponential mechanism, also on a sample or a batch, which cost no more."""
    return isinstance(loss.base if isinstance(loss, (Batch, SampledLattice)) else loss, BoundedRange)


def moment_delta(parts: Parts, e: float, order: float | None = None) -> float:
    """The least delta at epsilon = e that the moments certify, at one ``order`` or all, beside what is disclosed for certain."""
    if disclosure(parts) == 1:
        return 1.0  # nothing finite is left
    moments = _log_moments(parts)
    best = _lowest(lambda x: moments(x) - x * e + _chernoff(x), order)
    finite = math.exp(min(0.0, best + 2.0**-40 * (1 + abs(best))))
    if once := _sampled_once(parts):  # q delta(y), e^y = 1 + (e^epsilon - 1) / q, and y >= epsilon
        y = math.log1p(math.expm1(e) / up(once.rate)) * (1 - 2.0**-40) if e < _FAR else e
        finite = min(finite, up(once.rate) * moment_delta(((once.base, 1),), y))
    return min(1.0, (up(disclosure(parts)) + finite) * (1 + 2.0**-50) + 5e-324)


def moment_epsilon(parts: Parts, delta: Fraction, order: float | None = None) -> float:
    """The least epsilon at delta that the moments certify, at one ``order`` or all."""
    if once := _sampled_once(parts):  # the same, solved for epsilon
        whole = moment_epsilon(((once.base, 1),), delta / once.rate) if delta < once.rate else 0.0
        return math.log1p(up(once.rate) * math.expm1(whole)) * (1 + 2.0**-40) if whole < _FAR else whole
    log_delta, moments = log(delta), _log_moments(parts)
    best = _lowest(lambda x: (moments(x) + _chernoff(x) - log_delta) / x, order)
    return max(0.0, best + 2.0**-40 * (1 + abs(best)))


def _sampled_once(parts: Parts) -> SampledMoments | None:
    """One use of a mechanism on a sample that is known by its moments, where it is that."""
    (loss, count), *others = parts
    return loss if isinstance(loss, SampledMoments) and count == 1 and not others else None


def typical_delta(parts: Parts, epsilon: float, mean: float = math.inf) -> float:
    """A lower bound on delta(epsilon) from what losses typically are: (1 - e^-c) P[L > epsilon + c] for several c.

    Nothing is known of losses beyond their ``mean``, as K(-y) >= -y times that.
    """
    best = 0.0
    known = _low_moments(parts)
    for more in (c for c in (0.01, 0.1, 1.0, 6.0, 40.0) if epsilon + c < mean):
        below = -_typical_loss(known, more=epsilon + more)  # ln P[L <= epsilon + c]
        best = max(best, -math.expm1(-more) * -math.expm1(min(below + 1e-9 * (1 + abs(below)), 0.0)))
    return best * (1 - 2.0**-40) if best > _LEAST else 0.0


def typical_epsilon(parts: Parts, delta: float) -> float:
    """A lower bound on epsilon at delta < 0.999 from what losses typically are."""
    best, known = 0.0, _low_moments(parts)
    for rare in (0.5 * (1 - delta), 0.01 * (1 - delta)):
        least = _typical_loss(known, rare=rare)  # the loss exceeds it but for a chance ``rare``
        best = max(best, (least + math.log1p(-delta / (1 - rare))) * (1 - 2.0**-30) - 1e-9)
    return best


_Known = list[tuple[Loss, int, bool]]


def _low_moments(parts: Parts) -> _Known:
    """What has moments at tilts from -1 to 0, how often, and whether those are the ones of the other direction.

    Lists leave out at most 2^-1000 a use, which is nothing beside the least answers that are given.
    """
    known: _Known = []
    for loss, count in parts:
        if isinstance(loss, SampledGaussian):
            bare = cut_gaussian(loss.reverse if loss.adding else loss, 0.0, 0.0, math.log(count))
            known += [(bare, count, loss.adding)] if bare.has_low_moments else []
        elif isinstance(loss, Gaussian):
            known.append((loss, count, False))
        elif len(parts) <= _FEW and isinstance(loss, (Atomic, Smooth, SampledLattice)) and loss.infinity < 1:
            known += [(cut_list(loss, 0.0, up=False), count, False)] if (loss.pure or 0) < _LARGEST else []
    return known


def _typical_loss(known: _Known, *, rare: float | None = None, more: float = 0.0) -> float:
    """A loss that is exceeded but for a chance ``rare``, or minus ln of the chance that ``more`` is not exceeded; from below."""
    if not known:
        return -math.inf

    def at(y: float) -> float:
        total = 0.0
        for loss, count, adding in known:
            x = y - 1 if adding else -y  # the same integral of r^(1+x)
            if not math.isfinite(k := loss.log_moment(x)):
                return math.inf
            total += count * (k + loss.rounding(x, 0.0))
        total += 1e-12 * abs(total)
        return total + y * more if rare is None else (total - math.log(rare)) / y

    return -_lowest(at, None, -40.0, -1e-3, 0.02)


def _chernoff(x: float) -> float:
    """ln of the largest value of e^(-x y) (1 - e^-y): x ln x - (1 + x) ln(1 + x), without cancellation."""
    return -x * math.log1p(1 / x) - math.log1p(x)


def _lowest(
    height: Callable[[float], float], order: float | None, low: float = -60.0, high: float = 20.0, fine: float = 1e-4
) -> float:
    """The least value over x from e^low to e^high, by golden section of ln x; or at one order.

    An order without a number says nothing.
    """

    def at(log_x: float) -> float:
        try:
            value = height(math.exp(log_x))
        except ArithmeticError:  # beyond the doubles
            return math.inf
        return math.inf if math.isnan(value) else value

    if order is not None:
        return at(math.log(order))
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = at(left), at(right)
    while high - low > fine:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = at(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = at(right)
    return min(f_left, f_right)
