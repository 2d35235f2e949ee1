"""The lectures' formulas by name, to compare and to teach with; ``Privacy`` itself is as tight as these or tighter.

Each holds for the neighbours under which the mechanisms it speaks of are private, and returns floats that are not below the
exact value of its formula. Each docstring says when its formula is loose. Dwork and Roth is "The Algorithmic Foundations of
Differential Privacy" (2014).

A hundred mechanisms of epsilon = 0.1, with delta = 1e-6, better understood each time:

>>> [round(basic_composition([0.1] * 100)[0], 2), round(advanced_composition(0.1, 0, k=100, slack=1e-6)[0], 2)]
[10.0, 6.31]
>>> round(optimal_composition(0.1, k=100, delta=1e-6), 2)
4.77
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.balls import arb, ball, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import not_negative, positive, probability, up, whole
from discreet.privacy.losses.base import tanh_rho

__all__ = ["advanced_composition", "basic_composition", "group_privacy", "group_privacy_geometric", "leak_somebody"]
__all__ += ["optimal_composition", "optimal_composition_grid", "pure_to_zcdp_loose", "pure_to_zcdp_tight", "zcdp_tail"]
__all__ += ["zcdp_to_approximate_best_order", "zcdp_to_approximate_textbook"]

_BITS = 192
_MOST_LISTED = 100_000
_DELTA = "a small chance such as 1e-6"


@called_as("[0.1, 0.2], [0, 1e-6]")
def basic_composition(epsilons: Iterable[object], deltas: Iterable[object] = ()) -> tuple[float, float]:
    """(sum of epsilons, sum of deltas): mechanisms run in sequence, adaptively or not (Dwork and Roth, theorem 3.16).

    Exact where no delta but theirs is allowed; loose for many mechanisms as soon as one is.
    """
    if not isinstance(epsilons, Iterable) or not isinstance(deltas, Iterable):
        raise ParameterError("Epsilons and deltas are lists; write basic_composition([0.1, 0.2], [0, 1e-6]).")
    costs = [not_negative("epsilon", epsilon) for epsilon in epsilons]
    leaks = [_delta("delta", delta) for delta in deltas]
    return up(sum(costs, Fraction(0))), min(1.0, up(sum(leaks, Fraction(0))))


@called_as("0.1, 0, 100, 1e-6")
def advanced_composition(epsilon: object, delta: object, k: int, slack: object) -> tuple[float, float]:
    """(epsilon sqrt(2k ln(1/slack)) + k epsilon (e^epsilon - 1), k delta + slack): k-fold (Dwork and Roth, theorem 3.20).

    Loose always, and worse than basic composition for few mechanisms or a large epsilon.
    """
    each, times = not_negative("epsilon", epsilon), whole("k", k)
    leak, extra = _delta("delta", delta), probability("slack", slack, zero=False, hint=_DELTA)
    with precision(_BITS):
        spread = (2 * times * -ball(extra).log()).sqrt()
        total = ball(each) * (spread + times * ball(each).expm1())
        return upper(total), min(1.0, up(times * leak + extra))


@called_as("0.1, 100, 1e-6")
def optimal_composition(epsilon: object, k: int, delta: object) -> float:
    """The smallest epsilon, with this delta, of k epsilon-DP mechanisms (Kairouz, Oh, Viswanath 2015, theorem 3.3).

    Exact: k-fold randomized response attains it. Its loss is (k - 2l) epsilon with probability C(k, l) e^((k-l) epsilon) / (1 +
    e^epsilon)^k, so delta(x) is the largest of A_j - e^x B_j, where A_j and B_j add up the likelihoods of the j + 1 largest
    losses with and without the record, and the answer the largest of ln((A_j - delta) / B_j). Loose for mechanisms that are
    better than their epsilon says (Laplace, exponential): ask their own ``Privacy``.
    """
    each, times, allowed = positive("epsilon", epsilon), _read_count(k), _delta("delta", delta)
    if not allowed:
        return up(times * each)
    return min(up(times * each), *_sharp(lambda: [_largest_ratio(each, times, allowed).max(ball(1)).log()]))


def _read_count(k: int) -> int:
    """A number of mechanisms whose losses can be listed one by one."""
    times = whole("k", k)
    if times > _MOST_LISTED:
        raise ParameterError(
            f"This formula lists k + 1 losses, up to {_MOST_LISTED:,}; for more write (k * pure(epsilon)).epsilon(delta)."
        )
    return times


def _largest_ratio(each: Fraction, k: int, delta: Fraction) -> arb:
    step, best = (-ball(each)).exp(), ball(0)
    mass = (1 + step) ** -k
    other = mass * step**k
    above = below = ball(0)
    for j in range(k + 1):
        above, below = above + mass, below + other
        ratio = (above - ball(delta)) / below
        best = best.max(ratio)
        if mass / other < best:  # from here on every term lowers the ratio
            break
        mass, other = mass * step * (k - j) / (j + 1), other / step * (k - j) / (j + 1)
    return best


@called_as("0.1, 100")
def optimal_composition_grid(epsilon: object, k: int) -> list[tuple[float, float]]:
    """The theorem as printed: ((k - 2i) epsilon, delta_i) for i = 0 .. k // 2 (Kairouz, Oh, Viswanath 2015, theorem 3.3).

    delta_i = sum over l < i of C(k, l) (e^((k - l) epsilon) - e^((k - 2i + l) epsilon)) / (1 + e^epsilon)^k. Exact at its points.
    """
    each, times = positive("epsilon", epsilon), _read_count(k)

    def deltas() -> list[arb]:
        step, found = (-ball(each)).exp(), []
        weight, above, below = (1 + step) ** -times, ball(0), ball(0)  # C(k, l) / (1 + e^-epsilon)^k, and sums of its multiples
        for i in range(times // 2 + 1):
            found.append(above - below * step ** (2 * i))
            above, below = above + weight * step**i, below + weight * step**-i
            weight = weight * (times - i) / (i + 1)
        return found

    return [(up((times - 2 * i) * each), delta) for i, delta in enumerate(_sharp(deltas))]


@called_as("0.1, 1")
def zcdp_tail(rho: object, margin: object) -> float:
    """e^(-margin^2 / (4 rho)), a bound on P[loss > margin + rho] under rho-zCDP (Bun and Steinke 2016).

    Loose: for Gaussian noise the tail is smaller by a factor that grows with margin / sqrt(rho).
    """
    cost, gap = positive("rho", rho), positive("margin", margin)
    with precision(_BITS):
        return upper((-ball(gap**2 / (4 * cost))).exp())


@called_as("0.1, 1e-6")
def zcdp_to_approximate_textbook(rho: object, delta: object) -> float:
    """rho + 2 sqrt(rho ln(1/delta)) (Bun and Steinke 2016, proposition 1.3): the tail bound, read as (epsilon, delta)-DP.

    Loose, since (epsilon, delta)-DP asks for less than a tail of mass delta above epsilon.
    """
    cost, allowed = positive("rho", rho), probability("delta", delta, zero=False, hint=_DELTA)
    with precision(_BITS):
        return upper(ball(cost) + 2 * (-ball(cost) * ball(allowed).log()).sqrt())


@called_as("0.1, 1e-6")
def zcdp_to_approximate_best_order(rho: object, delta: object) -> float:
    """The least over orders a of rho a + ln(1 - 1/a) - ln(a delta) / (a - 1), at least 0 (Canonne, Kamath, Steinke 2020).

    Their proposition 12: the best that one Renyi order at a time gives, always below the textbook's. Loose by a few per cent for
    Gaussian noise, whose own curve is known.
    """
    cost, allowed = positive("rho", rho), probability("delta", delta, zero=False, hint=_DELTA)
    log_delta = math.log(allowed.numerator) - math.log(allowed.denominator)

    def slope(x: float) -> float:  # the derivative in a = 1 + x has the sign of this
        return float(cost) * x * x + log_delta + math.log1p(x)

    low = high = 1.0
    while slope(high) < 0:
        high *= 2
    while slope(low) > 0 and low > 1e-300:
        low /= 2
    for _ in range(60):
        low, high = ((low + high) / 2, high) if slope((low + high) / 2) < 0 else (low, (low + high) / 2)
    x = Fraction(high)  # every order is a valid choice
    with precision(_BITS):
        a = ball(1 + x)
        return max(0.0, upper(ball(cost) * a + (-1 / a).log1p() - (a * ball(allowed)).log() / ball(x)))


@called_as("0.1, 1e-6, 3")
def group_privacy(epsilon: object, delta: object, size: int) -> tuple[float, float]:
    """(k epsilon, k e^((k-1) epsilon) delta) for groups of k records (the lecture; Dwork and Roth, theorem 2.2 for delta = 0).

    Loose: it takes the largest of k terms k times. Noise calibrated to the group's sensitivity costs less.
    """
    each, leak, members = not_negative("epsilon", epsilon), _delta("delta", delta), whole("size", size)
    with precision(_BITS):
        total = members * ball((members - 1) * each).exp() * ball(leak)
        return up(members * each), min(1.0, upper(total))


@called_as("0.1, 1e-6, 3")
def group_privacy_geometric(epsilon: object, delta: object, size: int) -> tuple[float, float]:
    """(k epsilon, (1 + e^epsilon + ... + e^((k-1) epsilon)) delta): the definition, k times; each term counted once."""
    each, leak, members = not_negative("epsilon", epsilon), _delta("delta", delta), whole("size", size)
    with precision(_BITS):
        terms = ball(members * each).expm1() / ball(each).expm1() if each else ball(members)
        return up(members * each), min(1.0, upper(terms * ball(leak)))


@called_as("0.5")
def pure_to_zcdp_loose(epsilon: object) -> float:
    """epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4). Loose for large epsilon, where the truth grows like epsilon."""
    return up(positive("epsilon", epsilon) ** 2 / 2)


@called_as("0.5")
def pure_to_zcdp_tight(epsilon: object) -> float:
    """epsilon tanh(epsilon / 2): what randomized response attains, as the order falls to 1. No zCDP ever implies pure privacy."""
    exact = positive("epsilon", epsilon)
    return up(exact if exact > 10**300 else tanh_rho(exact))  # tanh is at most 1


@called_as("1e-6, 1000")
def leak_somebody(delta: object, people: int) -> float:
    """1 - (1 - delta)^n: the chance that leaking each row with probability delta, which is (0, delta)-DP, leaks somebody's."""
    chance, rows = _delta("delta", delta), whole("people", people)
    with precision(_BITS):
        return min(1.0, upper(-(rows * ball(-chance).log1p()).expm1()))


def _delta(name: str, value: object) -> Fraction:
    return probability(name, value, zero=True, hint=_DELTA)


def _sharp(values: Callable[[], list[arb]]) -> list[float]:
    """From above, at whatever precision makes that sharp."""
    bits = _BITS
    while True:
        with precision(bits):
            found = values()
            if all(value.is_exact() or value.rel_accuracy_bits() > 56 for value in found) or bits > 1 << 14:
                return [max(0.0, upper(value)) for value in found]
        bits *= 2
