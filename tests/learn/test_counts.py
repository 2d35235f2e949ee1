"""Naive Bayes for counts: sparse or dense, long documents and short ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.errors import ParameterError
from discreet.learn import CountNB

DRAW = np.random.default_rng(2)


def test_counts_may_be_sparse_and_long_texts_weigh_no_more() -> None:
    table = np.zeros((400, 30))
    table[:200, :5] = DRAW.integers(1, 4, (200, 5))
    table[200:, 5:10] = DRAW.integers(1, 4, (200, 5))
    labels = ["ham"] * 200 + ["spam"] * 200
    table[0] *= 1000
    model = CountNB(epsilon=2, delta=1e-5, classes=["ham", "spam"])
    fitted = model.fit(sparse.csr_matrix(table), labels)
    assert fitted.score(sparse.csr_matrix(table), labels) > 0.95
    assert (fitted.predict(table) == fitted.predict(sparse.csr_matrix(table))).all()
    assert fitted.predict_proba(table[:1]) == pytest.approx(fitted.predict_proba(2 * table[:1]))
    empty = fitted.predict_proba(np.full((1, 30), np.nan))  # nothing was counted: what is known is the classes' own shares
    assert empty == pytest.approx(fitted.class_prior_[None])
    with pytest.raises(ParameterError, match="such as 1024"):
        model.fit(sparse.csr_matrix((2**20, 2**20)), [])
