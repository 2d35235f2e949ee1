"""The verb ``fit``: a model from a curator's rows, as a request to the gate, paid for once and free when asked again.

Columns are those that the curator declares, or expressions over them; so are bounds and classes. The model says nothing of these,
nor of who is protected. What it learnt is kept in the ledger as plain numbers; of the same features, target, parameters and
rows it is given again.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.desk import Desk
from discreet.curator.digest import facts_of, hash_facts
from discreet.curator.gate import Price, Reservation
from discreet.curator.question import Question
from discreet.engine.base import Engine
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.learn.around.search import PrivateSearch
from discreet.learn.base import Model, State
from discreet.learn.features import Feature, feature_of
from discreet.learn.payment import Payment
from discreet.learn.rows import TARGET, Rows
from discreet.mechanisms.rows.held import hold
from discreet.plan.cost import Cost, Terms
from discreet.plan.expressions import Column, Expression
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.plan.plan import Reading, plan_rows
from discreet.privacy import Privacy
from discreet.schema.columns import Boolean, Category, Date, Text
from discreet.schema.columns import Column as Declared
from discreet.schema.columns import Number as NumberColumn

DECLARED = ("columns", "unit", "public", "tables", "query")
_PUBLIC = ("epsilon", "delta", "bounds", "classes", "target", "unit")  # what the curator says instead


@called_as('LogisticRegression(), features=["age"], target="ill", epsilon=1')
def fit(
    rows: Question,
    model: Model | PrivateSearch,
    *,
    features: Sequence[str],
    target: str | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> Any:
    """A fitted copy of a model, paid for from the budget; asked again, the same one, free.

    The cost is ``epsilon`` (or ``rho``), or else the model's own; without any it is a question to go on with, which can be
    previewed. Bounds and classes are those that the columns are declared with.
    """
    if not isinstance(model, Model | PrivateSearch):
        raise ParameterError(
            f"{type(model).__name__} is no model of discreet.learn; write fit(dp.learn.LogisticRegression(), features=[...], "
            'target="..."). Any other model can be trained on synthetic rows: synthesize(epsilon=1).rows(...).'
        )
    every = [model, *model._models()] if isinstance(model, PrivateSearch) else [model]
    given = [
        name for name in ("bounds", "classes", "target", "unit") if any(getattr(one, name, None) is not None for one in every)
    ]
    if given:
        raise ParameterError(
            f"Columns, classes and who is protected are declared at the curator already; leave {', '.join(given)} out of the "
            "model."
        )
    offer = Offer(rows.desk, Asked.of(rows, model, features, target), tables_of(rows))
    if epsilon is None and rho is None:
        epsilon = getattr(model, "epsilon", None)
    return offer if epsilon is None and rho is None else offer.release(epsilon=epsilon, rho=rho)


def tables_of(rows: Question) -> frozenset[str]:
    """The private tables that a question is about."""
    query = rows.rows.people.rows if rows.rows.people else rows.rows
    return frozenset(one.table for one in query.tables)


@dataclass(frozen=True, eq=False)
class Seen:
    """The columns that are read, by public facts, and in words."""

    features: tuple[Feature, ...]
    target: Feature | None
    reading: Reading
    words: dict[str, object]

    @classmethod
    def of(cls, rows: Question, features: Sequence[str], target: str | None, aim: Callable[[Declared], Feature | None]) -> Seen:
        """Features and target of a question; ``aim``: how what is declared of the target is taken."""
        if isinstance(features, str) or not len(features):
            raise ParameterError('A model has one feature or more; write features=["age", "sex"].')
        known = rows.facts.columns
        facts = {name: facts_of_column(column) for name, column in known.items()}
        names = [str(one) for one in features]
        if len({*names}) < len(names) or target in names:
            raise ParameterError("A feature is named twice, or is the target too; name each column once.")
        read = [rows.read(name) for name in names]
        found = tuple(feature_of(name, _declared(one, known, facts)) for name, one in zip(names, read, strict=True))
        columns = {str(j): one.what(of, infer(of, facts)) for j, (one, of) in enumerate(zip(found, read, strict=True))}
        words: dict[str, object] = {
            "features": [[str(of), one.facts] for of, one in zip(read, found, strict=True)],
            "target": None,
        }
        sought = None
        if target is not None:
            of = rows.read(target)
            sought = aim(_declared(of, known, facts))
            assert sought is not None
            columns[TARGET] = sought.what(of, infer(of, facts))
            words["target"] = [str(of), sought.facts]
        return cls(found, sought, plan_rows(rows.rows, rows.desk.schema, columns), words)


@dataclass(frozen=True, eq=False)
class Asked:
    """A model and what it is to learn from, by public facts."""

    model: Model | PrivateSearch
    features: tuple[Feature, ...]
    target: Feature | None
    reading: Reading
    words: dict[str, object]

    @classmethod
    def of(cls, rows: Question, model: Model | PrivateSearch, features: Sequence[str], target: str | None) -> Asked:
        if (target is not None) != model.supervised:
            wants = 'write target="ill"' if model.supervised else "leave target= out"
            raise ParameterError(f"{type(model).__name__} learns {'' if model.supervised else 'without '}a target; {wants}.")
        seen = Seen.of(rows, features, target, model._target)
        settings = {name: _plain(value) for name, value in model.get_params(deep=False).items() if name not in _PUBLIC}
        words = {"model": type(model).__name__, "settings": settings, **seen.words}
        asked = cls(model, seen.features, seen.target, seen.reading, words)
        model._check(asked.rows(None, ""))
        return asked

    def rows(self, engine: Engine | None, salt: str) -> Rows:
        """What the model learns from; without an engine, the public facts of it."""
        unit = self.reading.plan.schema.unit
        if engine is None:
            return Rows(self.features, self.target, unit, list)
        return Rows(self.features, self.target, unit, hold(lambda: engine.rows(self.reading, salt)))


@dataclass(frozen=True, eq=False)
class Fitting:
    """The request."""

    asked: Asked
    cost: Cost  # as it was asked for
    share: Cost  # what it spends: a pure epsilon, or a rho
    former: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        words, query = self.asked.words, self.asked.reading.plan.query
        aim = "" if self.asked.target is None else f" for {words['target'][0]}"  # type: ignore[index]
        return f"{words['model']}{aim} by {', '.join(one.name for one in self.asked.features)}, of {query.source}"

    @cached_property
    def digest(self) -> str:
        facts = {name: fact for name, fact in facts_of(self.asked.reading.plan).items() if name in DECLARED}
        return hash_facts([{"learning": 1, **self.asked.words, **facts}])

    @property
    def price(self) -> Price:
        return Price(self.asked.model._reserve(self.share).under(self.asked.reading.plan.schema.unit.neighbours), self.cost)

    def rehearse(self, engine: Engine) -> None:
        engine.rehearse(self.asked.reading)

    def run(self, engine: Engine | None, reserved: Reservation) -> Learnt:
        assert engine is not None
        rows = self.asked.rows(engine, reserved.salt)
        payment = Payment(self.share, reserved, rows.neighbours)
        return Learnt(self.asked.model._learn(rows, payment), self.price.privacy)

    def write(self, result: Learnt, remarks: tuple[str, ...]) -> list[str]:
        facts = {"discreet": "model", "version": 1, "state": result.state, "remarks": [*result.remarks, *remarks]}
        return [json.dumps({**facts, "privacy": result.privacy.to_json()}, allow_nan=False)]

    def read(self, texts: list[str]) -> Learnt:
        facts = json.loads(texts[0])
        if (facts.get("discreet"), facts.get("version")) != ("model", 1):
            raise ParameterError("This was learnt by another version of discreet, in another way; ask for more, for a new one.")
        return Learnt(facts["state"], Privacy.from_json(facts["privacy"]), tuple(map(str, facts["remarks"])))


@dataclass(frozen=True, eq=False)
class Learnt:
    """What came out: the state of a model, as a ledger keeps it, and what it cost when it was learnt, which may be more than who
    asks again offers."""

    state: State
    privacy: Privacy
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Outlook:
    """What a fit would cost, and how much noise it would have."""

    cost: str
    fits: str
    notes: tuple[str, ...] = ()
    before: str = ""

    def __str__(self) -> str:
        return "\n".join(
            [f"Would cost {self.cost}. No data was read. {self.fits}".rstrip(), *self.notes, *filter(None, [self.before])]
        )

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Offer:
    """A fit that is asked for, to be previewed, or released for a cost."""

    desk: Desk
    asked: Asked
    tables: frozenset[str]

    @called_as("epsilon=1")
    def preview(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Outlook:
        """What ``release`` would cost: free, and without looking at the data."""
        request = self._request(Terms(epsilon, rho))
        fits, before = self.desk.foresee(request, self.tables)
        return Outlook(str(request.cost), fits, tuple(self._notes(request)), before)

    def _notes(self, request: Fitting) -> list[str]:
        rows = self.asked.rows(None, "")
        payment = Payment(request.share, Reservation(request.price.privacy), rows.neighbours)
        return self.asked.model._foresee(rows, payment)

    @called_as("epsilon=1")
    def release(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Any:
        """The fitted model; paid for first, free when asked again."""
        request = self._request(Terms(epsilon, rho))
        outcome = self.desk.ask(request, self.desk.tables.reading(self.tables))
        fitted: Any = clone(self.asked.model)
        names = [one.name for one in self.asked.features]
        fitted._names, fitted.feature_names_in_ = names, np.array(names, dtype=object)
        fitted._finish(self.asked.rows(None, ""), outcome.result.state, outcome.result.privacy)
        fitted.remarks_ = (*outcome.result.remarks, *outcome.remarks)
        fitted.left_, fitted.repeated_ = outcome.left.brief, outcome.repeated
        return fitted

    def _request(self, terms: Terms) -> Fitting:
        self.desk.check_process()
        cost = terms.asked(self.desk.budget)
        return Fitting(self.asked, cost, terms.spend(cost, self.desk.budget, 1))

    def __str__(self) -> str:
        return (
            f"{self.asked.words['model']} of {', '.join(one.name for one in self.asked.features)}: preview(epsilon=...) or "
            "release(epsilon=...)."
        )

    __repr__ = __str__


def _declared(of: Expression, columns: Any, facts: Any) -> Declared:
    """What is declared of a column, or follows for an expression."""
    if isinstance(of, Column) and of.name in columns:
        found: Declared = columns[of.name]
        return found
    return _column_of(of, infer(of, facts))


def _column_of(of: Expression, facts: Facts) -> Declared:
    if facts.kind == "boolean":
        return Boolean()
    if facts.values and facts.kind == "text":
        return Category(tuple(str(one) for one in facts.values))
    if facts.kind == "number" and facts.lower is not None and facts.upper is not None and facts.lower < facts.upper:
        step = facts.step or Fraction(facts.upper - facts.lower) / 2**20
        low, high = facts.lower // step, -(-facts.upper // step)
        return NumberColumn(low * step, high * step, step)
    if facts.kind == "date" and facts.lower is not None and facts.upper is not None:
        return Date(datetime.date.fromordinal(int(facts.lower)), datetime.date.fromordinal(int(facts.upper)))
    if facts.kind == "text":
        return Text()
    raise ParameterError(f"{shown(of)} has no known bounds, so it can be no feature; declare them, or clamp it.")


def _plain(value: object) -> object:
    """A parameter of a model as JSON."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, BaseEstimator) and "..." in repr(value):  # which is too long for scikit-learn's own words
        return {name: _plain(one) for name, one in value.get_params(deep=False).items()}
    return value if value is None or isinstance(value, str | bool | int | float) else repr(value)
