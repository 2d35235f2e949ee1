"""The register: every public mechanism, how to build it, how large its noise is, and how to catch it out.

A new mechanism joins the contract with one entry here. ``make(sensitivity, budget)`` builds it; ``cost`` says, in the unit of
the budget, what it claims to cost; ``spread`` is the size of its noise; ``beyond(mechanism, confidence, part)`` is the exact
chance, in the worst case, that a release is farther out than this part of ``error(confidence)``; ``cdf`` is the law of release(0)
in steps of the grid, for additive noise. That releases follow these laws is shown in the contract for additive noise, and in
every other mechanism's own file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb
from reference import laws
from scipy.integrate import quad
from scipy.stats import binom

import discreet as dp

DELTA = 1e-6
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Member:
    make: Callable[[Any, Any], Any]
    cost: Callable[[Any], float]
    spread: Callable[[Any], Any]
    beyond: Callable[[Any, float, float], float]
    values: tuple[Any, ...]
    cdf: Callable[[Any], Callable[[int], arb]] | None = None
    by_noise: Callable[[Any, Any], Any] | None = None
    slack: float = 0  # of what 1 - confidence may be exceeded by, for laws that are stated as approximations

    @property
    def additive(self) -> bool:
        return self.cdf is not None


def outside(cdf: Callable[[int], Any], reach: Fraction) -> float:
    """The chance of more than so many steps, either way."""
    last = math.floor(reach)
    return 1 - float(cdf(last)) + float(cdf(-last - 1))


def additive(law: Callable[[Any], Callable[[int], Any]]) -> Callable[[Any, float, float], float]:
    return lambda m, confidence, part: outside(law(m), Fraction(part * m.error(confidence)) / Fraction(m.grid))


CANDIDATES = 12
LEADER_LOSES: dict[str, Callable[[float], float]] = {  # against eleven who are all this far behind, in units of the noise
    "Exponential": lambda lead: 1 - 1 / (1 + 11 * math.exp(-lead)),
    "PermuteAndFlip": lambda lead: 1 - (1 - (1 - math.exp(-lead)) ** 12) / (12 * math.exp(-lead)),
    "NoisyMax": lambda lead: 1 - integrate(lambda y: density(y) * below(y + lead) ** 11, [-lead, 0]),
}


def density(y: float) -> float:
    """Of standard Laplace noise; and the chance that it is below."""
    return math.exp(-abs(y)) / 2


def below(y: float) -> float:
    return 1 - density(y) if y > 0 else density(y)


def integrate(function: Callable[[float], float], corners: list[float]) -> float:
    """Piece by piece between corners; what lies 50 and more beyond them is below e^-50."""
    ends = [min(corners) - 50, *sorted(corners), max(corners) + 50]
    return float(sum(quad(function, a, b, epsabs=1e-12, limit=200)[0] for a, b in pairwise(ends)))


def contest(mechanism: Any, confidence: float, part: float) -> float:
    """The worst case: everybody but one is as far behind as ``error``."""
    lead = part * mechanism.error(confidence, candidates=CANDIDATES) * float(mechanism.weight)
    return LEADER_LOSES[type(mechanism).__name__](lead)


def survey(mechanism: Any, confidence: float, part: float, reports: int = 4000) -> float:
    """Of people drawn from a population in which the first option is as common as is worst: reports of it are binomial."""
    theta, lie = float(mechanism.theta), float((1 - mechanism.theta) / (len(mechanism.options) - 1))
    chance = 0.5 if theta >= 0.5 else theta
    reach = part * mechanism.error(confidence, reports=reports) * (theta - lie) * reports
    inside = math.floor(chance * reports + reach), math.ceil(chance * reports - reach) - 1
    return float(1 - binom.cdf(inside[0], reports, chance) + binom.cdf(inside[1], reports, chance))


def stream(mechanism: Any, confidence: float, part: float, queries: int = 10) -> float:
    """Some noise is too large: the threshold's for one part of the way, or a query's for the rest; the best of all such unions.

    The exact chance of a wrong answer is less, but depends on the stream.
    """
    way = part * mechanism.error(confidence, queries=queries) - 2 * float(mechanism.step)
    first, second = map(float, mechanism.scales)
    parts = np.linspace(0, way, 10_001)
    return float((np.exp(-parts / first) + queries * np.exp((parts - way) / second)).min())


def shown(mechanism: Any, confidence: float, part: float) -> float:
    """Noise beyond the cut is drawn again, if it is geometric."""
    reach = part * mechanism.error(confidence)
    if mechanism.noise == "gaussian":
        return outside(lambda x: laws.normal_cdf(mechanism._squared_sigma, x + HALF), Fraction(reach))
    cdf = lambda x: laws.discrete_laplace_cdf(mechanism._scale, x)  # noqa: E731
    cut = outside(cdf, Fraction(mechanism.cut))
    return (outside(cdf, Fraction(reach)) - cut) / (1 - cut)


def discrete_gaussian_cdf(mechanism: Any) -> Callable[[int], float]:
    reach = int(40 * mechanism.sigma) + 40
    sums = np.cumsum(laws.floats(lambda x: laws.discrete_gaussian(mechanism.squared_sigma, x), -reach, reach))
    return lambda x: float(sums[x + reach]) if x < reach else 1.0


def discrete_laplace_cdf(mechanism: Any) -> Callable[[int], arb]:
    return lambda x: laws.discrete_laplace_cdf(mechanism.scale, x)


def laplace_cdf(mechanism: Any) -> Callable[[int], arb]:
    return lambda x: laws.laplace_cdf(mechanism.scale / Fraction(mechanism.grid), x + HALF)


def gaussian_cdf(mechanism: Any) -> Callable[[int], arb]:
    return lambda x: laws.normal_cdf(mechanism.squared_sigma / Fraction(mechanism.grid) ** 2, x + HALF)


def pure(m: Any) -> float:
    return m.privacy.epsilon()


def at_delta(m: Any) -> float:
    return m.privacy.epsilon(DELTA)


def rho(m: Any) -> float:
    return m.privacy.rho


def scale(m: Any) -> Any:
    return m.scale


def sigma_squared(m: Any) -> Fraction:
    return m.squared_sigma


def one_over_weight(m: Any) -> Fraction:
    return 1 / m.weight


def laplace(unit: Any = 1, values: tuple[Any, ...] = (0, 7, -3)) -> Member:
    """Real if the unit is a float, coarse if it is large."""
    cdf = discrete_laplace_cdf if unit == 1 and isinstance(unit, int) else laplace_cdf
    by_noise = lambda s, b: dp.Laplace(sensitivity=s * unit, scale=b * Fraction(unit))  # noqa: E731
    return Member(lambda s, e: dp.Laplace(sensitivity=s * unit, epsilon=e), pure, scale, additive(cdf), values, cdf, by_noise)


def gaussian(unit: Any = 1, values: tuple[Any, ...] = (0, 7, -3)) -> Member:
    by_noise = lambda s, b: dp.Gaussian(sensitivity=s * unit, sigma=b * Fraction(unit))  # noqa: E731
    make = lambda s, e: dp.Gaussian(sensitivity=s * unit, epsilon=e, delta=DELTA)  # noqa: E731
    return Member(make, at_delta, sigma_squared, additive(gaussian_cdf), values, gaussian_cdf, by_noise)


def concentrated(law: Any, cdf: Any) -> Member:
    by_noise = lambda s, b: law(sensitivity=s, sigma=b)  # noqa: E731
    return Member(lambda s, r: law(sensitivity=s, rho=r), rho, sigma_squared, additive(cdf), (0, 7, -3), cdf, by_noise)


def selecting(law: Any, **more: bool) -> Member:
    make = lambda s, e: law(sensitivity=s, epsilon=e, **more)  # noqa: E731
    return Member(make, pure, one_over_weight, contest, ([0, 1, 2, 1],))


def responding(*options: Any) -> Member:
    """Randomized response has no sensitivity: one person's answer is replaced by any other."""
    make = lambda _, e: dp.RandomizedResponse(epsilon=e, options=options)  # noqa: E731
    return Member(make, pure, lambda m: 1 - m.theta, survey, options, slack=0.05)


def sparse(unit: Any = 1, **more: Any) -> Member:
    make = lambda s, e: dp.SparseVector(sensitivity=s * unit, epsilon=e, **more)  # noqa: E731
    return Member(make, pure, lambda m: sum(m.scales), stream, ())


def keys(**more: Any) -> Member:
    """The sensitivity of a threshold is the number of keys a person has."""
    make = lambda m, e: dp.Threshold(epsilon=e, delta=DELTA, keys=m, **more)  # noqa: E731
    return Member(make, at_delta, lambda m: m.cut, shown, ({"a": 40, "b": 3},))


def measured(mechanism: Any, confidence: float, part: float) -> float:
    """Every answer of a strategy has noise of its own."""
    noise = mechanism.noise
    law = gaussian_cdf if isinstance(noise, dp.Gaussian) else discrete_laplace_cdf
    return outside(law(noise), Fraction(part * mechanism.error(confidence)) / Fraction(noise.grid))


def linear(cost: Any, **more: Any) -> Member:
    """The sensitivity of a strategy grows with what one unit weighs."""
    rows = [[1, 1], [1, 0], [0, 2]]  # norms (L1) 2 and 3
    make = lambda w, b: dp.Linear(strategy=rows, weight=w, **{("rho" if cost is rho else "epsilon"): b}, **more)  # noqa: E731
    return Member(make, cost, lambda m: m.variance, measured, ([3, 4],))


def summed(mechanism: Any, confidence: float, part: float) -> float:
    """The last of four running sums; rounding to a millionth of the noise aside, it is normal."""
    reach = part * mechanism.error(confidence) / float(mechanism.variances()[-1]) ** 0.5
    return math.erfc(reach / math.sqrt(2))


def running(cost: Any, **more: Any) -> Member:
    def make(s: Any, b: Any) -> Any:
        return dp.RunningSums(steps=4, sensitivity=s, **{("rho" if cost is rho else "epsilon"): b}, **more)

    return Member(make, cost, lambda m: m.variances()[-1], summed, ([3, 4],))


def weighed(mechanism: Any, confidence: float, part: float) -> float:
    """Noise on a weight, which is a millionth of a person's: normal, but for rounding to that."""
    reach = part * mechanism.error(confidence) / math.sqrt(mechanism.rounds[-1].squared_sigma) * 2**20
    return math.erfc(reach / math.sqrt(2))


def union(**more: Any) -> Member:
    """The sensitivity of a set union is the number of items a person has."""
    make = lambda m, e: dp.SetUnion(epsilon=e, delta=DELTA, items=m, **more)  # noqa: E731
    return Member(make, at_delta, lambda m: m.cut, weighed, ([["a"]] * 40,))


MEMBERS: dict[str, Member] = {
    "Laplace": laplace(),
    "Laplace, real": laplace(1.0, (0, 0.25, -1e3)),
    "Laplace, coarse": laplace(2**70),
    "Gaussian": gaussian(),
    "Gaussian, real": gaussian(1.0, (0, 0.25, -1e3)),
    "Gaussian, coarse": gaussian(2**70),
    "Gaussian, rho": concentrated(dp.Gaussian, gaussian_cdf),
    "DiscreteGaussian": concentrated(dp.DiscreteGaussian, discrete_gaussian_cdf),
    "Exponential": selecting(dp.Exponential),
    "NoisyMax": selecting(dp.NoisyMax),
    "NoisyMax, monotonic": selecting(dp.NoisyMax, monotonic=True),
    "PermuteAndFlip": selecting(dp.PermuteAndFlip),
    "Linear": linear(pure),
    "Linear, Gaussian": linear(at_delta, delta=DELTA),
    "Linear, rho": linear(rho, neighbours="replace"),
    "RandomizedResponse": responding(True, False),
    "RandomizedResponse, 5 options": responding(1, 2, 3, 4, 5),
    "RunningSums": running(at_delta, delta=DELTA),
    "RunningSums, rho": running(rho, participations=2, apart=2),
    "SetUnion": union(),
    "SetUnion, replace": union(neighbours="replace"),
    "SparseVector": sparse(cutoff=2),
    "SparseVector, real": sparse(1.0, cutoff=1, monotonic=True),
    "Threshold": keys(),
    "Threshold, Gaussian": keys(noise="gaussian"),
}
