"""Naive Bayes for counts, of words for example: which class a document speaks like (``analysis.naive_bayes``).

A document is a line of counts, one for every word of a public vocabulary, or for every bucket that words are hashed into. One
release of k (1 + d) numbers pays for all.

**Guarantee.** That of one Gaussian (or, for a pure epsilon, Laplace) mechanism on a sum in which one unit moves by at most 1:
rows added or removed, or replaced, or persons (``mechanisms.rows.sums``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from discreet.analysis.naive_bayes import Speech, divide_norm, scale
from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.learn.base import Classifier, State
from discreet.learn.features import Feature, read_features
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import MISSING, Block, Columns
from discreet.mechanisms.rows.sums import Outer, add_up, direct

_COUNTS = (0, 2**16)  # what a count is clamped to, unless told; in steps of 1/256
_MOST = 2**28  # numbers of a sparse table that is made dense


@called_as("epsilon=1, delta=1e-5, classes=['ham', 'spam']")
class CountNB(Classifier):
    """Naive Bayes for lines of counts: words of texts, visits, codes. ``X`` may be sparse. Unless ``bounds`` are
    told, a count lies between 0 and 65,536.

    >>> model = CountNB(epsilon=1, delta=1e-5, classes=["ham", "spam"])
    >>> model.fit([[3, 0, 1], [0, 2, 1]] * 300, ["ham", "spam"] * 300).predict([[1, 0, 0], [0, 5, 5]]).tolist()
    ['ham', 'spam']
    """

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        classes: object = None,
        unit: object = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes, self.unit = epsilon, delta, bounds, classes, unit

    def _declared(self) -> tuple[Feature, ...]:
        return read_features(_COUNTS if self.bounds is None else self.bounds, self._named())

    def _columns(self, table: Any, *, reset: bool) -> list[NDArray[np.generic]]:
        if hasattr(table, "toarray"):
            if math.prod(table.shape) > _MOST:
                raise ParameterError(
                    f"A sparse table of {table.shape[0]:,} rows and {table.shape[1]:,} columns is too large to be made dense; "
                    "hash words into fewer columns, such as 1024."
                )
            table = table.toarray()
        return super()._columns(table, reset=reset)

    def _numbers(self, rows: Rows) -> int:
        return rows.classes * rows.width

    def _learn(self, rows: Rows, payment: Payment) -> State:
        d, k = rows.width, rows.classes
        document, words = divide_norm(payment.order)

        def of(block: Block) -> Outer:
            lines = words * scale(_counts(rows.features, block.columns), payment.order)
            label = (rows.labels(block)[:, None] == np.arange(k)).astype(np.float64)
            return Outer(label, *direct(np.hstack([np.full((len(lines), 1), document), lines]), payment.order))

        total = add_up(rows.read(), of, payment.outer_ball(1), k * (1 + d))
        spread = payment.deviation(total.ball, Fraction(1))
        found = Speech.of(payment.release(total, Fraction(1)).reshape(k, 1 + d), payment.order, spread)
        return {"count": found.counts.tolist(), "weights": found.weights.tolist(), "norm": payment.order}

    def _accept(self, state: State) -> None:
        self._speech = Speech(np.array(state["count"]), np.array(state["weights"]))
        self.class_count_, self.class_prior_ = self._speech.counts, self._speech.priors
        self.feature_weights_ = self._speech.weights
        self._norm = int(state["norm"])

    def _inputs(self, X: Any, low: float = 0.0) -> Reals:  # noqa: ARG002, N803
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        coded = {str(j): one.code(cells) for j, (one, cells) in enumerate(zip(self.features_, columns, strict=True))}
        return scale(_counts(self.features_, coded), self._norm)

    def _scores(self, inputs: Any) -> Reals:
        return self._speech.scores(inputs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True  # of numbers that are no counts, as scikit-learn's own for counts has it
        return tags


def _counts(features: Sequence[Feature], columns: Columns) -> Reals:
    """A line of numbers from 0 to 1 for every row; what is missing was not counted."""
    made = []
    for j, feature in enumerate(features):
        codes = np.asarray(columns[str(j)], dtype=np.int64)
        made.append(np.where((codes == MISSING)[:, None], 0.0, feature.inputs(codes, 0.0)))
    return np.hstack(made)
