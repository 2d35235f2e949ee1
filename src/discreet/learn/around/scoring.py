"""The verb ``score``: how well a fitted model predicts a curator's rows, as a request to the gate, with an interval.

What a score is, what it costs and what its interval means is said in ``scores``: two noisy sums of right and wrong, paid for once
and free when asked again of the same model, columns and rows. The model may come from anywhere; where it was fitted on rows of
the same people, both are paid for, and add up.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.desk import Desk
from discreet.curator.digest import facts_of, hash_facts
from discreet.curator.gate import Price, Reservation
from discreet.curator.question import Question
from discreet.engine.base import Engine
from discreet.errors import ParameterError
from discreet.exact import nearest
from discreet.learn.around.scores import Score, add_up_read, check_model, conclude, most_rows, read_confidence, right_and_wrong
from discreet.learn.around.search import PrivateSearch
from discreet.learn.base import Model
from discreet.learn.features import Feature, class_of, read_feature
from discreet.learn.payment import Payment, reserve
from discreet.learn.request import DECLARED, Outlook, Seen, tables_of
from discreet.learn.rows import Rows
from discreet.plan.cost import Cost, Terms
from discreet.privacy import Privacy
from discreet.schema.columns import Column

_LATER = ("privacy_", "remarks_", "left_", "repeated_")  # of a model, which say nothing of what it predicts


@called_as('model, features=["age"], target="ill", epsilon=0.5')
def score(
    rows: Question,
    model: Model | PrivateSearch,
    *,
    features: Sequence[str],
    target: str,
    epsilon: Number | None = None,
    rho: Number | None = None,
    confidence: Number = 0.95,
) -> Any:
    """The accuracy of a fitted classifier, or the mean squared error of a regressor, on a curator's rows: a noisy ``Score``.

    ``features`` are columns, or expressions over them, in the order of the model's inputs. Without a cost it is a question to go
    on with, which can be previewed.
    """
    if isinstance(model, PrivateSearch):
        check_is_fitted(model)
        model = model.best_estimator_
    check_model(model)
    check_is_fitted(model)
    sure = read_confidence(confidence)
    seen = Seen.of(rows, features, target, lambda declared: _aim(model, declared))
    if len(seen.features) != model.n_features_in_:
        raise ParameterError(
            f"This model has {model.n_features_in_} inputs, and {len(seen.features)} features are named; name a column for each."
        )
    offer = ScoreOffer(rows.desk, model, seen, sure, tables_of(rows))
    return offer if epsilon is None and rho is None else offer.release(epsilon=epsilon, rho=rho)


def _aim(model: Model, declared: Column) -> Feature:
    """The target as the curator declares it, which the model must be able to predict."""
    known = model.target_
    assert known is not None
    if known.values is None:
        found = read_feature("target", declared)
        if found.values is not None:
            raise ParameterError("This model predicts a number, and the target has values of a list; score it on a number.")
        return found
    found = class_of("target", declared)
    if (known.code(np.array(found.values, dtype=object)) < 0).all():
        raise ParameterError("None of the target's values is a class of this model; score it on the column that it predicts.")
    return found


@dataclass(frozen=True, eq=False)
class Scoring:
    """The request."""

    model: Model
    seen: Seen
    sure: Fraction
    cost: Cost  # as it was asked for
    share: Cost  # what it spends: a pure epsilon, or a rho
    former: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        aim = self.seen.words["target"][0]  # type: ignore[index]
        return f"score of {type(self.model).__name__} for {aim}, of {self.seen.reading.plan.query.source}"

    @cached_property
    def digest(self) -> str:
        facts = {name: fact for name, fact in facts_of(self.seen.reading.plan).items() if name in DECLARED}
        return hash_facts([{"score": 1, "model": mark(self.model), "confidence": str(self.sure), **self.seen.words, **facts}])

    @property
    def price(self) -> Price:
        return Price(reserve(self.share).under(self.seen.reading.plan.schema.unit.neighbours), self.cost)

    def rehearse(self, engine: Engine) -> None:
        engine.rehearse(self.seen.reading)

    def run(self, engine: Engine | None, reserved: Reservation) -> Score:
        assert engine is not None
        unit = self.seen.reading.plan.schema.unit
        rows = Rows(self.seen.features, self.seen.target, unit, lambda: engine.rows(self.seen.reading, reserved.salt))
        payment = Payment(self.share, reserved, unit.neighbours)
        total = add_up_read(self.model, rows, payment.ball(most_rows(unit)), right_and_wrong)
        return conclude(self.model, payment, total, self.sure, self.price.privacy)

    def write(self, result: Score, remarks: tuple[str, ...]) -> list[str]:
        facts = {"discreet": "score", "version": 1, "name": result.name, "value": result.value, "interval": result.interval}
        return [json.dumps({**facts, "remarks": remarks, "privacy": result.privacy.to_json()}, allow_nan=False)]

    def read(self, texts: list[str]) -> Score:
        facts = json.loads(texts[0])
        if (facts.get("discreet"), facts.get("version")) != ("score", 1):
            raise ParameterError("This was scored by another version of discreet, in another way; ask for more, for a new one.")
        low, high = facts["interval"]
        return Score(facts["name"], facts["value"], (low, high), nearest(self.sure), Privacy.from_json(facts["privacy"]))


@dataclass(frozen=True, repr=False)
class ScoreOffer:
    """A score that is asked for, to be previewed, or released for a cost."""

    desk: Desk
    model: Model
    seen: Seen
    sure: Fraction
    tables: frozenset[str]

    @called_as("epsilon=0.5")
    def preview(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Outlook:
        """What ``release`` would cost, and how far off its sums would be: free, and without looking at the data."""
        request = self._request(Terms(epsilon, rho))
        fits, before = self.desk.foresee(request, self.tables)
        unit = self.seen.reading.plan.schema.unit
        payment = Payment(request.share, Reservation(request.price.privacy), unit.neighbours)
        ball = payment.ball(most_rows(unit))
        reach = nearest(Fraction(payment.noise(ball, Fraction(1)).error((1 + self.sure) / 2)) * ball.step)
        note = f"Right and wrong rows are each counted within {reach:,.4g}, with {nearest(self.sure):.0%} confidence."
        return Outlook(str(request.cost), fits, (note,), before)

    @called_as("epsilon=0.5")
    def release(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Score:
        """The score; paid for first, free when asked again."""
        return self.desk.ask(self._request(Terms(epsilon, rho)), self.desk.tables.reading(self.tables)).result

    def _request(self, terms: Terms) -> Scoring:
        self.desk.check_process()
        cost = terms.asked(self.desk.budget)
        return Scoring(self.model, self.seen, self.sure, cost, terms.spend(cost, self.desk.budget, 1))

    def __str__(self) -> str:
        return f"Score of {type(self.model).__name__}: preview(epsilon=...) or release(epsilon=...)."

    __repr__ = __str__


def mark(model: Model) -> str:
    """A hash of what a model predicts by: two models with the same mark say the same of every row."""
    held = {name: one for name, one in vars(model).items() if name not in _LATER}
    return blake2b(json.dumps([type(model).__name__, _told(held)]).encode(), digest_size=16).hexdigest()


def _told(value: object) -> object:
    """What a model holds, as JSON; what has no such words by its bytes."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return [str(value.dtype), value.shape, blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).hexdigest()]
    if isinstance(value, np.ndarray | np.generic):
        return _told(value.tolist())
    if isinstance(value, Mapping):
        return [[str(name), _told(one)] for name, one in sorted(value.items(), key=lambda pair: str(pair[0]))]
    if isinstance(value, list | tuple):
        return [_told(one) for one in value]
    if isinstance(value, Fraction | Privacy):
        return repr(value)
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(_told(getattr(value, one.name)) for one in fields(value))]
    if value is None or isinstance(value, str | bool | int | float):
        return [type(value).__name__, repr(value)]
    return blake2b(pickle.dumps(value), digest_size=16).hexdigest()
