"""Private selection of keys: which keys (words, cities, groups) may be shown at all, and with what count.

A key that is in the data only because of one person reveals that person by appearing. So a key is shown only when its noisy count
exceeds a cut, and a key that nobody has is never shown. Neighbours: one person is *added or removed*, who adds 1 to each of at
most m = ``keys`` keys (counts are numbers of distinct persons).

**Theorem, geometric noise** (Desfontaines, Voss, Gipson, Mandayam 2022). Take noise X with P(x) proportional to exp(-e|x|) on
[-k, k] and the cut k. Neighbouring counts give outputs whose probabilities differ by a factor e^e at most, but for one point of
mass P(X = k); and a count of 1 is shown only if X = k. So P(X = k) <= d makes one key (e, d)-private, and e = epsilon / m, d =
delta / m makes a person's m keys (epsilon, delta)-private. ``select`` shows keys without counts, each with the largest
probability that any (e, d)-private rule allows: p(0) = 0, p(n+1) = min(e^e p(n) + d, 1 - e^-e (1 - p(n) - d), 1).

**Theorem, Gaussian noise.** Rounded N(0, sigma^2) and a whole cut T. Of a person's keys let j be theirs alone. With
a = P(sigma Z < T - 1/2), no such key is shown with probability a^j, and the others are a Gaussian mechanism of L2 sensitivity at
most sqrt(m), whose hockey-stick at epsilon we make at most delta / 2. T is chosen with -m ln a <= delta / 2. With the person
against without: at most (1 - a^j) + delta / 2 <= delta. The other way the likelihood ratio grows by a^-j: the hockey-stick at
epsilon + j ln a, which is at most delta / 2 - j ln a <= delta.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeVar, cast

import numpy as np

from discreet.arrays import Integers, Number
from discreet.balls import arb, ball, precision
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import positive, probability, root, shown, whole
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, let_out, show_value
from discreet.mechanisms.gaussian import Gaussian, analytic_sigma
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.secret import Secret, open_secret
from discreet.noise import gaussian, laplace
from discreet.noise.bits import words
from discreet.noise.coins import Chance, bernoulli
from discreet.privacy import Privacy, approximate

K = TypeVar("K", bound=Hashable)
Counts = Mapping[K, int] | Secret[Mapping[K, int]]


@called_as("epsilon=1, delta=1e-6")
@dataclass(frozen=True, init=False)
class Threshold(Mechanism):
    """Shows the keys that enough persons share.

    >>> words = Threshold(epsilon=1, delta=1e-6)
    >>> words.cut
    14
    >>> list(words.release({"the": 1000, "discreet": 1}))
    ['the']
    """

    epsilon: Fraction
    delta: Fraction
    keys: int
    noise: Literal["geometric", "gaussian"]
    cut: int
    _squared_sigma: Fraction = field(repr=False)

    label = "private key selection"

    def __init__(
        self, *, epsilon: Number, delta: Number, keys: int = 1, noise: Literal["geometric", "gaussian"] = "geometric"
    ) -> None:
        if not isinstance(noise, str) or noise not in ("geometric", "gaussian"):
            raise ParameterError(f'noise must be "geometric" or "gaussian", not {shown(noise)}.')
        budget, most = positive("epsilon", epsilon, "a number such as 1"), whole("keys", keys)
        chance = probability("delta", delta, zero=False, hint="a small chance such as 1e-6")
        square = most * analytic_sigma(budget, chance / 2) ** 2 if noise == "gaussian" else Fraction(0)
        cut = _gaussian_cut(square, most, chance / 2) if noise == "gaussian" else _geometric_cut(budget / most, chance / most)
        self._fill(epsilon=budget, delta=chance, keys=most, noise=noise, cut=cut, _squared_sigma=square)
        if max(self._scale, root(square)) > laplace.LARGEST_SCALE:
            raise ParameterError(f"epsilon = {epsilon} needs noise beyond 2^52 on counts of persons; write a larger epsilon.")

    @property
    def privacy(self) -> Privacy:
        """(epsilon, delta) when one person, with at most ``keys`` keys, is added or removed."""
        return approximate(self.epsilon, self.delta, neighbours="add-remove")

    def release(self, counts: Counts[K]) -> dict[K, int]:
        """The keys whose noisy count exceeds the cut, with that count, largest first."""
        return let_out(self, counts, lambda: self._count_noisily(counts), "counts")

    def _count_noisily(self, counts: Counts[K]) -> dict[K, int]:
        keys, numbers = _read(counts)
        noisy = numbers + self._draw(numbers.size)
        shown = [(keys[i], int(noisy[i])) for i in np.flatnonzero(noisy > self.cut)]
        return dict(sorted(_arrange(shown), key=lambda pair: -pair[1]))

    def select(self, counts: Counts[K]) -> list[K]:
        """The keys that may be shown, without counts: the rule that shows most."""
        return let_out(self, counts, lambda: self._choose_keys(counts), "keys")

    def _choose_keys(self, counts: Counts[K]) -> list[K]:
        if self.noise == "gaussian":
            return [key for key, _ in _arrange(list(self._count_noisily(counts).items()))]
        keys, numbers = _read(counts)
        shown = np.ones(numbers.size, dtype=np.bool_)
        for number in np.unique(numbers[numbers <= 2 * self.cut + 2]):
            same = np.flatnonzero(numbers == number)
            shown[same] = bernoulli(_best_chance(self.epsilon / self.keys, self.delta / self.keys, int(number)), same.size)
        return [key for key, _ in _arrange([(keys[i], 0) for i in np.flatnonzero(shown)])]

    def error(self, confidence: Number = 0.95) -> int | float:
        """With at least this probability the noise on one count is no larger (before the cut is applied)."""
        if self.noise == "gaussian":
            return Gaussian(sensitivity=1, sigma=root(self._squared_sigma)).error(confidence)
        return Laplace(sensitivity=1, scale=self._scale).error(confidence)

    @property
    def _scale(self) -> Fraction:
        return self.keys / self.epsilon

    def _draw(self, size: int) -> Integers:
        if self.noise == "gaussian":
            return gaussian.rounded(self._squared_sigma, size)
        drawn = laplace.discrete(self._scale, size)
        while (over := np.flatnonzero(np.abs(drawn) > self.cut)).size:
            drawn[over] = laplace.discrete(self._scale, over.size)
        return drawn

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"shown when about {self.cut:,} or more share them (delta {float(times * self.delta):.2g})"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """By keys whose count moved; a person moves those of theirs, all by 1 and all the same way."""
        one, other = cast("Mapping[Hashable, int]", before.value), cast("Mapping[Hashable, int]", after.value)
        moves = {key: int(other.get(key, 0)) - int(one.get(key, 0)) for key in {**one, **other}}
        moves = {key: step for key, step in moves.items() if step}
        cost = -(-len(moves) // self.keys) * self.privacy if moves else FREE
        far = many = None
        if any(abs(step) > 1 for step in moves.values()):
            key = max(moves, key=lambda key: abs(moves[key]))
            far = f"the count of {show_value(key)} moved by {abs(moves[key])}, and one person adds 1 to a key"
        elif len(set(moves.values())) > 1:
            far = "counts of some keys grew and of others fell; keys are chosen for persons who come or go"
        if len(moves) > self.keys:
            many = f"{len(moves)} keys moved, declared {self.keys}: {show_value(sorted(moves, key=str))}"
        return Moved(cost, far, many)


def _arrange(shown: list[tuple[K, int]]) -> list[tuple[K, int]]:
    """In an order that says nothing about the data, whose order a mapping keeps: by key where keys have one, else at random."""
    if all(type(key) is str for key, _ in shown) or all(type(key) is int for key, _ in shown):
        return sorted(shown)
    order = np.argsort(words(len(shown)))
    return [shown[i] for i in order]


def _read(secret: Counts[K]) -> tuple[list[K], Integers]:
    """Keys that somebody has, and how many persons have each."""
    counts = open_secret(secret)
    if not isinstance(counts, Mapping):
        raise ValueRefused("Counts must be a mapping from keys to numbers of persons; write {key: count, ...}.")
    numbers = counts.values()
    whole = {*map(type, numbers)} <= {int} or all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in numbers)
    if not whole or not 0 <= min(numbers, default=0) <= max(numbers, default=0) < 2**62:
        raise ValueRefused("Counts must be whole numbers of persons, at least 0; count distinct persons for every key.")
    present = {key: int(n) for key, n in counts.items() if n}
    return list(present), np.fromiter(present.values(), dtype=np.int64, count=len(present))


def _geometric_cut(epsilon: Fraction, delta: Fraction) -> int:
    """The least k with P(X = k) = (1-q) q^k / (1 + q - 2 q^(k+1)) <= delta, q = e^-epsilon; one more if balls cannot tell."""
    with precision(256):
        q, d = (-ball(epsilon)).exp(), ball(delta)
        least = ((1 - q + 2 * d * q) / (d * (1 + q))).log() / ball(epsilon)
        return int(least.upper().ceil().unique_fmpz() or 1)


def _gaussian_cut(squared_sigma: Fraction, keys: int, delta: Fraction) -> int:
    """The least whole T with -keys ln P(sigma Z < T - 1/2) <= delta."""

    def fits(cut: int) -> bool:
        with precision(256):
            tail = (ball(Fraction(2 * cut - 1, 2)) / (2 * ball(squared_sigma)).sqrt()).erfc() / 2
            return bool(-keys * (-tail).log1p() <= ball(delta))

    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _best_chance(epsilon: Fraction, delta: Fraction, count: int) -> Chance:
    """The largest private probability p(n) of showing a key that n = ``count`` persons have, in closed form.

    The first branch of the recursion holds while p <= (1 - delta) / (e^epsilon + 1) and sums to
    delta (e^(n epsilon) - 1) / (e^epsilon - 1); after that s = 1 - p follows s' = e^-epsilon (s - delta) until it reaches 0.
    """

    def rising(n: int) -> arb:
        return ball(delta) * ball(n * epsilon).expm1() / ball(epsilon).expm1()

    bits = 256 + 4 * delta.denominator.bit_length()
    with precision(bits):
        bend = (1 + ball(1 - delta) / ball(delta) * (ball(epsilon) / 2).tanh()).log() / ball(epsilon)
        turn = int(bend.lower().floor().unique_fmpz() or 0) + 1

    def value() -> arb:
        if count <= turn:
            return rising(count)
        shrink = (-ball((count - turn) * epsilon)).exp()
        return 1 - shrink * (1 - rising(turn)) + ball(delta) * (1 - shrink) / ball(epsilon).expm1()

    if count == 1:
        return Chance(delta)  # rational: its digits may end
    with precision(bits):
        return Chance(value) if value() < 1 else Chance(Fraction(1))
