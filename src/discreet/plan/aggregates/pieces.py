"""Pieces of a formula over aggregates that are made of ``+ - * /`` alone: their numbers, and intervals for them.

``combined`` says which interval a piece gets and why it covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.plan import forms
from discreet.plan.aggregates import apart, figures
from discreet.plan.aggregates.base import Estimate
from discreet.plan.aggregates.figures import Bools, Figure
from discreet.plan.expressions import Call, Column, Expression, Literal, columns_of
from discreet.plan.forms import Form, Linear, Ratio, Source
from discreet.plan.noises import Noise, reach

SMOOTH = ("+", "-", "*", "/", "neg")
_FAR = 4.0  # half-widths from 0 at which second-order effects of noise are below two in a hundred


@dataclass(frozen=True, eq=False)
class Pieces:
    """The parts of a formula: their forms where they have one, and what they are by themselves; ``like`` has an entry a group."""

    forms: Sequence[Form | None]
    estimates: Sequence[Estimate]
    like: Reals

    def smooth(self, node: Expression) -> bool:
        """Whether this is arithmetic on linear forms and quotients."""
        if isinstance(node, Column):
            return self.forms[int(node.name)] is not None
        if isinstance(node, Literal):
            return isinstance(node.value, (int, float, Fraction)) and not isinstance(node.value, bool)
        return node.name in SMOOTH and all(map(self.smooth, node.arguments))

    def form(self, node: Expression) -> Form | None:
        """The linear form or the quotient that a piece is, where it is one."""
        if isinstance(node, Column):
            return self.forms[int(node.name)]
        if isinstance(node, Literal):
            return forms.public(float(node.value), self.like)  # type: ignore[arg-type]
        found = [self.form(argument) for argument in node.arguments]
        first, second = found[0], found[-1]
        if first is None or second is None:
            return None
        if node.name == "neg":
            return forms.multiply(first, forms.public(-1.0, self.like))
        if node.name in "+-":
            return forms.add(first, second, 1.0 if node.name == "+" else -1.0)
        return forms.multiply(first, second) if node.name == "*" else forms.divide(first, second)

    def figure(self, node: Expression, miss: float) -> Figure:
        """Numbers and intervals of a piece."""
        form = self.form(node)
        if isinstance(form, Linear):
            return Figure(form.values, *form.interval(miss), figures.never(form.values))
        if isinstance(form, Ratio):
            return Figure(form.best(miss), *form.interval(miss), ~form.known(miss))
        assert isinstance(node, Call)
        if node.name in ("+", "-") and not {*self._sources(node.arguments[0])} & {*self._sources(node.arguments[1])}:
            return self._apart(node, miss)
        factors = self._factors(node)
        if factors is not None:
            return self._product(*factors, miss)
        leaves = list(dict.fromkeys(self._leaves(node)))
        known = {leaf: self.figure(leaf, miss / max(len(leaves), 1)) for leaf in leaves}
        safe = _arithmetic(node, known, self.like)
        return self._moved(node, miss, safe)

    def opaque(self, place: int) -> Figure:
        """A part that is no form, by itself."""
        one = self.estimates[place]
        values = np.array([np.nan if value is None else float(value) for value in one.values], dtype=np.float64)  # type: ignore[arg-type]
        if one.lower is None or one.upper is None:
            return Figure(values, np.full_like(values, -np.inf), np.full_like(values, np.inf), figures.never(values))
        return Figure(values, one.lower, one.upper, figures.never(values))

    def _apart(self, node: Call, miss: float) -> Figure:
        """A sum of what has no release in common: quotients are inverted together, distances of others added in squares."""
        terms = self._terms(node, 1.0)
        found = None if terms is None else self._together(terms, miss)
        if found is not None:
            return found
        first = self.figure(node.arguments[0], miss)
        second = self.figure(node.arguments[1], miss)
        second = figures.negative(second) if node.name == "-" else second
        values = first.values + second.values
        with np.errstate(invalid="ignore"):
            down = np.hypot(first.values - first.lower, second.values - second.lower)
            up = np.hypot(first.upper - first.values, second.upper - second.values)
        whole = figures.plus(first, second)  # where one has no value, all that is left of both
        known = ~np.isnan(values)
        return Figure(
            values, np.where(known, values - down, whole.lower), np.where(known, values + up, whole.upper), whole.absent
        )

    def _factors(self, node: Call) -> tuple[Form, Form] | None:
        """The two forms that a piece is the product of, or the quotient, if these have no release in common."""
        if node.name not in ("*", "/"):
            return None
        first, second = map(self.form, node.arguments)
        if first is None or second is None or {*first.weights} & {*second.weights}:
            return None
        return first, second if node.name == "*" else _upside_down(second)

    def _product(self, first: Form, second: Form, miss: float) -> Figure:
        values = np.multiply(*(one.values if isinstance(one, Linear) else one.best(miss) for one in (first, second)))
        lower, upper = apart.interval_of_product(first, second, miss)
        known = ~np.isnan(values)
        corners = [0.0 if 0.0 in (a, b) else a * b for a in _bounds(first) for b in _bounds(second)]
        lower, upper = np.where(known, lower, min(corners)), np.where(known, upper, max(corners))
        return Figure(values, lower, upper, ~known)

    def _terms(self, node: Expression, sign: float) -> list[Form] | None:
        """The forms that a sum is made of, with their signs; those over one denominator are one form."""
        form = self.form(node)
        if form is None:
            if not isinstance(node, Call) or node.name not in ("+", "-", "neg"):
                return None
            signs = (-sign,) if node.name == "neg" else (sign, -sign if node.name == "-" else sign)
            found: list[Form] = []
            for argument, own in zip(node.arguments, signs, strict=True):
                inside = self._terms(argument, own)
                if inside is None:
                    return None
                for one in inside:
                    _merge(found, one)
            return found
        signed = forms.multiply(form, forms.public(sign, self.like))
        return None if signed is None else [signed]

    def _together(self, terms: list[Form], miss: float) -> Figure | None:
        """A sum of forms; None where two of them share a release."""
        sources = [source for one in terms for source in one.weights]
        if len(sources) > len({*sources}) or len(terms) < 2:
            return None
        values = sum((one.values if isinstance(one, Linear) else one.best(miss) for one in terms), np.zeros_like(self.like))
        lower, upper = apart.interval(terms, miss)
        known = ~np.isnan(values)
        bounds = [sum(ends) for ends in zip(*(_bounds(one) for one in terms), strict=True)]
        lower, upper = np.where(known, lower, bounds[0]), np.where(known, upper, bounds[1])
        return Figure(values, lower, upper, ~known)

    def _moved(self, node: Call, miss: float, safe: Figure) -> Figure:
        """What every release changes by itself, added in squares; where a denominator is too near to 0, the ``safe`` interval."""
        values, down, up = self._moves(node, miss)
        calm = self._calm(node, miss) & np.isfinite(values)
        lower, upper = np.where(calm, values - down, safe.lower), np.where(calm, values + up, safe.upper)
        return Figure(np.where(calm, values, safe.values), lower, upper, np.where(calm, False, safe.absent))

    def _moves(self, node: Expression, miss: float) -> tuple[Reals, Reals, Reals]:
        values = self._at(node, None, 0.0)
        down, up = np.zeros_like(values), np.zeros_like(values)
        sources = dict.fromkeys(self._sources(node))
        for source in sources:
            spread = source.release.spread
            half = reach([Noise(spread, np.ones(1), source.many)], miss) + (spread.unit / 2 if len(sources) > 1 else 0.0)
            moved = [self._at(node, source, by) - values for by in (-half, half)]
            down, up = down + np.minimum(np.minimum(*moved), 0.0) ** 2, up + np.maximum(np.maximum(*moved), 0.0) ** 2
        return values, np.sqrt(down), np.sqrt(up)

    def _calm(self, node: Expression, miss: float) -> Bools:
        """Where every denominator, and one of the factors of every product, is far from 0 for its noise."""
        if isinstance(node, Column):
            form = self.forms[int(node.name)]
            if isinstance(form, Ratio):
                return np.asarray(np.abs(form.under.values) >= _FAR * form.under.half(miss))
        if not isinstance(node, Call):
            return np.ones(self.like.shape, dtype=np.bool_)
        found = np.logical_and.reduce([self._calm(argument, miss) for argument in node.arguments])
        if node.name not in ("*", "/"):
            return np.asarray(found)
        sides = []
        for side in node.arguments:
            values, down, up = self._moves(side, miss)
            sides.append(np.abs(values) >= _FAR * np.maximum(down, up))
        return np.asarray(found & (sides[1] if node.name == "/" else sides[0] | sides[1]))

    def _at(self, node: Expression, source: Source | None, by: Reals | float) -> Reals:
        """The numbers of a piece if a noisy number had been this much larger."""
        if isinstance(node, Literal):
            return np.full_like(self.like, float(node.value))  # type: ignore[arg-type]
        with np.errstate(all="ignore"):
            if isinstance(node, Column):
                form = self.forms[int(node.name)]
                assert form is not None
                if source is not None:
                    return form.moved(source, by)
                return form.values if isinstance(form, Linear) else form.over.values / form.under.values
            found = [self._at(argument, source, by) for argument in node.arguments]
            if node.name == "neg":
                return 0.0 - found[0]
            return {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[node.name](*found)

    def _sources(self, node: Expression) -> Iterator[Source]:
        for name in columns_of(node):
            form = self.forms[int(name)]
            if form is not None:
                yield from form.weights

    def _leaves(self, node: Expression) -> Iterator[Expression]:
        """The largest linear forms and quotients within a piece that is neither; constants are none."""
        if not any(True for _ in columns_of(node)):
            return
        if self.form(node) is not None:
            yield node
        elif isinstance(node, Call):
            for argument in node.arguments:
                yield from self._leaves(argument)


def _merge(terms: list[Form], one: Form) -> None:
    """Add a form to a sum of forms: to one that it can be added to, or as one more."""
    for i, other in enumerate(terms):
        both = forms.add(other, one)
        if both is not None:
            terms[i] = both
            return
    terms.append(one)


def _upside_down(one: Form) -> Ratio:
    """One over a form, with the bounds that it has then."""
    if isinstance(one, Linear):
        return Ratio(forms.public(1.0, one.values), one)
    if one.low < 0:
        return Ratio(one.under, one.over)
    return Ratio(one.under, one.over, 1 / one.high if one.high else 0.0, 1 / one.low if one.low else math.inf)


def _bounds(one: Form) -> tuple[float, float]:
    """What public bounds leave of a form."""
    return (one.low, one.high) if isinstance(one, Ratio) else (-math.inf, math.inf)


def _arithmetic(node: Expression, known: dict[Expression, Figure], like: Reals) -> Figure:
    """Interval arithmetic on pieces whose figures are known."""
    if node in known:
        return known[node]
    if isinstance(node, Literal):
        return figures.public_figure(float(node.value), like)  # type: ignore[arg-type]
    assert isinstance(node, Call)
    inside = [_arithmetic(argument, known, like) for argument in node.arguments]
    if node.name == "neg":
        return figures.negative(inside[0])
    operation = {"+": figures.plus, "-": figures.minus, "*": figures.product, "/": figures.quotient}[node.name]
    return operation(*inside)
