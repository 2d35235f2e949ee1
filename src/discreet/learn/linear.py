"""Linear models from one noisy matrix of second moments: least squares, ridge regression, principal components.

**Guarantee.** All that is let out is the matrix (``moments``), by one Gaussian or Laplace mechanism, and before it, for least
squares, the number of rows and the sum of the target, where that number is not declared; or these alone, where the matrix would
be mostly noise. What is made of them is free. Shares add up to the cost. Neighbours are those of the unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from discreet.analysis.linear.fit import fit
from discreet.analysis.linear.formula import Column
from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import not_negative, whole
from discreet.learn.base import Model, Regressor, State
from discreet.learn.features import own_units
from discreet.learn.moments import RESPONSE, Mean, as_matrix, draw_in, learn_line, learn_moments
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows


class Linear(Regressor):
    """A number as a linear function of inputs."""

    def _numbers(self, rows: Rows) -> int:
        return (rows.width + 1) * (rows.width + 2) // 2

    def _accept(self, state: State) -> None:
        assert self.target_ is not None
        self._weights, self._offset = np.array(state["weights"]), float(state["offset"])
        half, middle = own_units(self.features_)
        (self._half,), (self._middle,) = own_units([self.target_])
        self.coef_ = self._weights / half * self._half
        self.intercept_ = self._middle + self._half * self._offset - float(self.coef_ @ middle)

    def predict(self, X: Any) -> Reals:  # noqa: N803
        """The expected number, within the bounds of the target."""
        made = self._inputs(X) @ self._weights + self._offset
        found: Reals = self._middle + self._half * np.clip(made, -1, 1)
        return found


@called_as("epsilon=1, delta=1e-5, bounds=(0, 1), target=(0, 100)")
class LinearRegression(Linear):
    """Least squares. Where noise is too large for single coefficients they are shrunk towards the private mean, and where it is
    too large for any there is that mean alone: the noisy numbers decide. ``coef_error_`` are their standard errors, of sampling
    and noise together, infinite where unknown.

    >>> model = LinearRegression(epsilon=1, delta=1e-5, bounds=(0, 10), target=(0, 100))
    >>> fitted = model.fit(np.arange(2000)[:, None] % 11, (np.arange(2000) % 11) * 10)
    >>> bool(abs(fitted.predict([[3.0]])[0] - 30) < 10)
    True
    """

    def __init__(
        self, *, epsilon: object = None, delta: object = None, bounds: object = None, target: object = None, unit: object = None
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.target, self.unit = epsilon, delta, bounds, target, unit

    def _learn(self, rows: Rows, payment: Payment) -> State:
        known = learn_line(rows, payment)
        if isinstance(known, Mean):
            return {"offset": known.drawn, "weights": [0.0] * rows.width, "errors": [None] * rows.width, "factor": 1.0}
        sums, spread = known
        matrix = as_matrix(sums, spread, pure=payment.pure)
        columns = [Column("1"), *(Column(f"x{i}", (f"x{i}",)) for i in range(rows.width))]
        found = fit(matrix, columns, RESPONSE)
        errors = [float(one) if np.isfinite(one) else None for one in found.errors]
        return {
            "offset": float(found.coefficients[0]) - doubt(sums, spread),
            "weights": found.coefficients[1:].tolist(),
            "errors": errors[1:],
            "factor": float(found.factor),
        }

    def _accept(self, state: State) -> None:
        super()._accept(state)
        known = np.array([np.inf if one is None else one for one in state["errors"]])
        self.coef_error_ = known / own_units(self.features_)[0] * self._half
        self.coef_interval_ = np.stack(
            [self.coef_ - state["factor"] * self.coef_error_, self.coef_ + state["factor"] * self.coef_error_], axis=1
        )


@called_as("epsilon=1, delta=1e-5, bounds=(0, 1), target=(0, 100), alpha=1")
class Ridge(Linear):
    """Least squares with a penalty ``alpha`` on the squares of slopes, in rows: inputs are from -1 to 1, and so is the target.

    >>> Ridge(epsilon=1, delta=1e-5, bounds=(0, 10), target=(0, 1), alpha=10).fit([[5.0]] * 100, [0.5] * 100).coef_.shape
    (1,)
    """

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        target: object = None,
        unit: object = None,
        alpha: float = 1.0,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.target, self.unit = epsilon, delta, bounds, target, unit
        self.alpha = alpha

    def _check(self, rows: Rows) -> None:  # noqa: ARG002
        not_negative("alpha", self.alpha)

    def _learn(self, rows: Rows, payment: Payment) -> State:
        known = learn_line(rows, payment)
        if isinstance(known, Mean):
            return {"offset": known.drawn, "weights": [0.0] * rows.width}
        sums, spread = known
        mean, moments = centre(sums)
        size = len(moments) - 1
        penalty = float(not_negative("alpha", self.alpha)) + float(spread[0, 0]) * np.sqrt(2 * size)  # the noise's own size
        slopes = np.linalg.solve(moments[:-1, :-1] + penalty * np.eye(size), moments[:-1, -1])
        return {"offset": float(mean[-1] - mean[:-1] @ slopes) - doubt(sums, spread), "weights": slopes.tolist()}


@called_as("epsilon=1, delta=1e-5, bounds=(0, 1), n_components=2")
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Model):  # type: ignore[misc]
    """Principal components of inputs, which are columns from -1 to 1 between their bounds, and lists as 0 and 1.

    >>> PCA(epsilon=1, delta=1e-5, bounds=(0, 10), n_components=1).fit([[1, 2], [3, 4]] * 50).transform([[5, 5]]).shape
    (1, 1)
    """

    supervised = False

    def __init__(
        self, *, epsilon: object = None, delta: object = None, bounds: object = None, unit: object = None, n_components: int = 2
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.unit = epsilon, delta, bounds, unit
        self.n_components = n_components

    def _numbers(self, rows: Rows) -> int:
        return (rows.width + 1) * (rows.width + 2) // 2

    def _check(self, rows: Rows) -> None:
        if whole("n_components", self.n_components) > rows.width:
            raise ParameterError(
                f"There are {rows.width} inputs, and so no {self.n_components} components; write n_components=1."
            )

    def _learn(self, rows: Rows, payment: Payment) -> State:
        sums, _ = learn_moments(rows, payment)
        mean, moments = centre(sums)
        values, vectors = np.linalg.eigh(moments / sums[0, 0])
        order = np.argsort(values)[::-1][: self.n_components]
        chosen = vectors[:, order].T
        chosen = chosen * np.where(chosen[np.arange(len(chosen)), np.abs(chosen).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
        total = float(np.maximum(values, 0).sum()) or 1.0
        found = np.maximum(values[order], 0)
        return {"mean": mean.tolist(), "components": chosen.tolist(), "variance": found.tolist(), "total": total}

    def _accept(self, state: State) -> None:
        self.mean_, self.components_ = np.array(state["mean"]), np.array(state["components"])
        self.explained_variance_ = np.array(state["variance"])
        self.explained_variance_ratio_ = self.explained_variance_ / state["total"]
        self._n_features_out = len(self.components_)

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """Rows along the components."""
        found: Reals = (self._inputs(X) - self.mean_) @ self.components_.T
        return found


def doubt(sums: Reals, spread: Reals) -> float:
    """What is taken off the noisy mean of the target, so that it goes to the middle of its bounds as noise grows."""
    mean = float(np.clip(sums[0, -1] / sums[0, 0], -1, 1))
    return mean - draw_in(mean, float(spread[0, -1]) / float(sums[0, 0]))


def centre(sums: Reals) -> tuple[Reals, Reals]:
    """The means, and the sums of products around them, of a noisy matrix whose first column is of ones: as near to it as a matrix
    without negative eigenvalues can be."""
    size = float(sums[0, 0])
    mean = np.clip(sums[0, 1:] / size, -1, 1)
    values, vectors = np.linalg.eigh(sums[1:, 1:] - size * np.outer(mean, mean))
    moments: Reals = (vectors * np.maximum(values, 0)) @ vectors.T
    return mean, moments
