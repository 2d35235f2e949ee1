"""No row decides whether a product can be added up: what could overflow an engine's whole numbers is refused before payment."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan.expressions import Column
from discreet.plan.measures import PRODUCT_UNITS, Measure, measure_product
from discreet.schema.units import Unit

NAMES = "abcdy"
UNITS = [dp.rows(), dp.person("p", rows=1, groups=1)]


def opened(folder: Path, rows: list[tuple[int, ...]], unit: Unit) -> Any:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}
    held = pa.table({**columns, "p": list(range(len(rows)))})
    declared = {name: dp.integer(0, 2048, missing=0) for name in NAMES}
    return dp.Curator(held, unit=unit, columns=declared, budget=dp.Budget(epsilon=10), ledger=folder / "l.ledger")


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "persons"])
def test_the_product_of_three_numbers_is_counted_at_every_corner(unit: Unit, tmp_path: Path) -> None:
    corners = [(*corner, 0, 2048) for corner in itertools.product((0, 2048), repeat=3)]
    model = opened(tmp_path, corners, unit).regress("y ~ a:b:c - 1", epsilon=1)
    assert str(model)


@pytest.mark.parametrize("unit", UNITS, ids=["rows", "persons"])
@pytest.mark.parametrize("row", [(1024,) * 5, (0,) * 5, (2048,) * 5], ids=["middle", "low", "high"])
def test_that_of_four_is_refused_whatever_a_row_holds(row: tuple[int, ...], unit: Unit, tmp_path: Path) -> None:
    hospital = opened(tmp_path, [row] * 3, unit)
    with pytest.raises(ParameterError, match="at most three numbers in a product"):
        hospital.regress("y ~ a:b:c:d - 1", epsilon=1)
    assert hospital.budget.spent.epsilon == 0


def test_no_product_passes_what_64_bits_hold() -> None:
    """Nor any of its parts, in the order in which an engine multiplies."""
    wide, nothing = Measure("value", -PRODUCT_UNITS, PRODUCT_UNITS, Column("x")), Measure("value", 0, 0, Column("z"))
    for times in range(2, 12):
        factors = (*[wide] * times, nothing)
        if PRODUCT_UNITS**times < 2**62:
            assert measure_product(*factors).bound == 0
        else:
            with pytest.raises(ParameterError, match="overflow"):
                measure_product(*factors)


@pytest.mark.parametrize("formula", ["y ~ " + "*".join(["a"] * 32), "y ~ " + "*".join("abcd" * 5), "y ~ " + ":".join(["a"] * 40)])
def test_a_short_formula_is_no_long_work(formula: str, tmp_path: Path) -> None:
    hospital = opened(tmp_path, [(0,) * 5], dp.rows())
    with pytest.raises(ParameterError, match="At most 6 variables"):
        hospital.regress(formula, epsilon=1)
