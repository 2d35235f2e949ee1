"""Weighed rows through the engine: no unit moves what is released, before noise, farther than declared, whatever its cells."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.depth import deep

import discreet as dp
from discreet.mechanisms.base import Recording, recorded

TYPES = {"id": pa.int64(), "a": pa.float64(), "b": pa.float64(), "c": pa.float64(), "d": pa.int64(), "y": pa.float64()}
TYPES |= {"g": pa.string(), "h": pa.string()}
COLUMNS: dict[str, Any] = {
    "a": dp.number(0, 8, step=0.25, missing=0),
    "b": dp.number(-0.5, 10**6, step=0.5),
    "c": dp.number(10**15, 10**15 + 3, step=0.25),
    "d": dp.integer(0, 1),
    "y": dp.number(-3, 5.125, step=0.125),
    "g": dp.category("p", "q", "r"),
    "h": dp.category("u", "v"),
}
UNITS = {
    "rows": dp.rows(),
    "rows replaced": dp.rows(neighbours="replace", size=4),
    "persons": dp.person("id", rows=3, groups=2),
    "persons replaced": dp.person("id", rows=2, groups=2, neighbours="replace"),
}
FORMULAS = ["y ~ a + b + c + d", "y ~ a*b + c + d", "y ~ a + b + d + g", "y ~ a*b + d + g*h"]
Row = dict[str, Any]


def any_cell(name: str, draw: random.Random) -> Any:
    """Bounds, middles, halves of the grid, missing, infinite and far away."""
    if name in "gh":
        return draw.choice(["p", "q", "r", "zz", None] if name == "g" else ["u", "v", ""])
    low, high = float(COLUMNS[name].lower), float(COLUMNS[name].upper)
    if name == "d":
        return draw.choice([0, 1, None, 2**63 - 1, -(2**63)])
    middle, half = (low + high) / 2, (high - low) / 2
    odd = [None, math.nan, math.inf, -math.inf, 1e308, 5e-324]
    return draw.choice([*odd, low, high, low, high, middle + half / 2048, middle - half / 2, draw.uniform(low, high)])


def any_row(who: int, draw: random.Random) -> Row:
    return {name: who if name == "id" else any_cell(name, draw) for name in TYPES}


def far_row(who: int, draw: random.Random) -> Row:
    """Where weighed rows move sums most: some numbers at one distance from the middle, the others in it."""
    away, row = draw.choice([0, 0.3, 0.5, 0.71, 1]), any_row(who, draw) | {"g": "p", "h": "u", "y": draw.choice([-3, 5.125])}
    for name in "abc":
        low, high = float(COLUMNS[name].lower), float(COLUMNS[name].upper)
        row[name] = (low + high) / 2 + draw.choice([-away, away, 0]) * (high - low) / 2
    return row | {"d": draw.choice([0, 1])}


def released(rows: list[Row], unit: str, kind: str, formula: str, folder: Path, *, traits: bool) -> list[Recording]:
    """What mechanisms got, before noise."""
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()})
    number, budget = f"{len([*folder.iterdir()])}", dp.Budget(**{kind: 100})
    facts = {"unit": UNITS[unit], "columns": COLUMNS, "budget": budget, "ledger": folder / number, "people": number}
    with dp.Curator(table, **facts) as curator:
        made = {"a": "any_value(a)", "b": "avg(b)", "c": "max(c)", "d": "max(d)", "y": "avg(y)", "g": "any_value(g)"}
        asked: Any = curator.person(**made, h="any_value(h)") if traits else curator
        with recorded() as record:
            asked.regress(formula, **{kind: 5})
    return list(record)


@pytest.mark.diagonal
@pytest.mark.parametrize("kind", ["epsilon", "rho"])
@pytest.mark.parametrize("unit", [*UNITS])
@pytest.mark.usefixtures("unrehearsed", "reopened")
def test_no_unit_moves_weighed_sums_farther_than_declared(unit: str, kind: str, tmp_path: Path) -> None:
    """Pairs of neighbours by a fixed seed: releases are the same, and moves within what each mechanism was calibrated to; some
    pair moves the vector most of the way, so that the comparison is of something."""
    draw, farthest = random.Random(f"{unit} {kind}"), 0.0
    for number in range(deep(10, 5)):
        make = far_row if number % 2 else any_row
        rest = [any_row(i % 3, draw) for i in range(3)]
        several = draw.choice([1, 2, 3, 40]) if "persons" in unit else 1
        mine = [make(9, draw)] * several if draw.random() < 0.5 else [make(9, draw) for _ in range(several)]
        other = [make(9, draw)] * draw.choice([1, 2]) if unit == "persons replaced" else [make(9, draw)]
        before = [*rest, *(other if "replaced" in unit else [])]
        after = [*rest, *mine]
        draw.shuffle(after)
        formula, traits = draw.choice(FORMULAS), "persons" in unit and number % 5 == 4
        first, second = (released(rows, unit, kind, formula, tmp_path, traits=traits) for rows in (before, after))
        assert [one.mechanism for one in first] == [one.mechanism for one in second]
        for one, two in zip(first, second, strict=True):
            moved = one.mechanism.moved(one, two)
            assert moved.far is None
            assert moved.many is None
            paid = one.mechanism.privacy
            share = moved.cost.epsilon(delta=0) / paid.epsilon(delta=0) if kind == "epsilon" else moved.cost.rho / paid.rho
            farthest = max(farthest, float(share))
    assert farthest > 0.1
