"""How much a row weighs in a model of many numbers: less, where many of them are far from the middle of their bounds at once.

Let a row have numbers z_1 .. z_d in [-1, 1], those of a model but its response, T the sum of their squares, and c a whole number
(``reach``). The row weighs w = min(1, c / T), cut off to 64ths, in all sums of products of the model. Weights depend on the
columns of the model and on nothing else, so that least squares with them is right for whatever is linear in these columns (in
fewer of them it need not be: where rows weigh less, others are more frequent); and one row adds no more than c allows, where
without weights it could stand in a corner, in which T is d.

**Theorem.** With t_i = w z_i^2, no t_i is above 1 and their sum is at most c. So one row moves, all of them together,

* the sums of w z_i z_j, i <= j, by at most sqrt(c (c + 1) / 2) in L2, (sum t_i)^2 and sum t_i^2 being halved and added up; in L1
  by c (d + 1) / 2, (sum |z_i|)^2 being at most d T;
* the sums of w z_i, and those of w z_i y with y in [-1, 1], by at most sqrt(c) in L2, and by sqrt(c d) in L1.

Who has c numbers at their bounds and the others in the middle has T = c and w = 1, and attains what is said of L2. Numbers are
counted in 1,024ths: rounding moves a vector of d of them by at most sqrt(d) / 2048, and doubles are off by less than 2^-40, so
that c is as if it were (sqrt(c) (1 + 2^-40) + sqrt(d) / 2048)^2.

**Which c**: for numbers that lie evenly between their bounds T has mean d / 3 and variance 4 d / 45; c is one standard deviation
above the mean, and 2 at least. Then few rows weigh much less than 1, and of ten columns each sum of X^T X has two fifths of the
noise. Where all rows are far out, they weigh the same, and nothing is lost but in the sums of w z_i y; where bounds are wide for
the numbers, as declared ones mostly are, c is what counts (``benchmarks/regression.py`` has tables of either kind).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from discreet.analysis.linear.gram import Product, spell
from discreet.exact import root_up
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.measures import PRODUCT_UNITS, Measure, measure_product
from discreet.plan.statistics import Sums

_PARTS = 64  # of a weight
_SURE = 1 + Fraction(1, 2**40)  # what doubles may be off


def reach(count: int) -> int:
    """How far out a row may be that weighs 1, as a sum of squares of so many numbers in [-1, 1].

    >>> [reach(count) for count in (1, 2, 3, 5, 10, 40)]
    [1, 2, 2, 2, 4, 15]
    """
    return min(count, max(2, round(count / 3 + math.sqrt(4 * count / 45))))


@dataclass(frozen=True)
class Weighing:
    """Rows weighed by some numbers; ``plain``: these and all other numbers of the model, around the middles of their bounds."""

    by: tuple[Expression, ...]
    plain: Mapping[str, Measure]

    @property
    def least(self) -> float:
        """The least that a row can weigh."""
        return math.floor(_PARTS * self._reach / len(self.by)) / _PARTS

    def measures(self, numbers: Sequence[Expression]) -> dict[str, Measure]:
        """Numbers in [-1, 1], counted in 1,024ths."""
        most = PRODUCT_UNITS
        return {str(one): Measure("value", -most, most, self._inside(one), step=Fraction(1, most)) for one in numbers}

    @cached_property
    def weight(self) -> Measure:
        """What a row weighs, in 64ths."""
        squares = [Call("*", (self._inside(one), self._inside(one))) for one in self.by]
        far = Call("greatest", (_total(squares), Literal(self._reach)))
        parts = Call("floor", (Call("/", (Literal(_PARTS * self._reach), far)),))
        return Measure("value", 0, _PARTS, Call("*", (parts, Literal(Fraction(1, _PARTS)))), step=Fraction(1, _PARTS))

    def blocks(self, products: Sequence[Product], measures: Mapping[str, Measure], response: str) -> dict[Product, Sums]:
        """The sums of those products that one row moves together by less than one by one."""
        weight, mine = self.weight, {str(one) for one in self.by}
        kinds: dict[str, list[Product]] = {}
        for product in products:
            if product.by:
                continue
            rest = [name for name in product.of if name not in mine]
            if not rest and 1 <= len(product.of) <= 2:
                kinds.setdefault("sums" if len(product.of) == 1 else "products", []).append(product)
            elif rest == [response] and len(product.of) == 2:
                kinds.setdefault("response", []).append(product)
        found = {}
        for kind, those in kinds.items():
            if len(those) > 1:
                of = tuple(measure_product(weight, *(measures[name] for name in one.of)) for one in those)
                sums = Sums(of, self._words(kind, spell(response)), self._norms(kind))
                found.update(dict.fromkeys(those, sums))
        return found

    def _norms(self, kind: str) -> tuple[int, int]:
        """How far one row moves the sums of a kind together, in whole units: L1, and L2 squared."""
        count, units = len(self.by), _PARTS * PRODUCT_UNITS ** (1 if kind == "sums" else 2)
        far = (root_up(Fraction(self._reach)) * _SURE + root_up(Fraction(count)) / (2 * PRODUCT_UNITS)) ** 2
        if kind == "products":
            l1, square = far * (count + 1) / 2, far * (far + 1) / 2
        else:
            l1, square = root_up(far * count), far
        return math.ceil(units * l1), math.ceil(units**2 * square)

    @property
    def _reach(self) -> int:
        return reach(len(self.by))

    def _inside(self, one: Expression) -> Expression:
        """A number as one in [-1, 1]."""
        plain = self.plain[str(one)]
        from_middle = Call("-", (one, Literal(plain.shift * plain.step))) if plain.shift else one
        return Call("*", (from_middle, Literal(1 / (plain.bound * plain.step))))

    def _words(self, kind: str, response: str) -> str:
        many = f"each of the {len(self.by)} numbers"
        return {
            "sums": f"sum of {many}",
            "products": f"sum of the product of every two of the {len(self.by)} numbers",
            "response": f"sum of {many} times {response}",
        }[kind]


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


def _total(terms: Sequence[Expression]) -> Expression:
    """A sum as a tree that is not deep."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Call("+", (_total(terms[:half]), _total(terms[half:])))
