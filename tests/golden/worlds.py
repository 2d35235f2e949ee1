"""Three small worlds in which every accepted question is asked: who is protected and what the budget is differ."""

from __future__ import annotations

import csv
import datetime
from collections.abc import Iterator
from pathlib import Path

import pyarrow
from support.accepted import ACCEPTED, COLUMNS

import discreet as dp

REGIONS = pyarrow.table({"region": [1, 2, 3], "name": ["north", "south", "south"], "size": [4.0, 7.0, 2.0]})
MORE = [
    "SELECT choose([10, 200, 500.5], CASE WHEN debt >= candidate THEN 1 ELSE 0 END) AS best FROM data WHERE age BETWEEN 18 AND 9",
    "SELECT choose(['a', 'b'], debt * CASE candidate WHEN 'a' THEN 1 ELSE -1 END) AS best FROM data",
    'SELECT mode("blood group") AS blood, median(debt) AS half FROM data GROUP BY smokes',
]
OPEN = "SELECT city, smokes, count(*) AS n, avg(age) FROM data GROUP BY city, smokes"
WORLDS = {
    "persons": (dp.person("patient_id", rows=8, groups=3), dp.Budget(epsilon=400, delta=1e-3), {"epsilon": 1}),
    "rows": (dp.rows(), dp.Budget(epsilon=400), {"epsilon": 0.5}),
    "concentrated": (dp.rows(), dp.Budget(rho=400, delta=1e-3), {"rho": 0.125}),
}


def write_table(folder: Path) -> None:
    """The private table, always the same rows."""
    with (folder / "visits.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient_id", *COLUMNS])
        for i in range(60):
            seen, born = (
                datetime.date(2020, 1, 1) + datetime.timedelta(37 * i),
                datetime.date(1931, 5, 1) + datetime.timedelta(431 * i),
            )
            who, where = (f"p{i * 7 % 23}", i * 17 % 121, f"{i * 3791 % 100001 / 100:.2f}"), (1 + i % 3, seen, born)
            told = ("yes" if i % 3 else "no", "London" if i % 2 else "Bonn")
            writer.writerow([*who, *told, *where, i % 4 == 0, "ABO"[i % 3], i % 6])


def open_world(name: str, folder: Path) -> dp.Curator:
    """The curator of a world whose tables lie in this folder."""
    unit, budget, _ = WORLDS[name]
    ledger = folder / f"{name}.ledger"
    public = {"regions": REGIONS}
    return dp.Curator(folder / "visits.csv", unit=unit, columns=COLUMNS, budget=budget, public=public, ledger=ledger)


def questions(name: str) -> Iterator[tuple[str, dict[str, float]]]:
    """The questions that this world has an answer to, with their cost."""
    unit, budget, cost = WORLDS[name]
    for text in [*ACCEPTED, *MORE, *([OPEN] if budget.delta else [])]:
        if "dayofyear" in text:
            continue  # a quarter of a million groups
        if unit != dp.rows() or "patient_id" not in text.lower():
            yield text, cost


def built(hospital: dp.Curator) -> list[dp.Question]:
    """Questions that Python makes instead of SQL."""
    return [
        hospital.agg(n=dp.count(), debt=dp.mean("debt"), half=dp.median("age")),
        hospital.where("age >= 18")
        .where("smokes")
        .group_by("drug_use", decade="age // 10")
        .agg(s=dp.sum("debt"))
        .order_by("s")
        .limit(3),
        hospital.group_by("city", keys={"city": ["London", "Bonn"]})
        .agg(v=dp.variance("age"), top=dp.most_common("drug_use"))
        .having("v > 1"),
        hospital.where("age > 5").choose([100, 200], score="CASE WHEN debt >= candidate THEN 1 ELSE 0 END"),
        hospital.agg(q=dp.quantile("debt", 0.9), d=dp.stddev("debt")),
    ]
