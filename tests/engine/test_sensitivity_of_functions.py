"""Functions of bounded values: what one unit's rows can move is what was declared, attained by extreme rows and never exceeded.

Bounds come from interval arithmetic, and values are doubles; sums are clamped to the bounds and rounded to steps, so a last bit
decides nothing. Odd cells (too large, missing, texts of any kind) are among the rows. Tables that are neighbours are
groups of one table, so that one statement counts them all; what they may differ by is what is declared of one table.
"""

from __future__ import annotations

import datetime
import itertools
import random
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, count_in_turn, planned, table
from engine.moves import moves, prepared, tight

from discreet.plan.cost import Cost
from discreet.plan.plan import Plan
from discreet.schema.columns import Column, date, integer, number, text
from discreet.schema.units import Person, Unit, person, rows

DAY = datetime.date
COLUMNS: dict[str, Column] = {
    "x": integer(0, 300),
    "y": number(-300, 300, step=0.25),
    "t": text(length=12),
    "d": date("2020-12-28", "2025-12-31"),
    "held": integer(0, 39),
}
TYPES = {"held": pa.int64(), "x": pa.int64(), "y": pa.float64(), "t": pa.string(), "d": pa.date32(), "id": pa.string()}
SUMS = [
    "ln(x + 1)",
    "log10(x + 1)",
    "log2(x)",
    "exp(-x / 100)",
    "sqrt(x)",
    "power(y, 3)",
    "power(x, 1.5)",
    "power(x + 1, -2)",
    "ln(power(x, 2) + exp(y / 100))",
    "round(y / 7, 2)",
    "round(y, -2)",
    "trunc(y / 7)",
    "sign(y)",
    "width_bucket(x, 0, 300, 6)",
    "least(greatest(TRY_CAST(t AS DOUBLE), -5), 5)",
    "strpos(t, 'z')",
    "length(replace(t, 'a', 'bbb'))",
    "CASE WHEN t ~ '^(a|z)+$' THEN 1 ELSE 0 END",
    "datediff('month', DATE '2024-01-01', d)",
    "days(d + INTERVAL 1 MONTH, DATE '2024-01-01')",
    "extract(week FROM d)",
    "CASE WHEN date_trunc('quarter', d) IS DISTINCT FROM DATE '2024-04-01' THEN 2 ELSE 0 END",
]
ASKED = ", ".join(f"sum({one}) AS s{i}" for i, one in enumerate(SUMS))
UNITS: dict[str, Unit] = {
    "rows": rows(),
    "rows replaced": rows(neighbours="replace", size=999),
    "persons": person("id", rows=3, groups=1),
    "persons replaced": person("id", rows=3, groups=1, neighbours="replace"),
}
Rows = list[dict[str, Any]]


def row(x: Any, y: Any, t: Any, d: Any, who: str = "new") -> dict[str, Any]:
    return {"x": x, "y": y, "t": t, "d": d, "id": who}


FIRST, LAST, SPRING = DAY(2020, 12, 28), DAY(2025, 12, 31), DAY(2024, 5, 1)  # the first is in a week 53
EXTREME = [
    *(row(x, y, t, d) for (x, t), y, d in itertools.product([(0, "a" * 12), (300, "5")], [-300.0, 300.0], [FIRST, LAST])),
    row(1, 0.0, "-5.0", SPRING),
    row(1, 0.0, "a" * 11 + "z", SPRING),
    row(None, None, None, None),
    row(10**12, 1e300, "z" * 40, DAY(9999, 12, 31)),
    row(-5, float("nan"), "1e5", DAY(1, 1, 1)),
]
OTHERS = [row(i, float(i), str(i), FIRST, f"p{i}") for i in range(5)]


def counted(unit: Unit, share: Cost, tables: list[Rows]) -> tuple[Plan, list[dict[tuple[str, int], Any]]]:
    """The plan for one table, and what is counted of each; people of one are nobody in another."""
    plan = planned(f"SELECT {ASKED} FROM data", COLUMNS, unit, share)
    grouped = planned(f"SELECT held, {ASKED} FROM data GROUP BY held", COLUMNS, unit, share)
    finer = {(b.label, 0): Fraction(2) ** (a.bits - b.bits) for a, b in zip(plan.releases, grouped.releases, strict=True)}
    assert set(finer.values()) == {1} or not isinstance(unit, Person)  # sums of rows are multiplied after they are counted
    rows = [{**row, "held": i, "id": f"{row['id']} of {i}"} for i, held in enumerate(tables) for row in held]
    found = prepared(grouped, count_in_turn(grouped, table(grouped, rows, TYPES)))
    return plan, [{part: [numbers[i] * finer[part]] for part, numbers in found.items()} for i in range(len(tables))]


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_extreme_units_attain_what_is_declared(unit: Unit, share: Cost) -> None:
    times = 3 if isinstance(unit, Person) else 1
    tables = [OTHERS + [one] * times for one in EXTREME]
    if unit.neighbours == "add-remove":
        tables.insert(0, OTHERS)
    plan, found = counted(unit, share, tables)
    reached: set[str] = set()
    for i, j in (
        itertools.combinations(range(len(tables)), 2) if unit.neighbours == "replace" else ((0, j) for j in range(1, len(tables)))
    ):
        for (part, _), (moved, allowed) in moves(plan, found[i], found[j]).items():
            assert moved <= allowed, (part, i, j)
            if tight(moved, allowed, squares=share.epsilon is None):
                reached.add(part)
    assert reached == {part for (part, _) in found[0]}


def test_no_random_row_moves_more() -> None:
    chance = random.Random(3)
    rows = [
        row(
            chance.choice([None, 0, 1, chance.randrange(-10, 400)]),
            chance.choice([None, chance.uniform(-400, 400), -0.0]),
            chance.choice(["", "za", "7.5", "-3 ", "\n", "é" * 20, f"{chance.uniform(-9, 9):.3f}"]),
            DAY.fromordinal(chance.randrange(FIRST.toordinal() - 99, LAST.toordinal() + 99)),
        )
        for _ in range(39)
    ]
    plan, (before, *after) = counted(UNITS["rows"], PURE, [OTHERS, *([*OTHERS, one] for one in rows)])
    for one, numbers in zip(rows, after, strict=True):
        for part, (moved, allowed) in moves(plan, before, numbers).items():
            assert moved <= allowed, (part, one)
