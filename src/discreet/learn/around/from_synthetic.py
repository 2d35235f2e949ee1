"""Any model of scikit-learn, trained on synthetic rows: the rows are paid for, the training is free.

A model of the whole table, features and target, is measured marginal by marginal (``discreet.synthetic``), those with the
target first; rows are drawn of it, and whatever is trained on them has their guarantee, however often and however it is tuned.

**Guarantee.** rho-zero-concentrated privacy of all that was measured, or a pure epsilon, for rows added or removed, or
replaced, or persons; of an epsilon and a delta the rho that a budget of them has. Training is post-processing.

Cells of all rows are held in memory, four bytes each.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Integers, Reals
from discreet.calls import called_as
from discreet.curator.gate import Reservation
from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.learn.base import Model, State
from discreet.learn.features import Feature, class_of, read_classes, read_feature
from discreet.learn.payment import Payment, price
from discreet.learn.rows import TARGET, Rows, inputs_of
from discreet.mechanisms.rows.block import MISSING, Block, Columns, change, count_cells
from discreet.noise.bits import words
from discreet.plan.cost import Cost
from discreet.plan.measures import Norms
from discreet.privacy import Budget, Privacy, zcdp
from discreet.schema.units import Person, Unit
from discreet.synthetic.domain import Coding, Domain
from discreet.synthetic.model import Synthetic
from discreet.synthetic.rounds.measuring import Measurements, Scans
from discreet.synthetic.rounds.measuring import Payment as Measuring
from discreet.synthetic.rounds.run import Aim, Run
from discreet.synthetic.rounds.selection import Candidates, Limits
from discreet.synthetic.zeros import Zeros

_RUNS = 64  # cells of a number
_LEAST, _MOST = 100, 10**6  # synthetic rows
_FINER = 20  # binary digits of the root of 2


@called_as("HistGradientBoostingClassifier(), epsilon=1, delta=1e-6, bounds={...}, classes=[0, 1]")
class FromSynthetic(Model):
    """A classifier or regressor of scikit-learn that sees synthetic rows only. ``seconds``: about how much work these may take.

    What it is trained on are numbers from -1 to 1 between their bounds and lists as columns of 0 and 1; ``synthetic_`` is the
    model of rows, and ``estimator_`` what was trained.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        classes: object = None,
        target: object = None,
        unit: object = None,
        seconds: object = 15,
    ) -> None:
        self.estimator = estimator
        self.epsilon, self.delta, self.bounds, self.unit = epsilon, delta, bounds, unit
        self.classes, self.target, self.seconds = classes, target, seconds

    def _target(self, declared: Any = None) -> Feature:
        if not (is_classifier(self.estimator) or is_regressor(self.estimator)):
            raise ParameterError(
                f"{type(self.estimator).__name__} is neither a classifier nor a regressor of scikit-learn; write "
                "FromSynthetic(HistGradientBoostingClassifier(), ...)."
            )
        if is_classifier(self.estimator):
            return read_classes(self.classes) if declared is None else class_of("classes", declared)
        given = self.target if declared is None else declared
        if given is None:
            raise ParameterError("Between which bounds the target lies is not read off the data; write target=(0, 100).")
        return read_feature("target", given)

    def _check(self, rows: Rows) -> None:
        positive("seconds", self.seconds, "about how much work a fit may take, such as 15")
        table = _Table((*rows.features, rows.target))  # type: ignore[arg-type]
        table.ask(self.seconds)

    def _pay(self, unit: Unit) -> tuple[Payment, Privacy]:
        """Choices are no Gaussian noise, so that what adds up is a rho."""
        cost, privacy = price(self.epsilon, self.delta)
        if cost.epsilon is None:
            budget = Budget(epsilon=self.epsilon, delta=self.delta)
            rho = budget.rho_of(positive("epsilon", self.epsilon, "a number such as 1"))
            cost, privacy = Cost("rho", rho), zcdp(rho)
        stated = privacy.under(unit.neighbours)
        return Payment(cost, Reservation(stated, words(4).tobytes()), unit.neighbours), stated

    def _learn(self, rows: Rows, payment: Payment) -> State:
        table = _Table((*rows.features, rows.target))  # type: ignore[arg-type]
        asked = table.ask(self.seconds)
        counted = count_cells(change(rows.read(), table.code), asked.domain.names, asked.domain.sizes)
        scans = Scans([(tuple(range(len(asked.domain.names))), counted)])
        measuring = Measuring(payment.cost, norms_of(rows.unit))
        measured = Run(asked, measuring, payment.reserved, None, scans).measure(str(payment.cost))
        payment.left = Fraction(0)
        return {"measured": measured.write(), "neighbours": rows.neighbours}

    def _accept(self, state: State) -> None:
        assert self.target_ is not None
        table = _Table((*self.features_, self.target_))
        asked = table.ask(self.seconds)
        model = Synthetic.of(asked.domain, Measurements.read(state["measured"]), asked.limits, asked.zeros, self.privacy_)
        *coded, labels = table.read(model.sample(min(max(model.rows, _LEAST), _MOST)).table)
        known = labels != MISSING
        if not known.any():  # by noise alone: a model of one row says nothing, and is a model
            known[0], labels[0] = True, 0
        inputs = inputs_of(self.features_, {str(j): one for j, one in enumerate(coded)}, len(labels))[known]
        if self.target_.values is not None:
            self.classes_ = np.array(self.target_.values)
            places = labels[known]
            if len(np.unique(places)) < 2:  # which many models refuse: one more row of every class, in the middle
                inputs = np.vstack([inputs, np.zeros((len(self.classes_), inputs.shape[1]))])
                places = np.append(places, np.arange(len(self.classes_)))
            aims: Any = self.classes_[places]
        else:
            aims = self.target_.reals(labels[known])
        self.estimator_ = clone(self.estimator).fit(inputs, aims)

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the trained model says."""
        check_is_fitted(self)
        return self.estimator_.predict(self._inputs(X))

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """The chances of all classes, in the order of ``classes_``; 0 for one that no synthetic row has."""
        check_is_fitted(self)
        found = np.zeros((len(inputs := self._inputs(X)), len(self.classes_)))
        places = {one: i for i, one in enumerate(self.classes_.tolist())}
        found[:, [places[one] for one in self.estimator_.classes_.tolist()]] = self.estimator_.predict_proba(inputs)
        return found

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The trained model's own score, on rows that nothing protects."""
        check_is_fitted(self)
        return float(self.estimator_.score(self._inputs(X), y))


class _Table:
    """Features and target as columns of cells: runs of a number, values of a list, and what is missing."""

    def __init__(self, columns: tuple[Feature, ...]) -> None:
        self.columns = columns
        self.names = [*(str(j) for j in range(len(columns) - 1)), TARGET]

    def ask(self, seconds: object) -> Aim:
        """What is asked of the room of synthetic data: marginals of all columns, those with the target above all."""
        domain = Domain(tuple(_coding(name, one) for name, one in zip(self.names, self.columns, strict=True)))
        many, last = len(self.names), len(self.names) - 1
        limits = Limits.of(Fraction(positive("seconds", seconds, "about how much work a fit may take, such as 15")), many)
        candidates = Candidates.of(many, None, (last,)) if many > 1 else Candidates({(0,): 1})
        return Aim(domain, limits, candidates, Zeros())

    def code(self, block: Block) -> Columns:
        """The cells of rows."""
        found = {}
        for name, one in zip(self.names, self.columns, strict=True):
            codes, coding = np.asarray(block[name], dtype=np.int64), _coding(name, one)
            cells = codes if one.values is not None else np.searchsorted(np.array(coding.starts), codes, side="right") - 1
            found[name] = np.where(codes == MISSING, coding.present, cells)
        return found

    def read(self, drawn: Any) -> list[Integers]:
        """Units and places of rows that were drawn, column by column."""
        found = []
        for name in self.names:
            units = drawn[name].cast("float64").to_numpy()
            found.append(np.where(np.isnan(units), MISSING, np.nan_to_num(units)).astype(np.int64))
        return found


def _coding(name: str, one: Feature) -> Coding:
    nullable = one.missing is None
    if one.values is not None:
        return Coding(name, "number", nullable, tuple(range(len(one.values))))
    runs = min(_RUNS, one.steps + 1)
    return Coding(name, "number", nullable, None, tuple(-(-j * (one.steps + 1) // runs) for j in range(runs)), one.steps + 1)


def norms_of(unit: Unit) -> Norms:
    """How far a histogram of rows moves between neighbours: r cells of 1, or one of r, for a person of r rows; twice that, in two
    places, where somebody is replaced."""
    most = unit.rows if isinstance(unit, Person) else 1
    if unit.neighbours == "add-remove":
        return Norms(most, most)
    return Norms(2 * most, math.isqrt(2 * (most << _FINER) ** 2) + 1, 0, _FINER)
