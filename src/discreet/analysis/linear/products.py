"""Sums of products: the noisy numbers of which moments, correlations and linear models are made, paid for once.

Numbers are centred at the middle of their bounds and counted in whole units of a public grid, at most 1,024 of them either
way, so that sums of products are exact; finer declared steps are rounded to it. Divided by its largest size b, such a number
z is in [-1, 1]. What is released is the sum of z_i z_j over rows, of z_i, the number of rows, and of longer products where a
model has them; by category, where a model has categories: one-hot columns are blocks of cells, of which a row is in one. All
are of the same rows: those in which nothing that is named is missing.

**Theorem.** Rows are added or removed. Let a product be bounded by 1 in [-1, 1] units and released with Gaussian noise at the
share w / W of a rho, W being the sum of all w. Then the release of all costs rho, and less noise of the same proportions
costs more: a row at a corner of the box, which public bounds allow, attains all bounds at once, so that the sum of prices is
the price of the joint vector. With w = 1 on the diagonal of X^T X and 2 beside it this is the release of the symmetric matrix
with one Gaussian noise whose variance is half as large beside the diagonal as on it, at sensitivity |x|^2 in Frobenius norm
(lecture exercise 4.8, with n in the corner). For other units, rows replaced or persons, each sum has its own sensitivity
under them, and prices add up, which is sound and need not be tight. All blocks of one matrix have one weight for every row:
where persons have weights, all are sums of the whole table, by level too (``Sums.apart``), in which every row of a person who
has c of them weighs min(1, r / c); with keys, c would be that of a group. Under pure budgets shares are w^(2/3), which is best
for Laplace noise where w is best for Gaussian noise.
"""

from __future__ import annotations

import itertools
import json
import math
from abc import abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from discreet.analysis.base import Analysis, Noisy, Paid, Study, read_share
from discreet.analysis.linear.gram import Matrix, Product, Scale, bare, describe, spell
from discreet.analysis.linear.weighing import Weighing
from discreet.curator.desk import Desk
from discreet.curator.digest import facts_of as facts_of_plan
from discreet.curator.digest import hash_facts
from discreet.curator.plans import Measured, Receipt
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Expression, Value, conjuncts
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.keys import keys_of
from discreet.plan.measures import Measure, measure_coarse, measure_level, measure_product
from discreet.plan.plan import Plan, facts_of, price_needs
from discreet.plan.preview import PreviewLine
from discreet.plan.query import Key, Query
from discreet.plan.release import Additive, Release
from discreet.plan.statistics import Sums
from discreet.schema.units import OneRow, Person

MOST_PRODUCTS = 2000
_MOST_WEIGHTED = 500  # numbers, each of which engines hold for every person
_MOST_LEVELS = 200
_LAPLACE = 1.09  # 95 % of a Laplace law are within 1.09 times as many standard deviations as of a Gaussian one

Result = TypeVar("Result")


@dataclass(frozen=True)
class ProductsAsked(Analysis[Result]):
    """What needs sums of products. ``weights``: how much each matters, by which the cost is shared out."""

    rows: Question
    numbers: tuple[Expression, ...]  # of a model: the response first
    categories: tuple[Expression, ...]
    weights: tuple[tuple[Product, Fraction], ...]
    weighed: tuple[Expression, ...] = field(default=(), kw_only=True)  # numbers by which rows are weighed

    @property
    def desk(self) -> Desk:  # type: ignore[override]
        return self.rows.desk

    @abstractmethod
    def conclude(self, matrix: Matrix, paid: Paid) -> Result:
        """The result, from noisy sums: free."""

    def serves(self, weighed: Sequence[Expression]) -> bool:  # noqa: ARG002
        """Whether sums over rows that are weighed by some numbers serve it too."""
        return False

    def checked(self) -> Self:
        """The same, when it is known that its numbers have bounds and its categories levels."""
        for one in self.numbers:
            measure_number(one, infer(one, self.facts))
        for one in self.categories:
            list_levels(one, self.query, self.facts)
        return self

    def priced(self, share: Cost) -> Sheet[Result]:
        return Sheet(self, *self._plans(share))

    @cached_property
    def facts(self) -> Mapping[str, Facts]:
        """What is declared, by the names that questions use."""
        return facts_of(self.rows.facts, self.rows.rows.tables)

    @cached_property
    def query(self) -> Query:
        """The rows in which nothing that is named is missing."""
        rows, named = self.rows.rows, (*self.numbers, *self.categories)
        present = sorted({one for one in named if infer(one, self.facts).nullable}, key=str)
        tests = (*conjuncts(rows.where), *(Call("not", (Call("is_null", (one,)),)) for one in present))
        return rows if not present else replace(rows, where=tests[0] if len(tests) == 1 else Call("and", tests))

    @cached_property
    def measures(self) -> dict[str, Measure]:
        """Every number in units of its grid, from the middle of its bounds."""
        return self.weighing.measures if self.weighing else self._plain

    @cached_property
    def _plain(self) -> dict[str, Measure]:
        return {str(one): measure_number(one, infer(one, self.facts)) for one in self.numbers}

    @cached_property
    def weighing(self) -> Weighing | None:
        """How rows are weighed, if they are, for Gaussian noise."""
        return Weighing(self.weighed, self._plain, str(self.numbers[0]), dict(self.weights), 2) if self.weighed else None

    def weighing_at(self, share: Cost) -> Weighing | None:
        """The same for the noise that a cost buys."""
        return replace(self.weighing, order=1) if self.weighing and share.epsilon is not None else self.weighing

    @cached_property
    def levels(self) -> dict[str, tuple[Value, ...]]:
        """The values of every category, the reference first."""
        return {str(one): list_levels(one, self.query, self.facts) for one in self.categories}

    @cached_property
    def weighted(self) -> bool:
        """Whether rows of persons have weights that must be the same in blocks by different categories."""
        unit = self.rows.facts.unit
        return isinstance(unit, Person) and not isinstance(unit, OneRow) and len({one.by for one, _ in self.weights}) > 1

    @cached_property
    def indicators(self) -> dict[str, tuple[Measure, ...]]:
        """The one-hot columns of every category."""
        return {
            str(one): tuple(measure_level(one, infer(one, self.facts), level) for level in self.levels[str(one)])
            for one in self.categories
        }

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """From whole units to [-1, 1]."""
        found = {}
        for name, one in self._plain.items():
            middle, half = self.weighing.scale(name) if self.weighing else (one.shift * one.step, one.bound * one.step)
            ends = (one.low + one.shift) * one.step, (one.high + one.shift) * one.step
            found[name] = Scale(*map(float, (middle, half, *ends)))
        return found

    def _plans(self, share: Cost) -> tuple[tuple[Plan, ...], tuple[tuple[Product, ...], ...]]:
        """A plan for every set of categories; one for all where rows have weights."""
        weights = dict(sorted(self.weights))
        categories, schema = {str(one): one for one in self.categories}, self.desk.schema
        cells = sum(math.prod(len(self.levels[name]) for name in product.by) for product in weights)
        if len(weights) > MOST_PRODUCTS or cells > 50 * MOST_PRODUCTS:
            raise ParameterError(
                f"This takes {len(weights):,} sums of products ({cells:,} numbers), and at most {MOST_PRODUCTS:,} are counted "
                "together; name fewer columns."
            )
        apart = cells - sum(not product.by for product in weights)
        if self.weighted and apart > _MOST_WEIGHTED:
            raise ParameterError(
                f"This takes {apart:,} sums by level for every person, and at most {_MOST_WEIGHTED} are counted together; name "
                "fewer columns, group levels, or ask about a table of one row a person."
            )
        of = (*self.numbers, *self.categories)
        if self.weighted:
            of = (*of, *(one.of for each in self.indicators.values() for one in each if one.of is not None))
        together: Mapping[Product, Sums] = {}
        weighing = self.weighing_at(share)
        if weighing is not None:
            of = (*of, *(one.of for one in (weighing.weight, *self.measures.values()) if one.of is not None))
            together = weighing.together
        sums = {product: together.get(product) or self._sums(product, weighing) for product in weights}
        plans, products = [], []
        shares = {
            product: _rounded(weighing.share) if weighing and product in together else _share(weight, share)
            for product, weight in weights.items()
        }
        first = {*weights} - {*list(together)[1:]}  # of what is released together, one
        total = sum((shares[product] for product in first), Fraction(0))
        for by in [()] if self.weighted else dict.fromkeys(product.by for product in weights):
            mine = [product for product in weights if self.weighted or product.by == by]
            named = {str(product): product for product in mine}
            query = replace(self.query, keys=tuple(Key(name, categories[name]) for name in by))

            def needs(_: object, named: Mapping[str, Product] = named) -> dict[str, tuple[Additive, ...]]:
                return {
                    name: (Additive(sums[product], shares[product], self._label(product, sums[product])),)
                    for name, product in named.items()
                }

            part = sum((shares[product] for product in mine if product in first), Fraction(0)) / total
            plans.append(price_needs(query, schema, share.part(part), needs, of))
            products.append(tuple(mine))
        return tuple(plans), tuple(products)

    def _label(self, product: Product, sums: Sums) -> str:
        """Words for rows that are weighed, and for numbers that were written in other words: what is counted is long."""
        plain = not self.weighed and all(spell(name) == bare(name) for name in product.of)
        return "" if sums.reach or plain else describe(product)

    def _sums(self, product: Product, weighing: Weighing | None) -> Sums:
        """One sum, in every group where there are keys; or one for every cell, the last category turning fastest."""
        weight = [] if weighing is None else [weighing.weight]
        factors = [*weight, *(self.measures[one] for one in product.of)]
        plain = measure_product(*factors)
        if not (self.weighted and product.by):
            return Sums((plain,))
        cells = itertools.product(*(self.indicators[name] for name in product.by))
        return Sums(tuple(measure_product(*cell, *factors) for cell in cells), f"{plain} by {', '.join(product.by)}")


@dataclass(frozen=True, eq=False)
class Served(Noisy):
    """Noisy numbers that were paid for by another question, ``by`` which they are laid out."""

    by: Sheet[Any] | None = None


@dataclass(frozen=True)
class Sheet(Study[Result]):
    """Sums of products at their price."""

    of: ProductsAsked[Result]
    plans: tuple[Plan, ...]
    products: tuple[tuple[Product, ...], ...]
    laid: ProductsAsked[Any] | None = None  # whose products they are, where that is another question

    kind: ClassVar[str] = "products"

    @property
    def asked(self) -> Mapping[str, object]:
        weighed = {"weighed": [str(one) for one in self.of.weighed]} if self.of.weighed else {}
        return {"products": [[list(one.by), list(one.of), str(weight)] for one, weight in sorted(self.of.weights)], **weighed}

    @property
    def facts(self) -> dict[str, object]:
        """Of persons' rows all blocks have the same weights since version 2; numbers weigh rows as they do since version 3."""
        version = 3 if self.of.weighed else 2 if self.of.weighted else 1
        return {**super().facts, "version": version}

    @property
    def described(self) -> tuple[tuple[str, str], ...]:
        """All sums in one line; a preview has one for each."""
        laws = dict.fromkeys(f"{one.spread.law.title()} noise" for plan in self.plans for one in plan.releases if one.mechanism)
        what = f"{sum(map(len, self.products))} sums of products of numbers"
        return ((what, f"{' and '.join(laws)}, least on what matters most"),) if laws else ()

    def lines(self, fewest: int | None = None) -> tuple[PreviewLine, ...]:  # noqa: ARG002 - they are of sums
        """The noise of sums of products, divided by their largest size; those that are alike in one line."""
        weights, alike = dict((self.laid or self.of).weights), defaultdict(list)
        for plan, products in zip(self.plans, self.products, strict=True):
            for product in products:
                (release,) = plan.behind[str(product)]
                where = self._weighing.kind(product) if self._weighing else None
                kind = where or (len(product.of), product.by, weights[product])
                alike[kind].append((product, release.how, release.spread.half() / self._size(product)))
        found = []
        for those in alike.values():
            product, how, _ = those[0]
            half = max(half for _, _, half in those)
            what = describe(product) + (f", and {len(those) - 1} like it" if len(those) > 1 else "")
            adds = f"where a row {'in a cell ' if product.by else ''}adds at most 1"
            found.append(PreviewLine(what, how, half, f"± {half:,.4g}, {adds}" if half else "exact: it is public"))
        return tuple(found)

    def _size(self, product: Product) -> float:
        """The largest size of a product, or, where rows are weighed, what it is multiplied by."""
        of, weighing = self.laid or self.of, self._weighing
        return float(weighing.factor(product)) if weighing else math.prod(of.scales[name].half for name in product.of)

    @cached_property
    def _weighing(self) -> Weighing | None:
        return (self.laid or self.of).weighing_at(self.share)

    def conclude(self, measured: Sequence[Measured], paid: Paid) -> Result:
        return self.of.conclude(self.matrix(measured), paid)

    def matrix(self, measured: Sequence[Measured]) -> Matrix:
        """The noisy sums, in units of the largest sizes."""
        of = self.laid or self.of
        levels, sums, laplace = of.levels, {}, False
        for one, products in zip(measured, self.products, strict=True):
            places: Counter[Release] = Counter()
            for product in products:
                (released,) = one[str(product)]
                size, spread = self._size(product), released.release.spread
                shape = tuple(len(levels[name]) for name in product.by)
                found = released.real
                if isinstance(released.release.statistic, Sums) and released.release.statistic.reach:  # all, in their order
                    found = found[places[released.release]]
                    places[released.release] += 1
                sums[product] = found.reshape(shape) / size, spread.deviation / size
                laplace = laplace or spread.law == "laplace"
        least = None if self._weighing is None else self._weighing.least
        return Matrix(of.scales, levels, sums, _LAPLACE if laplace else 1.0, tuple(map(str, of.weighed)), least)

    def write(self, kept: Noisy, remarks: tuple[str, ...]) -> str:
        facts = json.loads(super().write(kept, remarks))
        recipe = {
            "numbers": [str(one) for one in self.of.numbers],
            "categories": [str(one) for one in self.of.categories],
            **self.asked,
            "ground": self.ground,
        }
        return json.dumps({**facts, "recipe": recipe}, allow_nan=False)

    @property
    def serve(self) -> Callable[[str], Noisy | None] | None:
        return self._serve

    def _serve(self, text: str) -> Noisy | None:
        """What was paid for a larger matrix of the same rows, at least as much, holds the sums of this one."""
        facts = json.loads(text)
        recipe = facts.get("recipe")
        if facts.get("discreet") != "analysis" or recipe is None:
            return None
        share, mine = read_share(facts["share"]), self.share
        weights = tuple((Product(tuple(by), tuple(of)), Fraction(weight)) for by, of, weight in recipe["products"])
        if share.currency != mine.currency or share.amount < mine.amount:
            return None
        if not {one for one, _ in self.of.weights} <= {one for one, _ in weights}:
            return None
        try:
            numbers, categories, weighed = (
                tuple(map(self.of.rows.read, recipe.get(kind, ()))) for kind in ("numbers", "categories", "weighed")
            )
            if weighed and not self.of.serves(weighed):
                return None
            other: Sheet[Any] = _Other(self.of.rows, numbers, categories, weights, weighed=weighed).priced(share)
            if other.of.query != self.of.query or other.ground != recipe["ground"]:
                return None
            kept = other.read(text)
        except ParameterError:  # columns are no longer declared as they were
            return None
        return Served(kept.units, kept.share, kept.cost, kept.remarks, other)

    @property
    def ground(self) -> str:
        """A hash of what its numbers are of: rows, declarations, releases."""
        return hash_facts([facts_of_plan(plan) for plan in self.plans])

    def finish(self, kept: Noisy, receipt: Receipt) -> Result:
        if not isinstance(kept, Served) or kept.by is None:
            return super().finish(kept, receipt)
        return Sheet(self.of, kept.by.plans, kept.by.products, kept.by.of)._finish(kept, receipt)


class _Other(ProductsAsked[None]):
    """A matrix that was paid for by another question."""

    def conclude(self, matrix: Matrix, paid: Paid) -> None:  # noqa: ARG002
        raise AssertionError("its numbers are used by the question that it serves")


def measure_number(of: Expression, known: Facts) -> Measure:
    """A number in whole units of a public grid, around the middle of its bounds."""
    name = bare(str(of))
    if known.kind != "number":
        raise ParameterError(f"{name} is a {known.kind} and no number between bounds; declare a category, or leave it out.")
    if known.lower is None or known.upper is None:
        raise ParameterError(
            f"Nothing bounds {name}; declare bounds, or write least(greatest({name}, 0), 100) with ones that suit."
        )
    if known.lower == known.upper:
        raise ParameterError(f"{name} can only be {float(known.lower):g}, so there is nothing to learn about it; leave it out.")
    if not 1e-100 < float(known.upper - known.lower) < 1e100 or max(abs(known.lower), abs(known.upper)) > 10**100:
        raise ParameterError(f"The bounds of {name} are too far apart, or too near, to multiply; write it in other units.")
    return measure_coarse(of, known)


def list_levels(of: Expression, query: Query, facts: Mapping[str, Facts]) -> tuple[Value, ...]:
    """The values of a category that WHERE leaves possible, in the order of its declaration."""
    found = keys_of(replace(query, keys=(Key("level", of),)), facts).listings
    if found is None:
        raise ParameterError(f"{bare(str(of))} has no list of values; declare a category, or leave it out.")
    (values,) = found
    if len(values) < 2:
        raise ParameterError(f"{bare(str(of))} has one level here, so there is nothing to compare; leave it out.")
    if len(values) > _MOST_LEVELS:
        raise ParameterError(f"{bare(str(of))} has {len(values):,} levels, and at most {_MOST_LEVELS} are compared; group them.")
    return values


def _share(weight: Fraction, share: Cost) -> Fraction:
    """What a weight for Gaussian noise is for the noise at hand: errors, each times its weight squared, are least where
    Laplace noise has its 2/3rd power."""
    return weight if share.epsilon is None else _rounded(float(weight) ** (2 / 3))


def _rounded(share: float) -> Fraction:
    return Fraction(round(share * 64), 64)
