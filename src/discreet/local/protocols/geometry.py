"""A projective geometry over a prime field: its points, numbered, and how often reports fall on their hyperplanes.

A point of PG(t - 1, q) is a line through the origin of Z_q^t. It is written as the vector on it whose highest nonzero coordinate
is 1, and as the whole number V with those coordinates as digits to base q, V in [q^m, 2 q^m) where m is the highest place. The
points are numbered in the order of V: number = V - q^m + (q^m - 1) / (q - 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Reals


@dataclass(frozen=True)
class Geometry:
    """PG(t - 1, q) with its first ``size`` points in use.

    >>> plane = Geometry(3, 3, 13)
    >>> plane.points, plane.on_a_hyperplane, plane.on_two
    (13, 4, 1)
    """

    prime: int
    dimension: int
    size: int

    @property
    def points(self) -> int:
        return int(self.prime**self.dimension - 1) // (self.prime - 1)

    @property
    def on_a_hyperplane(self) -> int:
        return int(self.prime ** (self.dimension - 1) - 1) // (self.prime - 1)

    @property
    def on_two(self) -> int:
        """Points on two different hyperplanes at once."""
        return int(self.prime ** (self.dimension - 2) - 1) // (self.prime - 1)

    @property
    def vectors(self) -> int:
        return int(self.prime**self.dimension)

    def written(self, count: int) -> Integers:
        """V of the first ``count`` points."""
        blocks = [np.arange(self.prime**m, 2 * self.prime**m) for m in range(self.dimension)]
        return np.concatenate(blocks)[:count].astype(np.int64)

    def write(self, numbers: Integers) -> Integers:
        """V of the points with these numbers."""
        firsts = np.array([(self.prime**m - 1) // (self.prime - 1) for m in range(self.dimension)], dtype=np.int64)
        places = np.searchsorted(firsts, numbers, side="right") - 1
        return np.asarray(numbers - firsts[places] + np.power(self.prime, places))

    def vector(self, number: int) -> list[int]:
        """The coordinates of one point, the lowest place first."""
        place = 0
        while (self.prime ** (place + 1) - 1) // (self.prime - 1) <= number:
            place += 1
        left = number - (self.prime**place - 1) // (self.prime - 1)
        return [*(left // self.prime**lower % self.prime for lower in range(place)), 1, *[0] * (self.dimension - place - 1)]

    @cached_property
    def digits(self) -> Integers:
        """The coordinates of the points in use: one row a place, the lowest first."""
        return _split_digits(self.written(self.size), self.prime, self.dimension)

    @cached_property
    def places(self) -> Integers:
        """The highest nonzero place of the points in use."""
        starts = np.array([self.prime**m for m in range(self.dimension)])
        return np.searchsorted(starts, self.written(self.size), side="right") - 1

    @cached_property
    def inverses(self) -> Integers:
        """1 / a modulo the prime, at place a."""
        return np.array([0, *(pow(a, -1, self.prime) for a in range(1, self.prime))], dtype=np.int64)

    def meeting(self, codes: Integers, free: Integers, product: Integers) -> Integers:
        """The numbers of the points u with <u, v> = product for the vectors v of these codes, all other coordinates free.

        ``free`` has t - 1 digits: the coordinates of u but the one at v's highest place, which is solved for.
        """
        prime, places = self.prime, self.places[codes]
        unit = np.power(prime, places)
        high, low = np.divmod(free, unit)
        left, total = low, np.zeros_like(codes)
        for place in range(self.dimension - 1):  # v has no coordinates above its highest place, so low is enough
            rest = left // prime
            total += (left - rest * prime) * self.digits[place][codes] * (place < places)
            left = rest
        return self.number(low + ((product - total) % prime + high * prime) * unit)

    def number(self, vectors: Integers) -> Integers:
        """The numbers of the points on which these nonzero vectors lie."""
        prime = self.prime
        found = _split_digits(vectors, prime, self.dimension)
        lead, unit = np.zeros_like(vectors), np.zeros_like(vectors)
        for place, digit in enumerate(found):
            lead = np.where(digit > 0, digit, lead)
            unit = np.where(digit > 0, prime**place, unit)
        scale = self.inverses[lead]
        written = np.zeros_like(vectors)
        for digit in found[::-1]:
            written = written * prime + digit * scale % prime
        return written - unit + (unit - 1) // (prime - 1)

    def incidences(self, histogram: Integers) -> Integers:
        """For every point v in use, how many of the reported points u have <u, v> = 0.

        With F the discrete Fourier transform of the histogram over Z_q^t, sum_c F(c v) over all c of the field is q times that
        number, because the q-th roots of unity cancel unless <u, v> = 0. F(-k) is the conjugate of F(k), so half of the
        transform and half of the multiples are enough.
        """
        prime, shape = self.prime, (self.prime,) * self.dimension
        grid = np.zeros(self.vectors)
        grid[self.written(self.points)] = histogram
        real: Reals = np.ascontiguousarray(np.fft.rfftn(grid.reshape(shape)).real).ravel()
        width = prime // 2 + 1
        total = np.full(self.size, float(histogram.sum()))
        for multiple in range(1, width):
            scaled = self.digits * multiple % prime
            scaled = np.where(scaled[0] < width, scaled, -scaled % prime)  # the lowest place is the halved axis
            index = np.zeros(self.size, dtype=np.int64)
            for place in range(self.dimension - 1, 0, -1):
                index = index * prime + scaled[place]
            total += real[index * width + scaled[0]] * (1 if prime == 2 else 2)
        return np.rint(total / prime).astype(np.int64)

    def sums_over_hyperplanes(self, counts: Integers) -> Integers:
        """For each of the first ``size`` vectors v, the sum of counts(a, <a, v>) over all points a (rows; columns are products).

        The theorem is in ``affine.py``. The grid holds G(u) for all vectors u but those which are the conjugate of another's:
        its lowest place, the last axis, is halved.
        """
        prime, half = self.prime, self.prime // 2 + 1
        transformed = np.fft.rfft(counts, axis=1)
        grid = np.zeros(self.vectors // prime * half, dtype=np.complex128)
        grid[0] = counts.sum()
        points = self.written(self.points)
        for multiple in range(1, prime):
            lowest = points % prime * multiple % prime
            kept = np.flatnonzero(lowest < half)
            index, left, unit = np.zeros(kept.size, dtype=np.int64), points[kept] // prime, 1
            for _ in range(self.dimension - 1):
                rest = left // prime
                index += (left - rest * prime) * multiple % prime * unit
                left, unit = rest, unit * prime
            column = transformed[kept, multiple] if multiple < half else transformed[kept, prime - multiple].conj()
            grid[index * half + lowest[kept]] = column
        shape = (prime,) * self.dimension
        found = np.fft.irfftn(grid.reshape(*shape[1:], half), s=shape, axes=range(self.dimension)).ravel()[: self.size]
        return np.rint(found * (self.vectors // prime)).astype(np.int64)


def is_prime(number: int) -> bool:
    """Whether a number of at most 2^26 or so is prime: by trial."""
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _split_digits(numbers: Integers, prime: int, count: int) -> Integers:
    found = np.empty((count, numbers.size), dtype=np.int64)
    left = numbers
    for place in range(count):
        rest = left // prime
        found[place] = left - rest * prime
        left = rest
    return found
