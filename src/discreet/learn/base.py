"""What every model is: scikit-learn's contract, with a cost, public facts instead of a look at the data, and one way to learn.

``fit(X, y)`` and a curator's ``fit(model, features=..., target=...)`` both make ``Rows``, public facts with secret blocks, and a
``Payment``, and call the one verb that a model has of its own, ``_learn``, which lets out noisy sums and makes of them a state:
plain numbers and lists, which a ledger can keep. Everything else is made of that state, for free.

**Guarantee.** What ``fit`` sets is private as ``privacy_`` says, for the neighbours of the unit: rows that are added or removed,
or replaced, or persons with all their rows. It is the sum of what was let out, and nothing else depends on the rows: neither
steps nor rates nor shapes nor words. ``score`` and ``predict`` are about whatever rows they are given, and protect
them from nobody.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.learn.features import Feature, read_classes, read_feature, read_features
from discreet.learn.payment import Payment, reserve
from discreet.learn.rows import Rows, check_groups, inputs_of, read_arrays, read_cells, read_columns, read_unit
from discreet.plan.cost import Cost
from discreet.privacy import Privacy
from discreet.schema.units import Unit

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise ParameterError(
        "Models stand on scikit-learn's base classes, and it is not installed; pip install discreet[learn]."
    ) from None

State = dict[str, Any]
"""What was learnt, as plain JSON."""

Self = TypeVar("Self", bound="Model")

_NOISY = 0.5  # of a noise ratio, from which on little is learnt


def doubt_rows(size: int) -> str:
    """What a preview says where a cost is too small for a declared number of rows."""
    return (
        f"So few rows ({size:,}) say little at this cost: what is learnt will be mostly noise. Use fewer features, or a larger "
        "epsilon."
    )


class Model(BaseEstimator):  # type: ignore[misc]
    """A model that is learnt privately. Subclasses store their parameters in ``__init__`` and do nothing else there.

    All have ``epsilon``, ``delta`` (None: pure), ``bounds`` and ``unit``; classifiers ``classes``, regressors ``target``.
    """

    epsilon: object
    delta: object
    bounds: object
    unit: object
    supervised: ClassVar[bool] = True

    privacy_: Privacy

    # What a model has of its own.

    @abstractmethod
    def _learn(self, rows: Rows, payment: Payment) -> State:
        """What the rows say, released within the payment, all of whose shares are spent. What is done next may depend on public
        facts and on what was let out, and on nothing else."""

    @abstractmethod
    def _accept(self, state: State) -> None:
        """Set what was learnt: attributes that end with an underscore."""

    def _check(self, rows: Rows) -> None:
        """Refuse parameters, by public facts, before anything is spent."""

    def _foresee(self, rows: Rows, payment: Payment) -> list[str]:
        """What a preview says, by public facts."""
        if rows.size is None or payment.noise_ratio(self._numbers(rows), rows.size) <= _NOISY:
            return []
        return [doubt_rows(rows.size)]

    def _numbers(self, rows: Rows) -> int:
        """How many numbers are learnt: the more, the more noise is in them all."""
        return rows.width + 1

    def _reserve(self, share: Cost) -> Privacy:
        """What a curator's ledger is charged for a fit that spends this much."""
        return reserve(share)

    def _declared(self) -> tuple[Feature, ...]:
        """The columns of X by this model's own facts."""
        return read_features(self.bounds, self._named())

    def _pay(self, unit: Unit) -> tuple[Payment, Privacy]:
        """What a fit of its own spends, and its guarantee."""
        return Payment.own(self.epsilon, self.delta, unit)

    def _target(self, declared: Any = None) -> Feature | None:  # noqa: ARG002
        """The target by this model's own facts, or by what a curator declares of its column."""
        return None

    # The one contract.

    def fit(self: Self, X: Any, y: Any = None, groups: Any = None) -> Self:  # noqa: N803
        """Learn from rows that are here. ``groups``: the persons' ids, one a row, where persons are protected."""
        rows = self._open(X, y, groups)
        payment, privacy = self._pay(rows.unit)
        return self._finish(rows, self._learn(rows, payment), privacy)

    def _open(self, X: Any, y: Any, groups: Any) -> Rows:  # noqa: N803
        """Rows that are here, hidden; what public facts refuse of them is refused."""
        columns = self._columns(X, reset=True)
        height = len(columns[0]) if columns else 0
        features = self._declared()
        target = self._target()
        if target is not None and y is None:
            raise ParameterError("This model requires y to be passed, but the target y is None; write fit(X, y).")
        y = None if target is None else read_column("y", y, height)
        groups = None if groups is None else read_column("groups", groups, height)
        unit = read_unit(self.unit, height)
        check_groups(groups, unit)
        rows = read_arrays(features, target, columns, y, groups, unit)
        self._check(rows)
        return rows

    def _finish(self: Self, rows: Rows, state: State, privacy: Privacy) -> Self:
        """Set all that a fitted model has."""
        self.features_, self.target_ = rows.features, rows.target
        self.n_features_in_ = len(rows.features)
        self.privacy_ = privacy
        self._accept(state)
        return self

    def _columns(self, table: Any, *, reset: bool) -> list[NDArray[np.generic]]:
        """The columns of X, whose names and number are kept, or must be those of the fit."""
        columns, names = read_columns(table)
        validate_data(self, table if hasattr(table, "shape") else np.zeros((1, len(columns))), reset=reset, skip_check_array=True)
        if reset:
            self._names = names
        if not columns:
            raise ParameterError("X has 0 feature(s) (shape=(rows, 0)) while a minimum of 1 is required.")
        return columns

    def _named(self) -> list[str]:
        return list(self._names)

    def _inputs(self, X: Any, low: float = -1.0) -> Reals:  # noqa: N803
        """Inputs of rows to predict for."""
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        coded = {str(j): one.code(cells) for j, (one, cells) in enumerate(zip(self.features_, columns, strict=True))}
        return inputs_of(self.features_, coded, len(columns[0]), low)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.non_deterministic = True
        return tags


class Classifier(ClassifierMixin, Model):  # type: ignore[misc]
    """A model of classes, which are public: ``classes`` is a list, or a declared column that says what other labels become."""

    classes: object

    def _target(self, declared: Any = None) -> Feature:
        return read_classes(self.classes if declared is None else declared)

    @abstractmethod
    def _scores(self, inputs: Any) -> Reals:
        """The logarithm of the likelihood of every class, up to a constant, one line a row."""

    def _finish(self: Self, rows: Rows, state: State, privacy: Privacy) -> Self:
        assert rows.target is not None
        values = rows.target.values or ()
        mixed = len({isinstance(one, str) for one in values}) > 1  # of which numpy would make words throughout
        self.classes_ = np.array(values, dtype=object if mixed else None)
        found: Self = super()._finish(rows, state, privacy)
        return found

    def predict_log_proba(self, X: Any) -> Reals:  # noqa: N803
        """The logarithm of the probability of every class, in the order of ``classes_``."""
        scores = self._scores(self._inputs(X))
        scores = scores - scores.max(axis=1, keepdims=True)
        found: Reals = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return found

    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """The probability of every class, in the order of ``classes_``."""
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> NDArray[np.generic]:  # noqa: N803
        """The likeliest class."""
        places = np.argmax(self._scores(self._inputs(X)), axis=1)
        found: NDArray[np.generic] = self.classes_[places]
        return found


class Regressor(RegressorMixin, Model):  # type: ignore[misc]
    """A model of a number, whose bounds are public: ``target`` is (lower, upper), or a declared column."""

    target: object

    def _target(self, declared: Any = None) -> Feature:
        given = self.target if declared is None else declared
        if given is None:
            raise ParameterError("Between which bounds the target lies is not read off the data; write target=(0, 100).")
        found = read_feature("target", given)
        if found.values is not None or found.origin is not None:
            raise ParameterError("A target that is predicted as a number has bounds; write target=(0, 100).")
        return found


def read_column(name: str, given: Any, height: int) -> NDArray[np.generic]:
    """One value a row. A single column is taken for one, as scikit-learn does, which is said."""
    array = read_cells(given)
    if array.ndim == 2 and array.shape[1] == 1:
        said = f"A column-vector {name} was passed when a 1d array was expected; write {name}.ravel()."
        warn(said, DataConversionWarning, stacklevel=4)
        array = array.ravel()
    if array.ndim != 1:
        raise ParameterError(f"{name} should be a 1d array, one value a row, and has the shape {array.shape}.")
    if len(array) != height:
        raise ParameterError(f"X has {height:,} rows and {name} has {len(array):,}; they need one value a row.")
    return array
