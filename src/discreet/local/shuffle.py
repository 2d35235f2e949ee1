"""Amplification by shuffling: what a report costs when a trusted shuffler mixes it with those of n - 1 others.

**Theorem** (Feldman, McMillan, Talwar 2021 and 2022, "clones"; Wang et al. 2023, "variation ratio"). n people answer one task,
and only the shuffled reports are seen. Reports are epsilon0-private for any two values of one person, and the laws of a report
for any two values have a total variation of at most TV. With e = e^epsilon0 and p = TV / (e - 1), which is at most 1 / (e + 1),
let each of n - 1 others be marked 0 or 1 with probability p each, and the person 0 with e p, 1 with p, or the other way round.
Exchanging the person's value is no easier to see than telling these two laws of the numbers (a, b) of marks apart.

*Why.* For two values with report laws R0 >= R1 at a report, R0 = e u + r and R1 = u + r with u = (R0 - R1) / (e - 1) and
r = R1 - u >= 0, for R0 <= e R1; where R1 is the larger, the other way round. So the two laws are e p Q0 + p Q1 + (rest) Q and
p Q0 + e p Q1 + (rest) Q, the mass of u being TV / (e - 1) on either side. Anybody else's law is at least max(R0, R1) / e, hence
at least p Q0 + p Q1: each of the others is a clone of Q0 or of Q1 with probability p. Given the marks, reports are drawn from Q0,
Q1, or what is left of each law, whatever the person's value is. A smaller p is what thinning all marks makes of a larger one, so
a bound on TV is enough.

*How it is computed.* (a, b) with a + b = m has the probability P(M = m) P(A = a) (e a + b + rho (n - m)) / n under the first law,
for M ~ Binomial(n, 2 p), A ~ Binomial(m, 1/2) and rho = (1 - (e + 1) p) / (1 - 2 p), for given M = m marks the person is equally
likely to have any of them; under the second law a and b change places. With x = e^epsilon, delta is the mean over m of
E[k (A - m / 2) - m d - t]_+ / n, where k = (e - 1) (1 + x), d = (x - 1) (e + 1 - 2 rho) / 2 >= 0 and t = (x - 1) rho n. A - m / 2
is a martingale, so with the second term held that mean grows with m: a block of m lies between its two mixed ends. From
sum over j >= a of (2 j - m) C(m, j) = a C(m, a), it is k (a / 2) P(A = a) - y P(A >= a). Probabilities at one point come from
balls, their neighbours from products of ratios: 10^6 factors err by less than 10^-9, which is added or taken off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Number, Reals
from discreet.balls import arb, ball, floor, upper
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import down, probability, up, whole
from discreet.local.protocols.base import float_precision
from discreet.local.task import Task, read_epsilon
from discreet.privacy import Privacy, approximate

_SLACK = 1e-9
_MOST = 10**10
_LARGEST = 100
_COARSE, _FINE = 24, 400  # blocks
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
        return approximate(Fraction(self.upper), self.delta, neighbours="replace")

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
    with float_precision(own):
        e = ball(own).exp()
        variation = epsilon0.protocol.total_variation() if isinstance(epsilon0, Task) else (e - 1) / (e + 1)
        pair = Clones(own, people, variation / (e - 1))
    low, high = pair.epsilons(miss)
    return Amplified(min(low, high), min(high, up(own)), miss, own, people)


@dataclass(frozen=True, eq=False)
class Clones:
    """The pair of laws above, for the chance p of either mark."""

    epsilon0: Fraction
    n: int
    chance: arb

    @cached_property
    def _counts(self) -> tuple[int, Reals, float]:
        """The first number of marks that matters, the probabilities from there on, and all that is left out; each to 1e-9."""
        with float_precision(self.epsilon0):
            marked = 2 * self.chance
            odds = marked / (1 - marked)
            mode = max(0, min(self.n, math.floor(upper(marked * self.n))))
            at_mode = (_log_choose(self.n, mode) + mode * marked.log() + (self.n - mode) * (1 - marked).log()).exp()
            top, ratio = float(at_mode), float(odds)
        reach = 50 + math.ceil(13 * math.sqrt(self.n * ratio) / (1 + ratio))
        first, last = max(0, mode - reach), min(self.n, mode + reach)
        rising, falling = np.arange(mode, last, dtype=np.float64), np.arange(mode, first, -1, dtype=np.float64)
        above = np.cumprod((self.n - rising) / (rising + 1) * ratio)
        below = np.cumprod(falling / ((self.n - falling + 1) * ratio))
        found = top * np.concatenate([below[::-1], [1.0], above])
        outside = 0.0
        if last < self.n:
            step = (self.n - last) / (last + 1) * ratio
            outside += found[-1] * step / (1 - step)
        if first > 0:
            step = first / ((self.n - first + 1) * ratio)
            outside += found[0] * step / (1 - step)
        return first, found, outside * (1 + _SLACK)

    def deltas(self, epsilon: float, blocks: int) -> tuple[float, float]:
        """delta(epsilon) from below and from above."""
        first, weights, outside = self._counts
        enough = math.ceil(_SPREAD * weights.size / (first + 1))  # of many marks, all numbers that matter are about the same
        width = -(-weights.size // max(4, min(blocks, enough)))
        starts = np.arange(0, weights.size, width)
        ends = np.minimum(starts + width, weights.size) - 1
        masses = np.add.reduceat(weights, starts) / self.n
        with float_precision(self.epsilon0):
            e, x, both = ball(self.epsilon0).exp(), ball(Fraction(epsilon)).exp(), 2 * self.chance
            rho = (1 - (e + 1) * self.chance) / (1 - both)  # 0 for the largest chance, and then the ball may hold less
            excess = Excess((e - 1) * (1 + x), (x - 1) * (e + 1 - 2 * rho) / 2, (x - 1) * rho * self.n)
            found = [excess.between(int(first + one), int(first + last)) for one, last in zip(starts, ends, strict=True)]
            left_out = outside * float((e + 1) / 2)  # as much as the first law can have there
        low, high = np.array(found).T
        return float(masses @ low) * (1 - _SLACK), float(masses @ high + left_out) * (1 + _SLACK)

    def epsilons(self, miss: Fraction) -> tuple[float, float]:
        """epsilon(delta) from below and from above."""
        delta, more = down(miss), up(miss)
        limit = upper(ball(self.epsilon0))
        _, coarse = _bisect(lambda epsilon: self.deltas(epsilon, _COARSE)[1] > delta, 0.0, limit, 14)
        least, _ = _bisect(lambda epsilon: self.deltas(epsilon, _COARSE)[0] > more, 0.0, coarse, 14)
        _, high = _bisect(lambda epsilon: self.deltas(epsilon, _FINE)[1] > delta, least, coarse, 9)
        low, _ = _bisect(lambda epsilon: self.deltas(epsilon, _FINE)[0] > more, least, high, 9)
        return low, high


@dataclass(frozen=True)
class Excess:
    """E[k (A - m / 2) - m d - t]_+ for A ~ Binomial(m, 1/2)."""

    slope: arb
    drift: arb
    shift: arb

    def between(self, first: int, last: int) -> tuple[float, float]:
        """Bounds for all m from the first to the last."""
        low, high = self._mixed(last, first)
        return (low if first == last else self._mixed(first, last)[0]), high

    def _mixed(self, m: int, drifted: int) -> tuple[float, float]:
        """With A of m, and the drift of another number; from below and from above."""
        line = drifted * self.drift + self.shift
        even = ball(m) / 2 + line / self.slope
        whole_part = floor(even)
        least = (math.floor(float(even)) if whole_part is None else whole_part) + 1  # undecided: that count weighs nothing
        if least > m:
            return 0.0, 0.0
        here = float((_log_choose(m, least) - m * arb(2).log()).exp())
        gain = float(self.slope * least / 2 - line) * here  # the same with P(A = a) apart: this difference loses digits
        loss = max(float(line), 0.0) * here * (_beyond(m, least))
        return max(0.0, gain - loss - _SLACK * (gain + loss)), max(0.0, gain - loss + _SLACK * (gain + loss))


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


def _beyond(m: int, least: int) -> float:
    """P(A > least) / P(A = least) for A ~ Binomial(m, 1/2) and least above m / 2; what is cut off is below 1e-13 of it."""
    beyond = least - m / 2
    count = min(m - least, math.ceil(math.sqrt(beyond**2 + 15 * m) - beyond) + 40)  # ratios are below exp(-4 (beyond + step) / m)
    steps = np.arange(count, dtype=np.float64)
    return float(np.cumprod((m - least - steps) / (least + 1 + steps)).sum())
