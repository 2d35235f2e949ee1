"""Choosing settings privately: many models are tried on private rows, one is let out, and the price is that of all of it.

Units are split by coins of their own into rows to learn from and rows to score on, once, before anything else. A unit lies in
one part or the other, so that a model and its score cost no more together than the dearer of both: given the coins, only one of
them moves between neighbours; coins have one law on both, and Renyi divergences, and ratios of probabilities, of mixtures with
the same weights are no larger than the largest of their parts. So models and scores each have all of a run's cost.

**method="repeat"** (Papernot and Steinke 2022; theorem and proof: ``privacy.repetition``). The number of runs is drawn from a
law that knows nothing of the rows; a run draws a candidate, fits it and releases a noisy score; the best run's model is let
out. Nothing else is: neither other runs, nor how many there were, which only the time of a fit hints at. A pure epsilon is 2
times that of a run under the logarithmic law, 3 times under the geometric one, however many runs are expected; with a delta the
cost of a run is calibrated so that the Renyi divergences of the search are certified (epsilon, delta)-private.

**method="exponential"**. All candidates are fitted, each with an equal share of the cost, and the exponential mechanism (under
a pure epsilon permute-and-flip) chooses by scores that a unit moves by at most 1/2 a row, or 1 where it is replaced. A choice
with epsilon e is e^2/8-zCDP (Cesar and Rogers 2021), and what was spent on models adds up to the same rho.

Neighbours are those of the unit. From a curator a search is one request, charged what all of it guarantees; its ledger keeps the
run that came out, and neither others nor how many there were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Booleans, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, probability, shown
from discreet.learn.around.scores import Given, add_up_qualities, add_up_read, check_model, most_rows, read_rows
from discreet.learn.around.trials import Plan, Trial, epsilon_of, pay, run_rho
from discreet.learn.base import Model, State
from discreet.learn.features import Feature
from discreet.learn.payment import Payment, price, reserve
from discreet.learn.rows import Rows, take, tell_persons
from discreet.mechanisms.rows.held import divide
from discreet.mechanisms.rows.lots import choose_side, toss
from discreet.mechanisms.rows.sums import Total
from discreet.plan.cost import Cost
from discreet.privacy import Budget, Privacy, approximate, pure, zcdp
from discreet.privacy.repetition import Repetition
from discreet.schema.units import Person, Unit

_OWN = ("epsilon", "delta", "unit")  # what candidates leave to the search
_CANDIDATES = 1000
_RUNS = 4  # expected for each candidate, unless told
_HOW = "write PrivateSearch(LogisticRegression(bounds=(0, 1), classes=[0, 1]), {'steps': [8, 32]}, epsilon=1, delta=1e-5)"


def _can(name: str) -> Any:
    return available_if(lambda self: hasattr(_first(self.candidates), name))


@called_as("LogisticRegression(bounds=(0, 1), classes=[0, 1]), {'steps': [8, 32]}, epsilon=1, delta=1e-5")
class PrivateSearch(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """The best of several models, chosen privately; ``epsilon`` and ``delta`` are for all of it.

    ``candidates`` is a list of models, or one model with a ``grid`` of its parameters. ``runs``: how many are expected, four
    for each candidate unless told; their number is drawn by the law ``stopping``: "logarithmic", "geometric" or "poisson".
    ``held``: the share of units on which models are scored. The fitted ``best_estimator_``, its ``best_params_`` and
    ``best_index_`` are what comes out; ``best_score_`` (of repeated runs) is half of right answers minus wrong ones on the rows
    held out, with noise, and ``privacy_`` the guarantee of everything.

    >>> from discreet.learn import GaussianNB, LogisticRegression
    >>> facts = {"bounds": (0, 10), "classes": ["a", "b"]}
    >>> search = PrivateSearch([GaussianNB(**facts), LogisticRegression(**facts)], epsilon=4, delta=1e-5)
    >>> search.fit([[1], [9]] * 1000, ["a", "b"] * 1000).predict([[0.5], [9.5]]).tolist()
    ['a', 'b']
    >>> search.privacy_.epsilon(1e-5) <= 4
    True
    """

    privacy_: Privacy
    supervised: ClassVar[bool] = True
    _names: list[str]

    def __init__(
        self,
        candidates: Any = None,
        grid: Any = None,
        *,
        epsilon: object = None,
        delta: object = None,
        unit: object = None,
        method: str = "repeat",
        stopping: str = "logarithmic",
        runs: object = None,
        held: object = 0.25,
    ) -> None:
        self.candidates, self.grid = candidates, grid
        self.epsilon, self.delta, self.unit = epsilon, delta, unit
        self.method, self.stopping, self.runs, self.held = method, stopping, runs, held

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> PrivateSearch:  # noqa: N803
        """Try candidates on rows that are here and keep one. ``groups``: the persons' ids, where persons are protected. A fit
        that is interrupted has let out nothing."""
        models = read_candidates(self.candidates, self.grid)
        held = _read_held(self.held)
        plan = self._plan(len(models))
        given = read_rows(X, y, groups, self.unit)
        for model in models:  # what public facts refuse, before the first coin
            clone(model).set_params(unit=self.unit)._open(X, y, groups)
        kept, tried = _split(given, held)
        trial = Trial(
            models,
            plan,
            given.unit,
            lambda model, cost: _fit(model, cost, kept),
            lambda model, payment: _total(model, payment, tried),
        )
        found = trial.run(self.method)
        return self._set(found.index, found.model, found.score, plan.privacy.under(given.unit.neighbours))

    def _set(self, index: int, fitted: Model, score: float | None, privacy: Privacy) -> PrivateSearch:
        """Set all that a fitted search has."""
        self.best_index_, self.best_estimator_, self.best_score_ = index, fitted, score
        self.best_params_ = {name: value for name, value in fitted.get_params(deep=False).items() if name not in _OWN}
        self.n_features_in_ = fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
        self.privacy_ = fitted.privacy_ = privacy  # what is known of this model took the whole search
        return self

    # What a model has, for a curator: columns, classes and who is protected are declared there.

    def _target(self, declared: Any = None) -> Feature:
        aims = [model._target(declared) for model in self._models(declared=declared is not None)]
        assert aims[0] is not None
        return aims[0]

    def _models(self, *, declared: bool = True) -> list[Model]:
        return read_candidates(self.candidates, self.grid, declared=declared)

    def _check(self, rows: Rows) -> None:
        _read_held(self.held)
        models = self._models()
        if self.method == "repeat":
            self._often(len(models))
        elif self.method != "exponential":
            raise ParameterError(_no_method(self.method))
        for model in models:
            model._check(rows)

    def _foresee(self, rows: Rows, payment: Payment) -> list[str]:  # noqa: ARG002
        models = self._models()
        plan = self._plan_of(payment.cost, len(models))
        if plan.often is None:
            each = Cost(plan.cost.currency, plan.cost.amount / len(models))
            return [f"{len(models)} models, each with {each}, and a private choice among them."]
        return [f"About {plan.often.mean:.3g} runs of {len(models)} models, each run with {plan.cost}; one comes out."]

    def _reserve(self, share: Cost) -> Privacy:
        return self._plan_of(share, len(self._models())).privacy

    def _learn(self, rows: Rows, payment: Payment) -> State:
        """What a ledger keeps of a search: the best run, and nothing of the others."""
        models, held = self._models(), _read_held(self.held)
        plan = self._plan_of(payment.cost, len(models))
        payment.reserved.spend(plan.privacy.under(rows.neighbours))
        payment.left = Fraction(0)
        kept, tried = (
            Rows(rows.features, rows.target, _size(rows.unit, share), read)
            for share, read in zip((1 - held, held), divide(rows.read, held), strict=True)
        )

        def fit(model: Model, cost: Cost) -> tuple[Model, State]:
            return _finish(clone(model), kept, cost)

        def score(model: Model, payment: Payment) -> Total:
            return add_up_read(model, tried, payment.ball(Fraction(most_rows(tried.unit), 2)), _centred)

        found = Trial(models, plan, rows.unit, fit, score).run(self.method)
        return {"index": found.index, "score": found.score, "state": found.state}

    def _finish(self, rows: Rows, state: State, privacy: Privacy) -> PrivateSearch:
        best: Model = clone(self._models()[state["index"]])
        best._names, best.feature_names_in_ = self._names, self.feature_names_in_
        best._finish(rows, state["state"], privacy)
        return self._set(state["index"], best, state["score"], privacy)

    def _plan_of(self, share: Cost, many: int) -> Plan:
        """The same of what a curator's budget says that an epsilon buys.

        What is known of repeated runs under Gaussian noise is an (e, delta), and that is priced as delta-approximate
        (e tanh(e/2))-zCDP (``privacy.filters``). So e is the largest whose price is the rho of the share, and delta that
        which the budget has for such purposes; where it has none, runs are pure.
        """
        if self.method == "exponential":
            return Plan(share, reserve(share), None)
        often = self._often(many)
        total = share.epsilon if share.epsilon is not None else epsilon_of(share.amount)
        if share.epsilon is not None or not share.delta:
            return Plan(Cost("epsilon", often.run_epsilon(total)), pure(total), often)
        return Plan(Cost("rho", run_rho(often, total, share.delta)), approximate(total, share.delta), often)

    def _often(self, many: int) -> Repetition:
        return Repetition.expecting(self.stopping, min(_RUNS * many, 1000) if self.runs is None else self.runs)

    def _plan(self, many: int) -> Plan:
        """What a run costs, by public facts, so that all together cost what is asked."""
        cost, privacy = price(self.epsilon, self.delta)
        if self.method == "exponential":
            if cost.epsilon is None:
                rho = Budget(epsilon=self.epsilon, delta=self.delta).rho_of(positive("epsilon", self.epsilon))
                cost, privacy = Cost("rho", rho), zcdp(rho)
            return Plan(cost, privacy, None)
        if self.method != "repeat":
            raise ParameterError(_no_method(self.method))
        often = self._often(many)
        if cost.epsilon is not None:
            return Plan(Cost("epsilon", often.run_epsilon(cost.epsilon)), pure(cost.epsilon), often)
        rho = often.run_rho(self.epsilon, self.delta)
        return Plan(Cost("rho", rho), often.total(rho), often)

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the best model says."""
        return self._best().predict(X)

    @_can("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Reals:  # noqa: N803
        """The chances of all classes by the best model."""
        found: Reals = self._best().predict_proba(X)
        return found

    def score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The best model's own score, on rows that this protects from nobody."""
        return float(self._best().score(X, y))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "privacy_")

    def __sklearn_tags__(self) -> Any:
        tags, first = super().__sklearn_tags__(), _first(self.candidates)
        if isinstance(first, Model):
            own = first.__sklearn_tags__()
            tags.estimator_type, tags.classifier_tags, tags.regressor_tags = (
                own.estimator_type,
                own.classifier_tags,
                own.regressor_tags,
            )
            tags.input_tags, tags.target_tags = own.input_tags, own.target_tags
        tags.non_deterministic = True
        return tags


def _fit(model: Model, cost: Cost, kept: Given) -> tuple[Model, State]:
    """On rows that are here."""
    unit = kept.unit
    counted = unit.neighbours == "replace" and not isinstance(unit, Person)  # there may be none at all, by their coins
    fresh: Model = clone(model).set_params(unit="replace" if counted else unit)
    return _finish(fresh, fresh._open(kept.X, kept.y, kept.groups), cost)


def _finish(model: Model, rows: Rows, cost: Cost) -> tuple[Model, State]:
    state = model._learn(rows, pay(cost, rows.unit))
    return model._finish(rows, state, reserve(cost).under(rows.neighbours)), state


def _total(model: Model, payment: Payment, tried: Given) -> Total:
    return add_up_qualities(model, tried, payment.ball(Fraction(most_rows(tried.unit), 2)), _centred)


def _centred(quality: Reals) -> Reals:
    """What a row adds to the score by which models are compared."""
    return (quality - 0.5)[:, None]


def _read_held(held: object) -> Fraction:
    share = probability("held", held, zero=False, hint="the share of rows to score on, such as 0.25")
    if not 0 < share < 1:
        raise ParameterError("Some rows are learnt from and some are scored on; write held=0.25.")
    return share


def _no_method(method: object) -> str:
    return f"{shown(method)} is no way to search; write method='repeat' or method='exponential'."


def _split(given: Given, held: Fraction) -> tuple[Given, Given]:
    """Units to learn from and units to score on, by a coin each; sizes that are declared are shared out, and no other is
    known."""
    side = choose_side(held)
    if isinstance(given.unit, Person):
        assert given.groups is not None
        _, persons = tell_persons(given.groups)
        tried: Booleans = toss(held, int(persons.max(initial=-1)) + 1, side)[persons]
    else:
        tried = toss(held, len(given.y), side)
    return _part(given, ~tried, 1 - held), _part(given, tried, held)


def _part(given: Given, chosen: Booleans, share: Fraction) -> Given:
    places, unit = np.flatnonzero(chosen), given.unit
    if unit.neighbours == "replace" and not isinstance(unit, Person):
        unit = replace(unit, size=max(len(places), 1))  # coins made it, and no row did
    else:
        unit = _size(unit, share)
    ids = None if given.groups is None else given.groups[places]
    return Given(take(given.X, places), given.y[places], ids, unit)


def _size(unit: Unit, share: Fraction) -> Unit:
    """Who is protected in a part, which has this share of the units, by coins."""
    return unit if unit.size is None else replace(unit, size=max(round(unit.size * share), 1))


def _first(candidates: Any) -> Any:
    return candidates[0] if isinstance(candidates, list | tuple) and candidates else candidates


def read_candidates(candidates: Any, grid: Any, *, declared: bool = False) -> list[Model]:
    """Models to choose from: those listed, or one for each line of a grid. ``declared``: a curator says what their target is."""
    listed = list(candidates) if isinstance(candidates, list | tuple) else [candidates]
    if not listed or (grid is not None and isinstance(candidates, list | tuple)):
        raise ParameterError(f"Candidates are a list of models, or one model and a grid of its parameters; {_HOW}.")
    for model in listed:
        check_model(model)
        own = [name for name in _OWN if getattr(model, name) is not None]
        if own:
            raise ParameterError(
                f"The search pays for all candidates, and says who is protected; leave {', '.join(own)} out of them, and {_HOW}."
            )
    if grid is not None:
        listed = [clone(listed[0]).set_params(**line) for line in _lines(listed[0], grid)]
    if len(listed) > _CANDIDATES:
        raise ParameterError(f"Among {len(listed):,} candidates noise chooses; list at most {_CANDIDATES:,}.")
    if declared:
        return listed
    first = listed[0]._target()
    if any((one := model._target()) is None or one.facts != first.facts for model in listed if first is not None):
        raise ParameterError("Candidates predict one and the same target; give all of them the same classes, or target bounds.")
    return listed


def _lines(model: Model, grid: Any) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping) or not grid:
        raise ParameterError(f"A grid has, by the name of a parameter, the values to try; {_HOW}.")
    known = model.get_params(deep=False)
    for name, values in grid.items():
        if name not in known or name in _OWN:
            raise ParameterError(f"{shown(name)} is no parameter of {type(model).__name__} that can be searched; {_HOW}.")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ParameterError(f"The grid needs a list of values for {name}; {_HOW}.")
    if np.prod([len(values) for values in grid.values()], dtype=float) > _CANDIDATES:
        raise ParameterError(f"This grid has too many lines, and among these noise chooses; list at most {_CANDIDATES:,}.")
    return [dict(zip(grid, line, strict=True)) for line in product(*grid.values())]
