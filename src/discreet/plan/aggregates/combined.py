"""Arithmetic on aggregates: a formula over the noisy numbers of its parts, which costs nothing beyond them.

**Intervals.** Two parts may be made of the same noise, and a denominator may be noise. So a formula is taken apart into its
largest pieces of ``+ - * /``, each of which is, in this order:

1. a linear form of releases: the half-width of its noise, exactly;
2. a quotient of two linear forms, also one that becomes so (the difference of two means over one count): Fieller's interval;
3. a sum or difference of such forms without a common release, or the product or quotient of two: all inverted together
   (``apart``); a sum or difference of other pieces without a common release: distances from value to end, added in squares
   (Zou, Donner 2008);
4. another formula of releases, where every denominator is at least four half-widths from 0: each release is moved to the ends of
   its own interval, one at a time, and what that changes is added in squares;
5. anything else: interval arithmetic on its linear forms and quotients, the 5 % shared out among them evenly (Bonferroni).

Around those pieces, rounding, ``least``, ``CASE``, ``coalesce`` and comparisons are interval arithmetic on the pieces' intervals,
among which the 5 % are shared out too. 1, 2 and 5 cover at least as often as they say; 3 and 4 to second order in the noise,
which ``benchmarks/intervals.py`` holds against simulation. The interval of a quantile is what its release bought: with ``k``
quantiles or variances a formula covers at least 1 - 0.05 k of the time.

Where a denominator may be 0, nothing is known: there is no value, and the interval is all that public bounds leave.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates import figures
from discreet.plan.aggregates.base import Aggregate, Context, Estimate, Expected, Typical, name_from
from discreet.plan.aggregates.figures import Figure, Truth, public_figure
from discreet.plan.aggregates.pieces import SMOOTH, Pieces
from discreet.plan.aggregates.totals import Total
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, Written, columns_of, nodes, rename
from discreet.plan.expressions.evaluate import evaluate, infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.forms import Form, Linear, Ratio
from discreet.plan.measures import Measure
from discreet.plan.partition import Partition
from discreet.plan.release import Need, Release, Released
from discreet.plan.statistics import Persons, Sums
from discreet.schema.units import Unit

_MISS = 0.05
_NORMAL = 1.96
_MOST = 200  # operations of a formula
_SOME, _MANY = 10, 1000  # groups that a total is previewed for: where their number is private, and at most
_MOST_DIGITS = 100  # of all its constants together
_RISING = ("round", "round_to", "floor", "ceil", "sqrt", "ln", "log", "log10", "log2", "exp", "cbrt")
_COMPARED = ("=", "<>", "<", "<=", ">", ">=")
_KNOWN: tuple[str, ...] = (*SMOOTH, *_RISING, *_COMPARED, "abs", "least", "greatest", "coalesce", "nullif", "case")
_KNOWN += ("and", "or", "not", "is_null", "in")


@dataclass(frozen=True)
class Combined(Aggregate):
    """A formula whose columns are the numbers of its parts: 0, 1, ...

    >>> from discreet.plan.aggregates import Count, Sum
    >>> print(combine(Call("/", (Column("a"), Column("b"))), {"a": Sum(Column("cost")), "b": Count()}))
    (sum(cost) / count(*))
    """

    formula: Expression
    of: tuple[Aggregate, ...]

    @property
    def parts(self) -> tuple[Aggregate, ...]:
        return self.of

    @property
    def spelled(self) -> str:
        return self._text([part.spelled for part in self.of])

    @property
    def name(self) -> str:
        return name_from(self._text([part.name for part in self.of]))

    @property
    def additive(self) -> bool:
        return all(part.additive for part in self.of) and not self.depends_on_size

    @property
    def within(self) -> tuple[Expression, ...]:
        return tuple(dict.fromkeys(key for part in self.of for key in part.within))

    def placed(self, partition: Partition) -> Aggregate:
        return Combined(self.formula, tuple(part.placed(partition) for part in self.of))

    def each(self, change: Callable[[Aggregate], Aggregate]) -> Aggregate:
        return Combined(self.formula, tuple(part.each(change) for part in self.of))

    def with_numbers(self, facts: Mapping[str, Facts]) -> Aggregate:
        return Combined(self.formula, tuple(part.with_numbers(facts) for part in self.of))

    def check(self, facts: Mapping[str, Facts]) -> None:
        for part in self.of:
            part.check(facts)
        self.result(facts)

    def check_place(self, unit: Unit, *, grouped: bool) -> None:
        for part in self.of:
            part.check_place(unit, grouped=grouped)

    def written(self) -> Iterator[tuple[Expression, int]]:
        for part in self.of:
            yield from part.written()

    def filtered(self, test: Expression) -> Aggregate:
        return Combined(self.formula, tuple(part.filtered(test) for part in self.of))

    def needs(self, context: Context) -> tuple[Need, ...]:
        return tuple(need for part in self.of for need in part.needs(context))

    def result(self, facts: Mapping[str, Facts]) -> Facts:
        known = {str(i): part.result(facts) for i, part in enumerate(self.of)}
        found = infer(self.formula, known)
        if found.kind != "number":
            return Facts(found.kind, length=found.length)
        for i, part in enumerate(self.of):
            if known[str(i)].kind != "number":
                kind = known[str(i)].kind
                raise ParameterError(f"Numbers are computed of numbers, and {part.spelled} is a {kind}; select it by itself.")
        calls = [one.name for one in nodes(self.formula) if isinstance(one, Call)]
        strange = next((name for name in calls if name not in _KNOWN), None)
        if strange is not None or len(calls) > _MOST:
            raise ParameterError(
                f"{strange or 'So long a formula'} is not computed of aggregates, since no interval would cover it; select "
                f"{' and '.join(part.spelled for part in self.of[:4])}, and compute with the noisy result, which is free."
            )
        self._check_constants()
        return Facts("number")

    def _check_constants(self) -> None:
        """Refuse constants that could carry numbers beyond the doubles, before anything is paid for them."""
        size = 0.0
        for one in nodes(self.formula):
            if isinstance(one, Literal) and isinstance(one.value, (int, float, Fraction)) and one.value:
                exact = abs(Fraction(one.value))
                size += abs(math.log10(exact.numerator) - math.log10(exact.denominator))
        if size > _MOST_DIGITS:
            raise ParameterError(
                f"The constants of this formula have more than {_MOST_DIGITS} digits together; compute with smaller ones, or "
                "with the noisy result, which is free."
            )

    def estimate(self, released: Sequence[Released]) -> Estimate:
        own = self._own(released)
        estimates = [part.estimate(mine) for part, mine in zip(self.of, own, strict=True)]
        if self._is_number(estimates):
            forms = [part.form(mine) for part, mine in zip(self.of, own, strict=True)]
            with np.errstate(all="ignore"):  # beyond all doubles is infinite, and of what is no number nothing is known
                return _numbers(self.formula, Pieces(forms, estimates, np.zeros(len(estimates[0].values))))
        columns = [list(one.values) for one in estimates]
        rows: Iterator[tuple[Value, ...]] = zip(*columns, strict=True)
        return Estimate([evaluate(self.formula, {str(i): value for i, value in enumerate(row)}) for row in rows])

    def _is_number(self, estimates: Sequence[Estimate]) -> bool:
        kinds = {str(i): Facts("number" if _numeric(one) else "text", length=0) for i, one in enumerate(estimates)}
        try:
            return infer(self.formula, kinds).kind == "number"
        except ParameterError:  # a choice of dates or truth values
            return False

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        """At a group of this many rows whose values are in the middle of their bounds."""
        if any(not isinstance(release.statistic, Sums | Persons) for release in releases):
            return Expected(None, "that of the choices it is made of")
        groups = min(typical.groups or _SOME, _MANY) if any(isinstance(part, Total) for part in self.of) else 1
        units = [Released(release, np.repeat(_typical_units(release, typical.rows), groups)) for release in releases]
        found = self.estimate(units)
        if found.lower is None or found.upper is None:
            return Expected(None, "that of the numbers it is made of")
        error = (float(found.upper[0]) - float(found.lower[0])) / 2
        if not math.isfinite(error):
            return Expected(math.inf, f"nothing would be known of it {typical.of}: it divides by what may be 0")
        if not self.depends_on_size:
            return Expected(error, f"± {error:,.4g}{typical.each}")
        return Expected(error, f"± {error:,.4g} about, {typical.of} in the middle of their bounds")

    @property
    def depends_on_size(self) -> bool:  # type: ignore[override]
        """Unless it only adds up counts and sums."""
        linear = all(not part.depends_on_size for part in self.of)
        for one in nodes(self.formula):
            if isinstance(one, Call) and one.name in ("*", "/"):
                linear = linear and any(not any(True for _ in columns_of(side)) for side in one.arguments[one.name == "/" :])
            elif isinstance(one, Call) and one.name not in ("+", "-", "neg"):
                linear = False
        return not linear

    def takes(self, releases: Sequence[Release]) -> int:
        rest = list(releases)
        for part in self.of:
            rest = rest[part.takes(rest) :]
        return len(releases) - len(rest)

    def form(self, released: Sequence[Released]) -> Form | None:
        """A linear form, where it only adds up."""
        if not self.additive:
            return None
        forms = [part.form(mine) for part, mine in zip(self.of, self._own(released), strict=True)]
        first = forms[0]
        assert isinstance(first, Linear)
        return Pieces(forms, [], np.zeros_like(first.values)).form(self.formula)

    def _own(self, released: Sequence[Released]) -> list[Sequence[Released]]:
        """What belongs to each part."""
        found: list[Sequence[Released]] = []
        rest = list(released)
        for part in self.of:
            count = part.takes([one.release for one in rest])
            found.append(rest[:count])
            rest = rest[count:]
        assert not rest
        return found

    def _text(self, texts: Sequence[str]) -> str:
        return str(rename(self.formula, {str(i): Written(text) for i, text in enumerate(texts)}))

    def __str__(self) -> str:
        return self._text([str(part) for part in self.of])


def combine(formula: Expression, parts: Mapping[str, Aggregate]) -> Aggregate:
    """What a formula over named aggregates means; equal ones are one part, and a formula that is one part is that part."""
    distinct = list(dict.fromkeys(parts[name] for name in columns_of(formula)))
    if isinstance(formula, Column):
        return distinct[0]
    if not distinct:
        raise ParameterError(f"{formula} is a constant; select an aggregate such as count(*).")
    numbers = {name: Column(str(distinct.index(part))) for name, part in parts.items() if part in distinct}
    return Combined(rename(formula, numbers), tuple(distinct))


def _numeric(estimate: Estimate) -> bool:
    return not isinstance(estimate.values, list) or all(
        value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)) for value in estimate.values
    )


def _typical_units(release: Release, rows: int) -> Reals:
    """What a release counts of so many rows in the middle of their bounds; a condition holds in half of them."""
    if not isinstance(release.statistic, Sums):
        return np.full(1, rows, dtype=np.float64)
    each = [_typical_unit(measure) for measure in release.statistic.of]
    return np.array([one * rows * 2.0**release.bits for one in each])


def _typical_unit(measure: Measure) -> float:
    if measure.what in ("rows", "present"):
        return measure.high * (0.5 if isinstance(measure.of, Call) and measure.of.name == "case" else 1.0)
    return (measure.low + measure.high) / 2


def _numbers(formula: Expression, pieces: Pieces) -> Estimate:
    """The numbers of a formula, with standard errors and intervals."""
    formula = _bare(formula)
    found = _figure(formula, pieces, _MISS / max(len({*_atoms(formula, pieces)}), 1))
    assert isinstance(found, Figure)
    nothing = ~(found.lower <= found.upper)  # also where an end is NaN
    lower, upper = np.where(nothing, -np.inf, found.lower), np.where(nothing, np.inf, found.upper)
    form = pieces.form(formula) if pieces.smooth(formula) else None
    if isinstance(form, Linear):
        errors = form.deviation
    elif isinstance(form, Ratio):
        errors = form.errors(_MISS)
    else:
        errors = (upper - lower) / (2 * _NORMAL)
    whole = isinstance(form, Linear) and form.whole
    numbers = [float(x) for x in found.values]
    values: list[Value] = [None if math.isnan(x) else int(x) if whole and x.is_integer() else x for x in numbers]
    return Estimate(values, errors, lower, upper)


def _bare(node: Expression) -> Expression:
    """A formula without ``nullif(x, 0)`` as a divisor: what is divided by 0 is missing anyway."""
    if not isinstance(node, Call):
        return node
    inside = tuple(_bare(argument) for argument in node.arguments)
    if node.name == "/" and isinstance(inside[1], Call) and inside[1].name == "nullif":
        of, unless = inside[1].arguments
        inside = (inside[0], of) if unless == Literal(0) else inside
    return Call(node.name, inside)


def _atoms(node: Expression, pieces: Pieces) -> Iterator[Expression]:
    """The pieces of a formula that have an interval of their own."""
    if isinstance(node, Column) or pieces.smooth(node):
        if any(True for _ in columns_of(node)):
            yield node
    elif isinstance(node, Call):
        for argument in node.arguments:
            yield from _atoms(argument, pieces)


def _figure(node: Expression, pieces: Pieces, miss: float) -> Figure:
    """Interval arithmetic around the pieces."""
    if isinstance(node, Literal) and node.value is None:
        return public_figure(None, pieces.like)
    if pieces.smooth(node):
        return pieces.figure(node, miss)
    if isinstance(node, Column):
        return pieces.opaque(int(node.name))
    assert isinstance(node, Call)
    if node.name == "case":
        found = _figure(node.arguments[-1], pieces, miss)
        for test, value in reversed([*zip(node.arguments[:-1:2], node.arguments[1::2], strict=True)]):
            found = figures.chosen(_truth(test, pieces, miss), _figure(value, pieces, miss), found)
        return found
    if node.name in _RISING:
        rest = node.arguments[1:]  # constants

        def meaning(x: float) -> Value:
            return evaluate(Call(node.name, (Literal(x), *rest)), {})

        return figures.rising(_figure(node.arguments[0], pieces, miss), meaning)
    inside = [_figure(argument, pieces, miss) for argument in node.arguments]
    if node.name in ("least", "greatest"):
        return figures.extreme(inside, np.minimum if node.name == "least" else np.maximum)
    if node.name == "coalesce":
        return figures.first_of(inside)
    return _BY_NAME[node.name](*inside)


def _truth(node: Expression, pieces: Pieces, miss: float) -> Truth:
    """What a condition is, and may be."""
    if isinstance(node, Literal):
        return figures.public_truth(node.value is True, pieces.like)
    assert isinstance(node, Call)
    if node.name in _COMPARED:
        return figures.compare(node.name, *(_figure(argument, pieces, miss) for argument in node.arguments))
    if node.name == "is_null":
        return figures.missing(_figure(node.arguments[0], pieces, miss))
    if node.name == "in":
        of, *listed = (_figure(argument, pieces, miss) for argument in node.arguments)
        tests = [figures.compare("=", of, one) for one in listed]
    else:
        tests = [_truth(argument, pieces, miss) for argument in node.arguments]
    found = tests[0]
    for one in tests[1:]:
        found = figures.both(found, one) if node.name == "and" else figures.one_of(found, one)
    return figures.no(found) if node.name == "not" else found


_BY_NAME: Mapping[str, Callable[..., Figure]] = {
    "+": figures.plus,
    "-": figures.minus,
    "*": figures.product,
    "/": figures.quotient,
    "neg": figures.negative,
    "abs": figures.size,
    "nullif": figures.unless,
}
