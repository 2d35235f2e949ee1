"""Tables add up, cost what they say, agree with what is asked beside them, and refuse in a sentence what makes no table."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from curator.hospital import COLUMNS, curator, table

import discreet as dp
from benchmarks import adult
from discreet.auditor.curators import replay_curator
from discreet.curator.answer import Answer, agreed
from discreet.curator.gate import Reservation
from discreet.curator.plans import Select, answer_of, let_out
from discreet.engine import open_engine, open_source
from discreet.engine.base import groups_of
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.schema.table import Schema

UNITS = {
    "rows": dp.rows(),
    "rows replaced": dp.rows(neighbours="replace", size=2000),
    "persons": dp.person("patient", rows=4, groups=2),
    "persons replaced": dp.person("patient", rows=4, groups=2, neighbours="replace", size=500),
}
BUDGETS = {
    "pure": (dp.Budget(epsilon=10), {"epsilon": 1}),
    "concentrated": (dp.Budget(rho=10), {"rho": Fraction(1, 2)}),
    "approximate": (dp.Budget(epsilon=10, delta=1e-6), {"epsilon": 1}),
}
KNOWN = {
    **COLUMNS,
    "drug_use": dp.category("yes", "no", missing="no"),
    "ward": dp.category("eye", "heart", "bone", missing="eye"),
}


@pytest.fixture
def hospital(tmp_path: Path) -> Any:
    return curator(tmp_path, budget=dp.Budget(epsilon=10**9))


def test_a_list_is_by(hospital: Any) -> None:
    assert str(hospital.table(["ward", "drug_use"])) == str(hospital.table(by=["ward", "drug_use"]))
    assert str(hospital.where("age > 3").table({"ward": "ward"})) == str(hospital.where("age > 3").table(by="ward"))
    with pytest.raises(ParameterError, match=r"table\(\) knows no keys; write table\(by="):
        hospital.table(keys=["ward"], by="ward")


def adds_up(answer: Answer, name: str = "n") -> None:
    """Every margin is the sum of the rows below it, to floating point."""
    keys = list(answer.keys)
    found = {tuple(row[key] for key in keys): row[name] for row in answer}
    sizes = [len({place[i] for place in found}) for i in range(len(keys))]
    assert len(found) == len(answer) == math.prod(sizes)

    def others(place: tuple[Any, ...], key: int) -> tuple[Any, ...]:
        return place[:key] + place[key + 1 :]

    for place, key in itertools.product(found, range(len(keys))):
        if place[key] is None:
            below = [x for one, x in found.items() if one[key] is not None and others(one, key) == others(place, key)]
            assert sum(below) == pytest.approx(found[place], rel=1e-9, abs=1e-6)  # type: ignore[arg-type]


@pytest.mark.diagonal
@pytest.mark.parametrize(("budget", "cost"), BUDGETS.values(), ids=BUDGETS)
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_every_total_agrees_for_exactly_its_cost(tmp_path: Path, unit: object, budget: dp.Budget, cost: dict[str, Any]) -> None:
    hospital: Any = curator(tmp_path, unit=unit, budget=budget)
    answer = hospital.table(by=["drug_use", "ward"], of={"n": dp.count(), "s": dp.sum("debt")}, **cost)
    adds_up(answer, "n")
    adds_up(answer, "s")
    spent = hospital.budget.spent
    assert spent.rho == 0.5 if budget.kind == "concentrated" else abs(spent.epsilon - 1) < 1e-9
    again = hospital.table(by=["drug_use", "ward"], of={"n": dp.count(), "s": dp.sum("debt")}, **cost)
    assert again.repeated
    assert again.rows() == answer.rows()
    assert len(hospital.history()) == 1


def test_without_noise_it_is_the_table(hospital: Any) -> None:
    """Noise of scale 1e-8 of a row and 1e-4 of a debt."""
    answer = hospital.table(
        by=["drug_use", "ward"], of={"n": dp.count(), "s": dp.sum("debt"), "m": dp.mean("debt")}, missing=None, epsilon=10**8
    )
    frame = table().to_pandas()
    frame["debt"] = np.rint(np.minimum(frame["debt"], 10_000) * 100) / 100
    for row in answer:
        chosen = frame
        for key in ("drug_use", "ward"):
            chosen = chosen if row[key] is None else chosen[chosen[key] == row[key]]
        truth = len(chosen), chosen["debt"].sum(), chosen["debt"].mean()
        assert (row["n"], row["s"], row["m"]) == pytest.approx(truth, rel=1e-5)
    assert [(row["drug_use"], row["ward"]) for row in answer][-1] == (None, None)
    assert str(answer).splitlines()[13].split()[:2] == ["all", "all"]
    assert answer.to_pandas()["drug_use"].isna().sum() == 4
    assert "all" in answer._repr_html_()
    assert Answer.from_json(answer.to_json()).rows() == answer.rows()


def test_missing_keys_have_a_line(tmp_path: Path) -> None:
    held = table().set_column(2, "drug_use", pa.array(["yes", None, "junk", "no"] * 500))
    hospital: Any = curator(tmp_path, source=held, budget=dp.Budget(epsilon=10**9))
    answer = hospital.table(by="drug_use", epsilon=10**6)
    assert answer["drug_use"] == ("yes", "no", "(missing)", None)
    assert [round(n) for n in answer["n"]] == [500, 500, 1000, 2000]
    named = hospital.table(by="drug_use", missing="unknown", epsilon=10**6)
    assert named["drug_use"] == ("yes", "no", "unknown", None)
    left = hospital.table(by="drug_use", missing=None, epsilon=10**6)
    assert [round(n) for n in left["n"]] == [500, 500, 1000]
    old = hospital.table(by={"old": "age >= 50", "decade": "age // 50"}, epsilon=10**6)
    assert {*old["old"]} == {True, False, None}


def test_whole_numbers_add_up_exactly_and_are_the_same_release(hospital: Any) -> None:
    answer = hospital.table(by=["drug_use", "ward"], epsilon=1)
    whole = hospital.table(by=["drug_use", "ward"], whole=True, epsilon=1)
    assert whole.repeated
    assert all(isinstance(n, int) and n >= 0 for n in whole["n"])
    adds_up(whole)
    assert whole["n"][-1] == max(0, round(answer["n"][-1]))
    assert all(row["n_lower"] <= row["n"] <= row["n_upper"] and row["n_lower"] >= 0 for row in whole)
    alone = hospital.where("age < 50").table(by=["ward"], margins=False, whole=True, epsilon=1)
    assert (len(alone), all(n >= 0 for n in alone["n"])) == (4, True)


def test_a_preview_needs_no_data(tmp_path: Path) -> None:
    hospital: Any = dp.Curator(
        tmp_path / "none.parquet", unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(rho=1), ledger=tmp_path / "none.ledger"
    )
    question = hospital.table(by=["drug_use", "ward"], of={"n": dp.count(), "m": dp.mean("debt")})
    preview = question.preview(rho=0.5)
    assert [line.output for line in preview.lines] == ["n", "m"]
    assert "in a cell" in preview.lines[0].meaning
    assert not (tmp_path / "none.ledger").exists()
    bought = hospital.table(by=["drug_use"]).preview(accuracy=10)
    assert bought.lines[0].error <= 10


def test_weights_make_a_level_better(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path, budget=dp.Budget(rho=10))
    plain = hospital.table(by=["drug_use", "ward"], rho=1)
    heavy = hospital.table(by=["drug_use", "ward"], weights={(): 100, "ward": 2}, rho=1)
    assert heavy.outputs["n"].errors[-1] < 0.8 * plain.outputs["n"].errors[-1]
    assert not heavy.repeated


def test_bad_tables_cost_nothing(hospital: Any) -> None:
    many = [f"age // {i}" for i in range(1, 201)]
    for asked, says in (
        ({"by": []}, "names the keys"),
        ({"by": 7}, "names the keys"),
        ({"by": ["nobody"]}, "nobody"),
        ({"by": ["city"]}, "declare a category, or write bins"),
        ({"by": ["debt"]}, "write bins"),
        ({"by": many}, "at most 6 keys, not 200"),
        ({"by": ["age", "age // 2", "age // 3", "age // 4"]}, "at most"),
        ({"by": ["ward", "ward"]}, "twice"),
        ({"by": {"one": "age // 1000"}}, "one value only"),
        ({"by": ["ward"], "of": dp.median("age")}, "counts, sums and means"),
        ({"by": ["ward"], "of": dp.sum("age") / dp.count()}, "counts, sums and means"),
        ({"by": ["ward"], "of": 7}, "aggregate"),
        ({"by": ["ward"], "of": dp.sum("age"), "whole": True}, "whole=True"),
        ({"by": ["ward"], "weights": {"nobody": 1}}, "names a level"),
        ({"by": ["ward"], "weights": {"ward": 0}}, "weight of ward"),
        ({"by": ["ward"], "weights": [1]}, "dictionary"),
        ({"by": ["ward"], "missing": 7}, "missing="),
        ({"by": ["ward"], "name": "x"}, "has no name"),
    ):
        with pytest.raises((ParameterError, TypeError), match=says):
            hospital.table(**asked, epsilon=1)
    with pytest.raises(ParameterError, match="leave group_by"):
        hospital.group_by("ward").table(by=["drug_use"])
    assert hospital.budget.spent.epsilon == 0


@pytest.mark.parametrize(
    ("unit", "budget", "cost"),
    [(dp.rows(), *BUDGETS["pure"]), (dp.person("patient", rows=2, groups=2), *BUDGETS["concentrated"])],
    ids=["rows", "persons"],
)
@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it(unit: Any, budget: dp.Budget, cost: dict[str, Any]) -> None:
    facts = Schema({"drug_use": dp.category("yes", "no"), "smokes": dp.boolean()}, unit)

    def make(held: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(held, unit=facts.unit, columns=facts.columns, budget=budget, ledger=ledger)

    found = replay_curator(make, lambda one: one.table(by=["drug_use", "smokes"], weights={(): 40}, **cost), facts)  # type: ignore[attr-defined]
    assert found.releases > 0
    assert not found.violated


def totals(answers: list[Answer]) -> list[float]:
    """The total that each answer shows, or the sum of its rows where it has no margins."""
    return [float(one["n"][-1]) if one.margins else math.fsum(one["n"]) for one in answers]  # type: ignore[arg-type]


@pytest.mark.parametrize(("budget", "cost"), BUDGETS.values(), ids=BUDGETS)
def test_one_batch_shows_one_total(tmp_path: Path, budget: dp.Budget, cost: dict[str, Any]) -> None:
    hospital: Any = curator(tmp_path, budget=budget)
    asked = [
        hospital.table(by=["drug_use"]),
        hospital.table(by=["ward", "drug_use"]),
        "SELECT count(*) AS n FROM data",
        "SELECT age >= 50 AS old, count(*) AS n, avg(age) AS age FROM data GROUP BY old",
        hospital.histogram("age", edges=[0, 10, 50, 100, 120]),
    ]
    answers = hospital.batch(asked, **cost)
    assert totals(answers) == pytest.approx([totals(answers)[0]] * 5, rel=1e-12)
    adds_up(answers[1])
    both = {row["drug_use"]: row["n"] for row in answers[1] if row["ward"] is None}
    assert [row["n"] for row in answers[0]] == pytest.approx([both[row["drug_use"]] for row in answers[0]], rel=1e-12)
    alone = hospital.table(by=["drug_use"], **{name: Fraction(amount) / 5 for name, amount in cost.items()})
    assert answers[0].outputs["n"].errors[-1] < 0.9 * alone.outputs["n"].errors[-1]
    again = hospital.batch(asked, **cost)
    assert [one.rows() for one in again] == [one.rows() for one in answers]
    assert all("agree" in str(one) for one in answers)


def test_what_is_not_the_same_stays_as_it_is(tmp_path: Path) -> None:
    """Other rows, keys that may be missing, and persons, who count for more or less by the groups they are in."""
    hospital: Any = curator(tmp_path, budget=dp.Budget(epsilon=100))
    asked = ["count(*) AS n FROM data WHERE age >= 18", "count(*) AS n FROM data", "ward, count(*) AS n FROM data GROUP BY ward"]
    grown, every, keyed = hospital.batch([f"SELECT {one}" for one in asked], epsilon=1)
    assert isinstance(grown.value, int)
    assert isinstance(every.value, int)
    assert "coalesce(ward" in str(keyed)
    (tmp_path / "persons").mkdir()
    persons: Any = curator(tmp_path / "persons", unit=dp.person("patient", rows=4, groups=2), budget=dp.Budget(epsilon=100))
    found = persons.batch([persons.table(by=["ward"]), persons.table(by=["drug_use"])], epsilon=1)
    assert not any("agree" in str(one) for one in found)


def test_a_public_size_is_the_total_of_all_tables(tmp_path: Path) -> None:
    unit = dp.rows(neighbours="replace", size=2000)
    hospital: Any = dp.Curator(table(), unit=unit, columns=KNOWN, budget=dp.Budget(epsilon=9), ledger=tmp_path / "one.ledger")
    answer = hospital.table(by=["drug_use", "ward"], epsilon=1)
    assert answer["n"][-1] == pytest.approx(2000, abs=1e-9)
    assert answer.outputs["n"].errors[-1] == 0
    adds_up(answer)
    plain = ["SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use", "SELECT count(*) AS n FROM data"]
    answers = hospital.batch([hospital.table(by=["ward"]), *plain], epsilon=1)
    assert totals(answers) == pytest.approx([2000] * 3)


@pytest.mark.parametrize("share", [Cost("epsilon", Fraction(1, 5)), Cost("rho", Fraction(1, 100))], ids=["pure", "rho"])
def test_five_tables_of_adult_agree_in_every_run(tmp_path: Path, share: Cost) -> None:
    """Counted once, all rows, and drawn 20 times: what is the same is the same to floating point, and within twelve standard
    errors of the truth (of Laplace noise a false alarm in 1e7)."""
    held = adult.read()
    budget, ledger = dp.Budget(rho=1), tmp_path / "adult.ledger"
    hospital: Any = dp.Curator(held, unit=dp.rows(), columns=adult.COLUMNS, budget=budget, ledger=ledger)
    asked = [
        hospital.table(by=["sex", "income"]),
        hospital.table(by=["education"]),
        hospital.table(by=["education", "income"]),
        hospital.table(by=["sex", "education"]),
        hospital.histogram("age", edges=[17, 30, 45, 60, 90]),
    ]
    schema = Schema(adult.COLUMNS, dp.rows())
    plans = [one.asked().priced(share).plan for one in asked]
    assert all(isinstance(one.asked(), Select) for one in asked)
    engine = open_engine(open_source(held, columns=list(adult.COLUMNS)), schema, {})
    try:
        counts = [engine.count(plan, groups_of(plan), "salt") for plan in plans]
    finally:
        engine.close()
    for _ in range(20):
        drawn = [
            (plan, answer_of(plan, groups_of(plan), let_out(plan, groups_of(plan), held, Reservation(plan.privacy))))
            for plan, held in zip(plans, counts, strict=True)
        ]
        answers = agreed(drawn)
        assert totals(answers) == pytest.approx([totals(answers)[0]] * 5, rel=1e-12)
        assert abs(totals(answers)[0] - 48_842) < 12 * answers[0].outputs["n"].errors[-1]  # type: ignore[index]
        for one in answers[:4]:
            adds_up(one)
        shown: dict[Any, list[float]] = {}
        for one in answers[:4]:
            for row in one:
                known = frozenset((key, row[key]) for key in one.keys if row[key] is not None)
                shown.setdefault(known, []).append(float(row["n"]))  # type: ignore[arg-type]
        assert all(max(each) - min(each) < 1e-6 for each in shown.values())
        assert sum(len(each) > 1 for each in shown.values()) > 20


def test_a_table_of_means_without_any_noise_is_answered(tmp_path: Path) -> None:
    held = pa.table({"w": ["a", "b", "b"], "x": [1, 2, 4]})
    declared = {"w": dp.category("a", "b", missing="a"), "x": dp.integer(0, 10, missing=0)}
    exact: Any = dp.Curator(
        held, unit=dp.rows(), columns=declared, budget=dp.Budget(epsilon=10**6), ledger=tmp_path / "exact.ledger"
    )
    assert "±" in str(exact.table(by=["w"], of=dp.mean("x")).preview(epsilon=100_000))
    answer = exact.table(by=["w"], of=dp.mean("x"), epsilon=100_000)
    assert [round(float(one), 6) for one in answer["x_mean"]] == [1.0, 3.0, round(7 / 3, 6)]
