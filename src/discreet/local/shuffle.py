"""Amplification by shuffling: what a report costs when a trusted shuffler mixes it with those of n - 1 others.

**Theorem** (Feldman, McMillan, Talwar 2021 and 2022, "clones"). n people answer one task, whose reports are epsilon0-private for
any two values of one person, and only the shuffled reports are seen. With e = e^epsilon0, C ~ Binomial(n - 1, 2 / (e + 1)),
A ~ Binomial(C, 1/2) and a coin D that is 1 with probability e / (e + 1), exchanging one person's value is no easier to see
than telling (A + D, C - A + 1 - D) from the same with D turned over.

*Why.* For two values with report laws R0 >= R1 at a report, R0 = e u + r and R1 = u + r with u, r >= 0; where R1 is the larger,
the other way round. So the two laws are e p Q0 + p Q1 + (rest) Q and p Q0 + e p Q1 + (rest) Q, where p = TV / (e - 1) is at
most 1 / (e + 1). Anybody else's law is at least max(R0, R1) / e, hence at least p Q0 + p Q1: each of the others is a clone of
Q0 or of Q1 with probability p. A smaller p is what thinning both counts makes of the largest, so p = 1 / (e + 1) is the worst.

*How it is computed.* Given C = m the ratio of the two laws at counts (a, b) is (e a + b) / (a + e b), so delta is a sum of two
binomial tails; it falls with m, for one clone more is post-processing. Blocks of m are bounded by their ends. Probabilities
at one point come from balls, their neighbours from products of ratios: 10^6 factors err by less than 10^-9, which is added or
taken off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.balls import arb, ball, floor, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import down, probability, up, whole
from discreet.local.task import Task, read_epsilon
from discreet.mechanisms.values import Number
from discreet.noise.lazy import Integers, Reals
from discreet.privacy import Privacy, approximate

__all__ = ["Amplified", "Clones", "amplified"]

_SLACK = 1e-9
_MOST = 10**10
_LARGEST = 100
_COARSE, _FINE = 24, 150  # blocks
_SPREAD = 2 * 10**4


@dataclass(frozen=True)
class Amplified:
    """The cost of a shuffled report: (``upper``, delta)-differentially private; the theorem proves nothing below ``lower``.

    Neighbours are two groups of n people who differ in one person's value.
    """

    lower: float
    upper: float
    delta: Fraction
    epsilon0: Fraction
    n: int

    @property
    def privacy(self) -> Privacy:
        """The guarantee, for whoever sees the shuffled reports and nothing else."""
        return approximate(Fraction(self.upper), self.delta)

    def __str__(self) -> str:
        return (
            f"epsilon {self.upper:.4g} at delta {float(self.delta):.3g} for each of {self.n:,} shuffled reports, which "
            f"cost epsilon {up(self.epsilon0):.6g} on their own. This rests on the shuffler: whoever sees the senders sees that."
        )


@called_as("1, 10_000, 1e-6")
def amplified(epsilon0: Number | Task, n: int, delta: Number, *, trusted_shuffler: bool = False) -> Amplified:
    """What one of ``n`` reports costs after a trusted shuffler; ``epsilon0`` is a report's own cost, or its task.

    ``n`` is the number of honest reports that were shuffled, not the number hoped for.

    >>> found = amplified(4, 100_000, 1e-6, trusted_shuffler=True)
    >>> round(found.lower, 3), round(found.upper, 3)
    (0.118, 0.118)
    """
    if trusted_shuffler is not True:
        raise ParameterError(
            "Shuffling helps only if somebody trusted removes all that tells who sent which report and mixes them before anybody "
            "looks; if so, write trusted_shuffler=True."
        )
    own = epsilon0.epsilon if isinstance(epsilon0, Task) else read_epsilon(epsilon0)
    people, miss = whole("n", n), probability("delta", delta, zero=False, hint="a number such as 1e-6")
    if own > _LARGEST or people > _MOST:
        raise ParameterError(f"Amplification is computed up to epsilon {_LARGEST} and {_MOST:,} people; it does not help beyond.")
    with precision(128):
        chance = 2 / (1 + ball(own).exp())
    low, high = Clones(own, people, chance).epsilons(miss)
    return Amplified(min(low, high), min(high, up(own)), miss, own, people)


@dataclass(frozen=True, eq=False)
class Clones:
    """The pair of laws above, for a chance of being a clone."""

    epsilon0: Fraction
    n: int
    chance: arb

    @cached_property
    def _counts(self) -> tuple[int, Reals, float]:
        """The first number of clones that matters, the probabilities from there on, and all that is left out; each to 1e-9."""
        others = self.n - 1
        with precision(128):
            odds = self.chance / (1 - self.chance)
            mode = max(0, min(others, math.floor(upper(self.chance * self.n))))
            at_mode = (_log_choose(others, mode) + mode * self.chance.log() + (others - mode) * (1 - self.chance).log()).exp()
            top, ratio = float(at_mode), float(odds)
        reach = 50 + math.ceil(13 * math.sqrt(others * ratio) / (1 + ratio))
        first, last = max(0, mode - reach), min(others, mode + reach)
        rising, falling = np.arange(mode, last, dtype=np.float64), np.arange(mode, first, -1, dtype=np.float64)
        above = np.cumprod((others - rising) / (rising + 1) * ratio)
        below = np.cumprod(falling / ((others - falling + 1) * ratio))
        found = top * np.concatenate([below[::-1], [1.0], above])
        outside = 0.0
        if last < others:
            step = (others - last) / (last + 1) * ratio
            outside += found[-1] * step / (1 - step)
        if first > 0:
            step = first / ((others - first + 1) * ratio)
            outside += found[0] * step / (1 - step)
        return first, found, outside * (1 + _SLACK)

    def deltas(self, epsilon: float, blocks: int) -> tuple[float, float]:
        """delta(epsilon) from below and from above."""
        first, weights, outside = self._counts
        enough = math.ceil(_SPREAD * weights.size / (first + 1))  # of many clones, all numbers that matter are about the same
        width = -(-weights.size // max(4, min(blocks, enough)))
        starts = np.arange(0, weights.size, width)
        masses = np.add.reduceat(weights, starts)
        low, high = self._given(first + np.append(starts, weights.size - 1), epsilon)
        least = low[:-1] if width == 1 else low[1:]  # a block's end is at least as much as the next one's start
        above = float(masses @ high[:-1] + outside) * (1 + _SLACK)
        return float(masses @ least) * (1 - _SLACK), above

    def _given(self, clones: Integers, epsilon: float) -> tuple[Reals, Reals]:
        """delta(epsilon) for every number m of clones, from below and from above."""
        with precision(128):
            e, x = ball(self.epsilon0).exp(), ball(Fraction(epsilon)).exp()
            gain, loss = float((e - x) / (e + 1)), float(x - 1)
        low, high = np.zeros(clones.size), np.zeros(clones.size)
        for place, m in enumerate(clones.tolist()):
            least = self._least(m, epsilon)
            if least > m + 1 or gain <= 0:
                continue
            with precision(128):
                before = float((_log_choose(m, least - 1) - m * arb(2).log()).exp())  # P(A = least - 1)
            tail = before * (m - least + 1) / least * _falling(m, least)  # P(A >= least)
            delta, slack = gain * before - loss * tail, _SLACK * (gain * before + loss * tail)
            low[place], high[place] = max(0.0, delta - slack), max(0.0, delta + slack)
        return low, high

    def _least(self, m: int, epsilon: float) -> int:
        """The smallest count a, of m + 1, that speaks for the first law: (e a + b) / (a + e b) > e^epsilon."""
        with precision(512):
            e, x = ball(self.epsilon0).exp(), ball(Fraction(epsilon)).exp()
            even = (m + 1) * (e * x - 1) / ((e - 1) * (1 + x))
            whole_part = floor(even)
            return math.floor(float(even)) + 1 if whole_part is None else whole_part + 1  # undecided: it weighs nothing

    def epsilons(self, miss: Fraction) -> tuple[float, float]:
        """epsilon(delta) from below and from above."""
        delta, more = down(miss), up(miss)
        limit = upper(ball(self.epsilon0))
        _, coarse = _bisect(lambda epsilon: self.deltas(epsilon, _COARSE)[1] > delta, 0.0, limit, 14)
        least, _ = _bisect(lambda epsilon: self.deltas(epsilon, _COARSE)[0] > more, 0.0, coarse, 14)
        _, high = _bisect(lambda epsilon: self.deltas(epsilon, _FINE)[1] > delta, least, coarse, 9)
        low, _ = _bisect(lambda epsilon: self.deltas(epsilon, _FINE)[0] > more, least, high, 9)
        return low, high


def _bisect(too_small: Callable[[float], bool], low: float, high: float, steps: int) -> tuple[float, float]:
    """Narrow down where ``too_small`` ends; the upper end was never too small, the lower always (or is where we began)."""
    for _ in range(steps):
        middle = (low + high) / 2
        if too_small(middle):
            low = middle
        else:
            high = middle
    return low, high


def _log_choose(n: int, k: int) -> arb:
    return ball(n + 1).lgamma() - ball(k + 1).lgamma() - ball(n - k + 1).lgamma()


def _falling(m: int, least: int) -> float:
    """P(A >= least) / P(A = least) for A ~ Binomial(m, 1/2) and least above m / 2; what is cut off is below 1e-13 of it."""
    if least > m:
        return 0.0
    beyond = least - m / 2
    count = min(m - least, math.ceil(math.sqrt(beyond**2 + 15 * m) - beyond) + 40)  # ratios are below exp(-4 (beyond + step) / m)
    steps = np.arange(count, dtype=np.float64)
    return 1.0 + float(np.cumprod((m - least - steps) / (least + 1 + steps)).sum())
