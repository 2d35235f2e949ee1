"""Many counting questions at once: measured by the strategy of least error, and estimated from what it measured.

k questions that are asked one by one share the cost, and their errors grow like sqrt(k) (like k under a pure budget). The cells
that they are made of do not: one unit is in one cell, each has the noise of a single count, and a question adds up at most all n
of them, so errors grow like sqrt(n), and like sqrt(n log k) for all k together. ``hospital.workload([...])`` finds the cells,
compares both, and trees, margins and the optimum between them (``strategies``), and says what it chose and why.

Estimates are least squares, so questions that add up do so in the answer; ``least_squares`` proves how far they are off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.analysis.base import Analysis, Paid, Study
from discreet.analysis.counting.cells import Cells, cells_of, table_of
from discreet.analysis.counting.items import MOST_ASKED, Item, Marginal, Ordered
from discreet.analysis.counting.least_squares import half_widths
from discreet.analysis.counting.strategies import MOST_DENSE, Candidates, Design, Kind, candidates
from discreet.analysis.counting.workloads import MOST_WRITTEN, Marginals, Prefixes, Questions, Ranges, Workload
from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.curator.answer import Answer, Column
from discreet.curator.desk import Desk
from discreet.curator.plans import Measured
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, Laplace, Linear
from discreet.mechanisms.matrix.strategy import Contribution, Merged
from discreet.plan.cost import Accuracy, Cost
from discreet.plan.expressions import Call, Expression, Value, columns_of
from discreet.plan.expressions import Column as Named
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.plan import Plan, facts_of, price_needs
from discreet.plan.preview import PreviewLine
from discreet.plan.query import Query
from discreet.plan.release import Strategic
from discreet.plan.statistics import Axis, Histogram
from discreet.schema.columns import Kind as Type

_WRITE = 'workload takes a list of questions; write workload(["age < 30", "sex = \'f\'"]) or workload([ranges("age")]).'
_SHOWN = 3  # items that the name of a workload lists
_WHOLE = (
    "Made whole, and nowhere negative, as numbers of rows are that add up: on average counts near zero are raised and others "
    "lowered, which is a bias; intervals are those of the estimates, widened to the numbers shown."
)


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions as they are read: the columns of the answer that tell them apart, the cells that the engine counts, and the
    workload over them; ``shown`` are the places of the questions among those of the workload, if not all; ``tables`` the keys of
    every marginal, where there are several."""

    keys: Mapping[str, tuple[Value, ...]]
    kinds: Mapping[str, Type]
    axes: tuple[Axis, ...]
    places: Integers | None  # of the counted cells among those of the workload
    workload: Workload
    shown: Integers | None = None
    tables: tuple[Mapping[str, tuple[Value, ...]], ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.keys.values())))


@dataclass(frozen=True, eq=False, repr=False)
class Counting(Analysis[Answer]):
    """A workload of counting questions."""

    desk: Desk
    rows: Query
    items: tuple[str, ...]  # as a ledger knows them
    reads: Asked
    whole: bool = False
    _tried: dict[tuple[Kind, Contribution], Candidates] = field(default_factory=dict)
    _chosen: dict[tuple[Contribution, Cost], Design] = field(default_factory=dict)

    def priced(self, share: Cost) -> Study[Answer]:
        of = [axis.of for axis in self.reads.axes]
        named = dict.fromkeys(name for one in of for name in columns_of(one))
        cells = Histogram(self.reads.axes)
        need = Strategic(cells, f"{cells.count:,} cells of {', '.join(named)}", self._measure)
        plan = price_needs(self.rows, self.desk.schema, share, lambda _: {"n": (need,)}, of)
        mechanism = plan.releases[0].mechanism
        assert isinstance(mechanism, Linear)
        return CountingStudy(self, (plan,), self.design(mechanism.contribution, share))

    def design(self, one: Contribution, share: Cost) -> Design:
        """The strategy of least error at this share of a cost."""
        if (one, share) not in self._chosen:
            kind: Kind = "concentrated" if share.epsilon is None else "pure"
            if (kind, one) not in self._tried:
                self._tried[kind, one] = candidates(self.reads.workload, kind, one)
            self._chosen[one, share] = self._tried[kind, one].choose(epsilon=share.epsilon, rho=share.rho)
        return self._chosen[one, share]

    def _measure(self, one: Contribution, share: Cost) -> Linear:
        """The same strategy on the cells that are counted."""
        design = self.design(one, share)
        if self.reads.places is None:
            return design.mechanism
        merged = Merged(design.strategy, self.reads.places)
        cost = {"epsilon": share.epsilon, "rho": share.rho}
        return Linear(strategy=merged, **cost, weight=one.weight, cells=one.cells, neighbours=one.neighbours)

    def __str__(self) -> str:
        named = ", ".join(_cut(item) for item in self.items[:_SHOWN])
        more = f", and {len(self.items) - _SHOWN:,} more" if len(self.items) > _SHOWN else ""
        return f"workload [{named}{more}] of {self.rows.source}"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class CountingStudy(Study[Answer]):
    """A workload at its price."""

    of: Counting
    plans: tuple[Plan, ...]
    design: Design

    kind: ClassVar[str] = "workload"

    @property
    def asked(self) -> Mapping[str, object]:
        return {"questions": list(self.of.items)}

    @property
    def released(self) -> list[list[list[str]]]:
        return [[*super().released[0], ["strategy", str(self.design.facts)]]]

    @property
    def _unit(self) -> float:
        """What one of the units that are counted is worth."""
        return float(self.plans[0].releases[0].worth)

    @property
    def deviations(self) -> Reals:
        """The standard error of every question."""
        return self._pick(np.sqrt(self.design.variances)) * self._unit

    @property
    def halves(self) -> Reals:
        """The half-width of every question's 95 % interval."""
        noise = self.design.mechanism.noise
        if not noise.error(1 - Fraction(5, 100 * self.design.strategy.size)):  # all that is measured is exact, 95 % of the time
            return np.zeros(len(self.of.reads))
        plain = self.design.name == "identity"  # cells that are added up
        return half_widths(noise, self._pick(self.design.factors), plain=plain) * self._unit

    def _pick(self, every: Reals) -> Reals:
        return every if self.of.reads.shown is None else every[self.of.reads.shown]

    def lines(self, _: int | None = None) -> tuple[PreviewLine, ...]:
        halves = self.halves
        worst = float(halves.max())
        meaning = f"± {worst:,.4g} at most" if len(halves) > 1 else f"± {worst:,.4g}"
        return (PreviewLine("n", self.plans[0].releases[0].how, worst, meaning),)

    @property
    def described(self) -> tuple[tuple[str, str], ...]:
        """What is measured, in the words of who asks: cells, or sums of them."""
        size = f"{self.design.strategy.size:,}"
        on = "each" if self.design.name == "identity" else f"{size} sums of them"
        return tuple((what, how.replace(f"{size} linear questions", on)) for what, how in super().described)

    @property
    def advice(self) -> tuple[str, ...]:
        """What was chosen, and what the others would give."""
        design, unit = self.design, self._unit
        count, others = len(self.of.reads), []
        if design.name != "identity":
            others.append(f"from noisy cells it would be {_figure(design.tried[0].error * unit)}")
        others.append(f"with a share of the cost for every question {_figure(_apart(design, count) * unit)}")
        if design.bound is not None and design.bound <= design.error * (1 + 1e-9):
            others.append(f"and no strategy is below {_figure(design.bound * unit)}")
        asked = f"{_counted(count, 'question')} over {_counted(design.workload.cells, 'cell')}"
        error = _figure(design.error * unit)
        return (f"{asked}, answered from {_CHOSEN[design.name]}: root mean squared error {error}; {', '.join(others)}.",)

    def conclude(self, measured: Sequence[Measured], paid: Paid) -> Answer:
        (noisy,) = measured[0]["n"]
        cells = self.design.cells(noisy.units) * self._unit
        values: list[Value]
        estimates, halves = self._pick(self.design.workload.answer(cells)), self.halves
        lower, upper = estimates - halves, estimates + halves
        if self.of.whole:
            counted = self.design.counts(cells).astype(np.float64)
            whole = np.rint(self._pick(self.design.workload.answer(counted)))
            lower, upper = np.maximum(0.0, np.minimum(lower, whole)), np.maximum(upper, whole)
            values = [int(x) for x in whole]
        else:
            values = [float(x) for x in estimates]
        how = self.plans[0].releases[0].how
        column = Column(tuple(values), tuple(self.deviations.tolist()), tuple(lower.tolist()), tuple(upper.tolist()), how)
        reads = self.of.reads
        remarks = (*self.advice, _WHOLE) if self.of.whole else self.advice
        return paid.answer(reads.keys, {"n": column}, {**reads.kinds, "n": "number"}, *remarks).as_tables(reads.tables)


_CHOSEN = {
    "identity": "noisy cells",
    "separate": "the questions themselves",
    "tree": "a tree of ever finer ranges",
    "margins": "margins of the table",
    "optimal": "the optimal strategy",
}


@called_as('["age < 30", "sex = \'f\'"]')
def workload(
    rows: Question,
    questions: Item | Sequence[Item],
    *,
    whole: bool = False,
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Answer | Analysis[Answer]:
    """Many counts at once, by the strategy of least error: conditions such as ``"age < 30"``, all ``ranges("age")``, its
    ``prefixes``, a ``marginal("sex", "ward")``.

    ``whole``: whole numbers, none negative; free, and with a bias that the answer speaks of.
    """
    facts = facts_of(rows.facts, rows.rows.tables)
    items = _items(rows, questions)
    reads = _read(items, facts)
    if whole and not reads.workload.disjoint and reads.workload.cells > MOST_DENSE:
        raise ParameterError(
            f"whole=True finds counts for one marginal, or for questions over at most {MOST_DENSE:,} cells, not "
            f"{reads.workload.cells:,}; leave it out, or ask about wider ranges."
        )
    asked = Counting(rows.desk, rows.rows, tuple(map(_facts, items)), reads, bool(whole))
    return asked.settle(epsilon=epsilon, rho=rho, accuracy=accuracy, at_least=at_least)


Read = tuple[str, Expression] | Ordered | Marginal  # a condition, as it was written


def _items(rows: Question, questions: object) -> list[Read]:
    if isinstance(questions, (Ordered, Marginal)):
        questions = [questions]
    if isinstance(questions, (str, Mapping)) or not isinstance(questions, Sequence) or not questions:
        raise ParameterError(_WRITE)
    if len(questions) > MOST_ASKED:
        raise ParameterError(f"At most {MOST_ASKED:,} questions are asked at once; ask for fewer at a time.")
    found: list[Read] = []
    for one in questions:
        if isinstance(one, str):
            found.append((one.strip(), rows.read(one)))
        elif isinstance(one, Ordered):
            found.append(replace(one, column=_column(rows, one.column)))
        elif isinstance(one, Marginal):
            found.append(Marginal(tuple(_column(rows, name) for name in one.columns)))
        else:
            raise ParameterError(_WRITE)
    return found


def _column(rows: Question, name: str) -> str:
    """A column by its declared name."""
    found = rows.read(name)
    if not isinstance(found, Named):
        raise ParameterError(f"{name[:60]} is no column; name one, and write conditions over expressions out.")
    return found.name


def _facts(item: Read) -> str:
    return str(item[1]) if isinstance(item, tuple) else str(item)


def _read(items: Sequence[Read], facts: Mapping[str, Facts]) -> Asked:
    """One kind of question alone is kept as what it is; others are written out."""
    if len(items) == 1 and isinstance(items[0], Ordered):
        return _ordered(items[0], facts)
    marginals = [item for item in items if isinstance(item, Marginal)]
    if len(marginals) == len({frozenset(one.columns) for one in marginals}) == len(items):
        return _marginals(marginals, facts)
    texts, conditions = [], []
    for item in items:
        for text, condition in _written(item, facts):
            texts.append(text)
            conditions.append(condition)
        if len(texts) > MOST_ASKED:
            raise ParameterError(f"At most {MOST_ASKED:,} questions are asked at once; ask for fewer at a time.")
    cells = cells_of(conditions, facts)
    if cells.rows.size > MOST_WRITTEN:
        widest = max(cells.axes, key=lambda axis: axis.count)
        column = next(columns_of(widest.of))
        raise ParameterError(
            f"{len(texts):,} questions over {cells.rows.shape[1]:,} cells are too many: {column} alone is cut into "
            f"{widest.count:,} parts; compare it with fewer values, or ask for fewer at a time."
        )
    return Asked({"question": tuple(texts)}, {"question": "text"}, cells.axes, _places(cells), Questions(cells.rows))


def _places(cells: Cells) -> Integers | None:
    """None where the cells are those that are counted."""
    return None if np.array_equal(cells.places, np.arange(cells.rows.shape[1])) else cells.places


def _written(item: Read, facts: Mapping[str, Facts]) -> list[tuple[str, Expression]]:
    """Its questions, in words and as conditions."""
    if isinstance(item, tuple):
        text, condition = item
        _check(text, condition, facts)
        return [item]
    if isinstance(item, Ordered):
        bins = item.read(facts)
        return [_worded(bins.tests(first, last)) for first, last in item.pairs(bins.count)]
    return [_worded(item.tests(values)) for values in item.read(facts)]


def _worded(tests: tuple[Call, ...]) -> tuple[str, Expression]:
    """Tests that must all hold, in words and as one condition."""
    return " AND ".join(str(test)[1:-1] for test in tests), tests[0] if len(tests) == 1 else Call("and", tests)


def _check(text: str, condition: Expression, facts: Mapping[str, Facts]) -> None:
    if infer(condition, facts).kind != "boolean":
        raise ParameterError(
            f"A question is a condition that is true or false of a row, and {_cut(text)} is none; write age < 30."
        )
    if not any(True for _ in columns_of(condition)):
        raise ParameterError(f"{_cut(text)} names no column, so that it is true of all rows or of none; write age < 30.")


def _ordered(item: Ordered, facts: Mapping[str, Facts]) -> Asked:
    """All ranges or all prefixes of one column."""
    bins = item.read(facts)
    cells = cells_of([_worded(bins.tests(i, i))[1] for i in range(bins.count)], facts)
    order = cells.rows.argmax(axis=1)  # of the one cell that a bin has
    places = np.where(cells.places < 0, -1, np.argsort(order)[cells.places])
    pairs = [bins.limits(first, last) for first, last in item.pairs(bins.count)]
    lower, upper = (tuple(map(_shown, side)) for side in zip(*pairs, strict=True))
    keys = {"lower": lower, "upper": upper} if item.what == "ranges" else {"upper": upper}
    kinds: dict[str, Type] = dict.fromkeys(keys, facts[item.column].kind)
    found = Ranges(bins.count) if item.what == "ranges" else Prefixes(bins.count)
    return Asked(keys, kinds, cells.axes, None if np.array_equal(places, np.arange(bins.count)) else places, found)


def _marginals(items: Sequence[Marginal], facts: Mapping[str, Facts]) -> Asked:
    """Marginals of one table, which has a place for missing values too where some of them do not look at a column."""
    names = list(dict.fromkeys(name for item in items for name in item.columns))
    listed = [item.read(facts) for item in items]
    axes = table_of(names, facts, missing=len(items) > 1)
    shape = tuple(axis.count for axis in axes)
    kept = [tuple(sorted(names.index(name) for name in item.columns)) for item in items]
    found = Marginals(shape, dict.fromkeys(kept, 1.0))
    tables = tuple(
        {name: tuple(map(_shown, column)) for name, column in zip(item.columns, zip(*values, strict=True), strict=True)}
        for item, values in zip(items, listed, strict=True)
    )
    if len(items) == 1:
        return Asked(tables[0], {name: facts[name].kind for name in names}, axes, None, found)
    shown, texts, start = [], list[str](), 0
    for item, margin, values in zip(items, kept, listed, strict=True):
        sides = [shape[axis] for axis in margin]
        own = np.arange(start, start + math.prod(sides)).reshape(sides)
        start += own.size
        turned = own.transpose([margin.index(names.index(name)) for name in item.columns])
        declared = turned[tuple(slice(facts[name].size) for name in item.columns)]
        shown.append(declared.ravel())
        texts += [_worded(item.tests(one))[0] for one in values]
    return Asked({"question": tuple(texts)}, {"question": "text"}, axes, None, found, np.concatenate(shown), tables)


def _apart(design: Design, count: int) -> float:
    """The error of a question that has its own share of the cost."""
    one, noise = design.mechanism.contribution, design.mechanism.noise
    factor = Fraction(design.mechanism.sensitivity)
    if isinstance(noise, Laplace):
        return math.sqrt(2) * float(noise.scale / factor) * one.weight * count
    assert isinstance(noise, Gaussian)
    return noise.sigma / float(factor) * one.weight * math.sqrt(count)


def _figure(error: float) -> str:
    return f"{error:,.3g}" if error < 1000 else f"{error:,.0f}"


def _shown(value: Value) -> Value:
    return float(value) if isinstance(value, Fraction) else value


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
