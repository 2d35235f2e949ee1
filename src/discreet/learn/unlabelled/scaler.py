"""Scaling by bounds that are bought: the range of each column but for its tails, from noisy counts of halves, quarters and so on.

Between wide public bounds every column is halved eight times; a row lies in one part of each size, and all parts of all columns
are counted in one release. Counts of parts are made to add up (Hay, Rastogi, Miklau and Suciu 2010), which is least squares,
and the tails are where they say.

**Sensitivity.** A row adds 1 in 8 F parts, for F columns: sqrt(8 F) in L2, 8 F in L1. **Guarantee**: that of one Gaussian (or
Laplace) mechanism, for rows added or removed, or replaced, or persons. Rows that are then scaled are scaled each by itself: a
model that is fitted to them costs what it costs, and both together the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import nearest
from discreet.learn.base import Model, State
from discreet.learn.features import Feature
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.sums import Cells, add_up

LEVELS = 8
_LEAVES = 2**LEVELS
_CLEAR = 6.0  # deviations of one count: noise in sums of parts from either end exceeds it somewhere once in about 5,000 times


@called_as("epsilon=0.1, delta=1e-6, bounds=(0, 1000000)")
class Scaler(TransformerMixin, Model):  # type: ignore[misc]
    """Numbers scaled to between -1 and 1, by bounds that leave a share of rows out at either end, or more where noise
    is more.

    ``bounds_`` says which, column by column, as any model takes its ``bounds``. What lies beyond is clamped; what is missing is
    in the middle. Lists of values become columns of 0 and 1.

    >>> model = Scaler(epsilon=1, delta=1e-6, bounds=(0, 1000)).fit([[i % 100] for i in range(10_000)])
    >>> low, high = model.bounds_[0]
    >>> 0 <= low < 12 and 88 < high < 112
    True
    """

    supervised = False

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        unit: object = None,
        tails: object = 0.01,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.unit = epsilon, delta, bounds, unit
        self.tails = tails

    def _check(self, rows: Rows) -> None:
        if isinstance(self.tails, bool) or not isinstance(self.tails, int | float | Fraction) or not 0 < self.tails < 0.5:
            raise ParameterError("tails= is the share of rows that is left out at either end, below 0.5; write tails=0.01.")
        if not _numbers(rows.features):
            raise ParameterError("There is no number to scale: all columns have lists of values; leave the scaler out.")

    def _learn(self, rows: Rows, payment: Payment) -> State:
        numbers, sizes = _numbers(rows.features), [2**level for level in range(1, LEVELS + 1)]

        def of(block: Block) -> Cells:
            codes = []
            for j, feature in numbers.items():
                units = np.asarray(block[str(j)], dtype=np.int64)
                leaf = np.minimum((units / feature.steps * _LEAVES).astype(np.int64), _LEAVES - 1)
                codes += [np.where(units == MISSING, -1, leaf // (_LEAVES // size)) for size in sizes]
            return Cells(np.stack(codes, axis=1), tuple(sizes) * len(numbers), np.full((block.height, 1), 1 / scale))

        lists = LEVELS * len(numbers)
        scale = float(lists) if payment.pure else math.sqrt(lists)
        total = add_up(rows.read(), of, payment.ball(1), sum(sizes) * len(numbers))
        deviation = payment.deviation(total.ball, Fraction(1)) * scale
        noisy = (payment.release(total, Fraction(1)) * scale).reshape(len(numbers), -1)
        found = [_find_tails(_add_up_to(line, sizes), float(self.tails), deviation) for line in noisy]  # type: ignore[arg-type]
        return {"places": found}

    def _accept(self, state: State) -> None:
        places = iter(state["places"])
        self.bounds_: list[Any] = []
        for feature in self.features_:
            if feature.values is not None:
                self.bounds_.append(list(feature.values))
                continue
            first, last = next(places)
            low, width = nearest(feature.lower), nearest(feature.upper - feature.lower)
            self.bounds_.append((low + width * first / _LEAVES, low + width * last / _LEAVES))

    def transform(self, X: Any) -> Reals:  # noqa: N803
        """The same rows: numbers from -1 to 1, 0 where one is missing, and lists as columns of 0 and 1."""
        check_is_fitted(self)
        made = []
        for feature, cells, found in zip(self.features_, self._columns(X, reset=False), self.bounds_, strict=True):
            codes = feature.code(cells)
            if feature.values is not None:
                made.append(feature.inputs(codes))
            else:
                low, high = found
                scaled = (np.clip(feature.reals(codes), low, high) - low) * (2 / (high - low)) - 1
                made.append(np.nan_to_num(scaled)[:, None])
        return np.hstack(made)

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> Reals:  # noqa: ARG002, N803
        """Fit, and then the same rows scaled."""
        return self.fit(X, None, groups).transform(X)

    def get_feature_names_out(self, names: Any = None) -> Any:  # noqa: ARG002
        """The names of the columns, and of the values of lists."""
        check_is_fitted(self)
        return np.array([name for one in self.features_ for name in one.names], dtype=object)


def _numbers(features: Sequence[Feature]) -> dict[int, Feature]:
    """The columns that are scaled, by their places."""
    return {j: one for j, one in enumerate(features) if one.values is None}


def _add_up_to(noisy: Reals, sizes: list[int]) -> Reals:
    """Counts of the smallest parts, by least squares from counts of all sizes with the same noise."""
    levels = np.split(noisy, np.cumsum(sizes)[:-1])
    better = [levels[-1]]
    for height, own in enumerate(reversed(levels[:-1]), 2):
        weight = (2**height - 2 ** (height - 1)) / (2**height - 1)
        better.append(weight * own + (1 - weight) * better[-1].reshape(-1, 2).sum(axis=1))
    better.reverse()
    found = better[0]
    for below in better[1:]:
        found = below + np.repeat((found - below.reshape(-1, 2).sum(axis=1)) / 2, 2)
    return found


def _find_tails(counts: Reals, share: float, deviation: float) -> tuple[int, int]:
    """Where so much is below and above, by noisy counts; all of the range where there are too few rows to say."""
    total = float(counts.sum())
    wanted = max(total * share, _CLEAR * deviation)  # what noise could explain is no reason to reach far
    if total < 4 * wanted:
        return 0, len(counts)
    below, above = np.cumsum(counts), np.cumsum(counts[::-1])
    first = int(np.argmax(below > wanted))
    last = len(counts) - int(np.argmax(above > wanted))
    return (first, last) if first < last else (0, len(counts))
