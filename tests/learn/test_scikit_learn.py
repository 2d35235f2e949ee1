"""scikit-learn's own checks of estimators: all pass, but for those that demand what privacy forbids.

They are run twice. First on models as they are, at the largest epsilon that they take: three checks are expected to fail because
they demand a refusal that only rows could cause, and eight because they demand what no private model has, classes read off the
rows and the same numbers twice. Then on an adapter, which this file declares, that takes both obstacles away and nothing else:
labels are public, so that classes are declared as they are in y, and epsilon is so large that the same mechanisms add no noise.
There the eight pass, and so do those that scikit-learn has for deterministic models; the three refusals remain.
"""

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

from discreet import learn
from discreet.errors import ParameterError
from discreet.learn import PrivateSearch, payment
from discreet.learn.features import read_classes

EXACT: dict[str, dict[str, Any]] = {"epsilon": 1e6, "bounds": (-10, 10)}  # noise as good as none: the checks look at accuracy
TARGETS = {"classes": [0, 1, 2], "target": (-100, 100)}

REFUSALS = "what only rows show is no reason to refuse, since whether a fit is refused would be an answer that nobody paid for: "
DECLARED = (
    "the check gives one model labels of several kinds, and wants the classes that happen to be in y: whether somebody has a "
    "class would be let out without noise, so every private model has them declared"
)
NOISE = (
    "the check wants two fits on the same rows to agree to the last digits: a private model is a random one, whose noise may "
    "follow from no seed, or whoever knows it takes the noise away"
)
REFUSED = {
    "check_estimators_empty_data_messages": REFUSALS
    + "that there are no rows is known of nobody's table where rows are added or removed, and a model of none is mostly noise",
    "check_supervised_y_no_nan": REFUSALS
    + "one row's target that is infinite would tell that this row is there, so that such a row adds nothing instead",
    "check_classifiers_regression_target": REFUSALS
    + "numbers where classes are declared are labels that are not listed, one by one, and rows with these add nothing",
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


def adapt(kind: Any) -> Any:
    """The model for somebody whose labels are no secret: declared with the classes that are in y, and without noise a function
    of its rows."""

    class Adapted(kind):
        def fit(self, X: Any, y: Any = None, groups: Any = None) -> Any:  # noqa: N803
            self._labels = [] if y is None else np.unique(np.asarray(y)).tolist()
            return super().fit(X, y, groups)

        def _target(self, declared: Any = None) -> Any:
            return read_classes(self._labels) if self._labels and hasattr(self, "classes") else super()._target(declared)

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.non_deterministic = False
            return tags

    Adapted.__name__ = Adapted.__qualname__ = f"Adapted{kind.__name__}"
    return Adapted


for _name in MODELS:  # where a pickle finds them
    globals()[f"Adapted{_name}"] = adapt(getattr(learn, _name))


@pytest.mark.diagonal
@pytest.mark.parametrize("cost", [{"epsilon": 1e18, "delta": None}, {"epsilon": 1e30}], ids=["pure", "delta"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_all_checks_but_refusals_pass_where_noise_vanishes_and_labels_are_public(
    name: str, cost: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise of a scale of 2^-20 units and less rounds to none: that it does not, in some ten thousand numbers, has a chance below
    e^-100000. The limit above which an epsilon is refused is lifted; nothing else is changed."""
    monkeypatch.setattr(payment, "_MOST", 10**30)
    made = globals()[f"Adapted{name}"](**exact(name).set_params(**cost).get_params(deep=False))
    ran = check_estimator(made, expected_failed_checks=REFUSED, on_fail=None, on_skip=None)
    assert [(one["check_name"], one["exception"]) for one in ran if one["status"] == "failed"] == []
    assert {one["check_name"] for one in ran if one["status"] == "xfail"} <= REFUSED.keys()
    assert {"check_fit_idempotent", "check_methods_subset_invariance"} <= {one["check_name"] for one in ran}
    assert [one["check_name"] for one in ran if one["status"] == "skipped"] == ["check_array_api_input"]


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
