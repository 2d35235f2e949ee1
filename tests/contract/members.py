"""The register: every public mechanism, how to build it, how large its noise is, and how to catch it out.

A new mechanism joins the contract with one entry here. ``make(sensitivity, budget)`` builds it; ``cost`` says, in the unit of
the budget, what it claims to cost; ``spread`` is the size of its noise; ``misses(mechanism, confidence, rounds)`` counts how
often ``error(confidence)`` was exceeded; ``cdf`` is the law of release(0) in steps of the grid, for additive noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from reference import laws

import discreet as dp

DELTA = 1e-6
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Member:
    make: Callable[[Any, Any], Any]
    cost: Callable[[Any], float]
    spread: Callable[[Any], Any]
    misses: Callable[[Any, float, int], int]
    values: tuple[Any, ...]
    cdf: Callable[[Any], Callable[[int], arb]] | None = None
    by_noise: Callable[[Any, Any], Any] | None = None
    rounds: int = 40_000

    @property
    def additive(self) -> bool:
        return self.cdf is not None


def additive(mechanism: Any, confidence: float, rounds: int) -> int:
    drawn = mechanism.release(np.zeros(rounds, dtype=np.int64))
    return int(np.count_nonzero(np.abs(drawn) > mechanism.error(confidence)))


def contest(mechanism: Any, confidence: float, rounds: int, candidates: int = 12) -> int:
    """The worst case: everybody but one is a little farther behind than ``error``."""
    scores = np.full(candidates, -mechanism.error(confidence, candidates=candidates) * 1.000001)
    scores[5] = 0
    return sum(mechanism.release(scores) != 5 for _ in range(rounds))


def survey(mechanism: Any, confidence: float, rounds: int, reports: int = 4000) -> int:
    truth = np.repeat(np.array(mechanism.options), -(-reports // len(mechanism.options)))[:reports].tolist()
    share, reach = truth.count(truth[0]) / reports, mechanism.error(confidence, reports=reports)
    found = (mechanism.estimate(mechanism.release(truth)).values[0] for _ in range(rounds))
    return sum(abs(value - share) > reach for value in found)


def stream(mechanism: Any, confidence: float, rounds: int, queries: int = 10) -> int:
    """A round fails when any of the answers is wrong about values just farther than ``error`` from the threshold."""
    reach = mechanism.error(confidence, queries=queries) * 1.000001
    values = [-reach] * (queries - 1) + [reach]
    return sum(mechanism.release(values, threshold=0) != [False] * (queries - 1) + [True] for _ in range(rounds))


def shown(mechanism: Any, confidence: float, rounds: int) -> int:
    """Counts far above the cut are always shown, so that their noise can be seen."""
    noisy, reach = mechanism.release(dict.fromkeys(range(rounds), 10**9)), mechanism.error(confidence)
    return sum(abs(count - 10**9) > reach for count in noisy.values())


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
    return Member(lambda s, e: dp.Laplace(sensitivity=s * unit, epsilon=e), pure, scale, additive, values, cdf, by_noise)


def gaussian(unit: Any = 1, values: tuple[Any, ...] = (0, 7, -3)) -> Member:
    by_noise = lambda s, b: dp.Gaussian(sensitivity=s * unit, sigma=b * Fraction(unit))  # noqa: E731
    make = lambda s, e: dp.Gaussian(sensitivity=s * unit, epsilon=e, delta=DELTA)  # noqa: E731
    return Member(make, at_delta, sigma_squared, additive, values, gaussian_cdf, by_noise)


def concentrated(law: Any, cdf: Any) -> Member:
    by_noise = lambda s, b: law(sensitivity=s, sigma=b)  # noqa: E731
    return Member(lambda s, r: law(sensitivity=s, rho=r), rho, sigma_squared, additive, (0, 7, -3), cdf, by_noise)


def selecting(law: Any, **more: bool) -> Member:
    make = lambda s, e: law(sensitivity=s, epsilon=e, **more)  # noqa: E731
    return Member(make, pure, one_over_weight, contest, ([0, 1, 2, 1],), rounds=4000)


def responding(*options: Any) -> Member:
    """Randomized response has no sensitivity: one person's answer is replaced by any other."""
    make = lambda _, e: dp.RandomizedResponse(epsilon=e, options=options)  # noqa: E731
    return Member(make, pure, lambda m: 1 - m.theta, survey, options, rounds=1500)


def sparse(unit: Any = 1, **more: Any) -> Member:
    make = lambda s, e: dp.SparseVector(sensitivity=s * unit, epsilon=e, **more)  # noqa: E731
    return Member(make, pure, lambda m: sum(m.scales), stream, (), rounds=3000)


def keys(**more: Any) -> Member:
    """The sensitivity of a threshold is the number of keys a person has."""
    make = lambda m, e: dp.Threshold(epsilon=e, delta=DELTA, keys=m, **more)  # noqa: E731
    return Member(make, at_delta, lambda m: m.cut, shown, ({"a": 40, "b": 3},))


def measured(mechanism: Any, confidence: float, rounds: int) -> int:
    """Every answer of a strategy has noise of its own."""
    drawn = np.concatenate([mechanism.release([0, 0]) for _ in range(rounds // mechanism.strategy.size)])
    return int(np.count_nonzero(np.abs(drawn) > mechanism.error(confidence)))


def linear(cost: Any, **more: Any) -> Member:
    """The sensitivity of a strategy grows with what one unit weighs."""
    rows = [[1, 1], [1, 0], [0, 2]]  # norms (L1) 2 and 3
    make = lambda w, b: dp.Linear(strategy=rows, weight=w, **{("rho" if cost is rho else "epsilon"): b}, **more)  # noqa: E731
    return Member(make, cost, lambda m: m.variance, measured, ([3, 4],), rounds=30_000)


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
    "SparseVector": sparse(cutoff=2),
    "SparseVector, real": sparse(1.0, cutoff=1, monotonic=True),
    "Threshold": keys(),
    "Threshold, Gaussian": keys(noise="gaussian"),
}
