"""Weights of rows: one row moves all sums together by what is declared and no more; and models with them are least squares."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.analysis.linear.gram import Product
from discreet.analysis.linear.weighing import Weighing, weigh_rows
from discreet.errors import ParameterError
from discreet.plan.expressions import Column
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.measures import Measure

COLUMNS = {name: dp.number(0, 8, step=0.25, missing=0) for name in "abcdef"} | {"y": dp.number(-3, 5, step=0.25, missing=0)}

FEW = 60 / 64  # how large a number of 33 values is at its bounds


def units(measure: Measure, row: dict[str, float]) -> int:
    """What a row adds to a measure."""
    if measure.factors:
        return math.prod(units(one, row) for one in measure.factors)
    if measure.of is None:
        return measure.high
    value = float(evaluate(measure.of, row)) / float(measure.step)  # type: ignore[arg-type]
    return min(max(math.floor(value + 0.5), measure.low), measure.high)


def weighing_of(count: int, order: Any, binary: int = 0) -> Weighing:
    """Of numbers in units of 300ths, of which some have two values."""
    names = [f"x{i}" for i in range(count)]
    plain = {name: Measure("value", -300, 300, Column(name)) for name in [*names, "y"]}
    plain |= {name: Measure("value", -1, 0, Column(name), step=Fraction(300), shift=0) for name in names[:binary]}
    every = [*names, "y"]
    matters = {Product(): Fraction(2), Product((), ("y",)): Fraction(4), Product((), ("y", "y")): Fraction(1, 3)}
    matters |= {Product((), (name,)): Fraction(3, 4) for name in names}
    matters |= {Product((), tuple(sorted((a, b)))): Fraction(3 if "y" in (a, b) else 1) for a in names for b in every}
    matters |= {Product((), ("x0", "x0", "x1")): Fraction(1), Product(("g",), ("x0",)): Fraction(1)}
    return Weighing(tuple(map(Column, names)), plain, "y", matters, order)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("count", [3, 10])
def test_one_row_moves_them_together_as_declared(count: int, order: Any) -> None:
    """Rows of numbers at their bounds, in the middle, and anywhere: no row moves the vector farther than declared, and every one
    that weighs less than 1 nearly as far, but for whole factors and weights in 64ths."""
    weighing = weighing_of(count, order)
    names = [f"x{i}" for i in range(count)]
    (sums,) = set(weighing.together.values())
    assert sums.reach is not None
    assert len(sums.of) == 3 + 2 * count + count * (count + 1) // 2
    assert len({measure.worth for measure in sums.of}) == 1
    draw = np.random.default_rng(count)
    rows = [np.where(np.arange(count) < many, 300.0, 0.0) * draw.choice([-1, 1], count) for many in range(count + 1)]
    rows += [*draw.integers(-300, 301, (15, count)), *np.clip(draw.normal(size=(15, count)) * 300, -300, 300).round()]
    declared = sums.reach[0] if order == 1 else math.sqrt(sums.reach[1])
    moved = []
    for one in rows:
        row = dict(zip(names, map(float, one), strict=True)) | {"y": 300.0}
        far = np.array([float(units(measure, row)) for measure in sums.of])
        weight = units(weighing.weight, row) / 64
        assert weight == weigh_rows(one[None, :] / 300, order)[0] >= weighing.least
        moved.append((weight, np.linalg.norm(far, ord=order) / declared))
    assert max(far for _, far in moved) <= 1
    assert max(far for _, far in moved) > 0.97
    assert min(far for weight, far in moved if 1 / 4 < weight < 1) > 0.9  # weights in 64ths are cut off


def test_numbers_of_few_values_are_made_smaller_and_scales_say_so(tmp_path: Path) -> None:
    """Whether somebody smokes is at a bound in every row, which costs as much as an age that is in the middle of its own."""
    weighing = weighing_of(3, 2, binary=1)
    assert [float(weighing.size(name)) for name in ("x0", "x1", "y")] == [29 / 64, 1, 1]
    columns = COLUMNS | {"e": dp.integer(0, 1, missing=0)}
    held = table().set_column(4, "e", pa.array(np.arange(3000) % 2))
    curator: Any = dp.Curator(held, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=10**9), ledger=tmp_path / "l")
    found = curator.regress("y ~ a + b + e", epsilon=10**7)
    x = np.column_stack([np.ones(3000), *(held[name].to_numpy() for name in "abe")])
    inside = (x[:, 1:] - [4, 4, 0.5]) / [4 / FEW, 4 / FEW, 0.5 * 64 / 29]
    root = np.sqrt(weigh_rows(inside, 1))
    truth = np.linalg.lstsq(x * root[:, None], held["y"].to_numpy() * root, rcond=None)[0]
    assert found.fit.coefficients == pytest.approx(truth, abs=2e-3)


def table(rows: int = 3000) -> pa.Table:
    draw = np.random.default_rng(5)
    held = {name: np.round(draw.uniform(0, 8, rows) * 4) / 4 for name in "abcde"}
    held["e"] = np.where(draw.uniform(size=rows) < 0.5, 8.0, held["e"])
    held["f"] = np.round(np.clip(held["a"] + draw.normal(size=rows), 0, 8) * 4) / 4
    held["y"] = np.round((0.3 * held["a"] - 0.2 * held["b"] + 0.1 * held["e"] + draw.uniform(-1, 1, rows)) * 4) / 4
    return pa.table(held)


def asked(folder: Path, **facts: Any) -> Any:
    facts = {"unit": dp.rows(), "budget": dp.Budget(epsilon=10**9)} | facts
    return dp.Curator(table(), columns=COLUMNS, **{"ledger": folder / "l"} | facts)


def test_models_of_many_numbers_are_weighted_least_squares(tmp_path: Path) -> None:
    found = asked(tmp_path).regress("y ~ a + b + c + d + e + f", epsilon=10**7)
    held = table()
    x = np.column_stack([held[name].to_numpy() for name in "abcdef"])
    y = held["y"].to_numpy()
    root = np.sqrt(weigh_rows((x / 4 - 1) * FEW, 1))
    design = np.column_stack([np.ones(len(y)), x])
    truth = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
    assert root.min() < 0.99
    assert found.fit.coefficients == pytest.approx(truth, abs=2e-3)
    assert found.n == pytest.approx((root**2).sum(), rel=1e-4)
    assert "weigh less" in str(found)
    assert "weighed" in str(found)
    inside = np.abs(found.fit.coefficients - [0, 0.3, -0.2, 0, 0, 0.1, 0]) < 2 * found.fit.factor * found.fit.errors
    assert inside.all()


def test_few_numbers_are_not_weighed(tmp_path: Path) -> None:
    curator = asked(tmp_path)
    for formula in ("y ~ a", "y ~ a*b", "y ~ a*b*c"):  # of the last, longer products would overflow
        assert not curator.regress(formula).weighed
    assert len(curator.regress("y ~ a + b + c").weighed) == 3
    assert len(curator.regress("y ~ a*b + c").weighed) == 3


def test_what_weighed_sums_serve(tmp_path: Path) -> None:
    """Other models of the same numbers; not moments, nor models of what decides the weights, nor, unless somebody says so, models
    of fewer numbers. What was paid for without weights serves all."""
    curator = asked(tmp_path)
    model = curator.regress("y ~ a*b + c + d", epsilon=10)
    same = curator.regress("y ~ a + b + c + d", epsilon=5)
    assert same.paid.repeated
    assert "what is linear is found all the same" in str(same)
    assert not curator.regress("y ~ a + b", epsilon=5).paid.repeated
    smaller = model.regress("y ~ a + d")
    assert smaller.fit.coefficients.shape == (3,)
    assert "found all the same" not in str(smaller)
    assert "b, c and others are far" in str(smaller)
    assert "that of the weighed rows" in str(smaller)
    assert not curator.moments(["a", "b", "y"], epsilon=10).paid.repeated
    with pytest.raises(ParameterError, match="a decides here how much a row weighs"):
        model.regress("a ~ b")
    assert not curator.regress("c ~ a + d", epsilon=10).paid.repeated
    curator.moments([*"abcdef", "y"], epsilon=20)
    served = curator.regress("y ~ a + b + c + d + e", epsilon=20)
    assert served.paid.repeated
    assert "weigh less" not in str(served)


def test_what_is_asked_of_the_curator_is_about_all_rows_whatever_was_paid_before(tmp_path: Path) -> None:
    """Five numbers that are far out together, one of which is the response: a row counts for less where they are, and
    more so where another number, which has nothing to do with them, is far out too. In all rows its slope is 0."""
    draw = np.random.default_rng(5)
    size = 20_000
    out = np.where(draw.random(size) < 0.5, 0.95, 0.15)
    held = {"x": draw.random(size), "y": out, **dict.fromkeys("abcde", out)}
    columns = {name: dp.number(-1, 1, step=0.001, missing=0) for name in held}
    facts: dict[str, Any] = {"unit": dp.rows(), "columns": columns, "budget": dp.Budget(epsilon=10**9), "ledger": tmp_path / "l"}
    curator = dp.Curator(pa.table(held), **facts)
    model = curator.regress("y ~ x + a + b + c + d + e", epsilon=10**6)
    truth = np.polyfit(held["x"], held["y"], 1)[0]
    low, high = curator.regress("y ~ x", epsilon=10**5).interval("x")
    assert low < truth < high  # at this noise it is there or far away: false alarms below 1e-6
    low, high = model.regress("y ~ x").interval("x")
    assert low > truth  # which is why it is said


def test_less_noise_for_the_same_price(tmp_path: Path) -> None:
    """Of ten numbers, a sum of X^T X has at most 0.65 times the noise that it has in moments of the same, at the same cost."""
    columns = {f"x{i}": dp.number(-1, 1, step=0.125) for i in range(10)} | {"y": dp.number(-1, 1, step=0.125)}
    nobody = pa.table({name: pa.array([], pa.float64()) for name in columns})
    for budget, most in ((dp.Budget(rho=1), 0.65), (dp.Budget(epsilon=1), 0.75)):
        kind = "rho" if budget.kind == "concentrated" else "epsilon"
        curator: Any = dp.Curator(nobody, unit=dp.rows(), columns=columns, budget=budget, ledger=tmp_path / kind)
        model = curator.regress("y ~ " + " + ".join(f"x{i}" for i in range(10)))
        plain = dict(curator.moments(list(columns)).preview(**{kind: 1}).lines[2].__dict__)["error"]
        mine = [line.error for line in model.preview(**{kind: 1}).lines if line.output.startswith("sum of (x0)^2")]
        assert mine[0] < most * plain


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10**9), dp.Budget(rho=10**9)], ids=["pure", "concentrated"])
@pytest.mark.parametrize("unit", [dp.rows(neighbours="replace", size=3000), dp.person("f", rows=400, groups=1)], ids=str)
def test_every_unit_and_budget(unit: Any, budget: Any, tmp_path: Path) -> None:
    paid = {"epsilon": 10**6} if budget.kind == "pure" else {"rho": 10**6}
    found = asked(tmp_path, unit=unit, budget=budget).regress("y ~ a + b + c + d", **paid)
    assert found.supported
    assert found["a"] == pytest.approx(0.3, abs=0.05)
