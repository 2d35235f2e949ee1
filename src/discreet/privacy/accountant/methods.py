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

From moments alone (what zCDP and Renyi facts allow, and an alternative for the exponential mechanism): Canonne, Kamath, Steinke
(2020), proposition 12: delta <= e^(K(x) - x e) x^x / (1+x)^(1+x) for every order x > 0. Every order is a valid choice; golden
section only finds a good one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from discreet.balls import ball, lower, precision, upper
from discreet.exact import down, up
from discreet.privacy.accountant.contour import Contour, Saddle, open_contour
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian
from discreet.privacy.accountant.cutting import CutList, settle
from discreet.privacy.accountant.enumeration import list_outcomes
from discreet.privacy.accountant.jumps import take_apart
from discreet.privacy.accountant.lattice import Convolution, common_step, convolve
from discreet.privacy.accountant.sampled_density import SampledDensity
from discreet.privacy.accountant.smoothing import open_smoothed
from discreet.privacy.losses import Atoms, BoundedRange, Gaussian, SampledGaussian, SampledLattice
from discreet.privacy.losses.base import Loss, Parts
from discreet.privacy.losses.rounding import Smooth, round_atoms

__all__ = [
    "Aim",
    "Bound",
    "certain",
    "closed_delta",
    "disclosure",
    "expected_epsilon",
    "log",
    "log_moment_bound",
    "moment_delta",
    "moment_epsilon",
    "pair_bound",
    "typical_delta",
    "typical_epsilon",
]

Bound = Callable[[float], float]
_LEAST = 5e-324  # what underflowed is not nothing
_FEW = 10  # uses: characteristic functions of fewer fade too slowly for more than a millionth
_MANY = 10**6
_HOPELESS = 10**10  # uses: rounding of so many lattice laws leaves nothing
_WORK = 1 << 24  # terms of a smoothed contour: half a second or so


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
    if closed_delta(parts, Fraction(0), top=top) is not None:
        return lambda e: cast(float, closed_delta(parts, Fraction(e), top=top))
    try:
        bound = _bound_composition(parts, saddle(), aim, top=top)
    except ArithmeticError:  # numbers beyond the doubles
        return lambda _: certain(math.nan, top=top)
    return lambda e: _evaluate(bound, e, top=top)


def expected_epsilon(parts: Parts, saddle: Saddle, log_delta: float, *, top: bool) -> float:
    """Where to look for epsilon: moments of very many sampled Gaussians are known only where they are cut."""
    if any(isinstance(loss, SampledGaussian) and count > _MANY for loss, count in parts):
        try:
            kept = settle(parts, top=top, log_delta=log_delta)
        except ArithmeticError:
            kept = None
        return kept.saddle.epsilon if kept else saddle.epsilon
    return saddle.epsilon


def _evaluate(bound: Bound, e: float, *, top: bool) -> float:
    try:
        return certain(bound(e), top=top)
    except ArithmeticError:
        return certain(math.nan, top=top)


def closed_delta(parts: Parts, epsilon: Fraction, *, top: bool) -> float | None:
    """One use of a loss with a closed form, at exactly this epsilon; None where there is none."""
    (loss, count), *others = parts
    if others or count > 1 or loss.hockey_stick(Fraction(0)) is None:
        return None
    bits = 128
    while True:
        with precision(bits):
            value = loss.hockey_stick(epsilon)
            assert value is not None
            if value.is_finite() and (value.rel_accuracy_bits() > 56 or bits > 1 << 14):
                return certain(upper(value) if top else lower(value), top=top)
            if bits > 1 << 14:
                return certain(math.nan, top=top)
        bits *= 2


def _bound_composition(parts: Parts, saddle: Saddle, aim: Aim, *, top: bool) -> Bound:
    sure = up(disclosure(parts)) if top else down(disclosure(parts, top=False))
    if outcomes := list_outcomes(parts, saddle.log_delta if aim.log_delta is None else aim.log_delta):
        return lambda e: _with_disclosure(outcomes.delta(e)[1 if top else 0], sure, top=top)
    if all(loss.exact for loss, _ in parts) and sum(count for _, count in parts) < _HOPELESS:
        laws = [(atoms, count) for loss, count in parts if (atoms := loss.lattice(None, up=top))]
        if law := convolve(laws, saddle.tilt):
            return _law_bound(law, sure + _lost(laws, top=top), top=top)
    sampled = any(isinstance(loss, (SampledGaussian, SampledLattice)) for loss, _ in parts)
    late = (sampled and sum(count for _, count in parts) < _FEW) or any(isinstance(loss, SampledLattice) for loss, _ in parts)
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
        and _is_poor(smooth, aim, saddle, top=top)
        and (lattice := _bound_on_lattice(parts, saddle, sure, top=top))
    ):
        bounds.append(lattice)
    if bounds:
        return lambda e: (min if top else max)(bound(e) for bound in bounds)
    if late and (contour := _contour(parts, saddle, top=top)):
        return _contour_bound(contour, parts, sure, top=top)
    if lattice := _bound_on_lattice(parts, saddle, sure, top=top):
        return lattice
    if top and aim.log_delta is None:
        return lambda e: moment_delta(parts, e)
    return lambda _: 1.0 if top else sure  # moments have an epsilon of their own


def _is_poor(bound: Bound, aim: Aim, saddle: Saddle, *, top: bool) -> bool:
    """Whether a bound says hardly anything within a tenth of the epsilon that is expected."""
    e = aim.epsilon if aim.epsilon is not None else saddle.epsilon
    if aim.log_delta is None:
        return bound(e) >= 1 if top else bound(e) <= 0
    return math.log(max(bound(1.1 * e), 1e-320)) > aim.log_delta if top else math.log(max(bound(0.9 * e), 1e-320)) < aim.log_delta


def _bound_on_lattice(parts: Parts, saddle: Saddle, sure: float, *, top: bool) -> Bound | None:
    points = 4.0 if sum(count for _, count in parts) < _HOPELESS else 0.0
    while points > 2.0**-8:
        rough = _rough(parts, saddle, points, top=top)
        if rough and (law := convolve(rough, saddle.tilt)):
            return _law_bound(law, sure + _lost(rough, top=top), top=top)
        points /= 4
    return None


def _contour(parts: Parts, saddle: Saddle, *, top: bool) -> Contour | None:
    """A contour for laws that dominate, or are dominated by, these; None where there is none."""
    try:
        return open_contour(tuple((loss.listed(up=top), count) for loss, count in parts), saddle)
    except ArithmeticError:  # numbers beyond the doubles: another road may do
        return None


def _contour_bound(contour: Contour, parts: Parts, sure: float, *, top: bool) -> Bound:
    lost = math.fsum(count * loss.listed(up=top).lost for loss, count in parts) * (1 + 2.0**-40) if top else 0.0
    return lambda e: _with_disclosure(contour.delta(e, up=top), sure + lost, top=top)


def _precise(contour: Contour, saddle: Saddle, aim: Aim) -> bool:
    """Whether a contour belongs to the epsilon asked for, and knows it to some 1e-9."""
    e = saddle.epsilon if aim.epsilon is None else aim.epsilon
    low, high = contour.delta(e, up=False), contour.delta(e, up=True)
    if aim.log_delta is not None and not abs(math.log(max(high, 1e-320)) - aim.log_delta) < 2:
        return False
    return high - low <= (1e-6 if aim.rough else 3e-10) * high * max(contour.tilt * e, 1.0)


def _bound_smoothed(parts: Parts, aim: Aim, sure: float, *, top: bool) -> Bound | None:
    kept = settle(parts, top=top, epsilon=aim.epsilon, log_delta=aim.log_delta)
    if kept is None:
        return None
    listed = [loss for loss, _ in kept.parts if isinstance(loss, CutList)]
    effort = _WORK >> (3 if not all(loss.exact for loss in listed) else 2 if listed else 0)
    few = any(isinstance(loss, (CutGaussian, SampledDensity)) for loss, _ in kept.parts) and not listed
    side, best = (1, min) if top else (0, max)
    apart = take_apart(kept, effort, aim.log_delta)
    if apart and apart.is_precise:
        return lambda e: _with_disclosure(apart.delta(e)[side], sure, top=top)
    contour = open_smoothed(kept.parts, kept.saddle, effort, 1 << 18 if few else 1 << 17)  # few steps fade late
    if contour is None:
        return (lambda e: _with_disclosure(apart.delta(e)[side], sure, top=top)) if apart else None
    lost = kept.lost if top else 0.0
    if apart is None:
        return lambda e: _with_disclosure(contour.delta(e)[side], sure + lost, top=top)
    return lambda e: _with_disclosure(best(apart.delta(e)[side], contour.delta(e)[side] + lost), sure, top=top)


def _lost(laws: list[tuple[Atoms, int]], *, top: bool) -> float:
    """Mass above the lattices, which an upper bound counts as disclosed."""
    return sum(count * atoms.lost for atoms, count in laws) * (1 + 2.0**-40) if top else 0.0


def _law_bound(law: Convolution, sure: float, *, top: bool) -> Bound:
    return lambda e: _with_disclosure(law.delta(e, up=top), sure, top=top)


def _with_disclosure(delta: float, sure: float, *, top: bool) -> float:
    """Both parts of delta together, their sum rounded away from the truth."""
    return (delta + sure) * (1 + 2.0**-50) + _LEAST if top else (delta + sure) * (1 - 2.0**-50)


def _rough(parts: Parts, saddle: Saddle, points: float, *, top: bool) -> list[tuple[Atoms, int]] | None:
    """All laws on one lattice, fine enough for about a millionth of epsilon (``points`` = 4), or coarser."""
    if any(loss.divisor is None for loss, _ in parts):
        return None
    uses = sum(count * (min(1.0, float(loss.pure)) if isinstance(loss, Smooth) else 4.0) for loss, count in parts)
    fine = math.sqrt(4e-4 * max(saddle.epsilon, 1e-3 * saddle.spread) / ((saddle.tilt + 1) * uses)) * 2 / points
    fine = min(fine, max(saddle.spread, 1 / saddle.tilt) / 16)
    least = max(loss.reach(0.0) for loss, _ in parts) / 2**18  # no law needs more points than that
    fine = max(fine, least)
    divisors = [loss.divisor for loss, _ in parts if loss.divisor]
    shared = common_step(divisors) if divisors else Fraction(0)
    if shared and shared >= fine / 16:
        step = shared / max(1, math.ceil(float(shared) / fine))
        same = True
    else:
        step, same = Fraction(2) ** math.floor(math.log2(max(fine / 32, least))), False
    laws = []
    for loss, count in parts:
        own = step if same or not loss.divisor else loss.divisor / max(1, math.ceil(2 * float(loss.divisor) / float(step)))
        atoms = loss.lattice(own, up=top)
        if atoms is None:  # too many points
            return None
        if not same and loss.divisor:
            atoms = round_atoms(atoms, step, up=top)
        laws.append((atoms, count))
    return laws


def disclosure(parts: Parts, *, top: bool = True) -> Fraction:
    """The probability of total disclosure, 1 - prod (1 - delta_i)^k_i, not below the truth (``top``) or not above it."""
    leaks = [(loss.infinity, count) for loss, count in parts if loss.infinity]
    if not leaks:
        return Fraction(0)
    if len(leaks) == 1 and leaks[0][1] == 1:
        return leaks[0][0]
    if any(chance == 1 for chance, _ in leaks):
        return Fraction(1)
    with precision(256 + max((chance.denominator.bit_length() for chance, _ in leaks), default=0)):
        kept = ball(0)  # ln of the chance that nothing is disclosed
        for chance, count in leaks:
            kept += count * (-ball(chance)).log1p()
        return min(Fraction(1), max(Fraction(0), Fraction(upper(-kept.expm1()) if top else lower(-kept.expm1()))))


def log_moment_bound(parts: Parts, x: float) -> float:
    """K(x) from above; the exponential mechanism's is the smaller of its pair's and its zero-concentrated bound, which also
    stands in where a pair's own moments are out of reach."""
    total = 0.0
    for loss, count in parts:
        k = loss.log_moment(x)
        k += loss.rounding(x, 0.0) if math.isfinite(k) else 0.0
        if loss.rho is not None and (isinstance(loss, BoundedRange) or math.isinf(k)):
            k = min(k, float(loss.rho) * x * (x + 1))
        total += count * k
    return total + 2.0**-40 * (abs(total) + sum(count for _, count in parts) * 2.0**-4)


def moment_delta(parts: Parts, e: float) -> float:
    """The least delta at epsilon = e that the moments certify, beside what is disclosed for certain."""
    if disclosure(parts) == 1:
        return 1.0  # nothing finite is left
    best = _lowest(lambda x: log_moment_bound(parts, x) - x * e + _chernoff(x))
    finite = math.exp(min(0.0, best + 2.0**-40 * (1 + abs(best))))
    return min(1.0, (up(disclosure(parts)) + finite) * (1 + 2.0**-50) + 5e-324)


def moment_epsilon(parts: Parts, delta: Fraction) -> float:
    """The least epsilon at delta that the moments certify."""
    log_delta = log(delta)
    best = _lowest(lambda x: (log_moment_bound(parts, x) + _chernoff(x) - log_delta) / x)
    return max(0.0, best + 2.0**-40 * (1 + abs(best)))


def typical_delta(parts: Parts, epsilon: float) -> float:
    """A lower bound on delta(epsilon) from what losses typically are: (1 - e^-c) P[L > epsilon + c] for several c."""
    best = 0.0
    for more in (0.01, 0.1, 1.0, 6.0, 40.0):
        below = -typical_loss(parts, more=epsilon + more)  # ln P[L <= epsilon + c]
        best = max(best, -math.expm1(-more) * -math.expm1(min(below + 1e-9 * (1 + abs(below)), 0.0)))
    return best * (1 - 2.0**-40)


def typical_epsilon(parts: Parts, delta: float) -> float:
    """A lower bound on epsilon at delta < 0.999 from what losses typically are."""
    best = 0.0
    for rare in (0.5 * (1 - delta), 0.01 * (1 - delta)):
        least = typical_loss(parts, rare=rare)  # the loss exceeds it but for a chance ``rare``
        best = max(best, (least + math.log1p(-delta / (1 - rare))) * (1 - 2.0**-30) - 1e-9)
    return best


def typical_loss(parts: Parts, *, rare: float | None = None, more: float = 0.0) -> float:
    """A loss that is exceeded but for a chance ``rare``, or minus ln of the chance that ``more`` is not exceeded; from below.

    P[L <= t] <= e^(K(-y) + y t) (Markov), and delta(e) >= (1 - e^(e - t)) P[L > t] for every t > e; leaving mechanisms out never
    raises delta, and here all but Gaussians, sampled or not, are. Sums of so many losses that their law is lost to rounding are
    still close to their mean, and this says so.
    """
    known: list[tuple[Loss, int, bool]] = []
    for loss, count in parts:
        if isinstance(loss, SampledGaussian):
            bare = cut_gaussian(loss.reverse if loss.adding else loss, 0.0, 0.0, math.log(count))
            known += [(bare, count, loss.adding)] if bare.has_low_moments else []
        elif isinstance(loss, Gaussian):
            known.append((loss, count, False))
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

    return -_lowest(at, -40.0, -1e-3, 0.02)


def _chernoff(x: float) -> float:
    """ln of the largest value of e^(-x y) (1 - e^-y): x ln x - (1 + x) ln(1 + x), without cancellation."""
    return -x * math.log1p(1 / x) - math.log1p(x)


def _lowest(height: Callable[[float], float], low: float = -60.0, high: float = 20.0, fine: float = 1e-4) -> float:
    """The least value over x from e^low to e^high, by golden section of ln x; an order without a number says nothing."""

    def at(log_x: float) -> float:
        try:
            value = height(math.exp(log_x))
        except ArithmeticError:  # beyond the doubles
            return math.inf
        return math.inf if math.isnan(value) else value

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


def log(value: Fraction) -> float:
    """The natural logarithm of a rational of any size, to a unit or two."""
    with precision(128):
        return float(ball(value).log())
