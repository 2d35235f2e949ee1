"""Pictures of learning: how good a model is at what cost, on data that need no protection, and coefficients with their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.canvas import BLUE, GREEN, GREY, ORANGE, RED, finish, new_axes
from discreet.display import text_table
from discreet.errors import ParameterError
from discreet.exact import nearest, positive, whole
from discreet.learn.base import Model
from discreet.learn.rows import take
from discreet.noise.bits import words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, GREEN, RED, GREY)
_TESTED = 4  # one row in so many is tried on


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Scores of a model by epsilon: one line an epsilon, one score a split."""

    model: str
    delta: object
    epsilons: tuple[float, ...]
    scores: Reals

    def __str__(self) -> str:
        rows = [
            [f"{epsilon:g}", f"{line.mean():.4f}", f"{line.std():.4f}"]
            for epsilon, line in zip(self.epsilons, self.scores, strict=True)
        ]
        return f"{self.model}, delta = {self.delta or 0}\n" + text_table(["epsilon", "score", "deviation"], rows, ">>>")

    __repr__ = __str__

    def plot(self, ax: Axes | None = None) -> Axes:
        """Mean scores by epsilon, with one standard deviation of splits and noise. Needs matplotlib."""
        ax = new_axes(ax)
        means, spread = self.scores.mean(axis=1), self.scores.std(axis=1)
        ax.plot(self.epsilons, means, "o-", color=BLUE)
        ax.fill_between(self.epsilons, means - spread, means + spread, color=BLUE, alpha=0.18, linewidth=0)
        ax.set_xscale("log")
        ax.set_xlabel(f"epsilon, with delta = {self.delta or 0}")
        ax.set_ylabel("score on rows that were left out")
        return finish(ax, f"{self.model}: what an epsilon buys")


@called_as("model, X, y, [0.1, 1, 10]")
def curve(model: Model, X: Any, y: Any, epsilons: Sequence[Number], *, splits: int = 5, scoring: str | None = None) -> Curve:  # noqa: N803
    """How good a model is by epsilon, on made-up or public rows: nothing here is private, nor paid for.

    At every epsilon the model is fitted to three quarters of the rows and tried on the others, in several ``splits``.
    ``scoring``: a score of scikit-learn by its name, such as ``"roc_auc"``; the model's own unless told.

    >>> from discreet.learn import GaussianNB
    >>> found = curve(GaussianNB(delta=1e-5, bounds=(0, 1), classes=[0, 1]), [[0], [1]] * 200, [0, 1] * 200, [0.5, 5])
    >>> found.scores.shape, float(found.scores[1].mean())
    ((2, 5), 1.0)
    """
    if not isinstance(model, Model):
        raise ParameterError(
            f"{type(model).__name__} is no model of discreet.learn, which has an epsilon; write LogisticRegression()."
        )
    asked = [nearest(positive("epsilon", one, "a number such as 1")) for one in epsilons]
    if not asked:
        raise ParameterError("A curve has one epsilon or more; write [0.1, 1, 10].")
    many = whole("splits", splits, 1)
    if scoring is not None:
        from sklearn.metrics import get_scorer, get_scorer_names

        if scoring not in get_scorer_names():
            raise ParameterError(f"{scoring!r} is no score of scikit-learn; write one such as roc_auc or r2.")
        score = get_scorer(scoring)
    else:

        def score(fitted: Any, X: Any, y: Any) -> float:  # noqa: N803
            return float(fitted.score(X, y))

    found = np.empty((len(asked), many))
    for j in range(many):
        order = _shuffle(len(y))
        tried, kept = order[: len(y) // _TESTED], order[len(y) // _TESTED :]
        for i, epsilon in enumerate(epsilons):
            fitted = clone(model).set_params(epsilon=epsilon).fit(take(X, kept), take(y, kept))
            found[i, j] = score(fitted, take(X, tried), take(y, tried))
    return Curve(type(model).__name__, model.delta, tuple(asked), found)


@called_as("model")
def plot_coefficients(model: Model, ax: Axes | None = None) -> Axes:
    """The coefficients of a fitted linear model, one below the other, with 95 % intervals of sampling and noise where it has
    them. Needs matplotlib."""
    check_is_fitted(model)
    if not hasattr(model, "coef_"):
        raise ParameterError(f"{type(model).__name__} has no coefficients; an additive model has shapes, model.plot().")
    values = np.atleast_2d(model.coef_)
    names = [name for one in model.features_ for name in one.names]
    known = getattr(model, "coef_interval_", None)
    ax = new_axes(ax)
    places = np.arange(len(names))[::-1].astype(float)
    for i, line in enumerate(values):
        shifted, said = places + 0.15 * (i - (len(values) - 1) / 2), str(model.classes_[i]) if len(values) > 1 else None
        ax.plot(line, shifted, "o", markersize=4, color=COLOURS[i % len(COLOURS)], label=said)
    if known is not None:
        finite = np.isfinite(known).all(axis=1)
        ax.hlines(places[finite], known[finite, 0], known[finite, 1], color=BLUE, linewidth=1.4)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(places, names, fontsize=8)
    return finish(ax, f"{type(model).__name__}: coefficients", legend="best" if len(values) > 1 else None)


def _shuffle(height: int) -> Integers:
    """Places in a random order."""
    return np.argsort(words(max(height, 1))[:height], kind="stable")
