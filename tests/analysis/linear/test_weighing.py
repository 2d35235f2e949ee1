"""Weights of rows: one row moves all sums together by what is declared and no more; and models with them are least squares."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.analysis.linear.gram import Product
from discreet.analysis.linear.weighing import Weighing, reach
from discreet.errors import ParameterError
from discreet.plan.expressions import Column
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.measures import Measure

COLUMNS = {name: dp.number(0, 8, step=0.25, missing=0) for name in "abcdef"} | {"y": dp.number(-3, 5, step=0.25, missing=0)}


def units(measure: Measure, row: dict[str, float]) -> int:
    """What a row adds to a measure."""
    if measure.factors:
        return math.prod(units(one, row) for one in measure.factors)
    assert measure.of is not None
    value = float(evaluate(measure.of, row)) / float(measure.step)  # type: ignore[arg-type]
    return min(max(math.floor(value + 0.5), measure.low), measure.high)


@pytest.mark.parametrize("count", [3, 5, 10])
def test_one_row_moves_them_together_as_declared(count: int) -> None:
    """Rows of numbers at their bounds, in the middle, and anywhere; the bound in L2 is attained but for rounding, that in L1 is
    within a third."""
    names = [f"x{i}" for i in range(count)]
    plain = {name: Measure("value", -300, 300, Column(name)) for name in [*names, "y"]}
    weighing = Weighing(tuple(map(Column, names)), plain)
    measures = weighing.measures([Column(name) for name in plain])
    every = [*names, "y"]
    products = [Product((), (one,)) for one in every]
    products += [Product((), tuple(sorted((every[i], every[j])))) for i in range(len(every)) for j in range(i + 1)]
    blocks = {sums.apart: sums for sums in weighing.blocks(products, measures, "y").values()}
    assert sorted(len(sums.of) for sums in blocks.values()) == sorted([count, count, count * (count + 1) // 2])
    draw = np.random.default_rng(count)
    rows = [np.where(np.arange(count) < many, 300.0, 0.0) * draw.choice([-1, 1], count) for many in range(count + 1)]
    rows += [*draw.integers(-300, 301, (40, count)), *np.clip(draw.normal(size=(40, count)) * 300, -300, 300).round()]
    rows += [np.full(count, size) for size in (300 * math.sqrt(reach(count) / count) * np.array([0.99, 1.0, 1.01]))]
    for sums in blocks.values():
        assert sums.reach is not None
        farthest = [0.0, 0.0]
        for one in rows:
            row = dict(zip(names, map(float, one), strict=True)) | {"y": 300.0}
            moved = [units(measure, row) for measure in sums.of]
            farthest = [max(farthest[0], sum(map(abs, moved))), max(farthest[1], sum(x * x for x in moved))]
        assert 0.66 * sums.reach[0] < farthest[0] <= sums.reach[0]
        assert 0.99 * sums.reach[1] < farthest[1] <= sums.reach[1]


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
    far = np.maximum(((x / 4 - 1) ** 2).sum(axis=1), reach(6))
    root = np.sqrt(np.floor(64 * reach(6) / far) / 64)
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
    """Smaller models of the same response; not moments, nor models of what decides the weights. What was paid for without
    weights serves all."""
    curator = asked(tmp_path)
    model = curator.regress("y ~ a + b + c + d", epsilon=10)
    smaller = curator.regress("y ~ a + b", epsilon=5)
    assert smaller.paid.repeated
    assert "weigh less" in str(smaller)
    assert model.regress("y ~ a + d").fit.coefficients.shape == (3,)
    assert not curator.moments(["a", "b", "y"], epsilon=10).paid.repeated
    with pytest.raises(ParameterError, match="a decides here how much a row weighs"):
        model.regress("a ~ b")
    assert not curator.regress("c ~ a + d", epsilon=10).paid.repeated
    curator.moments([*"abcdef", "y"], epsilon=20)
    served = curator.regress("y ~ a + b + c + d + e", epsilon=20)
    assert served.paid.repeated
    assert "weigh less" not in str(served)


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
