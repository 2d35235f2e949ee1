"""Sums of products: engines count the same, no unit moves them further than declared, and their prices add up to the whole."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, agree, count, table
from engine.test_sensitivity import (
    ANY_ROW,
    COLUMNS,
    ROWS,
    TYPES,
    UNITS,
    Rows,
    all_parts,
    attained,
    base,
    compare,
    extreme_persons,
    row,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp
from discreet.analysis.linear.products import Sheet
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.plan.cost import Cost
from discreet.schema.units import Person, Unit

SHARES = {"pure": PURE, "rho": RHO}
CROSSED = ([row(g, 0, 300) for g in "ab" for _ in range(3)], [row(g, 300, 300) for g in "cd" for _ in range(3)])
OTHERS = ([row("b")] * 3, [row("a", 300, -300)] * 3)  # all in another cell than ``one group, top``, and the other way in its cell
NUMBERS = {"x": dp.integer(0, 300, missing=150), "y": dp.integer(-300, 300, missing=0)}


def priced(verb: str, *asked: Any, unit: Unit, share: Cost, folder: Path, columns: Any = COLUMNS, where: str = "") -> Sheet[Any]:
    """An analysis at a price, of a table of which only public facts matter."""
    nobody = pa.table({name: pa.array([], kind) for name, kind in TYPES.items()})
    curator = dp.Curator(nobody, unit=unit, columns=columns, budget=dp.Budget(rho=1), ledger=folder / "l")
    found: Sheet[Any] = getattr(curator.where(where) if where else curator, verb)(*asked).priced(share)
    return found


def neighbours(unit: Unit) -> list[Rows]:
    persons = [*extreme_persons(3).values(), *CROSSED, *OTHERS]
    extras = persons if isinstance(unit, Person) else [[one] for one in (*ROWS, row("a", 0, 300))]
    if unit == UNITS["rows"]:
        extras.insert(0, [])
    return [base(1) + extra for extra in extras]


@pytest.mark.diagonal
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_sensitivities_hold_and_are_attained(unit: Unit, share: Cost, tmp_path: Path) -> None:
    for plan in priced("moments", ["x", "y", "g"], unit=unit, share=share, folder=tmp_path).plans:
        assert attained(plan, neighbours(unit), unit) == all_parts(plan)


@pytest.mark.diagonal
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_nobody_moves_a_product_too_far(unit: Unit, share: Cost, tmp_path: Path) -> None:
    """One number by category, and four by which rows are weighed."""
    plans = priced("regress", "y ~ x*g", unit=unit, share=share, folder=tmp_path / "one", where="y <> 17").plans
    weighed = "y ~ x + I(x % 7) + I(100 - least(x, 100)) + I(abs(150 - x)) + g"
    plans += priced("regress", weighed, unit=unit, share=share, folder=tmp_path / "many").plans

    @settings(deadline=None, max_examples=examples(6), suppress_health_check=list(HealthCheck))
    @given(st.lists(ANY_ROW, max_size=20), st.lists(ANY_ROW, min_size=1, max_size=20), st.data(), st.sampled_from(plans))
    def search(others: Rows, mine: Rows, data: st.DataObject, plan: Any) -> None:
        most = 20 if isinstance(unit, Person) else 1
        rest = [one | {"id": f"p{i % 4}"} for i, one in enumerate(others)]
        least = 0 if isinstance(unit, Person) else 1
        other = data.draw(st.lists(ANY_ROW, min_size=least, max_size=most)) if unit.neighbours == "replace" else []
        compare(plan, rest + other, rest + mine[:most])

    search()


@pytest.mark.parametrize("unit", [UNITS["rows"], UNITS["persons"]], ids=["rows", "persons"])
def test_engines_and_the_reference_count_the_same(unit: Unit, tmp_path: Path) -> None:
    """Products of up to four numbers, of expressions too, in cells of a category."""
    sheet = priced("regress", "y ~ x:I(x // 7):g + I(least(x, 40) * 0.25)", unit=unit, share=RHO, folder=tmp_path)
    most = max(len(one.statistic.of[0].factors) for plan in sheet.plans for one in plan.releases)  # type: ignore[union-attr]
    assert most == 5 + isinstance(unit, Person)  # what a row weighs is a factor, and so are levels of persons
    rows = [one | {"id": f"p{i % 7}"} for i, one in enumerate(base(1) + ROWS * 3)]
    for plan in sheet.plans:
        agree(plan, count(plan, table(plan, rows, TYPES)), rows)


@pytest.mark.parametrize("unit", [UNITS["persons"], UNITS["persons replaced"]], ids=["persons", "persons replaced"])
def test_sums_by_two_categories_move_as_declared(unit: Unit, tmp_path: Path) -> None:
    (plan,) = priced("regress", "y ~ g*C(x // 100)", unit=unit, share=RHO, folder=tmp_path).plans
    assert {"count(*) by (x // 100), g", "sum(y) by (x // 100), g"} <= all_parts(plan)
    assert attained(plan, neighbours(unit), unit) == all_parts(plan)


def test_a_person_has_one_weight_in_all_blocks(tmp_path: Path) -> None:
    """Whatever categories a block is by: all are counted in one scan, without keys. Models by level have their own groups."""
    for unit in (UNITS["persons"], UNITS["persons replaced"]):
        (plan,) = priced("regress", "y ~ x*g", unit=unit, share=RHO, folder=tmp_path / unit.neighbours).plans
        assert not plan.query.keys
    both = [priced("moments", asked, unit=unit, share=RHO, folder=tmp_path / f"{len(asked)}") for asked in (["x"], ["x", "g"])]
    assert [sheet.facts["version"] for sheet in both] == [1, 2]  # what was measured with other weights is not given again
    assert len(priced("moments", ["x", "g"], unit=dp.rows(), share=RHO, folder=tmp_path / "rows").plans) == 2


def test_levels_of_calculated_numbers_are_those_of_their_grid(tmp_path: Path) -> None:
    """Three times a tenth is the level 0.3, of persons as of rows."""
    columns = {**COLUMNS, "x": dp.integer(0, 3)}
    (plan,) = priced("regress", "y ~ C(x * 0.1)", unit=UNITS["persons"], share=RHO, folder=tmp_path, columns=columns).plans
    rows = [row("a", i % 4, 7, f"p{i}") for i in range(40)]
    found = count(plan, table(plan, rows, TYPES))
    (counts,) = [held for (one, bits), held in found.items() if str(one).startswith("count(*) by")]
    assert len(counts) == 4
    assert len(set(counts)) == 1
    assert counts[0] > 0
    agree(plan, found, rows)


def test_many_levels_are_priced_or_refused(tmp_path: Path) -> None:
    columns = {**COLUMNS, "g": dp.category(*(f"w{i}" for i in range(50))), "t": dp.category(*(f"v{i}" for i in range(50)))}
    unit = UNITS["persons"]
    (plan,) = priced("regress", "y ~ x + g", unit=unit, share=RHO, folder=tmp_path, columns=columns).plans
    found = count(plan, table(plan, [row(f"w{i % 50}", who=f"{i % 7}") for i in range(200)], TYPES))
    assert {len(held) for held in found.values()} == {1, 50}
    with pytest.raises(ParameterError, match="This takes 2,700 sums by level for every person, and at most 500"):
        priced("moments", ["x", "g", "t"], unit=unit, share=RHO, folder=tmp_path / "two", columns=columns)


def test_one_scan_where_there_are_no_categories(tmp_path: Path) -> None:
    assert len(priced("moments", ["x", "y"], unit=dp.rows(), share=RHO, folder=tmp_path).plans) == 1


def test_prices_add_up_and_a_corner_attains_them_all(tmp_path: Path) -> None:
    """The joint release costs exactly what it says: the row at which all products are largest has the whole loss."""
    for asked in (("moments", ["x", "y"]), ("regress", "y ~ x")):
        sheet = priced(*asked, unit=dp.rows(), share=RHO, folder=tmp_path / asked[0])
        assert sum((plan.share.amount for plan in sheet.plans), Fraction(0)) == RHO.amount
        loss = Fraction(0)
        for release in sheet.plans[0].releases:
            assert isinstance(release.mechanism, Gaussian)
            (measure,) = release.statistic.of  # type: ignore[union-attr]
            assert measure.bound == 150 ** release.label.count("x") * 300 ** release.label.count("y")
            loss += Fraction(measure.bound) ** 2 / (2 * Fraction(release.mechanism.squared_sigma))
        assert 0.999999 < loss / RHO.amount <= 1


def test_variances_beside_the_diagonal_are_half_of_those_on_it(tmp_path: Path) -> None:
    """As in one symmetric Gaussian release, whose Frobenius sensitivity is |(1, x, y)|^2 = 3 in units of the bounds."""
    sheet = priced("moments", ["x", "y"], unit=dp.rows(), share=RHO, folder=tmp_path, columns=NUMBERS)
    matrix = sheet.matrix([_exact(plan) for plan in sheet.plans])
    found = {product: deviation**2 for product, (_, deviation) in matrix.sums.items()}
    for product, variance in found.items():
        diagonal = len(set(product.of)) == len(product.of) // 2 if len(product.of) == 2 else not product.of
        assert variance == pytest.approx(9 / (2 * 0.5) / (1 if diagonal else 2), rel=0.01)


def _exact(plan: Any) -> Any:
    from discreet.curator.plans import Measured
    from discreet.engine.base import groups_of
    from discreet.plan.release import Released

    released = {one: Released(one, np.zeros(plan.keys.size, dtype=np.int64)) for one in plan.releases}
    return Measured(plan, groups_of(plan), released)


def test_the_number_of_rows_is_free_where_it_is_public(tmp_path: Path) -> None:
    unit = dp.rows(neighbours="replace", size=100)
    sheet = priced("moments", ["x", "y"], unit=unit, share=RHO, folder=tmp_path, columns=NUMBERS)
    assert [one.label for one in sheet.plans[0].releases if one.mechanism is None] == ["count(*)"]
    sheet = priced("moments", ["x", "y"], unit=unit, share=RHO, folder=tmp_path / "missing")  # of a WHERE it is not
    assert all(one.mechanism is not None for one in sheet.plans[0].releases)


def test_grids_are_coarse_enough_for_quick_sums(tmp_path: Path) -> None:
    columns = {"x": dp.number(0, 1_000_000, step=0.01), "y": dp.number(-1, 1)}
    for plan in priced("moments", ["x", "y"], unit=dp.rows(), share=RHO, folder=tmp_path, columns=columns).plans:
        assert max(one.statistic.of[0].bound for one in plan.releases) <= 2**20 + 2**11  # type: ignore[union-attr]
