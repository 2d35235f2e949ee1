"""Scores of a model on private rows: a priced release with an interval, and what a search compares models by.

A row's quality is a number from 0 to 1. Of a class it is 1 where the prediction is right and else 0; of a number it is 1 -
(error / range)^2, the range being that of the declared bounds, into which target and prediction are brought. A row without a
label, or with one that is not declared, adds nothing.

**Guarantee.** ``private_score`` lets out two sums, of q and of 1 - q, over rows: a row adds a vector of norm at most 1, in L1
and in L2, a person with r rows one of at most r. So the sums move by that much where a unit is added or removed, and by twice
as much where it is replaced (``mechanisms.rows.sums``). The model must not be made of the rows that it is scored on, unless
both are paid for: the score protects these rows whatever the model is, and what was spent on the same people adds up.

**Interval.** Each sum is within its noise's bound e except with half of the probability that the interval may miss, so that the
score on these very rows lies, with at least the confidence, between (A - e) / (A + B) and (A + e) / (A + B), cut off at 0 and
1. That of other rows like these varies more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import HEIGHT, Booleans, Integers, Number, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import nearest, probability
from discreet.learn.base import Model, read_column
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows, by_person, check_groups, read_columns, read_lines, read_unit, take
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.sums import Ball, Dense, Total, add_up
from discreet.mechanisms.secret import Secret
from discreet.privacy import Privacy
from discreet.schema.units import Person, Unit


@dataclass(frozen=True)
class Score:
    """A noisy score: what it is of, its value with an interval for these rows, and what it cost."""

    name: str
    value: float
    interval: tuple[float, float]
    confidence: float
    privacy: Privacy

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.name} {self.value:.4g}, from {low:.4g} to {high:.4g} ({self.confidence:.0%}); {self.privacy}"


@called_as("model, X, y, epsilon=0.5")
def private_score(
    model: Model,
    X: Any,  # noqa: N803
    y: Any,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    unit: object = None,
    groups: Any = None,
    confidence: Number = 0.95,
) -> Score:
    """The accuracy of a fitted classifier, or the mean squared error of a regressor, on private rows, with noise.

    Labels are read by what the model knows: classes, or bounds to which the target is clamped. ``unit`` and ``groups`` are as
    for a fit: rows that are added or removed unless told.

    >>> from discreet.learn import GaussianNB
    >>> model = GaussianNB(epsilon=1, delta=1e-5, bounds=(0, 1), classes=[0, 1]).fit([[0], [1]] * 500, [0, 1] * 500)
    >>> found = private_score(model, [[0], [1]] * 5000, [0, 1] * 5000, epsilon=0.5)
    >>> found.name, round(found.value, 1), found.interval[0] <= found.value <= found.interval[1]
    ('accuracy', 1.0, True)
    """
    check_model(model)
    check_is_fitted(model)
    sure = read_confidence(confidence)
    who = read_rows(X, y, groups, unit)
    payment, privacy = Payment.own(epsilon, delta, who.unit)
    ball = payment.ball(most_rows(who.unit))
    return conclude(model, payment, add_up_qualities(model, who, ball, right_and_wrong), sure, privacy)


def read_confidence(confidence: object) -> Fraction:
    """How surely an interval holds."""
    sure = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
    if not 0 < sure < 1:
        raise ParameterError("An interval holds with a confidence between 0 and 1; write confidence=0.95.")
    return sure


def right_and_wrong(quality: Reals) -> Reals:
    """What a row adds to the two sums of a score."""
    return np.stack([quality, 1 - quality], axis=1)


def conclude(model: Model, payment: Payment, total: Total, sure: Fraction, privacy: Privacy) -> Score:
    """The score that two sums say, let out for all of the payment."""
    ball = total.ball
    reach = nearest(Fraction(payment.noise(ball, Fraction(1)).error((1 + sure) / 2)) * ball.step)
    right, wrong = (float(one) for one in payment.release(total, Fraction(1)))
    value, low, high = _share(right, wrong, reach)
    kept = nearest(sure)
    if is_regressor(model):
        assert model.target_ is not None
        square = nearest(model.target_.upper - model.target_.lower) ** 2
        return Score("mean squared error", (1 - value) * square, ((1 - high) * square, (1 - low) * square), kept, privacy)
    return Score("accuracy", value, (low, high), kept, privacy)


def _share(right: float, wrong: float, reach: float) -> tuple[float, float, float]:
    """right / (right + wrong), and how small and large it may be where either is off by ``reach``; anything where noise is
    all."""
    low, high = max(right - reach, 0.0), min(right + reach, right + wrong)
    size = right + wrong
    if size <= 0 or high <= 0 or low >= size:
        value = 0.5 if size <= 0 else min(max(right / size, 0.0), 1.0)
        return value, min(low / size, value) if size > 0 and low < size else 0.0, 1.0
    return min(max(right / size, 0.0), 1.0), low / size, high / size


@dataclass(frozen=True, eq=False)
class Given:
    """Rows as somebody gave them: public are their unit and columns alone."""

    X: Any
    y: NDArray[np.generic]
    groups: NDArray[np.generic] | None
    unit: Unit


def read_rows(X: Any, y: Any, groups: Any, unit: object) -> Given:  # noqa: N803
    """Rows with labels and, where persons are protected, ids; wrong shapes are refused."""
    X = X if hasattr(X, "shape") or hasattr(X, "columns") else read_lines(X)  # noqa: N806  # lists without rows have no columns
    height = int(X.shape[0]) if getattr(X, "shape", ()) else len(read_columns(X)[0][0])
    if y is None:
        raise ParameterError("A score requires y to be passed, but the target y is None; give one label a row.")
    labels = read_column("y", y, height)
    ids = None if groups is None else read_column("groups", groups, height)
    who = read_unit(unit, height)
    check_groups(ids, who)
    return Given(X, labels, ids, who)


def check_model(model: object) -> None:
    """What has a score: a model of ours that predicts."""
    if not isinstance(model, Model) or not model.supervised or not hasattr(model, "predict"):
        raise ParameterError(
            f"{type(model).__name__} is no classifier or regressor of discreet.learn, whose classes or bounds are public; write "
            "LogisticRegression(bounds=(0, 1), classes=[0, 1])."
        )


def is_regressor(model: Model) -> bool:
    """Whether a fitted model predicts a number."""
    return model.target_ is not None and model.target_.values is None


def most_rows(unit: Unit) -> int:
    """How many rows one unit adds at most."""
    return unit.rows if isinstance(unit, Person) else 1


def add_up_qualities(model: Model, who: Given, ball: Ball, into: Callable[[Reals], Reals]) -> Total:
    """The sum over rows of what is made of their quality, still secret: of each unit's own rows and the model, and nothing
    else."""
    quality, known = _qualities(model, who)
    starts = None
    if isinstance(who.unit, Person):
        assert who.groups is not None
        order, starts = by_person([quality, known], who.groups, who.unit.rows)
        quality, known = quality[order], known[order]
    block = Block({"quality": quality, "known": known}, len(quality), starts)

    def of(block: Block) -> Dense:
        return Dense(into(np.asarray(block["quality"])) * np.asarray(block["known"])[:, None])

    return add_up([Secret(block)], of, ball, into(np.zeros(1)).shape[1])


def add_up_read(model: Model, rows: Rows, ball: Ball, into: Callable[[Reals], Reals]) -> Total:
    """The same over rows that are read from a curator's engine, which says what their cells are."""
    assert rows.target is not None
    names = [str(j) for j in range(len(rows.features))]
    model = copy(model)  # without the names of its columns, which others may have here
    model.__dict__.pop("feature_names_in_", None)

    def of(block: Block) -> Dense:
        cells = {name: one.cells(np.asarray(block[name])) for name, one in zip(names, rows.features, strict=True)}
        labels = rows.target.cells(rows.labels(block))  # type: ignore[union-attr]
        quality, known = _qualities(model, Given(Cells(cells), labels, None, rows.unit))
        return Dense(into(quality) * known[:, None])

    return add_up(rows.read(), of, ball, into(np.zeros(1)).shape[1])


class Cells:
    """Columns of cells, as little of a frame as models read."""

    def __init__(self, columns: Mapping[str, NDArray[np.generic]]) -> None:
        self._cells, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self._cells[name]

    def rows(self, places: Integers) -> Cells:
        """Some of its rows."""
        return Cells({name: column[places] for name, column in self._cells.items()})


def _qualities(model: Model, who: Given) -> tuple[Reals, Booleans]:
    """Of every row: a number from 0 to 1, and whether it has a label. A prediction that is no number is the worst."""
    assert model.target_ is not None
    labels = model.target_.code(who.y)
    known: Booleans = labels != MISSING
    if not len(labels):
        return np.zeros(0), known
    said = _predict(model, who.X, len(labels))
    if not is_regressor(model):
        return (model.target_.code(said) == labels).astype(np.float64), known
    low, high = nearest(model.target_.lower), nearest(model.target_.upper)
    with np.errstate(all="ignore"):
        off = (np.clip(said.astype(np.float64), low, high) - model.target_.reals(labels)) / (high - low)
    return np.clip(1 - np.nan_to_num(off * off, nan=1.0), 0.0, 1.0), known


def _predict(model: Model, X: Any, height: int) -> NDArray[np.generic]:  # noqa: N803
    """What a model says of every row. It always sees the same number of rows, the last one again where there are fewer: else the
    last digits of a prediction, and with them a class or an error, would change with the rows beside it (``arrays.multiply``)."""
    said = []
    for start in range(0, height, HEIGHT):
        places = np.minimum(np.arange(start, start + HEIGHT), height - 1)
        said.append(np.asarray(model.predict(X.rows(places) if isinstance(X, Cells) else take(X, places)))[: height - start])
    return np.concatenate(said)
