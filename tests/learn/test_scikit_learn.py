"""scikit-learn's own checks of estimators: all pass, but for those that demand what privacy forbids."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from contract.models import MODELS, make, outputs
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from discreet.errors import ParameterError
from discreet.learn import PrivateSearch

EXACT: dict[str, dict[str, Any]] = {"epsilon": 1e6, "bounds": (-10, 10)}  # noise as good as none: the checks look at accuracy
TARGETS = {"classes": [0, 1, 2], "target": (-100, 100)}

REFUSALS = (
    "what only rows show (none of them, NaN, numbers where classes are declared) is no reason to refuse: that would be an answer"
)
DECLARED = "classes are declared, and not those that happen to be in y"
NOISE = "two fits on the same rows differ by their noise"
EXPECTED = {
    "check_estimators_empty_data_messages": REFUSALS,
    "check_supervised_y_no_nan": REFUSALS,
    "check_classifiers_regression_target": REFUSALS,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": DECLARED,
    "check_decision_proba_consistency": DECLARED,
    "check_fit_idempotent": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_regressors_int": NOISE,
}

OF = {  # what is expected of one model
    "CountNB": {"check_estimator_sparse_array": DECLARED, "check_estimator_sparse_matrix": DECLARED},
    "Scaler": {
        f"check_estimator_sparse_{kind}": "scikit-learn takes every class of this name for its own"
        for kind in ("array", "matrix")
    },
}


def exact(name: str) -> Any:
    given = {key: TARGETS[key] for key in MODELS[name] if key in TARGETS}
    return make(name, **EXACT, **given)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(name: str) -> None:
    """Those that are expected to fail are declared to scikit-learn, by its own way to do so; some of them pass by chance."""
    ran = check_estimator(exact(name), expected_failed_checks=EXPECTED | OF.get(name, {}), on_fail=None, on_skip=None)
    assert len(ran) > 35
    assert [(one["check_name"], one["exception"]) for one in ran if one["status"] == "failed"] == []


@pytest.mark.parametrize("method", ["repeat", "exponential"])
@pytest.mark.filterwarnings("ignore")
def test_checks_of_a_search(method: str) -> None:
    one = exact("GaussianNB" if method == "repeat" else "Ridge").set_params(epsilon=None, delta=None)
    search = PrivateSearch([one], epsilon=1e6, method=method, runs=2)
    halved = {"check_regressors_train": "coins choose the rows that are learnt from, and of fewer R^2 is about a half"}
    ran = check_estimator(search, expected_failed_checks=EXPECTED | halved, on_fail=None, on_skip=None)
    assert len(ran) > 35
    assert [(one["check_name"], one["exception"]) for one in ran if one["status"] == "failed"] == []


X = np.random.default_rng(1).normal(size=(80, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("name", MODELS)
def test_clones_are_unfitted_and_pickles_say_the_same(name: str) -> None:
    fitted = make(name).fit(X, Y)
    assert not hasattr(clone(fitted), "privacy_")
    assert clone(fitted).get_params() == fitted.get_params()
    again = pickle.loads(pickle.dumps(fitted))
    assert (outputs(again, X) == outputs(fitted, X)).all()
    assert again.privacy_ == fitted.privacy_


@pytest.mark.parametrize("name", MODELS)
def test_a_model_stands_in_a_pipeline(name: str) -> None:
    line = make_pipeline(FunctionTransformer(np.tanh), make(name, bounds=(-1, 1)))
    assert len(outputs(line.fit(X, Y), X)) == len(X)


def test_scores_and_searches_run() -> None:
    """On rows that nobody has to protect: each of these fits is paid for by nobody."""
    model = make("GaussianNB", classes=[0, 1], epsilon=20)
    assert np.isfinite(cross_val_score(model, X, Y, cv=2)).all()
    assert GridSearchCV(model, {"epsilon": [10, 20]}, cv=2).fit(X, Y).best_estimator_.privacy_ is not None


@pytest.mark.parametrize("name", [name for name in MODELS if make(name).supervised])
def test_a_column_is_taken_for_one_value_a_row_and_that_is_said(name: str) -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        make(name).fit(X, Y[:, None])
    with pytest.raises(ParameterError, match="1d array"):
        make(name).fit(X, np.stack([Y, Y], axis=1))
