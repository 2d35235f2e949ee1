"""Margins of one table: whatever one protected unit does, no level moves further than its noise was calibrated to."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, agree, count, count_in_turn, planned, table
from engine.moves import moves, prepared, tight
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet.plan.cost import Cost
from discreet.plan.margins.lattice import below
from discreet.plan.measures import Frame
from discreet.plan.plan import Plan
from discreet.plan.release import Additive
from discreet.plan.statistics import Margin
from discreet.schema.columns import Column, boolean, category, integer
from discreet.schema.units import Person, Unit, person, rows

COLUMNS: dict[str, Column] = {"g": category("a", "b", "c"), "h": boolean(), "x": integer(0, 300), "y": integer(-300, 300)}
TYPES = {"g": pa.string(), "h": pa.bool_(), "x": pa.int64(), "y": pa.int64(), "id": pa.string()}
ASKED = "SELECT g, h, count(*) AS n, sum(x) AS s, sum(y) AS t, avg(x) AS m FROM data GROUP BY CUBE (g, h)"
CELLS = list(itertools.product("abc", (False, True)))
UNITS = {
    "rows": rows(),
    "rows replaced": rows(neighbours="replace", size=100),
    "persons": person("id", rows=2, groups=3),
    "persons replaced": person("id", rows=2, groups=2, neighbours="replace", size=100),
    "persons in one group": person("id", rows=3, groups=1),
    "persons in many groups": person("id", rows=1, groups=50),
}
Rows = list[dict[str, Any]]


def row(g: Any, h: Any, x: Any = 300, y: Any = 300) -> dict[str, Any]:
    return {"g": g, "h": h, "x": x, "y": y, "id": "new"}


BASE = [{**row(g, h, 150, 0), "id": f"{g}{h}{i}"} for g, h in CELLS for i in range(3)]
TOP, BOTTOM = (300, 300), (0, -300)
SINGLE = [[], *([row(g, h, *xy)] for g, h in CELLS for xy in (TOP, BOTTOM, (None, None)))]
PLACES = (CELLS, CELLS[:1], CELLS[:2], CELLS[:3], CELLS[2:4], CELLS[5:], CELLS[::2], CELLS[1::2])


def extreme_persons(r: int) -> list[Rows]:
    """Nobody; persons who fill some cells; one with far too many rows everywhere, and one of whom little is known."""
    filled = [[row(g, h, *xy) for g, h in cells for _ in range(r)] for xy in (TOP, BOTTOM) for cells in PLACES]
    odd = [row(None, True), row("junk", False), row("a", None), *[row("a", True, None, None)] * 5]
    return [[], *filled, [row(g, h) for g, h in CELLS for _ in range(500)], odd]


def opened(plan: Plan, held: Rows) -> dict[Any, Any]:
    return prepared(plan, count_in_turn(plan, table(plan, [*BASE, *held], TYPES)))


def neighbours(unit: Unit, tables: list[Rows]) -> list[tuple[int, int]]:
    size = len(tables)
    return [(0, i) for i in range(1, size)] if unit.neighbours == "add-remove" else list(itertools.combinations(range(size), 2))


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_extreme_units_attain_the_bound_of_every_level_and_none_exceeds_it(unit: Unit, share: Cost) -> None:
    plan = every_level(planned(ASKED, COLUMNS, unit, share))
    tables = extreme_persons(unit.rows) if isinstance(unit, Person) else SINGLE
    found = [opened(plan, held) for held in tables]
    reached = set()
    for i, j in neighbours(unit, tables):
        for part, (moved, allowed) in moves(plan, found[i], found[j]).items():
            assert moved <= allowed, (part, tables[i][:3], tables[j][:3], float(moved), float(allowed))
            if tight(moved, allowed, squares=share.epsilon is None):
                reached.add(part[0])
    assert reached == {release.label for release in plan.releases}


def every_level(plan: Plan) -> Plan:
    """The same plan with a release for every level of every measure, also where the strategy would not measure it."""
    frame = Frame(plan.schema.unit, plan.keys.size, whole_table=False)  # keys may be missing
    measures = dict.fromkeys(release.statistic.of for release in plan.releases if isinstance(release.statistic, Margin))
    margins = [Margin(one, ("g", "h"), (3, 2), level) for one in measures for level in below([(0, 1)])]
    releases = tuple(release for margin in margins for release in Additive(margin).releases(frame, plan.share))
    return replace(plan, releases=releases, behind={"all": releases})


ANY = st.builds(
    row,
    st.sampled_from(["a", "b", "c", "junk", None]),
    st.sampled_from([True, False, None]),
    st.sampled_from([0, 150, 300, 10**12, None]),
    st.sampled_from([-300, 0, 300, None]),
)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([*UNITS]), st.lists(ANY, max_size=12), st.lists(ANY, max_size=12), st.sampled_from([PURE, RHO]))
def test_no_unit_exceeds_it(name: str, one: Rows, other: Rows, share: Cost) -> None:
    unit = UNITS[name]
    plan = every_level(planned(ASKED, COLUMNS, unit, share))
    if name.startswith("rows"):
        one, other = one[:1], other[:1]
    before = [] if unit.neighbours == "add-remove" else one
    for part, (moved, allowed) in moves(plan, opened(plan, before), opened(plan, other)).items():
        assert moved <= allowed, part


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS)
def test_levels_are_counted_as_the_reference_counts_them(unit: Unit, share: Cost) -> None:
    """Under Gaussian noise too persons are bounded in L1, so that every level is of the same rows."""
    plan = every_level(planned(ASKED, COLUMNS, unit, share))
    many, odd = extreme_persons(3)[-2:]
    held = [*BASE, *many, *({**one, "id": "other"} for one in odd)]
    found = count(plan, table(plan, held, TYPES))
    agree(plan, found, held)
    totals: dict[Any, set[int]] = {}
    for (statistic, _), numbers in found.items():
        totals.setdefault(statistic.of, set()).add(sum(numbers))
    assert all(len(each) == 1 for each in totals.values())
