"""Seven tables of the Adult data within epsilon 2, without any delta: how far off they are, over 200 runs.

All 48,842 rows are protected as rows that are added or removed. What each table costs was divided in advance, from public
facts alone, and is written here. ``python benchmarks/adult.py [runs]`` prints the mean absolute errors over all cells and runs
beside the largest that they may be; the exit code is 1 if one is larger.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.console import Console
from rich.table import Table as Printed

import discreet as dp

DATA = Path(__file__).parents[1] / "examples" / "adult" / "adult.csv.gz"
OCCUPATIONS = ("Adm-clerical", "Craft-repair", "Exec-managerial", "Handlers-cleaners", "Machine-op-inspct")
OCCUPATIONS += ("Other-service", "Prof-specialty", "Sales", "Tech-support", "Transport-moving")
EDUCATIONS = ("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college")
EDUCATIONS += ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")
COLUMNS = {
    "age": dp.integer(17, 90, missing=17),
    "hours_per_week": dp.integer(1, 99, missing=1),
    "sex": dp.category("Female", "Male"),
    "education": dp.category(*EDUCATIONS),
    "occupation": dp.text(length=20),
    "income": dp.category("<=50K", ">50K"),
}
BINS = ", ".join(str(edge) for edge in range(15, 91, 5))
LISTED = ", ".join(f"'{one}'" for one in OCCUPATIONS)


@dataclass(frozen=True)
class Table:
    """A question, what it costs, and the largest mean absolute error that it may have."""

    name: str
    sql: str
    epsilon: float
    most: float


TABLES = (
    Table("sex x income", "SELECT sex, income, count(*) AS v FROM data GROUP BY sex, income", 0.30, 4.0),
    Table("15 age bins", f"SELECT bin(age, {BINS}) AS b, count(*) AS v FROM data GROUP BY b", 0.33, 3.7),
    Table(
        "ten occupations",
        f"SELECT occupation, count(*) AS v FROM data WHERE occupation IN ({LISTED}) GROUP BY occupation",
        0.32,
        3.8,
    ),
    Table("mean hours by sex", "SELECT sex, avg(hours_per_week) AS v FROM data GROUP BY sex", 0.32, 0.0155),
    Table(
        "share over 50K by education",
        "SELECT education, avg(CASE income WHEN '>50K' THEN 1 ELSE 0 END) AS v FROM data GROUP BY education",
        0.33,
        0.0075,
    ),
    Table("median age by sex", "SELECT sex, median_only(age) AS v FROM data GROUP BY sex", 0.25, 0.0),
    Table("90 % quantile of hours", "SELECT quantile_only(hours_per_week, 0.9) AS v FROM data", 0.15, 0.0),
)


def read() -> pa.Table:
    """The whole table."""
    return pyarrow.csv.read_csv(DATA).select(list(COLUMNS))


def truths(held: pa.Table) -> list[np.ndarray]:
    """The same tables without noise, in the order of their keys."""
    rows = held.to_pylist()

    def of(name: str, **where: object) -> np.ndarray:
        return np.array([row[name] for row in rows if all(row[key] == value for key, value in where.items())])

    sexes = ("Female", "Male")
    ages = of("age")
    shares = [np.mean(of("income", education=one) == ">50K") for one in EDUCATIONS]
    last = np.sort(of("hours_per_week"))
    return [
        np.array([len(of("age", sex=sex, income=income)) for sex in sexes for income in ("<=50K", ">50K")]),
        np.array([np.sum((ages >= low) & ((ages < low + 5) | (low == 85))) for low in range(15, 90, 5)]),
        np.array([len(of("age", occupation=one)) for one in OCCUPATIONS]),
        np.array([of("hours_per_week", sex=sex).mean() for sex in sexes]),
        np.array(shares),
        np.array([np.sort(of("age", sex=sex))[len(of("age", sex=sex)) // 2] for sex in sexes]),
        np.array([last[int(0.9 * len(last))]]),
    ]


def run(held: pa.Table, folder: Path) -> list[np.ndarray]:
    """All seven tables from one curator, whose budget they fill."""
    with dp.Curator(held, unit=dp.rows(), columns=COLUMNS, budget=dp.Budget(epsilon=2), ledger=folder / "adult.ledger") as census:
        found = [np.array([row["v"] for row in census.sql(one.sql, epsilon=one.epsilon).rows()], dtype=float) for one in TABLES]
        assert float(census.budget.remaining) == 0.0
    return found


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    held = read()
    right = truths(held)
    errors = [0.0] * len(TABLES)
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            for i, (noisy, true) in enumerate(zip(run(held, Path(folder)), right, strict=True)):
                errors[i] += float(np.abs(noisy - true).mean()) / runs
    printed = Printed(
        "table", "epsilon", "cells", "mean absolute error", "at most", title=f"Adult, {held.num_rows:,} rows, {runs} runs"
    )
    for one, true, error in zip(TABLES, right, errors, strict=True):
        printed.add_row(one.name, f"{one.epsilon:g}", str(true.size), f"{error:.4g}", f"{one.most:g}")
    Console().print(printed)
    return int(any(error > one.most for one, error in zip(TABLES, errors, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
