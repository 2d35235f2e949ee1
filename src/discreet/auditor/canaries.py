"""An audit in one run: many canaries, each put in or left out by a coin, and guesses about which were in.

For what takes too long to run a thousand times, such as training a model. The function gets an array of truth values, which of
its canaries take part, and gives a number for each that is larger where it seems to have taken part. The auditor guesses "in" for
the largest of these numbers, "out" for the smallest, and abstains on all others.

**Theorem** (Steinke, Nasr, Jagielski 2023, theorem 5.2). Let S be m fair coins, M be (epsilon, delta)-private for one canary that
is added or removed, and let r guesses be made from M(S). With W binomial, r tries of chance e^epsilon / (1 + e^epsilon), at least
v guesses are right with probability at most

    P[W >= v] + 2 m delta max over i >= 1 of P[v - i <= W < v] / i.

So a claim is refuted where this is at most ``error``. How many guesses are made is chosen before the run: one number, which is
about best for noise that just meets the claim, has most of the error, and numbers from two guesses to all of them share the rest.
Canaries of which the function says nothing (NaN) may leave fewer: r stays what was chosen, which is larger and so still right.
``epsilon`` is certified where every smaller one is refuted, at the same delta.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import cast

import numpy as np

from discreet.arrays import Booleans, Reals
from discreet.auditor.claims import Claim
from discreet.auditor.finding import Finding
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import whole
from discreet.mechanisms import Gaussian
from discreet.noise import coins

_MOST = 10**6
_MAIN = 0.75  # of the error, for the number of guesses that is expected to be best
_UP = 1 + 1e-6  # what sums of doubles may have lost
_FARTHEST = 30.0  # epsilons beyond are not looked for


def audit_in_one_run(function: Callable[[Booleans], object], canaries: object, claim: Claim, error: float) -> Finding:
    """What one run says against a claim."""
    many = whole("canaries", canaries)
    if many > _MOST:
        raise ParameterError(f"canaries must be at most {_MOST:,}; write a smaller number, such as 5_000.")
    started = time.monotonic()
    taken = coins.uniform(2, many) == 1
    scores = _read_scores(function(taken.copy()), many)
    order = np.argsort(scores, kind="stable")  # those that say nothing come last
    known = int(np.isfinite(scores).sum())
    least, best = 0.0, (0, 0)
    violated = False
    for guesses, share in _plan(claim, many):
        half = min(guesses, known) // 2
        right = int((~taken[order[:half]]).sum() + taken[order[known - half : known]].sum())
        planned = guesses - guesses % 2  # whoever abstains on more has guessed no better: how many were made is no choice then
        found = lower_bound(many, planned, right, claim.delta, error * share)
        if found > least or not best[1]:
            best = (right, 2 * half)
        least = max(least, found)
        points = [(e, d, error * share / len(claim.points)) for e, d in claim.points]
        violated |= any(p_value(many, planned, right, e, d) <= allowed for e, d, allowed in points)
    return Finding(
        violated=violated,
        epsilon=least,
        delta=claim.delta,
        claim=claim.text,
        draws=1,
        error=error,
        event=f"of {best[1]:,} guesses about {many:,} canaries, {best[0]:,} were right",
        hits=(best[0], best[1] - best[0]),
        runs=(int(taken.sum()), many - int(taken.sum())),
        seconds=time.monotonic() - started,
        uninformative=not known,
    )


def _read_scores(given: object, many: int) -> Reals:
    """A number for every canary; one that is none says nothing, and infinities are as large as can be."""
    try:
        scores = np.asarray(given, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        scores = np.empty(0)
    if scores.size != many:
        raise ValueRefused(f"The function must give one number for every canary, {many:,} in all.")
    largest = np.finfo(np.float64).max
    return np.where(np.isnan(scores), np.inf, np.clip(scores, -largest, largest))


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """How likely so many right guesses are, at most, where the claim is true.

    >>> round(p_value(10, 10, 10, 0.0, 0.0) * 2**10, 5)
    1.0
    """
    if not right:
        return 1.0
    chances = _binomial(guesses, 1 / (1 + math.exp(-epsilon)))
    tail = float(chances[right:].sum())
    near = np.cumsum(chances[right - 1 :: -1][:right]) / np.arange(1, right + 1)
    return min(1.0, (tail + 2 * canaries * delta * float(near.max())) * _UP)


def lower_bound(canaries: int, guesses: int, right: int, delta: float, error: float) -> float:
    """The largest epsilon below which every epsilon is refuted: they are tried from 0 on, then between the last two."""

    def refuted(epsilon: float) -> bool:
        return p_value(canaries, guesses, right, epsilon, delta) <= error

    low, step = 0.0, 0.02
    if not refuted(low):
        return 0.0
    while low + step < _FARTHEST and refuted(low + step):
        low += step
        step *= 1.02
    high = low + step
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@lru_cache(maxsize=64)
def _binomial(tries: int, chance: float) -> Reals:
    """All probabilities of a binomial law, from logarithms that are added up: to a relative 1e-9 for a million tries."""
    k = np.arange(1, tries + 1, dtype=np.float64)
    ways = np.concatenate(([0.0], np.cumsum(np.log((tries - k + 1) / k))))
    log_chance, log_rest = math.log(chance), math.log1p(-chance)
    places = np.arange(tries + 1, dtype=np.float64)
    return cast(Reals, np.exp(ways + places * log_chance + (tries - places) * log_rest))


def _plan(claim: Claim, many: int) -> list[tuple[int, float]]:
    """How many guesses are tried, each with its share of the error; from public facts."""
    main = max(2, min(many, _best(claim, many)))
    others = sorted({2**k for k in range(1, many.bit_length())} | {many})
    return [(main, _MAIN), *((guesses, (1 - _MAIN) / len(others)) for guesses in others)]


def _best(claim: Claim, many: int) -> int:
    """Half as many guesses again as those at which noise that just meets the claim would be certified best: so many certify a
    little less of a true claim, and find far too little noise without fail."""
    epsilon, delta = max((point for point in claim.points if point[1] <= max(claim.delta, 1e-5)), default=claim.points[-1])
    if epsilon <= 0 or delta >= 1:
        return many
    if not delta:  # Laplace noise: all that lies beyond the two centres is as clear as can be
        return int(many * (1 + math.exp(-epsilon)) / 2)
    mu = 1 / Gaussian(sensitivity=1, epsilon=epsilon, delta=delta).sigma
    normal, best = NormalDist(), (0.0, 2)
    for guesses in sorted({min(many, int(2 * 1.4**k)) for k in range(2, 60)}):
        low, high = -10.0, 10.0 + mu
        for _ in range(50):  # where the mixture of both has so much above
            edge = (low + high) / 2
            above = (2 - normal.cdf(edge) - normal.cdf(edge - mu)) / 2
            low, high = (edge, high) if above > guesses / 2 / many else (low, edge)
        share = (1 - normal.cdf(low - mu)) / max(2 - normal.cdf(low) - normal.cdf(low - mu), 1e-300)
        found = lower_bound(many, guesses, round(guesses * share), delta, 0.02)
        best = max(best, (found, guesses))
    return 3 * best[1] // 2
