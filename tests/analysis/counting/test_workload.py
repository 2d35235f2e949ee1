"""A workload is answered by the strategy of least error, through the whole curator, within what it is calibrated to."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib.pyplot
import numpy as np
import pyarrow as pa
import pytest
from curator.hospital import curator, table
from engine.driving import count_in_turn
from support.depth import deep

import discreet as dp
from discreet.analysis.base import Noisy
from discreet.analysis.counting.least_squares import half_widths
from discreet.analysis.counting.workload import Counting, CountingStudy
from discreet.auditor.curators import replay_curator
from discreet.curator.plans import Receipt
from discreet.errors import BudgetExceeded, ParameterError
from discreet.mechanisms.matrix.strategy import Contribution, Merged
from discreet.plan.cost import Cost
from discreet.plan.noises import tail
from discreet.schema.table import Schema

ASKED = ["age < 30", "drug_use = 'yes' AND age BETWEEN 30 AND 49", "debt > 1000 OR ward = 'eye'", "NOT (30 > age)", "age >= 0"]
SHARES = [Cost("epsilon", Fraction(1)), Cost("rho", Fraction(1, 2))]
UNITS = {
    "rows": dp.rows(),
    "replaced": dp.rows(neighbours="replace", size=2000),
    "persons": dp.person("patient", rows=3, groups=2),
    "persons replaced": dp.person("patient", rows=3, groups=2, neighbours="replace", size=500),
}
BUDGETS = {
    "pure": (dp.Budget(epsilon=10**7), {"epsilon": 10**6}),
    "concentrated": (dp.Budget(rho=10**9), {"rho": 10**7}),
    "approximate": (dp.Budget(epsilon=10**4, delta=1e-6), {"epsilon": 10**3}),
}


def truth() -> list[int]:
    """By hand, of the made-up hospital."""
    held = table().to_pandas()
    age, debt = held["age"], (held["debt"] * 100).round() / 100
    tests = [
        age < 30,
        (held["drug_use"] == "yes") & age.between(30, 49),
        (debt > 1000) | (held["ward"] == "eye"),
        age >= 30,
        age >= 0,
    ]
    return [int(test.sum()) for test in tests]


def ages(many: int, most: int = 50) -> Any:
    return pa.table({"age": np.random.default_rng(5).integers(0, most, many)})


def of_ages(folder: Path, most: int, budget: dp.Budget, many: int = 3000) -> Any:
    columns = {"age": dp.integer(0, most - 1)}
    return dp.Curator(ages(many, most), unit=dp.rows(), columns=columns, budget=budget, ledger=folder / f"{most}.ledger")


@pytest.mark.diagonal
@pytest.mark.parametrize("budget", [*BUDGETS])
@pytest.mark.parametrize("unit", ["rows", "replaced"])
def test_with_hardly_any_noise_counts_are_right(unit: str, budget: str, tmp_path: Path) -> None:
    """Under the approximate budget noise has a deviation below a tenth of a row; off by one is below 1e-15."""
    held, cost = BUDGETS[budget]
    hospital: Any = curator(tmp_path, unit=UNITS[unit], budget=held)
    assert np.allclose(hospital.workload(ASKED, **cost)["n"], truth(), atol=1)
    chosen = hospital.where("ward = 'eye'").workload([dp.marginal("drug_use"), dp.marginal("ward", "drug_use")], **cost)
    held_rows = table().to_pandas().query("ward == 'eye'")
    yes = int((held_rows["drug_use"] == "yes").sum())
    counts = dict(zip(chosen["question"], chosen["n"], strict=True))
    assert abs(counts["ward = 'eye' AND drug_use = 'yes'"] - yes) < 1
    assert abs(counts["drug_use = 'no'"] - (len(held_rows) - yes)) < 1
    assert abs(counts["ward = 'bone' AND drug_use = 'no'"]) < 1


def test_persons_weigh_as_many_rows_as_declared(tmp_path: Path) -> None:
    """With enough rows for all nobody is cut off, and counts are those of rows."""
    unit = dp.person("patient", rows=30, groups=1)
    hospital: Any = curator(tmp_path, unit=unit, budget=dp.Budget(epsilon=10**7))
    answer = hospital.workload(ASKED, epsilon=10**6)
    assert np.allclose(answer["n"], truth(), atol=0.1)


@pytest.mark.parametrize(("cells", "most"), [(50, 0.60), (256, 0.38)])
def test_all_ranges_have_less_error_than_their_cells(cells: int, most: float, tmp_path: Path) -> None:
    """Predicted, and measured through the whole curator: the mean squared error of all ranges is a quadratic form of Gaussian
    noise, sum of l_i z_i^2; by Laurent and Massart it leaves mean +- (2 sqrt(x sum l^2) + 2 x max l) with probability below
    2 exp(-x), here 1e-6 for x = 14.6."""
    hospital = of_ages(tmp_path, cells, dp.Budget(rho=1))
    asked = hospital.workload([dp.ranges("age")])
    study = asked.priced(Cost("rho", Fraction(1, 2)))
    design = study.design
    identity = next(one.error for one in design.tried if one.name == "identity")
    assert design.error <= most * identity
    answer = asked.release(rho=0.5)
    counts = np.bincount(ages(3000, cells)["age"].to_numpy(), minlength=cells).astype(float)
    measured = float(((np.array(answer["n"]) - design.workload.answer(counts)) ** 2).mean())
    inverse = np.linalg.pinv(design.strategy.written_out().astype(float))
    spread = np.linalg.eigvalsh(inverse.T @ design.workload.gram() @ inverse) * design.mechanism.variance / design.workload.size
    x = math.log(2e6)
    slack = 2 * math.sqrt(x * float((spread**2).sum())) + 2 * x * float(spread.max())
    assert spread.sum() == pytest.approx(design.error**2, rel=1e-6)
    assert abs(measured - spread.sum()) <= slack * 1.01


@pytest.mark.parametrize("cells", [2, 3, 17, 50, 121])
def test_pure_budgets_are_never_worse_than_their_cells(cells: int, tmp_path: Path) -> None:
    hospital = of_ages(tmp_path, cells, dp.Budget(epsilon=1))
    for item in (dp.ranges("age"), dp.prefixes("age"), dp.marginal("age")):
        design = hospital.workload([item]).priced(Cost("epsilon", Fraction(1))).design
        assert design.error <= 1.01 * next(one.error for one in design.tried if one.name == "identity")


COLUMNS = {"x": dp.integer(0, 3), "g": dp.category("a", "b", "c")}
WORKLOADS: list[list[Any]] = [
    ["x < 2", "x >= 1 AND g = 'a'", "g = 'b' OR x IS NULL", "x = 3"],
    [dp.ranges("x")],
    [dp.marginal("x"), dp.marginal("g"), dp.marginal("g", "x")],
]
ALL = [{"x": x, "g": g} for x in (None, 0, 1, 2, 3) for g in (None, "a", "b", "c")]


def held(rows: list[dict[str, Any]], who: list[str]) -> pa.Table:
    return pa.table(
        {
            "x": pa.array([row["x"] for row in rows], pa.int64()),
            "g": pa.array([row["g"] for row in rows], pa.string()),
            "patient": pa.array(who, pa.string()),
        }
    )


def ways(unit: str) -> list[list[dict[str, Any]]]:
    """What one unit may be at its worst: in any one cell, in two, in all, far too often; or not there."""
    if unit in ("rows", "replaced"):
        return [[], *([one] for one in ALL)] if unit == "rows" else [[one] for one in ALL]
    some = [[one] * 3 for one in ALL[::3]] + [[ALL[5]] * 40, [ALL[6]] * 3, [ALL[5]] * 2 + [ALL[18]] * 2, [ALL[9]], [*ALL]]
    return [[], *some]


def among(counted: list[Any], unit: str) -> list[Any]:
    """By how much cells move between neighbours."""
    if "replaced" in unit:
        return [after - before for before in counted for after in counted]
    return [after - counted[0] for after in counted[1:]]


@pytest.mark.parametrize("unit", [*UNITS])
def test_no_unit_moves_a_strategy_further_than_declared_and_the_worst_do(unit: str, tmp_path: Path) -> None:
    """Every strategy that is tried, of every workload, on what engines count: whole numbers, compared exactly."""
    schema = {"unit": UNITS[unit], "columns": COLUMNS, "budget": dp.Budget(epsilon=1)}
    one: Any = dp.Curator(held(ALL, ["p"] * len(ALL)), **schema, ledger=tmp_path / "x.ledger")
    rest, reached = [ALL[7], ALL[12], ALL[19]], set()
    tables = [held([*rest, *way], ["p", "q", "r", *["new"] * len(way)]) for way in ways(unit)]
    for number, items in enumerate(WORKLOADS):
        asked = one.workload(items)
        studies = [asked.priced(share) for share in SHARES]
        plan, contribution = studies[0].plans[0], studies[0].design.mechanism.contribution
        counted = [np.array(next(iter(count_in_turn(plan, table).values()))[0], dtype=np.int64) for table in tables]
        moves = among(counted, unit)
        for kind, study in zip(("pure", "concentrated"), studies, strict=True):
            assert study.plans[0].releases[0].mechanism.sensitivity == study.design.mechanism.sensitivity
            for name, strategy in asked._tried[kind, contribution].named:
                measured = strategy if asked.reads.places is None else Merged(strategy, asked.reads.places)
                answers = [measured.answer(move) for move in moves]
                if kind == "pure":
                    far, bound = max(int(np.abs(move).sum()) for move in answers), measured.l1(contribution)
                else:
                    far, bound = max(sum(int(x) ** 2 for x in move) for move in answers), measured.square(contribution)
                assert far <= bound, (number, name)
                if far == bound:
                    reached.add((kind, name))
    either = {"identity", "separate", "tree", "margins"}
    assert reached == {("pure", name) for name in either} | {("concentrated", name) for name in {*either, "optimal"}}


@pytest.mark.parametrize("unit", ["rows", "persons replaced"])
@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it(unit: str) -> None:
    facts = Schema(COLUMNS if unit == "persons replaced" else {"g": COLUMNS["g"]}, UNITS[unit])
    items = WORKLOADS[0] if unit == "persons replaced" else ["g = 'a'", "g <> 'b'", "g IS NULL"]

    def make(source: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(source, unit=facts.unit, columns=facts.columns, budget=dp.Budget(rho=4), ledger=ledger)

    found = replay_curator(make, lambda one: one.workload(items, rho=1), facts)  # type: ignore[attr-defined]
    assert found.releases == found.pairs > 0
    assert not found.violated


def test_asked_again_it_is_free_also_for_less_and_made_whole(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path, budget=dp.Budget(rho=5))
    answer = hospital.workload(ASKED, rho=1)
    assert float(hospital.budget.spent.rho) == 1
    again = hospital.workload(ASKED, rho=1)
    assert again.repeated
    assert again.rows() == answer.rows()
    less = hospital.workload(["age<30", *ASKED[1:]]).release(rho=0.1)  # another strategy, if it were asked anew
    assert (less.repeated, less["n"], less.cost) == (True, answer["n"], "rho=1")
    assert less["question"][0] == "age<30"
    whole = hospital.workload(ASKED, whole=True, rho=1)
    assert whole.repeated
    assert all(isinstance(x, int) and x >= 0 for x in whole["n"])
    assert whole["n"][0] + whole["n"][3] == whole["n"][4]
    assert "bias" in whole.remarks[1]
    assert float(hospital.budget.spent.rho) == 1
    assert not hospital.where("age > 3").workload(ASKED, rho=1).repeated


OVERLAPPING = [
    "age < 30",
    "age >= 25 AND sex = 'f'",
    "ward = 'd'",
    "ward = 'c' AND cost > 900",
    "cost < 100 AND age BETWEEN 20 AND 40",
    "sex = 'm' OR ward = 'b'",
]


@pytest.mark.parametrize(
    ("items", "most"),
    [(OVERLAPPING, 1), ([dp.ranges("age")], 3), ([dp.prefixes("age")], 3), ([dp.marginal("sex"), dp.marginal("age")], 2)],
)
def test_made_whole_answers_stay_where_they_are(items: list[Any], most: int, tmp_path: Path) -> None:
    """Within their 95 % half-width and 1 (of thousands, some within a few), though half of the cells are empty."""
    words = {"sex": dp.category("f", "m"), "ward": dp.category("a", "b", "c", "d")}
    columns = {"age": dp.integer(0, 100), **words, "cost": dp.integer(0, 1000)}
    held = pa.table({"age": [1], "sex": ["f"], "ward": ["a"], "cost": [1]})
    clinic: Any = dp.Curator(held, unit=dp.rows(), columns=columns, budget=dp.Budget(rho=1), ledger=tmp_path / "l")
    study: CountingStudy = clinic.workload(items, whole=True).priced(Cost("rho", Fraction(1, 20)))
    design, rng = study.design, np.random.default_rng(3)
    for _ in range(deep(5, 2)):
        full = rng.permutation(design.workload.cells) % 2
        counts = rng.multinomial(20_000, full / full.sum())
        noisy = design.strategy.answer(counts) + np.rint(
            rng.normal(0, math.sqrt(design.mechanism.variance), design.strategy.size)
        )
        cells = design.cells(noisy)
        whole, answers = design.counts(cells), np.maximum(design.workload.answer(cells), 0)
        assert whole.min() >= 0
        moved = np.abs(design.workload.answer(whole.astype(float)) - answers)
        assert (moved <= most * 1.96 * np.sqrt(design.variances) + 1).all()
        assert np.mean(moved <= 1.96 * np.sqrt(design.variances) + 1) > 0.95


def test_too_many_cells_are_not_made_whole(tmp_path: Path) -> None:
    clinic: Any = of_ages(tmp_path, 5000, dp.Budget(rho=1))
    with pytest.raises(ParameterError, match="at most 1,024 cells, not 5,000; leave it out"):
        clinic.workload([dp.prefixes("age")], whole=True)


def test_questions_that_add_up_do(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path)
    found = hospital.workload(ASKED, epsilon=0.5)["n"]
    assert found[0] + found[3] == pytest.approx(found[4])
    ranges = hospital.workload([dp.ranges("age", edges=[0, 18, 65, 120])], epsilon=0.5)
    by = {(row["lower"], row["upper"]): row["n"] for row in ranges.rows()}
    assert by[0, 18] + by[18, 120] == pytest.approx(by[0, 120])
    assert by[0, 65] + by[65, 120] == pytest.approx(by[0, 120])
    steps = hospital.workload([dp.prefixes("admitted", edges=["2020-01-01", "2022-01-01", "2026-12-31"])], epsilon=0.5)
    assert len(steps["upper"]) == len(steps["n"]) == 2
    ranges.plot()


def test_several_marginals_are_drawn_in_one_picture(tmp_path: Path) -> None:
    """A panel for each, with its own columns; the numbers are those of the answer, in its order."""
    hospital: Any = curator(tmp_path)
    asked = [dp.marginal("ward"), dp.marginal("drug_use", "ward"), dp.marginal("drug_use")]
    found = hospital.workload(asked, epsilon=0.5)
    assert [tuple(one.keys) for one in found.tables] == [("ward",), ("drug_use", "ward"), ("drug_use",)]
    assert [x for one in found.tables for x in one["n"]] == list(found["n"])
    for one in found.tables:
        for row in one.rows():
            text = " AND ".join(f"{name} = '{row[name]}'" for name in one.keys)
            assert row["n"] == found["n"][found["question"].index(text)]
    first = found.plot()
    panels = first.figure.axes
    assert [panel.get_xlabel() for panel in panels] == ["ward", "drug_use", "drug_use"]
    assert len(hospital.workload(asked[:1], epsilon=0.5).plot().figure.axes) == 1
    assert len(found.plot(ax=matplotlib.pyplot.figure().subplots()).figure.axes) == 1  # all as bars, where there is one place
    assert not found.picked([0]).tables
    matplotlib.pyplot.close("all")


def test_a_preview_explains_the_choice_and_reads_nothing(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path, source=tmp_path / "no.parquet", budget=dp.Budget(rho=2))
    preview = hospital.workload([dp.ranges("age")]).preview(rho=0.5)
    assert "7,381 questions over 121 cells, answered from the optimal strategy" in str(preview)
    assert "from noisy cells it would be 6.4" in str(preview)
    assert f"for every question {math.sqrt(7381):.3g}" in str(preview)
    assert "no strategy is below 2.57" in str(preview)
    single = hospital.workload(["age < 3"]).preview(rho=0.5)
    assert "1 question over 1 cell, answered from noisy cells" in str(single)
    assert hospital.budget.spent.rho == 0


@pytest.mark.parametrize("budget", ["pure", "concentrated", "approximate"])
def test_an_accuracy_finds_its_cost(budget: str, tmp_path: Path) -> None:
    budgets = {"pure": dp.Budget(epsilon=9), "concentrated": dp.Budget(rho=9), "approximate": dp.Budget(epsilon=9, delta=1e-6)}
    hospital: Any = curator(tmp_path, budget=budgets[budget])
    answer = hospital.workload([dp.ranges("age", edges=range(0, 121, 10))], accuracy=60)
    halves = [(row["n_upper"] - row["n_lower"]) / 2 for row in answer.rows()]
    assert 55 < max(halves) <= 60


def test_it_stands_in_a_batch_and_beside_tables_of_persons(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path, unit=dp.person("patient", rows=8, groups=1), budget=dp.Budget(epsilon=10**7))
    both = hospital.batch(["SELECT count(*) AS n FROM data", hospital.workload(ASKED)], epsilon=10**6)
    assert both[1]["n"][4] == pytest.approx(both[0].value, abs=3)  # weights of persons with too many rows are cut off
    per = hospital.person(visits=dp.count()).workload(["visits >= 4", "visits < 4"], epsilon=10**6)
    assert sum(per["n"]) == pytest.approx(len(set(table()["patient"].to_pylist())), abs=0.01)


def test_bad_input_is_one_sentence_and_costs_nothing(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path)
    refused: list[tuple[Any, str]] = [
        ([], "takes a list"),
        ("age < 3", "takes a list"),
        ([3], "takes a list"),
        (["1 = 1"], "names no column"),
        (["count(*) > 3"], "An aggregate"),
        (["nobody = 3"], "no column nobody"),
        (["age"], "true or false"),
        (["age < -5"], "No row can satisfy"),
        ([dp.ranges("debt")], "debt has 1,000,001 values"),
        ([dp.ranges("city")], "city has no order"),
        ([dp.ranges("age", edges=["2020-01-01", "2021-01-01"])], "cut by numbers"),
        ([dp.marginal("age", "city")], "city has no declared list"),
        ([dp.marginal("age", "age + 1")], "is no column"),
        ([dp.ranges("age", edges=[200, 300])], "No row can satisfy"),
        (["age < 3"] * (2**17 + 1), "At most 131,072 questions"),
        ([dp.marginal("age", "ward", "admitted")], "admitted has"),
    ]
    for questions, says in refused:
        with pytest.raises(ParameterError, match=says) as refusal:
            hospital.workload(questions, epsilon=1)
        assert str(refusal.value).endswith(".")
        assert len(str(refusal.value)) < 300
    with pytest.raises(ParameterError, match="leave group_by"):
        hospital.group_by("ward").workload(ASKED)
    with pytest.raises(BudgetExceeded):
        hospital.workload(ASKED, epsilon=100)
    assert hospital.budget.spent.epsilon == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: dp.ranges("age", edges=[2, 1]),
        lambda: dp.ranges("age", edges=[2]),
        lambda: dp.prefixes("age", edges="12"),
        lambda: dp.prefixes("age", edges=[0, math.nan]),
        lambda: dp.ranges("age", edges=[0, "2020-01-01"]),
        lambda: dp.ranges("age", edges=range(10**7)),
        lambda: dp.ranges(3),
        lambda: dp.ranges(),
        lambda: dp.marginal(),
        lambda: dp.marginal("sex", "sex"),
    ],
)
def test_bad_helpers_are_refused_where_they_are_made(make: Any) -> None:
    with pytest.raises(ParameterError, match="write"):
        make()


def test_one_item_needs_no_list(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path)
    assert dp.marginal(["drug_use", "ward"]) == dp.marginal("drug_use", "ward")
    for one in (dp.ranges("age", edges=[0, 20, 120]), dp.marginal("ward")):
        assert str(hospital.workload(one)) == str(hospital.workload([one]))
    with pytest.raises(ParameterError, match=r"workload\(\) knows no edges; write workload\(\["):
        hospital.workload(["age < 3"], edges=[3])


def test_one_level_is_refused(tmp_path: Path) -> None:
    columns = {"age": dp.category(5)}
    one: Any = dp.Curator(ages(3), unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=1), ledger=tmp_path / "a.ledger")
    with pytest.raises(ParameterError, match="one value only"):
        one.workload([dp.ranges("age")])


def test_what_an_interval_of_laplace_noises_takes() -> None:
    """Of sums of up to seven noises, exactly: none needs more than one alone, ln(20) / sqrt(2) deviations."""
    chance = np.random.default_rng(3)
    for many in range(1, 8):
        weights = chance.dirichlet(np.full(many, 0.7), 200).T ** 0.5  # squares add up to 1
        distance = np.full(200, math.log(20))
        assert (tail(distance, list(weights)) <= 0.05 * 1.01).all()


def test_the_theorem_about_sums_of_laplace_noises() -> None:
    """Its two bounds: the first on a grid of p_1, its logarithm convex; the second by sums that are not below the integral."""
    t = math.log(20) / math.sqrt(2)
    p = np.linspace(0.7, 1, 3001)
    first = -np.sqrt(2 / p) * t + np.log(p / (2 * p - 1))
    assert (np.diff(first, 2) > 0).all()
    assert np.exp(first[[0, -1]]).tolist() == pytest.approx([0.04875, 0.05], abs=1e-5)
    bend = t * t / 3
    slope = t * bend**-1.5 * math.exp(-1.5) / math.sqrt(2 * math.pi)
    w = np.linspace(0, 30, 30_001)
    rising = np.array([math.erfc(t / math.sqrt(2 * x)) if x else 0.0 for x in np.minimum(w, bend)]) + slope * np.maximum(
        w - bend, 0
    )
    beyond = (0.7 * np.exp(-w / 0.7) - 0.3 * np.exp(-w / 0.3)) / 0.4  # P(0.7 E_1 + 0.3 E_2 > w)
    rest = beyond[-1] * (rising[-1] + slope)  # beyond 30 it is on average less than 1 further
    assert rising[1:] @ -np.diff(beyond) + rest < 0.0472
    for scale in (0.2, 1.0, 7.0):
        wider, k = 1 / (2 * math.tanh(1 / (2 * scale))), np.arange(40.0)
        masses = math.tanh(1 / (2 * scale)) * np.exp(-k / scale)  # of every whole number, spread over its unit
        above = np.exp(-k / scale) * (1 - math.tanh(1 / (2 * scale)))  # P(|X| >= k + 1/2) ...
        assert (above <= np.exp(-(k + 0.5) / wider) + 1e-15).all()
        for part in (0.1, 0.3, 0.5):  # ... and in between
            assert (above + 2 * (0.5 - part) * masses <= np.exp(-(k + part) / wider) + 1e-15).all()
            assert (above + 2 * (0.5 + part) * masses <= np.exp(-(k - part) / wider) + 1e-15)[1:].all()


@pytest.mark.parametrize("scale", [0.3, 1, 10])
def test_half_widths_are_not_below_the_theorem(scale: float) -> None:
    noise, factors = dp.Laplace(sensitivity=1, scale=scale), np.array([0.01, 1.0, 100.0, 1e6])
    found = half_widths(noise, factors)
    assert (found >= math.log(20) * scale * np.sqrt(factors)).all()
    assert found[1] >= noise.error(0.95) - 0.5
    assert (found <= 1.5 * math.log(20) * max(scale, 1) * np.sqrt(factors)).all()


@pytest.mark.parametrize("scale", [0.3, 0.7, 1.3, 2.2, 5])
def test_sums_of_noises_on_whole_numbers_are_within_their_half_width(scale: float) -> None:
    """The exact law of sums with whole weights, which lie on lattices of several kinds, by convolution: what is left out of it is
    below 1e-9. A weight of 5 alone is one for which half a unit would not do."""
    noise, most = dp.Laplace(sensitivity=1, scale=Fraction(scale)), int(25 * scale) + 25
    law = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(np.arange(-most, most + 1)) / scale)
    for weights in ([1], [5], [1, 1], [1] * 7, [2, 1], [3, 1, 1], [5, 4], [4, 2, 2, 1], [7, 1, 1, 1], [3, 3, 3]):
        found = np.ones(1)
        for weight in weights:
            stretched = np.zeros(2 * most * weight + 1)
            stretched[::weight] = law
            found = np.convolve(found, stretched)
        away = np.abs(np.arange(len(found)) - len(found) // 2)
        (half,) = half_widths(noise, np.array([float(np.square(weights).sum())]), plain={*weights} == {1})
        assert found.sum() > 1 - 1e-9
        assert found[away > half].sum() <= 0.05, weights


def test_the_constants_of_the_theorem() -> None:
    """What three noises of a case may add up to, and what weighs 5 by itself: half a unit would leave more than 5 % outside."""
    outside = 0.75**3 * 2 * math.sqrt(2 / math.pi) * (1 / 12) ** 1.5 / 0.53**3 / 2
    assert 0.0472 / (1 - outside) < 0.05
    q, scale = math.exp(-1 / 2.2), 2.2
    old = math.log(20) / (2 * math.tanh(1 / (2 * scale)))  # in fives: without a correction that grows with the weight
    assert 2 * q ** (math.floor(old) + 1) / (1 + q) > 0.05


@pytest.mark.parametrize("share", SHARES, ids=["pure", "concentrated"])
@pytest.mark.parametrize(
    "items", [[dp.ranges("age", edges=[0, 10, 30, 80, 120])], ASKED, [dp.marginal("ward"), dp.marginal("drug_use")]]
)
def test_intervals_cover(items: list[Any], share: Cost, tmp_path: Path) -> None:
    """4,000 draws on fixed counts: every question is covered at least 95 % of the time, less 5.3 deviations (1e-7 each)."""
    hospital: Any = curator(tmp_path)
    study = hospital.workload(items).priced(share)
    assert isinstance(study, CountingStudy)
    (release,) = study.plans[0].releases
    counts = np.arange(1, release.statistic.count + 1) * 10
    exact = release.mechanism.strategy.answer(counts)
    draws = 4000
    noise = np.asarray(release.mechanism.noise.release(np.zeros((draws, exact.size), dtype=np.int64)))
    receipt = Receipt(hospital.budget)
    right = study.finish(Noisy(((exact,),), study.share, "", ()), receipt)
    middle = np.array(right["n"])
    errors = np.array([study._pick(study.design.estimate(one)) for one in noise])
    covered = (np.abs(errors) <= study.halves).mean(axis=0)
    assert (covered >= 0.95 - 5.3 * math.sqrt(0.95 * 0.05 / draws)).all()
    measured = errors.std(axis=0) / study.deviations
    assert ((measured > 0.9) & (measured < 1.1)).all()  # above 6 deviations for Laplace noise
    assert np.allclose(np.array([row["n_upper"] for row in right.rows()]) - middle, study.halves)


def test_a_thousand_conditions_over_three_columns(tmp_path: Path) -> None:
    """The work is bounded by questions times cells, of which there are few: every fifth age, three wards, two answers, and what
    is missing."""
    chance = np.random.default_rng(2)
    texts = []
    for _ in range(1000):
        low, high = sorted(5 * chance.integers(0, 24, 2))
        ward, use = chance.choice(["eye", "heart"]), chance.choice(["yes", "no"])
        texts.append(f"age BETWEEN {low} AND {high} AND (ward = '{ward}' OR drug_use = '{use}')")
    hospital: Any = curator(tmp_path, budget=dp.Budget(rho=1))
    asked = hospital.workload(texts)
    assert asked.reads.workload.cells <= 48 * 4 * 3
    assert repr(asked) == str(asked)
    assert len(str(asked)) < 300
    study = asked.priced(Cost("rho", Fraction(1, 2)))
    naive = math.sqrt(1000)
    assert study.design.error < naive / 5
    assert f"for every question {naive:.3g}" in study.advice[0]


def test_contributions_are_those_of_the_histogram(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path, unit=UNITS["persons replaced"])
    asked = hospital.workload(ASKED)
    assert isinstance(asked, Counting)
    mechanism = asked.priced(SHARES[0]).plans[0].releases[0].mechanism
    assert mechanism.contribution == Contribution(3 << 12, 1, "replace")
