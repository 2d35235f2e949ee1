"""Additive models: what is predicted is a sum of shapes, one for every feature, each of which can be drawn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import nearest
from discreet.learn.additive.bins import Bins
from discreet.learn.additive.boosting import LEAST, Classes, Head, Numbers, Shapes, boost, count_noise, shares
from discreet.learn.base import Classifier, Model, Regressor, State, doubt_rows
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.schema.units import Person

_MOST_ROUNDS = 1000
_MOST_NUMBERS = 2**24  # of one release


class _Additive(Model):
    """What both have: bins, rounds, and the shapes that were learnt."""

    bins: object
    rounds: object

    @abstractmethod
    def _head(self, rows: Rows) -> Head:
        """What its shapes are added up for: classes, or a number."""

    def _check(self, rows: Rows) -> None:
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 0 <= self.rounds <= _MOST_ROUNDS:
            raise ParameterError(f"rounds= is a whole number from 0 to {_MOST_ROUNDS:,}; write rounds=6.")
        bins, head = Bins(rows.features, self.bins), self._head(rows)  # type: ignore[arg-type]
        if bins.total * head.lines > _MOST_NUMBERS:
            raise ParameterError(
                f"{bins.total:,} bins of {head.lines:,} classes are {bins.total * head.lines:,} numbers, too many; write fewer "
                "bins, bins=8, or list fewer values."
            )

    def _learn(self, rows: Rows, payment: Payment) -> State:
        bins = Bins(rows.features, self.bins)  # type: ignore[arg-type]
        found = boost(rows, bins, self._head(rows), payment, self.rounds)  # type: ignore[arg-type]
        return {
            "intercept": found.intercept.tolist(),
            "effects": found.effects.tolist(),
            "deviations": found.deviations.tolist(),
        }

    def _accept(self, state: State) -> None:
        self.bins_ = Bins(self.features_, self.bins)  # type: ignore[arg-type]
        self.intercept_ = np.array(state["intercept"], dtype=np.float64)
        self._shapes = Shapes(self.intercept_, np.array(state["effects"]), np.array(state["deviations"]))

    @property
    def shapes_(self) -> list[Reals]:
        """The effects of every feature: scores x bins, in the order of ``bins_.names(feature)``."""
        return np.split(self._shapes.effects, self.bins_.offsets[1:], axis=1)

    @property
    def deviations_(self) -> list[Reals]:
        """The standard deviation of the noise in each of them: to first order, as bins were joined, and as if each feature were
        alone. Of a bin that next to no row is in it says up to three times as much."""
        return np.split(self._shapes.deviations, self.bins_.offsets[1:], axis=1)

    @property
    def feature_importances_(self) -> Reals:
        """How much every shape varies over its bins: the mean absolute effect of bins, whether rare or not."""
        return np.array([float(np.abs(one).mean()) for one in self.shapes_])

    def _codes(self, X: Any) -> Any:  # noqa: N803
        columns = self._columns(X, reset=False)
        coded = {str(j): one.code(cells) for j, (one, cells) in enumerate(zip(self.features_, columns, strict=True))}
        return self.bins_.code(coded) + self.bins_.offsets

    def _foresee(self, rows: Rows, payment: Payment) -> list[str]:
        head = self._head(rows)
        noise = count_noise(head, len(rows.features), payment, shares(head, self.rounds, payment.pure)[0])  # type: ignore[arg-type]
        counted = f"The rows of a bin are counted with a standard deviation of {noise:,.3g}"
        said = f"{counted}; runs with fewer than about {LEAST * noise:,.3g} are joined."
        return [said] if rows.size is None or rows.size > LEAST * noise else [said, doubt_rows(rows.size)]

    def plot(self, features: Any = None) -> Any:
        """A picture of the shapes, one panel a feature, with what noise may have done to them. Needs matplotlib."""
        from discreet.learn.additive.shapes import draw

        return draw(self, features)


@called_as("epsilon=1, delta=1e-6, bounds={...}, classes=[0, 1]")
class AdditiveClassifier(_Additive, Classifier):
    """Classes by a sum of shapes: the recommended model for tables of numbers and categories with a few thousand rows or more.

    >>> model = AdditiveClassifier(epsilon=1, delta=1e-6, bounds=(0, 10), classes=["no", "yes"])
    >>> model.fit([[1], [5], [9]] * 500, ["no", "yes", "no"] * 500).predict([[1], [5], [9]]).tolist()
    ['no', 'yes', 'no']
    """

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        classes: object = None,
        unit: object = None,
        bins: object = 64,
        rounds: object = 6,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes, self.unit = epsilon, delta, bounds, classes, unit
        self.bins, self.rounds = bins, rounds

    def _head(self, rows: Rows) -> Head:
        return Classes(rows.classes)

    def _inputs(self, X: Any, low: float = -1.0) -> Any:  # noqa: ARG002, N803
        check_is_fitted(self)
        return self._codes(X)

    def _scores(self, inputs: Any) -> Reals:
        found = self._shapes.scores(inputs)
        if len(self.classes_) == 2:
            return np.hstack([np.zeros_like(found), found])
        return found

    def decision_function(self, X: Any) -> Reals:  # noqa: N803
        """The logarithm of the odds of the second class, or one score a class."""
        inputs = self._inputs(X)
        found = self._shapes.scores(inputs)
        return found[:, 0] if len(self.classes_) <= 2 else found


@called_as("epsilon=1, delta=1e-6, bounds={...}, target=(0, 100)")
class AdditiveRegressor(_Additive, Regressor):
    """A number by a sum of shapes, within the bounds of its target.

    >>> model = AdditiveRegressor(epsilon=1, delta=1e-6, bounds=(0, 10), target=(0, 100))
    >>> model.fit([[1], [5], [9]] * 1000, [20, 80, 20] * 1000).predict([[1], [5]]).round(-1).tolist()
    [20.0, 80.0]
    """

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        target: object = None,
        unit: object = None,
        bins: object = 64,
        rounds: object = 6,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.target, self.unit = epsilon, delta, bounds, target, unit
        self.bins, self.rounds = bins, rounds

    def _head(self, rows: Rows) -> Head:
        assert rows.target is not None
        return Numbers(rows.target.steps, persons=isinstance(rows.unit, Person))

    def predict(self, X: Any) -> Reals:  # noqa: N803
        """The expected target, within its bounds."""
        check_is_fitted(self)
        assert self.target_ is not None
        low, high = nearest(self.target_.lower), nearest(self.target_.upper)
        scores = np.clip(self._shapes.scores(self._codes(X))[:, 0], -1, 1)
        found: Reals = low + (high - low) / 2 * (scores + 1)
        return found
