"""Private set union: which of the items that people have (words, sites, n-grams) may be shown, where each has several.

A person adds weight to the items of their set, W in all as an L2 norm, so that the fewer items they have the more each weighs.
An item is shown when its noisy weight exceeds a cut; one that nobody has never is. This goes on in rounds, with most of the
cost in the last: what was shown is taken out of all sets, so that in later rounds nobody's weight is spent on it (Swanberg,
Desfontaines, Haney 2023). Common items need little of the cost to be found, and are in the way of all others.

**Theorem** (Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin 2020, for weights in L2 norm). Let a person's t <= m = ``items``
items each get the weight w_t = floor(W / sqrt(t)), let noise be N(0, sigma^2) rounded, the cut T, and b_t the probability that
w_t and noise exceed T. If 1 - (1 - b_t)^t <= d for every t <= m, then one round is dominated by the composition of a Gaussian
mechanism with mu = W / sigma and a (0, d)-private one when a person is added or removed. *Proof.* Let P be with the person, Q
without, and let j <= t of their t items be nobody else's. Given that none of these is shown, which has probability 1 - c >= (1
- b_t)^j, P and Q are Gaussian mechanisms on weights of the others, at L2 distance at most W: A and B, say. So P = (1 - c) A +
c (what Q never shows) and Q = B. For every order a >= 1, H_a(P || Q) <= c + (1 - c) H_a(A || B), and H_a(Q || P) = H_a(B || (1
- c) A) <= c + (1 - c) H_a(B || A), as (x - (1 - c) y)+ <= (1 - c) (x - y)+ + c x: what the composition has, with c <= d. A
person who is *replaced* moves common weights by at most sqrt(2) W, since none is negative, and hides twice: mu = sqrt(2) W /
sigma, and 2 d.

Neighbours: one person, with all their items, is added or removed, or replaced. Rounds compose, each being chosen after what
the earlier ones showed. Which m of a larger set count is decided by a keyed hash of the items, the same for all people; it
depends on nobody else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import isqrt, sqrt
from statistics import NormalDist
from typing import cast

import numpy as np

from discreet.arrays import Number
from discreet.balls import ball, precision
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import positive, probability, root, whole
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, let_out, show_change
from discreet.mechanisms.gaussian import analytic_sigma
from discreet.mechanisms.rows.block import Blocks
from discreet.mechanisms.rows.sets import Owned, Owners, choose, mark_item, owners_of
from discreet.mechanisms.secret import Secret, open_secret
from discreet.noise import gaussian
from discreet.noise.bits import words
from discreet.noise.laplace import LARGEST_SCALE
from discreet.privacy import Privacy
from discreet.privacy.losses import Box
from discreet.privacy.losses import Gaussian as Loss
from discreet.privacy.neighbours import Neighbours, read_neighbours

_RADIUS = 1 << 20  # W, in units
_MOST_ITEMS = 2**12
_LOWERED = 1 - Fraction(1, 2**32)  # so that what the accountant adds for rounding stays within what was asked
_ROUNDS = (  # shares of the cost, and of delta
    (Fraction(1, 50), Fraction(1, 20)),
    (Fraction(2, 25), Fraction(3, 20)),
    (Fraction(9, 10), Fraction(4, 5)),
)


@dataclass(frozen=True)
class Round(Mechanism):
    """One round: items whose noisy weight exceeds the cut. ``squared_mu`` and ``delta`` are what it costs."""

    items: int
    squared_mu: Fraction
    delta: Fraction
    neighbours: Neighbours
    cut: int = field(init=False)

    label = "private set union"

    def __post_init__(self) -> None:
        if root(self.squared_sigma) > LARGEST_SCALE:
            raise ParameterError("This is too small a cost for a set of items: its noise leaves all numbers; write a larger one.")
        hidden = self.delta / (2 if self.neighbours == "replace" else 1)
        object.__setattr__(self, "cut", _cut(self.items, self.squared_sigma, hidden))

    @property
    def squared_sigma(self) -> Fraction:
        """Of the noise, in squared units of weight."""
        return (2 if self.neighbours == "replace" else 1) * Fraction(_RADIUS**2) / self.squared_mu

    @property
    def privacy(self) -> Privacy:
        return Privacy(((Loss(self.squared_mu), 1), (Box(Fraction(0), self.delta), 1)), self.neighbours)

    def let_out(self, weights: Secret[Mapping[str, int]]) -> list[str]:
        """``release``, as a reservation calls it."""
        return self.release(weights)

    def release(self, weights: Secret[Mapping[str, int]]) -> list[str]:
        """The items that are shown, in the order of the alphabet."""
        return let_out(self, weights, lambda: self._show(open_secret(weights)))

    def _show(self, weights: Mapping[str, int]) -> list[str]:
        items = list(weights)
        noisy = np.fromiter(weights.values(), dtype=np.int64, count=len(items)) + gaussian.rounded(self.squared_sigma, len(items))
        return sorted(items[i] for i in np.flatnonzero(noisy > self.cut))

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"shown when about {self.cut / _RADIUS * sqrt(self.items):,.0f} persons share them, or fewer who have little else"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """In L2 norm of all weights."""
        one, other = (cast("Mapping[str, int]", side.value) for side in (before, after))
        square = sum((Fraction(other.get(item, 0) - one.get(item, 0)) ** 2 for item in {**one, **other}), Fraction(0))
        if not square:
            return FREE_MOVE
        most = Fraction(2 if self.neighbours == "replace" else 1) * _RADIUS**2
        far = None if square <= most else show_change(before, after, square, Fraction(_RADIUS), "L2")
        return Moved(Privacy(((Loss(square / self.squared_sigma), 1), (Box(Fraction(0), self.delta), 1))), far)


FREE_MOVE = Moved(FREE)


@called_as("epsilon=1, delta=1e-6, items=20")
@dataclass(frozen=True, init=False)
class SetUnion(Mechanism):
    """Shows the items that enough people share, at most ``items`` of each; for ``epsilon`` or ``rho``, with a ``delta``.

    >>> union = SetUnion(epsilon=1, delta=1e-6, items=3)
    >>> union.release([["bread", "milk"]] * 500 + [["bread", "a very rare thing"]])
    ['bread', 'milk']
    """

    items: int
    squared_mu: Fraction = field(repr=False)
    delta: Fraction  # of which somebody's own item is shown
    neighbours: Neighbours

    label = Round.label

    def __init__(
        self,
        *,
        delta: Number,
        items: int,
        epsilon: Number | None = None,
        rho: Number | None = None,
        neighbours: Neighbours = "add-remove",
    ) -> None:
        chance = probability("delta", delta, zero=False, hint="a small chance such as 1e-6")
        if whole("items", items) > _MOST_ITEMS:
            raise ParameterError(f"items must be at most {_MOST_ITEMS:,}; write a smaller number, such as 20.")
        if (epsilon is None) == (rho is None) or read_neighbours(neighbours) not in ("add-remove", "replace"):
            raise ParameterError(
                "SetUnion takes epsilon or rho, a delta and a number of items; write SetUnion(epsilon=1, delta=1e-6, items=20)."
            )
        hidden = chance
        if epsilon is not None:  # half of delta is for the cut, and the rest for the noise
            hidden = chance / 2
            budget = positive("epsilon", epsilon, "a number such as 1") * _LOWERED
            square = 1 / analytic_sigma(budget, (chance - hidden) / (1 - hidden)) ** 2
        else:
            square = 2 * positive("rho", rho, "a number such as 0.5")
        self._fill(items=int(items), squared_mu=square, delta=hidden, neighbours=neighbours)
        self.rounds  # noqa: B018 - noise that no grid can hold is refused here

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(Round(self.items, self.squared_mu * cost, self.delta * chance, self.neighbours) for cost, chance in _ROUNDS)

    @property
    def privacy(self) -> Privacy:
        """Gaussian noise, and the chance that somebody's own item is shown."""
        return Privacy(((Loss(self.squared_mu), 1), (Box(Fraction(0), self.delta), 1)), self.neighbours)

    @property
    def cut(self) -> float:
        """The weight beyond which an item is shown in the last round; one person adds at most 1 to it."""
        return self.rounds[-1].cut / _RADIUS

    def release(self, sets: object) -> list[str]:
        """The items that may be shown, in the order of the alphabet; each set is one person's texts."""
        own = _read(sets)
        return let_out(self, [sorted({*one}) for one in own], lambda: self._show(own))

    def _show(self, sets: list[list[str]]) -> list[str]:
        flat = [item for one in sets for item in one]
        units = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
        key, found = words(4).tobytes(), list[str]()
        for one in self.rounds:
            weights = Weights(self.items, found, key)
            weights.add((flat, units))
            found += one.release(Secret(weights.found))
        return sorted(found)

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:
        return self.rounds[-1].describe(unit=unit, times=times)

    def error(self, confidence: Number = 0.95) -> float:
        """With at least this probability the noise on one weight is no larger in the last round, in weights of one person."""
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        with precision(160):
            reach = (2 * ball(self.rounds[-1].squared_sigma)).sqrt() * ball(wanted).erfinv() + ball(Fraction(1, 2))
            return float(reach.upper()) / _RADIUS * (1 + 2.0**-40)

    def moved(self, before: Recording, after: Recording) -> Moved:
        """By sets that are not the same: one person has one of them, and it has at most so many items."""
        one, other = (cast("list[list[str]]", side.value) for side in (before, after))
        left = list(other)
        gone = [given for given in one if not _remove(left, given)]
        many = len(gone) + len(left)
        allowed = 2 if self.neighbours == "replace" else 1
        if not many:
            return FREE_MOVE
        far = None if many <= allowed else f"{many} sets differ, and one person has one"
        return Moved(-(-many // allowed) * self.privacy, far)


class Weights:
    """What all units add to their items, but for those that are ``known``; blocks are added one after the other."""

    def __init__(self, items: int, known: Collection[str], key: bytes) -> None:
        self._most, self._known, self._key = items, frozenset(known), key
        self._each = np.array([0, *(isqrt(_RADIUS**2 // t) for t in range(1, items + 1))], dtype=np.int64)
        self._codes: dict[str, int] = {}
        self._marks: list[int] = []  # which of too many items count: those with the least
        self._total = np.zeros(0, dtype=np.int64)

    @property
    def found(self) -> dict[str, int]:
        """Every item that somebody has, and its weight."""
        return {item: int(self._total[code]) for item, code in self._codes.items() if self._total[code]}

    def add(self, owned: Owned) -> None:
        """Add the sets of units, none of which was added before."""
        items, units = owned
        codes = np.fromiter((self._code(item) for item in items), dtype=np.int64, count=len(items))
        marks = np.array(self._marks, dtype=np.int64)
        owner, code = choose(np.asarray(units, dtype=np.int64), codes, marks, self._most)
        _, place, sizes = np.unique(owner, return_inverse=True, return_counts=True)
        self._total = np.concatenate([self._total, np.zeros(len(self._codes) - len(self._total), dtype=np.int64)])
        np.add.at(self._total, code, self._each[sizes[place]])

    def _code(self, item: str) -> int:
        found = self._codes.get(item)
        if found is None:
            if item in self._known:
                return -1
            found = self._codes[item] = len(self._codes)
            self._marks.append(mark_item(item, self._key))
        return found


def weigh(blocks: Blocks, of: Owners, items: int, known: Collection[str], key: bytes) -> Secret[Mapping[str, int]]:
    """The weights of all items that rows have, but for those that are known: ``of`` makes of the rows of a block their items, and
    the number of the row that has each, by public parameters and of nothing but that row."""
    weights = Weights(items, known, key)
    for secret in blocks:
        block = open_secret(secret)
        texts, rows = of(block)
        weights.add((texts, owners_of(block, rows)))
    return Secret(weights.found)


def _read(sets: object) -> list[list[str]]:
    """One list of texts a person."""
    given = open_secret(sets)
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise ValueRefused("Sets must be lists of texts, one list a person; write [['bread', 'milk'], ['milk']].")
    own = []
    for one in given:
        if isinstance(one, str | bytes | Mapping) or not isinstance(one, Iterable):
            raise ValueRefused("Every person has a list of texts; write [['bread', 'milk'], ['milk']].")
        texts = list(one)
        if not all(isinstance(text, str) for text in texts):
            raise ValueRefused("Items must be texts; write [['bread', 'milk'], ['milk']].")
        own.append([str(text) for text in texts])
    return own


def _remove(sets: list[list[str]], one: list[str]) -> bool:
    if one in sets:
        sets.remove(one)
        return True
    return False


def _cut(items: int, squared_sigma: Fraction, delta: Fraction) -> int:
    """The least whole T, or nearly, such that the t items of one person, whatever t, stay hidden but for a chance of ``delta``:
    each weighs w_t and is shown if rounded noise is above T - w_t, if noise is above T - w_t + 1/2."""
    sigma = float(root(squared_sigma))
    weights = [isqrt(_RADIUS**2 // t) for t in range(1, items + 1)]
    normal, chance = NormalDist(), max(float(delta), 1e-300)
    guess = max(weight - sigma * normal.inv_cdf(max(chance / t, 1e-300)) for t, weight in enumerate(weights, 1))

    def fits(cut: int) -> bool:
        with precision(256):
            scale, most = (2 * ball(squared_sigma)).sqrt(), ball(delta)
            for t, weight in enumerate(weights, 1):
                tail = (ball(Fraction(2 * (cut - weight) + 1, 2)) / scale).erfc() / 2
                if not -(t * (-tail).log1p()).expm1() <= most:
                    return False
            return True

    cut, step = int(guess), max(1, int(sigma / 2**10))
    while fits(cut - step):
        cut -= step
    while not fits(cut):
        cut += step
    return cut
