"""Moments: means, covariances, correlations and principal components of one noisy matrix, with intervals that cover."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pytest
from curator.hospital import curator, table
from support.depth import deep

import discreet as dp
from discreet.analysis.linear.gram import Matrix
from discreet.analysis.linear.moments import Moments, MomentsAsked
from discreet.auditor.curators import replay_curator
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.schema.table import Schema


@pytest.fixture
def hospital(tmp_path: Path) -> Any:
    return curator(tmp_path, budget=dp.Budget(epsilon=10**9, delta=1e-6))


def held() -> Any:
    found = table()
    ward = np.array(found["ward"])
    debt = np.floor(np.clip(found["debt"].to_numpy(), 0, 10_000) / 5.12 + 0.5) * 5.12  # the grid of its products
    return np.column_stack([found["age"].to_numpy(), debt, *((ward == one) * 1.0 for one in ("eye", "heart", "bone"))])


def test_without_noise_they_are_numpys(hospital: Any) -> None:
    found = hospital.moments(["age", "ward", "debt"], epsilon=10**7)
    truth = held()
    assert found.names == ("age", "debt", "ward[eye]", "ward[heart]", "ward[bone]")
    assert found.n == pytest.approx(len(truth), abs=0.01)
    assert np.allclose(found.means["mean"], truth.mean(axis=0), rtol=1e-3)
    assert np.allclose(found.covariance.values, np.cov(truth.T, bias=True), rtol=1e-3, atol=1e-2)
    assert np.allclose(found.correlation.values, np.corrcoef(truth.T), atol=1e-3)
    assert found.correlation["age", "debt"] == pytest.approx(found.correlation["debt", "age"])
    low, high = found.covariance.interval("debt", "debt")
    assert low < np.var(truth[:, 1]) < high or high - low < 100


def test_rows_with_a_missing_value_are_left_out_of_all(tmp_path: Path) -> None:
    rows = pa.table({"x": [1.0, 2.0, None, 4.0, float("nan")] * 100, "y": [1.0, None, 3.0, 0.0, 5.0] * 100})
    columns = {"x": dp.number(0, 4), "y": dp.number(0, 5)}
    asked: Any = dp.Curator(rows, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=10**9), ledger=tmp_path / "l")
    found = asked.moments(["x", "y"], epsilon=10**7)
    assert found.n == pytest.approx(200, abs=0.01)
    assert np.allclose(found.means["mean"], [2.5, 0.5], atol=0.01)
    assert found.correlation["x", "y"] == pytest.approx(-1, abs=0.01)


def test_components_are_those_of_the_correlations(hospital: Any) -> None:
    found = hospital.moments(["age", "debt", "ward"], epsilon=10**6)
    components = found.pca()
    values, vectors = np.linalg.eigh(found.correlation.values)
    assert np.allclose(components.variances, np.maximum(values[::-1], 0), atol=1e-6)
    assert np.allclose(np.abs(components.loadings[:, 0]), np.abs(vectors[:, -1]), atol=1e-5)
    assert components.shares.sum() == pytest.approx(1)
    plain = found.pca(scaled=False)
    assert plain.variances.sum() == pytest.approx(np.trace(found.covariance.values))
    assert "component 1" in str(components)


def simulated(asked: Any, rho: float, data: Any, seed: int) -> Moments:
    """The moments of a table of numbers in [-1, 1] with the noise of a plan, without an engine."""
    sheet = asked.priced(Cost("rho", Fraction(str(rho))))
    ((plan,), (products,)), draw = (sheet.plans, sheet.products), np.random.default_rng(seed)
    names = list(asked.measures)
    sums = {}
    for one in products:
        deviation = plan.behind[str(one)][0].spread.deviation / sheet._size(one)
        exact = np.prod([data[:, names.index(name)] for name in one.of], axis=0).sum() if one.of else len(data)
        sums[one] = np.array(exact + draw.normal() * deviation), deviation
    return asked.conclude(Matrix(asked.scales, {}, sums, 1.0), None)  # type: ignore[no-any-return]


def asked_of_two(folder: Path) -> MomentsAsked:
    columns = dict.fromkeys(("x", "y", "z"), dp.number(-1, 1, step=Fraction(1, 1024)))
    nobody = pa.table({name: pa.array([], pa.float64()) for name in columns})
    made: Any = dp.Curator(nobody, unit=dp.rows(), columns=columns, budget=dp.Budget(rho=100), ledger=folder / "l")
    found: MomentsAsked = made.moments(["x", "y", "z"])
    return found


@pytest.mark.spread(2)
@pytest.mark.parametrize(("rows", "rho"), [(200, 1.0), (500, 0.1), (5000, 0.02), (5000, 5.0)])
def test_intervals_cover(rows: int, rho: float, tmp_path: Path) -> None:
    """Of 400 tables, whose draws are fixed, at least 91 % of the intervals of each number cover, and 94 % of all; of fewer,
    as many standard errors from 95 %. Positive semidefinite, and between -1 and 1, always."""
    tables = deep(400, 150)
    asked, draw = asked_of_two(tmp_path), np.random.default_rng(3)
    covered = []
    for seed in range(tables):
        data = draw.normal(size=(rows, 3)) @ np.array([[0.4, 0.3, 0], [0, 0.2, 0.1], [0, 0, 0.3]])
        data = np.clip(data, -1, 1)
        found = simulated(asked, rho, data, seed)
        for square, truth in ((found.covariance, np.cov(data.T, bias=True)), (found.correlation, np.corrcoef(data.T))):
            assert np.linalg.eigvalsh(square.values)[0] > -1e-9
            assert np.all((square.lower <= square.values + 1e-12) & (square.values <= square.upper + 1e-12))
            covered.append((square.lower <= truth + 1e-9) & (truth <= square.upper + 1e-9))
        assert np.max(np.abs(found.correlation.values)) <= 1
    assert np.mean([one[np.triu_indices(3)] for one in covered]) >= 0.95 - 0.01 * (400 / tables) ** 0.5
    assert np.min(np.mean(covered, axis=0)) >= 0.95 - 0.04 * (400 / tables) ** 0.5


def test_what_noise_drowns_has_an_interval_of_everything(tmp_path: Path) -> None:
    found = simulated(asked_of_two(tmp_path), 0.001, np.zeros((10, 3)), 1)
    assert found.correlation.interval("x", "y") == (-1, 1)
    assert found.pca().variances.min() >= 0


def test_models_are_free_of_moments(hospital: Any) -> None:
    found = hospital.moments(["age", "debt", "ward"], epsilon=10)
    spent = hospital.budget.spent.epsilon
    model = found.regress("debt ~ age + ward")
    assert [one.label for one in model.columns] == ["intercept", "age", "ward[heart]", "ward[bone]"]
    again = hospital.regress("debt ~ age + ward", epsilon=10)
    assert again.paid.repeated
    assert np.array_equal(model.fit.coefficients, again.fit.coefficients)
    fewer = hospital.moments(["ward", "age", "debt"], epsilon=3)  # in another order, for less
    assert fewer.paid.repeated
    assert fewer.n == found.n
    assert hospital.budget.spent.epsilon == spent


def test_a_model_that_the_matrix_does_not_hold_is_refused(hospital: Any) -> None:
    found = hospital.moments(["age", "debt", "ward"], epsilon=10)
    with pytest.raises(ParameterError, match="do not hold the sum of age \\* debt by ward"):
        found.regress("debt ~ age:ward")
    with pytest.raises(ParameterError, match="drug_use is not in what was paid for"):
        found.regress("debt ~ drug_use")


BAD: list[tuple[Any, str]] = [
    (["age", "nobody"], "nobody"),
    ("age", "list of columns"),
    ([], "list of columns"),
    ([3], "list of columns"),
    (["city"], "no list of values"),
    (["admitted"], "levels"),
    (["age * 0"], "can only be 0"),
    ([f"age + {i}" for i in range(200)], "name at most 60"),
]


@pytest.mark.parametrize(("columns", "says"), BAD, ids=range(len(BAD)))
def test_bad_input_is_refused_before_anything_is_spent(columns: Any, says: str, hospital: Any) -> None:
    with pytest.raises(ParameterError, match=says):
        hospital.moments(columns, epsilon=1)
    assert hospital.budget.spent.epsilon == 0


def test_it_stands_in_a_batch_and_repeats_are_free(hospital: Any) -> None:
    first, count = hospital.batch([hospital.moments(["age", "debt"]), "SELECT count(*) AS n FROM data"], epsilon=100)
    assert round(first.n) == pytest.approx(count.value, abs=5)
    asked = hospital.where("age >= 40").moments(["age", "debt"])
    bought = asked.release(epsilon=2)
    assert asked.release(epsilon=1).n == bought.n
    assert "sum of age * debt" in str(asked.preview(epsilon=1))


@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it() -> None:
    facts = Schema({"x": dp.integer(0, 1), "g": dp.category("a", "b")}, dp.rows(neighbours="replace", size=3))

    def make(rows: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(rows, unit=facts.unit, columns=facts.columns, budget=dp.Budget(epsilon=4), ledger=ledger)

    found = replay_curator(make, lambda one: one.moments(["x", "g"], epsilon=1), facts)  # type: ignore[attr-defined]
    assert found.releases == 5 * found.pairs > 0
    assert not found.violated


def test_results_are_shown(hospital: Any) -> None:
    matplotlib.use("Agg")
    found = hospital.moments(["age", "debt"], epsilon=100)
    text = str(found)
    assert "On the right: correlations" in text
    assert "std deviation" in text
    for shown in (found, found.covariance, found.pca()):
        assert "<table" in shown._repr_html_()
        assert shown.plot() is not None
    assert list(found.correlation.to_pandas().columns) == ["age", "debt"]
    assert found.pca().to_pandas().shape == (2, 2)
    assert list(found.to_pandas()["column"]) == ["age", "debt"]
    with pytest.raises(KeyError, match="every two of age, debt"):
        found.correlation["age", "height"]
