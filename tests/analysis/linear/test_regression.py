"""Linear models on the gate: right without noise, wide with it, never worse than the mean, and free when they are paid for."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pyarrow as pa
import pytest
from curator.hospital import COLUMNS, curator, table

import discreet as dp
from discreet.analysis.linear.fit import fit
from discreet.analysis.linear.formula import Column
from discreet.analysis.linear.gram import Matrix, Product, Scale
from discreet.analysis.linear.regression import Regression, RegressionAsked, conclude
from discreet.auditor.curators import replay_curator
from discreet.errors import BudgetExceeded, ParameterError
from discreet.plan.cost import Cost
from discreet.schema.table import Schema

sys.path.insert(0, str(Path(__file__).parents[3]))
from benchmarks import regression as benchmark


@pytest.fixture
def hospital(tmp_path: Path) -> Any:
    return curator(tmp_path, budget=dp.Budget(epsilon=10**9, delta=1e-6))


def design(*columns: Any) -> Any:
    held = table()
    ward, age = np.array(held["ward"]), held["age"].to_numpy().astype(float)
    made = {"1": np.ones(len(age)), "age": age, "heart": (ward == "heart") * 1.0, "bone": (ward == "bone") * 1.0}
    made |= {"eye": (ward == "eye") * 1.0, "ten": age // 10, "no": (np.array(held["drug_use"]) == "no") * 1.0}
    return np.column_stack([np.prod([made[name] for name in one.split(":")], axis=0) for one in columns])


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("debt ~ age", "1 age"),
        ("debt ~ age - 1", "age"),
        ("debt ~ 1", "1"),
        ("debt ~ age*ward", "1 age heart bone age:heart age:bone"),
        ("debt ~ age:ward - 1", "age:eye age:heart age:bone"),
        ("debt ~ I(age // 10) + ward*drug_use", "1 ten heart bone no heart:no bone:no"),
        ("debt ~ age:I(age // 10) + ward", "1 heart bone age:ten"),
    ],
)
def test_without_noise_it_is_least_squares(formula: str, columns: str, hospital: Any) -> None:
    """Debts are rounded to 5.12: coefficients are off by a hundredth of their standard error; and noise is a millionth."""
    found = hospital.regress(formula, epsilon=10**7)
    debt = np.clip(table()["debt"].to_numpy(), 0, 10_000)
    x = design(*columns.split())
    truth, left, *_ = np.linalg.lstsq(x, debt, rcond=None)
    values = {one.label: float(v) for one, v in zip(found.columns, found.fit.coefficients, strict=True)}
    assert len(values) == len(truth)
    sd = np.sqrt(left[0] / (len(debt) - len(truth)))
    errors = sd * np.sqrt(np.diag(np.linalg.inv(x.T @ x)))
    order = [next(i for i, one in enumerate(found.columns) if _same(one.label, name)) for name in columns.split()]
    assert np.all(np.abs(found.fit.coefficients[order] - truth) < 0.1 * errors)
    assert found.fit.errors[order] == pytest.approx(errors, rel=0.02)
    assert found.residual == pytest.approx(sd, rel=0.01)
    assert found.n == pytest.approx(len(debt), abs=0.5)
    if "1" in columns.split():
        assert found.r2 == pytest.approx(1 - left[0] / np.sum((debt - debt.mean()) ** 2), abs=1e-3)


def _same(label: str, name: str) -> bool:
    words = {
        "1": "intercept",
        "ten": "age // 10",
        "heart": "ward[heart]",
        "bone": "ward[bone]",
        "eye": "ward[eye]",
        "no": "drug_use[no]",
    }
    return {*label.split(":")} == {words.get(one, one) for one in name.split(":")}


def test_one_payment_serves_many_models(hospital: Any) -> None:
    hospital.regress("debt ~ age*ward", epsilon=10)
    spent = hospital.budget.spent.epsilon
    free = hospital.regress("debt ~ age + ward", epsilon=10)  # age is never missing
    assert free.paid.repeated
    assert hospital.regress("debt ~ ward", epsilon=5).paid.repeated
    assert hospital.budget.spent.epsilon == spent
    assert len(hospital.history()) == 1
    assert "What was paid for before says this too" in str(hospital.regress("debt ~ ward").preview(epsilon=5))
    assert "says this too" not in str(hospital.regress("debt ~ ward").preview(epsilon=11))
    assert free.regress("debt ~ age:ward + ward").paid.repeated
    assert not hospital.regress("debt ~ age", epsilon=10).paid.repeated  # rows in which ward is missing count here
    for other in ("debt ~ age + drug_use", "debt ~ age + I(age // 2)"):
        assert not hospital.regress(other, epsilon=10).paid.repeated
    assert hospital.regress("age ~ debt", epsilon=10).paid.repeated
    assert not hospital.where("age > 3").regress("debt ~ age + ward", epsilon=10).paid.repeated
    assert not hospital.regress("debt ~ age + ward", epsilon=11).paid.repeated  # for more


def test_a_matrix_of_a_changed_table_or_declaration_serves_nobody(tmp_path: Path) -> None:
    budget = dp.Budget(epsilon=100)
    first: Any = curator(tmp_path, budget=budget)
    first.moments(["age", "debt"], epsilon=1)
    assert first.regress("debt ~ age", epsilon=1).paid.repeated
    other: Any = curator(tmp_path, budget=budget, source=table(1999))
    assert not other.regress("debt ~ age", epsilon=1).paid.repeated
    narrower = {**COLUMNS, "debt": dp.number(0, 5_000, step=0.01)}
    again: Any = dp.Curator(table(), unit=dp.rows(), columns=narrower, budget=budget, ledger=tmp_path / "hospital.ledger")
    assert not again.regress("debt ~ age", epsilon=1).paid.repeated


def test_a_matrix_paid_for_in_a_batch_serves_too(hospital: Any) -> None:
    hospital.batch([hospital.moments(["age", "debt"]), "SELECT count(*) AS n FROM data"], epsilon=4)
    assert hospital.regress("debt ~ age", epsilon=Fraction(1)).paid.repeated


def test_models_by_level(hospital: Any) -> None:
    found = hospital.regress("debt ~ age", by="ward", epsilon=10**6)
    held = table()
    for ward in ("eye", "heart", "bone"):
        mine = np.array(held["ward"]) == ward
        x = np.column_stack([np.ones(mine.sum()), held["age"].to_numpy()[mine]])
        truth = np.linalg.lstsq(x, np.clip(held["debt"].to_numpy()[mine], 0, 10_000), rcond=None)[0]
        assert found[ward]["age"] == pytest.approx(truth[1], abs=0.2 * found[ward].fit.errors[1])
    assert list(found.to_pandas()["level"]) == ["eye", "eye", "heart", "heart", "bone", "bone"]
    assert "heart: debt ~ age" in str(found)
    assert "<h4>bone" in found._repr_html_()


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10**9), dp.Budget(rho=10**9)], ids=["pure", "concentrated"])
@pytest.mark.parametrize(
    "unit",
    [
        dp.rows(neighbours="replace", size=2000),
        dp.person("patient", rows=8, groups=3),
        dp.person("patient", rows=8, groups=2, neighbours="replace"),
    ],
    ids=["rows replaced", "persons", "persons replaced"],
)
def test_all_budgets_and_units(unit: Any, budget: Any, tmp_path: Path) -> None:
    cost = {"epsilon": 10**7} if budget.kind == "pure" else {"rho": 10**7}
    asked: Any = curator(tmp_path, unit=unit, budget=budget)
    found = asked.regress("debt ~ age + ward", **cost)
    assert found.supported
    assert found.n == pytest.approx(2000, rel=0.05)  # a person of more than 8 rows weighs 8
    assert (asked.budget.spent.epsilon if budget.kind == "pure" else asked.budget.spent.rho) <= 10**7


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10**9), dp.Budget(rho=10**9)], ids=["pure", "concentrated"])
def test_persons_of_many_rows_weigh_the_same_in_every_term(budget: Any, neighbours: Any, tmp_path: Path) -> None:
    """Persons of 1 to 29 rows in several wards, bounded to 4 rows: least squares in which every row of c weighs min(1, 4 / c)."""
    sizes = np.arange(1, 30).repeat(4)
    person = np.arange(len(sizes)).repeat(sizes)
    place = np.arange(len(person))
    ward, age = (place * place + person // 3) % 7 % 3, place * 37 % 101
    cost = np.clip(20 * age + 900 * ward + person * 53 % 997, 0, 10_000)
    names = np.array(["eye", "heart", "bone"])[ward]
    source = pa.table({"id": person, "ward": pa.array(names.tolist()), "age": age, "cost": cost})
    columns = {
        "ward": dp.category("eye", "heart", "bone", missing="eye"),
        "age": dp.integer(0, 100, missing=0),
        "cost": dp.number(0, 10_000, step=10, missing=0),
    }
    unit = dp.person("id", rows=4, groups=2, neighbours=neighbours)
    asked: Any = dp.Curator(source, unit=unit, columns=columns, budget=budget, ledger=tmp_path / "l")
    paid = {"epsilon": 10**8} if budget.kind == "pure" else {"rho": 10**8}
    weight = np.minimum(1, 4 / sizes)[person]
    root, y = np.sqrt(weight), np.round(cost / 10) * 10
    x = np.column_stack([np.ones(len(y)), age, ward == 1, ward == 2]).astype(float)
    truth, left, *_ = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)
    found = asked.regress("cost ~ age + ward", **paid)
    assert found.fit.coefficients == pytest.approx(truth, rel=0.01)
    assert found.n == pytest.approx(weight.sum(), rel=1e-4)
    mean = np.average(y, weights=weight)
    assert found.r2 == pytest.approx(1 - left[0] / np.sum(weight * (y - mean) ** 2), abs=1e-3)
    moments = asked.moments(["cost", "ward"], **paid)
    assert moments.paid.repeated  # the model's matrix holds it
    shares = moments.matrix.sums[Product(("ward",))][0] / moments.n
    assert shares == pytest.approx([np.sum(weight[ward == i]) / weight.sum() for i in range(3)], rel=1e-3)
    assert shares.sum() == pytest.approx(1, rel=1e-3)


def test_persons_tables_are_asked_too(tmp_path: Path) -> None:
    asked: Any = curator(tmp_path, unit=dp.person("patient", rows=8, groups=3), budget=dp.Budget(epsilon=10**8))
    found = asked.person(n=dp.count(), age="max(age)").regress("n ~ age", epsilon=10**6)
    counts = table().group_by("patient").aggregate([("age", "max"), ("age", "count")])
    truth = np.polyfit(counts["age_max"].to_numpy(), np.minimum(counts["age_count"].to_numpy(), 8), 1)
    assert found["age"] == pytest.approx(truth[0], abs=0.3 * found.fit.errors[1] + 0.01)


def test_a_preview_reads_no_data_and_costs_nothing(hospital: Any) -> None:
    asked = hospital.regress("debt ~ age + ward")
    assert isinstance(asked, RegressionAsked)
    shown = str(asked.preview(epsilon=1))
    assert "sum of age * debt" in shown
    assert "sum of debt by ward" in shown
    assert hospital.budget.spent.epsilon == 0


def test_predictions(hospital: Any) -> None:
    model = hospital.regress("debt ~ age + ward", epsilon=1000)
    found = model.predict({"age": [30, 60, 10**9], "ward": "heart"})
    wanted = model["intercept"] + 30 * model["age"] + model["ward[heart]"]
    assert found["expected"][0] == pytest.approx(wanted)
    assert found["expected"][2] == pytest.approx(wanted + 90 * model["age"])  # clamped to 120
    rows = found.rows()
    assert all(0 <= row["single_lower"] <= row["expected_lower"] <= row["expected"] <= row["expected_upper"] for row in rows)
    frame = pa.table({"age": [30], "ward": ["heart"]})
    for given in (frame, frame.to_pandas()):
        assert model.predict(given)["expected"][0] == pytest.approx(wanted)
    for bad, says in (
        ({"age": [1]}, "ward"),
        ({"age": [1], "ward": ["ear"]}, "one of eye, heart, bone"),
        (3, "a frame or a dictionary"),
    ):
        with pytest.raises(ParameterError, match=says):
            model.predict(bad)
    with pytest.raises(ParameterError, match="is a number"):
        model.predict({"age": [None], "ward": ["eye"]})
    with pytest.raises(ParameterError, match="same number"):
        model.predict({"age": [1, 2], "ward": ["eye"] * 3})


def test_what_noise_drowns_is_said_and_shrunk(hospital: Any) -> None:
    """200 rows' worth of noise and more on 2,000 rows in 8 columns."""
    found = hospital.regress("debt ~ age*ward*drug_use", epsilon=0.02)
    assert not found.supported
    assert "nothing is known of single ones" in str(found)
    assert found.interval("age") == (-np.inf, np.inf)
    predicted = found.predict({"age": 50, "ward": "eye", "drug_use": "no"}).rows()[0]
    assert (predicted["expected_lower"], predicted["expected_upper"]) == (0, pytest.approx(10_000, abs=6))
    assert "?" in str(found)


def test_what_noise_all_but_drowns_is_said() -> None:
    """A matrix whose noise is 0.3 of it, and one of 0.2; and how it is said."""
    for deviation, strained in ((30.0, True), (20.0, False)):
        sums = {Product(): 1000.0, Product((), ("x",)): 0.0, Product((), ("y",)): 0.0, Product((), ("x", "x")): 100.0}
        sums |= {Product((), ("x", "y")): 50.0, Product((), ("y", "y")): 100.0}
        noisy = {one: (np.array(value), deviation) for one, value in sums.items()}
        scale = Scale(0.0, 1.0, -1.0, 1.0)
        found = fit(Matrix({"x": scale, "y": scale}, {}, noisy, 1.0), (Column("intercept"), Column("x", ("x",))), "y")
        assert found.covariance is not None
        assert found.strained is strained


BAD = {
    "debt ~ nobody": "nobody",
    "debt ~ city": "no list of values|no column|categories|city",
    "debt ~ age +": "cannot be read",
    "ward ~ age": "ward is a text",
    "debt ~ admitted": "levels",
    "debt ~ I(age * 0)": "can only be 0",
    "I(debt * 0) ~ age": "can only be 0",
    3: "A formula is a text",
}


@pytest.mark.parametrize(("formula", "says"), BAD.items(), ids=map(str, BAD))
def test_bad_formulas_are_refused_before_anything_is_spent(formula: Any, says: str, hospital: Any) -> None:
    with pytest.raises(ParameterError, match=says):
        hospital.regress(formula, epsilon=1)
    assert hospital.budget.spent.epsilon == 0


def test_other_refusals(hospital: Any) -> None:
    with pytest.raises(ParameterError, match="one level here"):
        hospital.where("ward = 'eye'").regress("debt ~ ward", epsilon=1)
    with pytest.raises(ParameterError, match="leave it out of one"):
        hospital.regress("debt ~ age", by="age", epsilon=1)
    with pytest.raises(ParameterError, match="leave group_by"):
        hospital.group_by("ward").regress("debt ~ age", epsilon=1)
    with pytest.raises(ParameterError, match="write regress"):
        hospital.regress()
    assert hospital.budget.spent.epsilon == 0


def test_what_does_not_fit_is_not_paid(tmp_path: Path) -> None:
    poor: Any = curator(tmp_path, budget=dp.Budget(epsilon=3))
    with pytest.raises(BudgetExceeded):
        poor.regress("debt ~ age", epsilon=4)
    assert poor.budget.spent.epsilon == 0


@pytest.mark.parametrize("rows", [[], [0], [5] * 40], ids=["no rows", "one row", "the same row"])
def test_no_table_makes_it_fail(rows: list[int], tmp_path: Path) -> None:
    """Nor does what the table holds change the shape of what comes out."""
    held = table().take(pa.array(rows, pa.int64()))
    found = curator(tmp_path, source=held, budget=dp.Budget(epsilon=10**6)).regress("debt ~ age*ward", epsilon=100)  # type: ignore[attr-defined]
    assert len(found.rows()) == 6
    assert all(np.isfinite(found.fit.coefficients))
    assert np.isfinite(found.predict({"age": 3, "ward": "eye"})["expected"][0])


@pytest.mark.parametrize(
    ("unit", "formula", "releases"),
    [
        (dp.rows(), "y ~ x", 6),
        (dp.person("id", rows=2, groups=1, neighbours="replace"), "y ~ g", 5),
        (dp.person("id", rows=2, groups=1), "y ~ x + I(1 - x) + I(x * 2)", 1),
    ],
    ids=["rows", "persons", "weighed"],
)
@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it(unit: Any, formula: str, releases: int) -> None:
    facts = Schema({"x": dp.integer(0, 1), "y": dp.integer(-1, 1), "g": dp.category("a", "b")}, unit)

    def make(held: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(held, unit=facts.unit, columns=facts.columns, budget=dp.Budget(rho=4), ledger=ledger)

    found = replay_curator(make, lambda one: one.regress(formula, rho=1), facts)  # type: ignore[attr-defined]
    assert found.releases == releases * found.pairs > 0
    assert not found.violated


@pytest.mark.parametrize(("columns", "rows", "rho"), [(1, 50, 1.0), (1, 1000, 0.02), (3, 2000, 0.1), (10, 5000, 0.3)])
def test_intervals_cover(columns: int, rows: int, rho: float) -> None:
    """At least 94 % in the long run (benchmarks/regression.py, 10,000 tables); at least 90 % of these 300 tables, whose draws are
    fixed: a run does not depend on chance."""
    covers, known, _ = benchmark.coverage(columns, rows, rho, 300)
    assert covers >= 0.90
    assert known > (0.1 if rows == 50 else 0.99)


def test_diabetes() -> None:
    """Three splits: R^2 has a spread of about 0.06 from noise at epsilon 10; below 0.15 in all is beyond six spreads."""
    found = np.array([benchmark.diabetes(10, split)[0] for split in range(3)])
    assert found.mean() > 0.25
    assert found.min() > -0.05


def test_results_are_shown(hospital: Any) -> None:
    matplotlib.use("Agg")
    found = hospital.regress("debt ~ age + ward", epsilon=100)
    assert isinstance(found, Regression)
    assert list(found.to_pandas()["term"]) == ["intercept", "age", "ward[heart]", "ward[bone]"]
    assert "R^2" in str(found)
    assert "sums of products of numbers: Laplace noise" in str(found) or "sums of products of numbers: Gaussian noise" in str(
        found
    )
    assert "<table" in found._repr_html_()
    assert len(found.plot().get_yticks()) == 3
    with pytest.raises(KeyError, match="there are intercept"):
        found["height"]
    with pytest.raises(ParameterError, match="is not in what was paid for"):
        found.regress("debt ~ drug_use")
    low, high = found.interval("age")
    assert low < found["age"] < high


def test_models_by_level_and_models_of_which_nothing_is_known_are_drawn(hospital: Any) -> None:
    matplotlib.use("Agg")
    by_ward = hospital.regress("debt ~ age + drug_use", by="ward", epsilon=100).plot()
    assert [one.get_text() for one in by_ward.get_legend().get_texts()] == ["eye", "heart", "bone"]
    assert len(by_ward.containers) == 3
    drowned = hospital.regress("debt ~ age*drug_use", epsilon=0.001).plot()
    assert [one.get_text() for one in drowned.get_legend().get_texts()] == ["nothing is known"]
    assert sum(line.get_linestyle() == ":" for line in drowned.lines) >= 3


def test_truth_values_have_models_of_their_share(hospital: Any) -> None:
    found = hospital.regress("`debt > 3000` ~ age + ward", epsilon=10**7)
    yes = (np.clip(table()["debt"].to_numpy(), 0, 10_000) > 3000) * 1.0
    truth = np.linalg.lstsq(design("1", "age", "heart", "bone"), yes, rcond=None)[0]
    assert found.fit.coefficients == pytest.approx(truth, abs=1e-4)
    assert "a model of its share" in str(found)
    assert "CASE" not in str(found)
    assert "CASE" not in str(hospital.regress("`debt > 3000` ~ age").preview(epsilon=1))
    assert hospital.regress("`debt > 3000` ~ ward", epsilon=1).paid.repeated
    shown = found.predict({"age": [20, 60], "ward": "eye"}).rows()
    assert all(0 <= row["expected_lower"] <= row["expected_upper"] <= 1 for row in shown)


def test_weights_are_shares_of_the_cost(hospital: Any) -> None:
    sheet = hospital.regress("debt ~ age + ward").priced(Cost("rho", Fraction(1)))
    assert sum(plan.share.amount for plan in sheet.plans) == 1
    assert [len(one) for one in itertools.chain(sheet.products)] == [6, 3]


@pytest.mark.diagonal
@pytest.mark.parametrize("currency", ["rho", "epsilon"])
@pytest.mark.parametrize("formula", ["y ~ x*g", "y ~ x + g", "y ~ x:g - 1", "y ~ g"])
def test_noise_that_numbers_share_is_counted_once(formula: str, currency: Any, tmp_path: Path) -> None:
    """A one-hot column's sum is its square, with the same noise. Of 400 draws of noise on a table without residuals at least 91 %
    of the intervals of every coefficient cover. The draws are fixed, and the released numbers off by a ten-thousandth: a run does
    not depend on chance."""
    draw = np.random.default_rng(11)
    x, place = draw.uniform(-1, 1, 4000), draw.integers(0, 3, 4000)
    x = np.round(x * 512) / 512
    truth = {"y ~ g": 0 * x}.get(formula, 0.25 * x) + np.array([0.125, -0.25, 0.5])[place] * (1 if ":g" not in formula else x)
    if formula == "y ~ x*g":
        truth = truth + np.array([0.0, 0.125, -0.125])[place] * x
    columns = {
        "x": dp.number(-1, 1, step=Fraction(1, 512)),
        "y": dp.number(-1, 1, step=Fraction(1, 512)),
        "g": dp.category("a", "b", "c"),
    }
    truth = np.round(truth * 512) / 512
    rows = pa.table({"x": x, "y": truth, "g": np.array(["a", "b", "c"])[place]})
    kind = dp.Budget(rho=10**9) if currency == "rho" else dp.Budget(epsilon=10**9)
    asked: Any = dp.Curator(rows, unit=dp.rows(), columns=columns, budget=kind, ledger=tmp_path / "l")
    question = asked.regress(formula)
    exact = question.release(**{currency: 10**8})
    sheet = question.priced(Cost(currency, Fraction(1, 2) if currency == "rho" else Fraction(5)))
    spread = {
        product: plan.behind[str(product)][0].spread.deviation / sheet._size(product)
        for plan, products in zip(sheet.plans, sheet.products, strict=True)
        for product in products
    }
    inside = []
    for _ in range(400):
        sums = {}
        for product, (values, _) in exact.matrix.sums.items():
            law = draw.normal(size=values.shape) if currency == "rho" else draw.laplace(scale=0.5**0.5, size=values.shape)
            sums[product] = values + spread[product] * law, spread[product]
        noisy = Matrix(exact.matrix.numbers, exact.matrix.levels, sums, 1.0 if currency == "rho" else 1.09)
        found = conclude(question.rows, question.formula, noisy, exact.paid)
        assert found.supported
        inside.append(np.abs(found.fit.coefficients - exact.fit.coefficients) <= found.fit.factor * found.fit.errors)
    covered = np.mean(inside, axis=0)
    assert covered.min() >= 0.91, covered
    assert covered.mean() <= 0.995, covered


def test_bought_by_accuracy(hospital: Any) -> None:
    """Accuracy is that of the sums, in rows' worth."""
    found = hospital.regress("debt ~ age", accuracy=40)
    assert 0.1 < hospital.budget.spent.epsilon < 10
    assert found.fit.rows_error < 40
