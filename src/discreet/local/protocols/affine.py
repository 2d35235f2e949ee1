"""Affine response: report a few parallel hyperplanes, on one of which the own value lies more often than any other does.

Values are points of F_q^t, q prime. The hyperplanes <a, x> = y of one direction a are q parallel ones, and every value lies on
one of them. A direction is drawn without looking at the value; then m of its hyperplanes are reported, such a set that holds the
value's own one with probability p = m e^epsilon / (m e^epsilon + q - m).

**Theorem.** The sets are B = {s + c i : 0 <= i < m} modulo q, for all c from 1 to q - 1 and all s. For each c the own hyperplane
is in m of the q sets and not in q - m, and one of either kind is drawn evenly; so a report is e^epsilon times likelier for the
values it holds than for those it does not. (With m = 1 there is no c to draw.)

*Why all values are alike.* x -> c x + s takes any two different hyperplanes to any two, so each other one is in the set with
probability (m - p) / (q - 1), as in subset selection. Two points share a hyperplane in (q^(t-1) - 1) / (q^t - 1) of all
directions, whichever they are. So all other values are equally often supported: resolvable block designs, with the error of
the best protocols (Ye and Barg 2018; Park, Nam, Lee 2023) where q / m is near e^epsilon + 1. t = 1 is subset selection in reports
of 2 log2 d bits, and k-ary response where m = 1; larger t is local hashing whose collisions are exact.

One Fourier transform of q^t cells decodes any number of reports: with Y(a, y) the number of reports that hold a hyperplane and
Y^(a, k) its transform along y, a value v is supported by (1 / q) sum over u of G(u) w^<u, v>, where w is a q-th root of unity,
G(k a) = Y^(a, k) and G(0) = sum over a of Y^(a, 0); for the multiples k a of all directions are all vectors, each once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.balls import arb, ball
from discreet.errors import ParameterError
from discreet.local.protocols.base import FrequencyProtocol, Rows, chance_inside, counts_within
from discreet.local.protocols.geometry import Geometry, is_prime
from discreet.mechanisms.randomized_response import respond
from discreet.noise.coins import Chance, bernoulli, uniform

MOST_POINTS = 2**25
"""The largest transform a collector is asked for: 33.6 million cells, 0.5 GB."""
MOST_WEIGHT = 2**12
"""The most additions that one report asks of a collector."""
_AT_ONCE = 2**22
_ENOUGH = 0.8  # a field of so many times e^epsilon elements has 1.3 % more variance than the best one


@dataclass(frozen=True)
class Affine(FrequencyProtocol):
    """Affine response. The report is (direction * (q - 1) + c - 1) * q + s, or direction * q + s where m = 1.

    >>> Affine(Fraction(8), 1_000_000, 2389, 2, 1).bits < 23
    True
    """

    epsilon: Fraction
    size: int
    prime: int
    dimension: int
    weight: int
    name: ClassVar[str] = "affine"
    parameter_names: ClassVar[tuple[str, ...]] = ("prime", "dimension", "weight")

    def __post_init__(self) -> None:
        prime, dimension = self.prime, self.dimension
        if not prime <= MOST_POINTS or not is_prime(prime):
            raise ParameterError(
                f"The field of an affine geometry must be prime here, not {prime}; leave the choice to discreet."
            )
        if not 1 <= dimension <= 25 or not self.size <= prime**dimension <= MOST_POINTS:
            raise ParameterError(
                f"The affine geometry of dimension {dimension} over {prime} elements must have at least {self.size:,} points and "
                f"at most {MOST_POINTS:,}; leave the choice to discreet."
            )
        if not 1 <= self.weight < prime or self.weight > MOST_WEIGHT:
            raise ParameterError(f"A report holds 1 to {min(prime - 1, MOST_WEIGHT):,} hyperplanes here, not {self.weight:,}.")

    @classmethod
    def offers(cls, epsilon: Fraction, size: int) -> list[Affine]:
        """For every dimension, the smallest field with enough points, and the smallest that is large enough beside e^epsilon."""
        e, found = math.exp(min(float(epsilon), 40.0)), dict[tuple[int, int, int], Affine]()
        for dimension in range(1, 26):
            least = 2
            while least**dimension < size:
                least = max(least + 1, math.floor(size ** (1 / dimension)))
            enough = max(least, min(math.ceil(_ENOUGH * e) + 1, 2 * MOST_POINTS))
            for prime in {next(filter(is_prime, count(start))) for start in (least, enough)}:
                for weight in {max(1, part) for part in (math.floor(prime / (e + 1)), math.ceil(prime / (e + 1)))}:
                    if prime**dimension <= MOST_POINTS and weight <= min(prime - 1, MOST_WEIGHT):
                        found[prime, dimension, weight] = cls(epsilon, size, prime, dimension, weight)
        return list(found.values())

    @cached_property
    def _geometry(self) -> Geometry:
        return Geometry(self.prime, self.dimension, self.size)

    @property
    def directions(self) -> int:
        return self._geometry.points

    @property
    def reports(self) -> int:
        return self.cells * (self.prime - 1) if self.weight > 1 else self.cells

    def _lines(self, directions: Integers, codes: Integers) -> Integers:
        """On which of a direction's hyperplanes each value lies."""
        total, normal, value = np.zeros_like(codes), self._geometry.write(directions), codes
        for _ in range(self.dimension):
            normal_rest, value_rest = normal // self.prime, value // self.prime
            total += (normal - normal_rest * self.prime) * (value - value_rest * self.prime)
            normal, value = normal_rest, value_rest
        return total % self.prime

    def _draw(self, codes: Integers) -> Integers:
        count, prime = codes.size, self.prime
        directions = uniform(self.directions, count)
        own = self._lines(directions, codes)
        chance = Chance(chance_inside(self.weight, prime - self.weight, self.epsilon))
        if self.weight == 1:
            return directions * prime + respond(own, prime, chance)
        inside = bernoulli(chance, count)
        scale = uniform(prime - 1, count) + 1
        near, away = uniform(self.weight, count), uniform(prime - self.weight, count) + self.weight
        start = (own - scale * np.where(inside, near, away)) % prime
        return (directions * (prime - 1) + scale - 1) * prime + start

    def _read(self, numbers: Integers) -> tuple[Integers, Integers, Integers]:
        """Direction, c and s of reports."""
        rest, start = np.divmod(numbers, self.prime)
        if self.weight == 1:
            return rest, np.ones_like(rest), start
        directions, scale = np.divmod(rest, self.prime - 1)
        return directions, scale + 1, start

    def likelihood(self, row: Rows, code: int) -> arb:
        directions, scale, start = self._read(row.astype(np.int64).reshape(1))
        own = int(self._lines(directions, np.array([code]))[0])
        place = (own - int(start[0])) * pow(int(scale[0]), -1, self.prime) % self.prime
        truth = chance_inside(self.weight, self.prime - self.weight, self.epsilon)()
        each = truth / self.weight if place < self.weight else (1 - truth) / (self.prime - self.weight)
        return each * self.prime / self.reports

    def supporting(self) -> tuple[arb, arb]:
        truth = chance_inside(self.weight, self.prime - self.weight, self.epsilon)()
        points = self.prime**self.dimension
        shared = ball(Fraction(points // self.prime - 1, points - 1))
        return truth, shared * truth + (1 - shared) * (self.weight - truth) / (self.prime - 1)

    @property
    def cells(self) -> int:
        return self.directions * self.prime

    def tally(self, rows: Rows) -> Integers:
        total, step = np.zeros(self.cells, dtype=np.int64), max(1, _AT_ONCE // self.weight)
        for chosen in range(0, len(rows), step):
            directions, scale, start = self._read(rows[chosen : chosen + step].astype(np.int64, copy=False))
            lines = (start + scale * np.arange(self.weight)[:, None]) % self.prime
            total += np.bincount((directions * self.prime + lines).ravel(), minlength=self.cells)
        return total

    def possible(self, tally: Integers, count: int) -> bool:
        return counts_within(tally, count) and int(tally.sum()) == self.weight * count

    def support(self, tally: Integers) -> Integers:
        if self.dimension == 1:
            return tally[: self.size]
        return self._geometry.sums_over_hyperplanes(tally.reshape(self.directions, self.prime))

    @property
    def targets(self) -> float:
        return self.size * self.weight / self.prime

    @property
    def server(self) -> str:
        added = "one addition" if self.weight == 1 else f"{self.weight:,} additions"
        transform = f", one Fourier transform of {self.prime**self.dimension:,} cells" if self.dimension > 1 else ""
        return f"{self.cells:,} counters, {added} a report{transform}"
