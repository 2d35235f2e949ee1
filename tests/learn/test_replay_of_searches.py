"""An audit replays a search as users write it: the number of runs, candidates and coins are followed, and nothing is set."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from contract.test_model_contract import COSTS, UNITS, Data, neighbour, table
from sklearn.base import clone

import discreet as dp
from discreet.auditor.curators import replay_curator
from discreet.auditor.replay import replay
from discreet.learn import GaussianNB, LogisticRegression, PrivateSearch
from discreet.learn.around import search
from discreet.mechanisms.base import recorded
from discreet.mechanisms.rows.lots import Lot, Turn, choose_side
from discreet.plan.cost import Cost
from discreet.schema.table import Schema

HALF = Fraction(1, 2)
FACTS: dict[str, Any] = {"bounds": (-3, 3), "classes": [0, 1, 2]}


def two(**given: Any) -> PrivateSearch:
    candidates = [GaussianNB(**FACTS), LogisticRegression(**FACTS, steps=2)]
    return PrivateSearch(candidates, **{"epsilon": 1, "delta": 1e-5, "runs": 3, **given})


def replayed(made: PrivateSearch, unit: str, seed: int) -> Any:
    def run(data: Data) -> list[Any]:
        fitted = clone(made).fit(data[0], data[1], groups=data[2])
        return [fitted.best_index_, fitted.best_score_, fitted.privacy_.to_json(), sorted(vars(fitted))]

    data = table(seed, persons="persons" in unit)
    return replay(run, data, neighbour(data, unit, seed))


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("given", [{}, {"stopping": "geometric"}, {"stopping": "poisson"}, {"method": "exponential"}], ids=str)
@pytest.mark.parametrize("unit", UNITS)
def test_a_search_is_replayed_and_not_refuted(unit: str, given: dict[str, Any], cost: str) -> None:
    for seed in range(3):
        found = replayed(two(unit=UNITS[unit], **given, **COSTS[cost]), unit, seed)
        assert found.steady, str(found)
        assert found.differences == ()
        assert found.releases >= 2


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta=1e-6)], ids=["pure", "delta"])
@pytest.mark.parametrize("method", ["repeat", "exponential"])
@pytest.mark.usefixtures("replayed")
def test_a_search_at_a_curator_is_replayed(method: str, budget: Any) -> None:
    """What several runs lose together is what the ledger was charged, by their theorem, and not their sum."""
    assert not at_curator(method, budget).violated


def at_curator(method: str, budget: Any) -> Any:
    columns, unit = {"age": dp.integer(0, 100), "ill": dp.boolean()}, dp.person("pid", rows=2, groups=1)

    def make(rows: Any, ledger: Path) -> Any:
        return dp.Curator(rows, unit=unit, columns=columns, budget=budget, ledger=ledger, people="made up")

    def ask(curator: Any) -> object:
        model = PrivateSearch([GaussianNB()], method=method, runs=2)
        found = curator.fit(model, features=["age"], target="ill", epsilon=1)
        return [found.best_index_, found.best_score_, found.privacy_.to_json()]

    return replay_curator(make, ask, Schema(columns, unit))


def violated(made: PrivateSearch, tries: int = 40) -> str:
    """What replays find: by lots of which three in four show it, so that forty all miss it with a chance of 1e-24."""
    for seed in range(tries):
        found = replayed(made, "add-remove", seed)
        if found.violated:
            return str(found)
    return ""


def test_a_search_that_learns_from_rows_it_scores_on_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a row moves a model and its score, and a run loses twice what was said; at a curator that is a payment."""
    monkeypatch.setattr(search, "divide", lambda read, _: (read, read))
    found = at_curator("repeat", dp.Budget(epsilon=1))
    assert "in one of several runs this pair loses" in str(found)
    assert "payment" in found.witness.replay.kinds


def test_runs_that_cost_more_than_their_theorem_has_for_one_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a model is fitted with twice the cost of a run."""
    fit = search._fit
    monkeypatch.setattr(search, "_fit", lambda model, cost, kept: fit(model, Cost(cost.currency, 2 * cost.amount), kept))
    assert "in one of several runs this pair loses" in violated(two(delta=None, epsilon=1))


def test_a_number_of_runs_that_looks_at_rows_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    fit = PrivateSearch.fit

    def look(self: Any, X: Any, y: Any = None, groups: Any = None) -> Any:  # noqa: N803
        return fit(self.set_params(runs=2 + len(y) % 2), X, y, groups)

    monkeypatch.setattr(PrivateSearch, "fit", look)
    assert "runs by the" in violated(two())


def test_where_nobody_watches_every_unit_has_its_coin() -> None:
    assert choose_side(HALF) is None
    with recorded() as found:
        assert choose_side(HALF) in (True, False)
    assert isinstance(found[0].mechanism, Lot)


def test_runs_begin_and_end_with_turns() -> None:
    with recorded() as found:
        two().fit(*table(0, persons=False)[:2])
    lots = [one.mechanism for one in found if isinstance(one.mechanism, Lot)]
    turns = [one for one in lots if isinstance(one, Turn)]
    assert [one.last for one in turns] == [False] * (len(turns) - 1) + [True]
    assert lots[1].law.startswith("runs by the logarithmic law of ")
    assert all(one.privacy.parts == () for one in lots)
