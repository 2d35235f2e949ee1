"""How much a row weighs in a model of many numbers: less, the farther they are from the middle of their bounds all together.

Let a row have the numbers u = (u_1 .. u_d) of a model but its response, each in [-1, 1], and the response y in [-1, 1]. What it
adds to X^T X of a column of ones and these numbers is v v^T with v = (1, u): its norm is that of v, squared. Noise that hides
the row wherever it is would have to be as large as the farthest corner asks for. So it weighs

    w = min(1, (3/2) / M),     M = 1 + |u|^2 / t     (Gaussian noise, L2),     M = (1 + |u| / t)^2     (Laplace noise, L1),

cut off to 64ths, in all sums of products of the model: all rows but those in the middle then add the same in size, and nobody's
bounds need to be narrow. Weights depend on the columns of the model and on nothing else, so that least squares with them is
right for whatever is linear in these columns (in fewer of them it need not be: where rows weigh less, others are more frequent).

**Theorem.** Let the sums of w, w y, w y^2 be released in one vector with factors a_1, a_2, a_3, those of w u_i and w u_i y with
b_1, b_2, those of w u_i^2 with c, and those of w u_i u_j, i < j, with at most 2^(1/p) c, where p is 1 for L1 and 2 for L2. Then
one row moves this vector by at most 3/2 N in L_p, N^p = max(A, B, C), where A = a_1^p + a_2^p + a_3^p is what counts in the
corner of the matrix, B = (b_1^p + b_2^p) t / 2 (of p = 1 and 2 alike) beside it, and C = (c t^(2/p))^p inside.
*Proof.* Let x = |u|^p / t, in L_p. The p-th power of the row's norm, before it is weighed, is at most
A + 2 B x + C x^2 <= N^p (1 + x)^2 = N^p M^p, since |y| <= 1, and since the products inside have the p-th power c^p |u|^2p at
most: the square of a sum holds every product of two twice. And w M <= 3/2. Numbers are counted in 1,024ths: rounding moves u by
at most r = d^(1/p) / 2048 in L_p, and so M by a factor of at most (1 + h)^2, h = r / t^(1/p): of p = 1 that is
1 + x + h <= (1 + x) (1 + h), and of p = 2, with z = sqrt(x), 1 + (z + h)^2 <= (1 + z^2) (1 + h + h^2), as 2 z h <= h (1 + z^2).
Doubles are off by less than 2^-40. Persons and replaced rows: ``plan.statistics``. QED

With A = B = C, as nearly as whole factors allow, every row with |y| = 1 and M above 3/2 attains it. How a, b and c share the
cost within that is decided by how much each product matters (``products``).

**Which t**: M is 2 at |u|^p = t, where corner, border and inside of the matrix cost as 1, 2 and 1. Numbers between declared
bounds have a mean square of 1/5, say: 1/3 where they lie evenly, less where bounds are wide. A number that has few values is
oftener at its bounds, with k of them it has a mean square of 1/5 + 4/5 / (k - 1), say; it is made smaller by so much that it
adds no more to M than others. So t is d/5, and for L1 a little less than the square root of d t, d 2/5. No data decides it; and
little depends on it (``benchmarks/regression.py`` has tables with narrow, wide and lopsided bounds).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal as Only

import numpy as np

from discreet.analysis.linear.gram import Product, spell
from discreet.arrays import Reals
from discreet.exact import root_up
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.measures import PRODUCT_UNITS, Measure, measure_product
from discreet.plan.statistics import Sums

FEWEST = 3  # numbers of a model whose rows are weighed
_PARTS = 64  # of a weight
_SURE = 1 + Fraction(1, 2**40)  # what doubles may be off
_MOST = Fraction(3, 2)  # of M, for a row that weighs 1
_USUAL = Fraction(1, 5)  # the mean square of a number between its bounds
_INSIDE = {1: (8, 16), 2: (10, 14)}  # factors of squares, and of products of two: whole numbers, whose ratio is at most 2^(1/p)

Order = Only[1, 2]
Kind = Only["rows", "response", "its square", "sums", "with response", "squares", "products"]
_CORNER: tuple[Kind, ...] = ("rows", "response", "its square")
_BORDER: tuple[Kind, ...] = ("sums", "with response")


@dataclass(frozen=True)
class Weighing:
    """Rows weighed by some numbers; ``plain``: these and all other numbers of the model, around the middles of their bounds.
    ``matters``: how much each product does. ``order``: 1 for Laplace noise, 2 for Gaussian noise."""

    by: tuple[Expression, ...]
    plain: Mapping[str, Measure]
    response: str
    matters: Mapping[Product, Fraction]
    order: Order

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Numbers in [-1, 1], counted in 1,024ths."""
        found = {}
        for name in self.plain:
            most = math.ceil(PRODUCT_UNITS * self.size(name))
            found[name] = Measure("value", -most, most, self._inside(name), step=Fraction(1, PRODUCT_UNITS))
        return found

    def size(self, name: str) -> Fraction:
        """How large a number is at its bounds, which is 1 where it has many values between them."""
        if name not in self._names:
            return Fraction(1)
        values = self.plain[name].high - self.plain[name].low + 1
        square = _USUAL + (1 - _USUAL) / (values - 1)
        return Fraction(round(64 * math.sqrt(_USUAL / square)), 64)

    def scale(self, name: str) -> tuple[Fraction, Fraction]:
        """The middle of a number's bounds, which need not be one of its values, and what is 1 in it."""
        plain = self.plain[name]
        middle, half = Fraction(plain.low + plain.high, 2) + plain.shift, Fraction(plain.high - plain.low, 2)
        return middle * plain.step, half * plain.step / self.size(name)

    @cached_property
    def weight(self) -> Measure:
        """What a row weighs, in 64ths."""
        inside = [self._inside(str(one)) for one in self.by]
        if self.order == 2:
            size = _plus_one(_total([Call("*", (one, one)) for one in inside]), self._usual)
        else:
            away = _plus_one(_total([Call("abs", (one,)) for one in inside]), self._usual)
            size = Call("*", (away, away))
        far = Call("greatest", (size, Literal(_MOST)))
        parts = Call("floor", (Call("/", (Literal(_PARTS * _MOST), far)),))
        return Measure("value", 0, _PARTS, Call("*", (parts, Literal(Fraction(1, _PARTS)))), step=Fraction(1, _PARTS))

    @property
    def least(self) -> float:
        """The least that a row can weigh."""
        return float(weigh_rows(np.array([[float(self.size(str(one))) for one in self.by]]), self.order)[0])

    @cached_property
    def together(self) -> dict[Product, Sums]:
        """The sums of all products that are released in one vector, in their order."""
        those = sorted(product for product in self.matters if self.kind(product) is not None)
        of = tuple(self._measure(product) for product in those)
        words = f"sums of products of {spell(self.response)} and {len(self.by)} numbers, in one vector"
        return dict.fromkeys(those, Sums(of, words, self._norms))

    def kind(self, product: Product) -> Kind | None:
        """Where a product stands in the matrix; None for one that is released by itself."""
        if product.by or len(product.of) > 2:
            return None
        mine = [name for name in product.of if name in self._names]
        rest = [name for name in product.of if name not in self._names]
        if any(name != self.response for name in rest):
            return None
        if not mine:
            return _CORNER[len(rest)]
        if len(mine) == 1:
            return _BORDER[len(rest)]
        return "squares" if mine[0] == mine[1] else "products"

    def factor(self, product: Product) -> Fraction:
        """By how much a product is multiplied in the vector: what its noise is to be divided by."""
        kind = self.kind(product)
        return Fraction(1) if kind is None else self._factors[kind]

    @property
    def share(self) -> float:
        """What the vector has of a cost, where a sum that matters w has w, or of a pure one the 2/3rd power."""
        counts: dict[Kind, int] = {}
        for product in self.together:
            kind = self.kind(product)
            assert kind is not None
            counts[kind] = counts.get(kind, 0) + 1
        total, far = 0.0, float(self._usual) ** (1 / self.order)
        for kind, count in counts.items():
            norm = 1.0 if kind in _CORNER else far if kind in _BORDER else far**2
            total += (self._means[kind] * math.sqrt(count) * norm) ** (1 if self.order == 2 else 2 / 3)
        return total

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(map(str, self.by))

    @property
    def _usual(self) -> Fraction:
        return _usual(len(self.by), self.order)

    @cached_property
    def _means(self) -> dict[Kind, float]:
        """How much products of a kind matter on average."""
        held: dict[Kind, list[Fraction]] = {}
        for product, weight in self.matters.items():
            kind = self.kind(product)
            if kind is not None:
                held.setdefault(kind, []).append(weight)
        return {kind: float(sum(those) / len(those)) for kind, those in held.items()}

    @cached_property
    def _factors(self) -> dict[Kind, Fraction]:
        """Of every kind, on the grid on which all products are whole numbers of the same worth."""
        order, means = self.order, self._means
        square, product = _INSIDE[order]
        whole = square * float(self._usual) ** (2 / order)  # what A, B and C are to be, its p-th power
        found: dict[Kind, Fraction] = {"squares": Fraction(square), "products": Fraction(product)}
        for kinds, room in ((_CORNER, whole**order), (_BORDER, 2 * whole**order / float(self._usual))):
            held = {kind: means[kind] ** (1 if order == 2 else 2 / 3) for kind in kinds if kind in means}
            for kind, part in held.items():
                grid = PRODUCT_UNITS ** (2 - _degree(kind))
                units = round((room * part / sum(held.values())) ** (1 / order) * grid)
                found[kind] = Fraction(max(units, 1), grid)
        return found

    def _measure(self, product: Product) -> Measure:
        """What a row adds to a sum: all of them are worth the same."""
        grid = PRODUCT_UNITS ** (2 - len(product.of))
        units = int(self.factor(product) * grid)
        times = Measure("rows", units, units, step=Fraction(1, grid))
        return measure_product(times, self.weight, *(self.measures[name] for name in product.of))

    @property
    def _norms(self) -> tuple[int, int]:
        """How far one row moves the vector, in whole units: L1, and L2 squared; one is the theorem's, and the other follows."""
        order, count, usual = self.order, len(self.by), self._usual
        power = {kind: factor**order for kind, factor in self._factors.items()}
        corner = sum((power[kind] for kind in _CORNER if kind in power), Fraction(0))
        border = sum((power[kind] for kind in _BORDER if kind in power), Fraction(0)) * usual / 2
        inside = power["squares"] * usual**2
        largest = max(corner, border, inside)
        rounded = Fraction(1, 2 * PRODUCT_UNITS)
        away = rounded * count / usual if order == 1 else rounded * root_up(count / usual)
        units = _PARTS * PRODUCT_UNITS**2 * _MOST * _SURE * (1 + away) ** 2
        if order == 1:
            l1 = math.ceil(units * largest)
            return l1, l1**2
        square = math.ceil(units**2 * largest)
        return math.ceil(root_up(Fraction(square * len(self.matters)))), square

    def _inside(self, name: str) -> Expression:
        """A number as one in [-1, 1], or less where it has few values."""
        of = self.plain[name].of
        assert of is not None
        middle, half = self.scale(name)
        from_middle = Call("-", (of, Literal(middle))) if middle else of
        return Call("*", (from_middle, Literal(1 / half)))


def weigh_rows(inside: Reals, order: Order) -> Reals:
    """What rows weigh whose numbers are as they are counted, less than 1 where these have few values: as engines do it.

    >>> weigh_rows(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), 2).tolist()
    [1.0, 0.25]
    """
    usual = float(_usual(inside.shape[1], order))
    size = 1 + (inside**2).sum(axis=1) / usual if order == 2 else (1 + np.abs(inside).sum(axis=1) / usual) ** 2
    found: Reals = np.floor(_PARTS * float(_MOST) / np.maximum(size, float(_MOST))) / _PARTS
    return found


def remark(others: Sequence[str], least: float) -> str:
    """What is to be said of a model of rows that are weighed, also by ``others`` that it has not."""
    if others:
        return (
            f"Rows weigh less where {', '.join(others)} and others are far from the middle of their bounds at once, and the "
            "model has not all of them: it is that of the weighed rows, from which that of all rows may differ by more than "
            "intervals say. Ask regress() of the curator for that one."
        )
    return (
        f"Rows in which many numbers are far from the middle of their bounds at once weigh less, at least {least:.2f}: noise is "
        "much smaller for it, and what is linear is found all the same."
    )


def _usual(count: int, order: Order) -> Fraction:
    """t, where corner, border and inside of the matrix cost as 1, 2 and 1."""
    return count * (_USUAL if order == 2 else 2 * _USUAL)


def _degree(kind: Kind) -> int:
    """How many numbers a product of a kind has."""
    return {"rows": 0, "response": 1, "sums": 1}.get(kind, 2)


def _plus_one(size: Expression, usual: Fraction) -> Expression:
    return Call("+", (Call("*", (size, Literal(1 / usual))), Literal(1)))


def _total(terms: Sequence[Expression]) -> Expression:
    """A sum as a tree that is not deep."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Call("+", (_total(terms[:half]), _total(terms[half:])))
