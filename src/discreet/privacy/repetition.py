"""What it costs to run something a random number of times and to keep the best: the price of a private search.

A run is a mechanism that gives a result and a score, made of released numbers. K is drawn first, from a law that knows nothing of
the data; then K independent runs are made, of which the one with the largest score is let out, and nothing else: neither the
others, nor K. Of equal scores the first one counts, which has the same law as one by lot, since runs are exchangeable.

**Theorem** (Papernot and Steinke 2022, arXiv 2110.03620, theorem 2; Liu and Talwar 2019 for the geometric law under pure
privacy). Let K be truncated negative binomial with eta >= 0 and 0 < g < 1: geometric for eta = 1, logarithmic for eta = 0. If a
run is epsilon-DP the search is (2 + eta) epsilon-DP. If a run has Renyi divergences of at most e at order a > 1 and e' at order
a' >= 1, that of the search at order a is at most

    e  +  (1 + eta) (1 - 1/a') e'  +  (1 + eta) ln(1/g) / a'  +  ln E[K] / (a - 1).

If K is Poisson with rate m, given that it is not 0, it is at most e + m d + ln E[K] / (a - 1), where the run is (ln(a / (a-1)),
d)-DP (their theorem 6 is about K that may be 0); and a run that is epsilon-DP makes a search that is (1 + m/2) epsilon-DP.

*Proof.* Give every run a uniform T, by which equal scores are ordered. Let v be the probability that a run beats (y, t), so that
1 - v is uniform for a run (Y, T); v' is the same on a neighbour. With f(x) = E[x^K] the best of K runs lies below (y, t) with
probability f(1 - v), so that its density against that of one run is f'(1 - v). Leaving T out again is post-processing, hence

    exp((a-1) D)  <=  integral of Q^a Q'^(1-a) h^a h'^(1-a)  <=  exp((a-1) e) sup h^a h'^(1-a),   h = f'(1 - v), h' = f'(1 - v').

*Negative binomial*: h = E[K] (g/w)^(1+eta), w = g + (1-g) v, from g to 1: so h^a h'^(1-a) = E[K] ((g/w) (w'/w)^(a-1))^(1+eta),
and g/w <= 1. Now w is the probability of an event (that the run is better, or a coin says so), so that post-processing gives
w'^a' w^(1-a') <= exp((a'-1) e'), which is w'/w <= w^(-1/a') exp((1-1/a') e') <= g^(-1/a') exp((1-1/a') e'). Pure: w'/w <=
e^epsilon, and densities Q h and Q' h' have a ratio of at most e^(epsilon + (1+eta) epsilon). *Poisson*: h = E[K] e^(-m v), so
that h^a h'^(1-a) = E[K] exp(m (a-1) (v' - v a/(a-1))), and v' - v a/(a-1) <= d. Pure: h/h' = e^(m (v'-v)), and v' - v <=
tanh(epsilon/2) <= epsilon/2. Neighbours are those of the run, in both directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from discreet.balls import arb, ball, lower, precision, upper
from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.privacy.calibrate import noise
from discreet.privacy.guarantee import Privacy, renyi, zcdp

Law = Literal["logarithmic", "geometric", "poisson"]
LAWS: tuple[Law, ...] = get_args(Law)
_MOST = 1000  # runs to be expected
_ORDERS = tuple(1 + Fraction(round(2 ** (k / 3) * 64), 64) for k in range(-6, 61))  # at which the guarantee is stated
_FINE = 1 << 64  # divergences are rounded up to multiples of one part in this


@dataclass(frozen=True)
class Repetition:
    """A law of K: ``parameter`` is g, the probability to stop, or the rate m of Poisson's.

    >>> law = Repetition.expecting("geometric", 20)
    >>> law.parameter, law.run_epsilon(Fraction(3))
    (Fraction(1, 20), Fraction(1, 1))
    >>> 0.99 < law.total(law.run_rho(1, 1e-6)).epsilon(1e-6) <= 1
    True
    """

    law: Law
    parameter: Fraction

    @classmethod
    def expecting(cls, law: str, runs: object) -> Repetition:
        """The law with about this many runs on average."""
        if law not in LAWS:
            raise ParameterError(f"{shown(law)} is no law of how often to run; write one of {', '.join(LAWS)}.")
        mean = rational("runs", runs, "how many runs are expected, such as 20")
        if not 1 < mean <= _MOST:
            raise ParameterError(f"From above 1 up to {_MOST:,} runs can be expected, not {shown(runs)}; write runs=20.")
        if law == "geometric":
            return cls("geometric", 1 / mean)
        if law == "logarithmic":  # of x = ln(1/g) the mean is (e^x - 1) / x
            x = _solve(lambda x: math.expm1(x) / x, float(mean), 20.0)
            return cls("logarithmic", Fraction(math.exp(-x)).limit_denominator(10**6))
        return cls("poisson", Fraction(_solve(lambda m: -m / math.expm1(-m), float(mean), 2.0 * _MOST)).limit_denominator(10**4))

    @property
    def mean(self) -> float:
        """How many runs are expected, from above."""
        with precision(128):
            return upper(self._mean())

    def _mean(self) -> arb:
        given = ball(self.parameter)
        if self.law == "geometric":
            return 1 / given
        if self.law == "logarithmic":
            return (1 / given - 1) / -given.log()
        return given / -(-given).expm1()

    @property
    def _eta(self) -> int:
        return 1 if self.law == "geometric" else 0

    def run_epsilon(self, epsilon: Fraction) -> Fraction:
        """The pure epsilon of one run, for a search of this pure epsilon."""
        return epsilon / (1 + self.parameter / 2 if self.law == "poisson" else 2 + self._eta)

    def total(self, rho: Fraction) -> Privacy:
        """The guarantee of a search whose runs are rho-zCDP, at many orders, each rounded up."""
        with precision(128):
            mean = Fraction(upper(self._mean().log()))
            stop = Fraction(upper(-ball(self.parameter).log())) if self.law != "poisson" else Fraction(0)
        found: dict[object, object] = {}
        for order in _ORDERS:
            value = order * rho + mean / (order - 1)
            value += self._poisson(rho, order) if self.law == "poisson" else self._binomial(rho, stop)
            found[order] = Fraction(math.ceil(value * _FINE), _FINE)
        return renyi(found)

    def _binomial(self, rho: Fraction, stop: Fraction) -> Fraction:
        """(1 + eta) ((a' - 1) rho + stop / a'), least at a' = sqrt(stop / rho): every a' of at least 1 holds."""
        other = max(Fraction(1), Fraction(math.sqrt(stop / rho)).limit_denominator(10**6))
        return (1 + self._eta) * ((other - 1) * rho + stop / other)

    def _poisson(self, rho: Fraction, order: Fraction) -> Fraction:
        with precision(128):
            least = lower((ball(order) / ball(order - 1)).log())
        return self.parameter * Fraction(zcdp(rho).delta(least))

    def run_rho(self, epsilon: object, delta: object) -> Fraction:
        """The largest rho of one run for which the search is certified (epsilon, delta)-DP, to a relative 1e-8."""
        found = noise(lambda s: self.total(1 / (2 * Fraction(s) ** 2)), epsilon=epsilon, delta=delta)
        return 1 / (2 * Fraction(found) ** 2)


def _solve(rising: Callable[[float], float], wanted: float, most: float) -> float:
    """Where a rising function has a value, by halving."""
    low, high = 1e-9, most
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high
