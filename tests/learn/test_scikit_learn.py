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
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from discreet.curator.gate import Letting
from discreet.errors import ParameterError
from discreet.learn import PrivateSearch
from discreet.learn.features import read_classes
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.secret import open_secret

EXACT: dict[str, dict[str, Any]] = {"epsilon": 1e6, "bounds": (-10, 10)}  # noise as good as none: the checks look at accuracy
TARGETS = {"classes": [0, 1, 2], "target": (-100, 100)}

REFUSALS = (
    "what only rows show (none of them, NaN, numbers where classes are declared) is no reason to refuse: that would be an answer"
)
DECLARED = (
    "the check gives one model labels of several kinds, and wants the classes that happen to be in y: whether somebody has a "
    "class would be let out without noise, so every private model has them declared"
)
NOISE = (
    "the check wants two fits on the same rows to agree to the last digits: a private model is a random one, whose noise may "
    "follow from no seed, or whoever knows it takes the noise away"
)
REFUSED = {
    "check_estimators_empty_data_messages": REFUSALS,
    "check_supervised_y_no_nan": REFUSALS,
    "check_classifiers_regression_target": REFUSALS,
}
OTHERS = {
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": DECLARED,
    "check_decision_proba_consistency": DECLARED,
    "check_fit_idempotent": NOISE,
    "check_classifier_data_not_an_array": NOISE,
    "check_regressor_data_not_an_array": NOISE,
    "check_supervised_y_2d": NOISE,
    "check_regressors_int": NOISE,
}
EXPECTED = REFUSED | OTHERS

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


def labelled(name: str) -> Any:
    """The model, declared with the classes that are in y: for somebody whose labels are no secret."""
    made = exact(name).set_params(epsilon=20)  # nothing is noisy, and no chance is so small that it is 0
    kind: Any = type(made)
    if "classes" not in MODELS[name]:
        return made

    class Same(kind):
        def fit(self, X: Any, y: Any = None, groups: Any = None) -> Any:  # noqa: N803
            self._labels = np.unique(np.asarray(y)).tolist()
            return super().fit(X, y, groups)

        def _target(self, declared: Any = None) -> Any:  # noqa: ARG002
            return read_classes(self._labels)

    return Same(**made.get_params(deep=False))


def concerned(name: str) -> list[str]:
    """The checks that are expected to fail for another reason than a refusal, as far as they are about this kind of model."""
    classifier, regressor = "classes" in MODELS[name], "target" in MODELS[name]
    found = [check for check in OTHERS if classifier or ("classifier" not in check and "decision" not in check)]
    found = [check for check in found if regressor or "regressor" not in check]
    found = [check for check in found if classifier or regressor or "supervised" not in check]
    return found + [check for check, why in OF.get(name, {}).items() if why == DECLARED]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_noise_and_declared_classes_are_all_that_those_checks_fail_by(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With neither, every one of them passes: nothing else is wrong behind a failure that is expected."""

    def exactly(self: Letting, secret: Any) -> Any:
        return open_secret(secret) if isinstance(self.mechanism, Gaussian | Laplace) else self.mechanism.release(secret)

    monkeypatch.setattr(Letting, "let_out", exactly)
    for check in concerned(name):
        getattr(estimator_checks, check)(name, labelled(name))


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
