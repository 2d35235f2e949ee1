"""Substitution: every word of a document becomes a word drawn by a law that depends on the own word's distance alone.

A word x becomes y with probability e^(-r s(x, y)) / Z(x), where s is the number of steps from x to y in a public distance, Z(x)
the sum of e^(-r s(x, z)) over the *whole* vocabulary, and r the rate. Three laws set the rate:

**k-ary** (Warner 1965; Kairouz, Oh, Viswanath 2014): all other words are one step away and r = epsilon. Z is the same for all
words, so P(y | x) / P(y | x') is e^epsilon, 1 or e^-epsilon: each word is epsilon-locally private, tightly.

**tree** (the exponential mechanism of McSherry and Talwar 2007; the score is minus the steps up a tree of word classes). For any
x, x' and y: ln P(y | x) / P(y | x') <= r s(x, x') + ln Z(x') / Z(x) <= r H + ln(max Z / min Z), where H is the height of the
tree. r is the largest rate of 40 binary digits for which this was proved, in balls, to be at most epsilon; at least epsilon / (2
H), for Z varies by a factor of e^(r H) at most. Each word is epsilon-locally private.

**metric** (Chatzikokolakis et al. 2013; Feyisetan et al. 2020; exactly drawn over a finite list as in Carvalho et al. 2021): for
d = unit s, r = epsilon unit / 2. By the triangle inequality e^(-r s(x, y)) <= e^(r s(x, x')) e^(-r s(x', y)) for every y, so
Z(x') is at most e^(r s(x, x')) Z(x) as well, and ln P(y | x) / P(y | x') <= 2 r s(x, x') = epsilon d(x, x'). That is metric
privacy and no local privacy of epsilon: between words that are far apart it promises epsilon times their distance, and at worst
epsilon times the diameter.

Words of a document are drawn independently, so a document of public length L has the sum over its words (neighbours: any two
documents of one person). Order and length are as public as the task says; nothing hides that two releases are of one document.

**Exactly.** Items are laid out on [0, Z) level by level, each as long as its weight, and one uniform U in (0, 1), whose binary
digits are revealed on demand, falls on one of them at U Z. In floats, sums of up to 1,024 weights err by less than 2^-41 Z (an
exponent E errs by 2^-52 E, and e^-E E < 1), so whoever is 2^-40 Z from the ends of its stretch is decided; the others are settled
in balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.balls import arb, ball, floor, precision, upper
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.local.protocols.base import Form, Plain, Protocol, Rows
from discreet.noise.bits import Words, words
from discreet.noise.lazy import SLACK, settle
from discreet.texts.distances import Distance, Tree
from discreet.texts.distances.base import Near

LAWS = ("k-ary", "tree", "metric")
_AT_ONCE = 2**17  # words whose levels are looked up together
_DIGITS = 2**40  # of a rate
_LARGEST = 1000  # exponent: beyond it, weights are nothing


@dataclass(frozen=True)
class Substitution(Protocol):
    """Word by word substitution of documents of one length. The report is a row of codes.

    ``each`` is the epsilon of a word (of a unit of distance, for the metric law); ``epsilon`` that of a whole document, at worst.
    """

    law: str
    distance: Distance
    each: Fraction
    length: int
    rate: Fraction
    """What one step costs: weights fall by e^-rate."""
    epsilon: Fraction
    name: ClassVar[str] = "substitution"
    parameter_names: ClassVar[tuple[str, ...]] = ("length",)

    @classmethod
    def of(cls, law: str, distance: Distance, each: Fraction, length: int) -> Substitution:
        """The substitution by one of the three laws, with its rate."""
        height = int(distance.steps[-1])
        if law == "metric":
            rate, worst = each * distance.unit / 2, each * distance.diameter
        else:
            rate, worst = each if law == "k-ary" else _calibrate(distance, each), each
        if rate * height > _LARGEST:
            raise ParameterError(
                f"At epsilon={shown(float(each))} no word would ever become one at the other end of the vocabulary; take less."
            )
        return cls(law, distance, each, length, rate, worst * length)

    @property
    def form(self) -> Form:
        return Form("<u4", self.length)

    @property
    def bits(self) -> float:
        return self.length * math.log2(self.distance.size)

    @cached_property
    def weights(self) -> Reals:
        """e^(-rate steps) of every level, as floats."""
        weights: Reals = np.exp(-float(self.rate) * self.distance.steps)
        return weights

    def randomize(self, codes: Integers) -> Rows:
        """One substituted document for every row of codes."""
        rows = self.form.empty(len(codes))
        flat = codes.reshape(-1)
        rows.reshape(-1)[:] = self.draw(flat)
        return rows

    def _draw(self, codes: Integers) -> Rows:
        return self.randomize(codes)

    def draw(self, codes: Integers) -> Integers:
        """A substitute for every word, one uniform each; words that are alike are looked up once."""
        uniforms = words(codes.size)
        unique, place = np.unique(codes, return_inverse=True)
        order = np.argsort(place, kind="stable")
        drawn = np.empty(codes.size, dtype=np.int64)
        for start, near in self._blocks(unique):
            ends = np.searchsorted(place, [start, start + self.distance.block], sorter=order)
            for first in range(ends[0], ends[1], _AT_ONCE):
                members = order[first : min(first + _AT_ONCE, ends[1])]
                drawn[members] = self._choose(near, place[members] - start, uniforms[members])
        return drawn

    def _blocks(self, codes: Integers) -> Iterator[tuple[int, Near]]:
        for start in range(0, codes.size, self.distance.block):
            yield start, self.distance.near(codes[start : start + self.distance.block])

    def _choose(self, near: Near, places: Integers, uniforms: Words) -> Integers:
        """Where U Z falls: the level, then the rank on it."""
        sums = np.cumsum(near.counts * self.weights, axis=1)[places]
        total = sums[:, -1]
        target = uniforms * 2.0**-64 * total
        level = np.minimum((sums <= target[:, None]).sum(axis=1), sums.shape[1] - 1)
        before = np.where(level > 0, np.take_along_axis(sums, np.maximum(level - 1, 0)[:, None], axis=1)[:, 0], 0.0)
        weight = self.weights[level]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            at = (target - before) / weight
            sure = np.abs(at - np.rint(at)) > SLACK * total / weight  # false as well where a weight is too small for a float
        rank = np.floor(np.where(sure, at, 0.0)).astype(np.int64)
        for i in np.flatnonzero(~sure):
            level[i], rank[i] = self._settle(near.counts[places[i]], int(uniforms[i]))
        return near.pick(places, level, rank)

    def _settle(self, counts: Integers, first: int) -> tuple[int, int]:
        """The same in balls, with as many digits of U as it takes."""
        return settle([first], 64, lambda known: self._find(counts, known[0]))

    def _find(self, counts: Integers, uniform: arb) -> tuple[int, int] | None:
        weights = self._balls()
        target, before = uniform * self._total(counts, weights), arb(0)
        for level, (count, weight) in enumerate(zip(counts.tolist(), weights, strict=True)):
            end = before + count * weight
            if target < end:
                rank = floor((target - before) / weight)
                return None if rank is None or not 0 <= rank < count else (level, rank)
            if not target > end:
                return None
            before = end
        return None

    def _balls(self) -> list[arb]:
        return [(-ball(self.rate * steps)).exp() for steps in self.distance.steps.tolist()]

    @staticmethod
    def _total(counts: Integers, weights: list[arb]) -> arb:
        return sum((count * weight for count, weight in zip(counts.tolist(), weights, strict=True)), arb(0))

    def word_likelihood(self, out: int, code: int) -> arb:
        """The probability that this word becomes that one, as a ball at the current precision."""
        here, weights = np.array([code]), self._balls()
        return weights[int(self.distance.rows(here)[0, out])] / self._total(self.distance.near(here).counts[0], weights)

    def likelihood(self, row: Rows, code: int) -> arb:
        """The probability of this document for one that has the same word everywhere."""
        product = arb(1)
        for out in row.astype(np.int64).tolist():
            product *= self.word_likelihood(out, code)
        return product

    @cached_property
    def kept(self) -> Reals:
        """With which probability each item stays what it is: 1 / Z."""
        pieces = [1 / (near.counts @ self.weights) for _, near in self._blocks(np.arange(self.distance.size))]
        return np.concatenate(pieces)

    def guessed(self, prior: Reals) -> float:
        """How often the best guess at a word is right, when it has this prior and its substitute is seen: Bayes.

        The sum over all substitutes y of the largest prior(x) P(y | x).
        """
        return float(self.distance.best(prior * self.kept, self.weights).sum())

    def valid(self, rows: Rows) -> Booleans:
        return np.asarray((rows.astype(np.int64) < self.distance.size).all(axis=1))

    @property
    def cells(self) -> int:
        return self.distance.size

    def plain(self, row: Rows) -> Plain:
        return [int(code) for code in row.tolist()]

    def row(self, plain: object) -> Rows | None:
        right = isinstance(plain, list) and len(plain) == self.length and all(type(n) is int and 0 <= n < 2**32 for n in plain)
        return np.array(plain, dtype="<u4") if right else None


def _calibrate(distance: Distance, epsilon: Fraction) -> Fraction:
    """The largest rate that is proved to cost at most epsilon, to 40 binary digits; epsilon / (2 H) is proved on paper."""
    if not isinstance(distance, Tree):
        raise ParameterError("The law over a tree needs a Tree; write distance= for metric privacy.")
    height = int(distance.steps[-1])
    counts = np.unique(distance.near(np.arange(distance.size)).counts, axis=0)
    low = Fraction(math.floor(epsilon / (2 * height) * _DIGITS), _DIGITS)
    if low == 0:
        return epsilon / (2 * height)
    sound, bound = low, Fraction(math.floor(epsilon / height * _DIGITS), _DIGITS)
    if _costs_at_most(distance, counts, bound, epsilon):
        return bound
    while bound - sound > Fraction(1, _DIGITS):
        middle = Fraction(math.floor((sound + bound) / 2 * _DIGITS), _DIGITS)
        if _costs_at_most(distance, counts, middle, epsilon):
            sound = middle
        else:
            bound = middle
    return sound


def _costs_at_most(distance: Distance, counts: Integers, rate: Fraction, epsilon: Fraction) -> bool:
    """Whether r H + ln(max Z / min Z) <= epsilon, proved."""
    steps = distance.steps.tolist()
    near = counts @ np.exp(-float(rate) * distance.steps)
    few = counts[(near <= near.min() * (1 + 2.0**-30)) | (near >= near.max() * (1 - 2.0**-30))]  # floats err by less
    with precision(192):
        weights = [(-ball(rate * step)).exp() for step in steps]
        totals = [Substitution._total(row, weights) for row in few]
        most, least = max(totals, key=upper), min(totals, key=lambda total: -upper(-total))
        cost = ball(rate * steps[-1]) + (most / least).log()
        return bool(cost <= ball(epsilon))
