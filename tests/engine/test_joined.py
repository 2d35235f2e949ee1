"""Several private tables joined by the person's id: nobody moves anything further than declared, whatever rows they have in each,
and which rows are kept where not all are joined is decided by these rows alone.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from engine import reference_counting as reference
from engine.driving import PURE, RHO, count, count_in_turn, keys
from engine.moves import moves, prepared, side, tight
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st
from support.depth import examples, turns

from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.plan import Plan, price
from discreet.plan.sql import parse_query
from discreet.schema.columns import category, integer, text
from discreet.schema.table import Schema
from discreet.schema.units import Person, person

GROUPS = ("a", "b", "c", "d")
COLUMNS = {
    "patients": {"g": category(*GROUPS), "x": integer(0, 300)},
    "visits": {"y": integer(-300, 300, missing=7), "t": text(length=10)},
    "drugs": {"z": integer(0, 9), "g": category(*GROUPS)},
}
TYPES = {
    "patients": {"id": pa.string(), "g": pa.string(), "x": pa.int64()},
    "visits": {"id": pa.string(), "y": pa.int64(), "t": pa.string()},
    "drugs": {"id": pa.string(), "z": pa.int64(), "g": pa.string()},
}
AGGREGATES = "count(*) AS n, count(y) AS c, sum(x) AS s, sum(y) AS t, avg(y) AS m"
MORE = "median(x) AS q, count(DISTINCT id) AS d"
BOTH = "patients JOIN visits USING (id)"
JOINED = {
    "two": f"SELECT patients.g, {AGGREGATES}, {MORE} FROM {BOTH} GROUP BY patients.g",
    "left": f"SELECT patients.g, {AGGREGATES} FROM patients LEFT JOIN visits USING (id) GROUP BY patients.g",
    "three": f"SELECT patients.g, {AGGREGATES} FROM {BOTH} JOIN drugs ON drugs.id = visits.id GROUP BY patients.g",
    "in": f"SELECT patients.g, {AGGREGATES} FROM {BOTH} WHERE id IN (SELECT id FROM drugs WHERE z > 3) GROUP BY patients.g",
    "not in": f"SELECT patients.g, {AGGREGATES} FROM {BOTH} WHERE id NOT IN (SELECT id FROM drugs WHERE z > 3) GROUP BY 1",
    "in having": f"SELECT patients.g, {AGGREGATES} FROM {BOTH} WHERE id IN (SELECT id FROM drugs WHERE z > 0 GROUP BY id HAVING "
    "sum(z) > 3 AND count(*) < 9) GROUP BY 1",
    "query": f"SELECT patients.g, {AGGREGATES} FROM patients JOIN (SELECT id, y FROM visits WHERE y > -400) AS v USING (id) "
    "GROUP BY patients.g",
    "exists": "SELECT g, count(*) AS n, sum(x) AS s, count(DISTINCT id) AS d FROM patients AS p WHERE x >= 0 AND "
    "EXISTS (SELECT 1 FROM visits AS v WHERE v.id = p.id AND v.y > -400) GROUP BY g",
    "on": f"SELECT patients.g, {AGGREGATES} FROM patients LEFT JOIN visits ON visits.id = patients.id AND y > 0 GROUP BY 1",
    "people": f"SELECT g, count(*) AS n, sum(k) AS s, avg(k) AS m FROM (SELECT id, any_value(patients.g) AS g, "
    f"count(*) AS k FROM {BOTH} GROUP BY id) AS t GROUP BY g",
    "people joined": "SELECT p.g, count(*) AS n, sum(k) AS s, avg(k) AS m, sum(x) AS w FROM (SELECT id, count(*) AS k FROM "
    "visits GROUP BY id) AS t JOIN patients AS p USING (id) GROUP BY p.g",
    "people joined left": "SELECT count(*) AS n, sum(k) AS s, sum(x) AS w, count(p.g) AS c FROM (SELECT id, count(*) AS k FROM "
    "visits GROUP BY id) AS t LEFT JOIN patients AS p ON t.id = p.id AND p.x > 0",
}
ONE_EACH = {"people joined": {"patients": 1}, "people joined left": {"patients": 1}}  # rows of a person that a join takes
SHARES = {"pure": PURE, "rho": RHO}
Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def schema_of(unit: Person, **at_most: int) -> Schema:
    return Schema.of_tables(COLUMNS, unit, at_most=at_most)


def planned(question: str, unit: Person, share: Cost = PURE, **at_most: int) -> Plan:
    schema = schema_of(unit, **at_most)
    return price(parse_query(question, schema), schema, share)


def frames(tables: Tables) -> dict[str, pa.Table]:
    return {
        name: pa.table(
            {column: pa.array([row.get(column) for row in tables.get(name, [])], kind) for column, kind in types.items()}
        )
        for name, types in TYPES.items()
    }


def rows_of(who: Any, patients: Sequence[tuple[Any, Any]], visits: Sequence[Any], drugs: Sequence[int] = (5,)) -> Tables:
    return {
        "patients": [{"id": who, "g": g, "x": x} for g, x in patients],
        "visits": [{"id": who, "y": y, "t": f"t{i}"} for i, y in enumerate(visits)],
        "drugs": [{"id": who, "z": z, "g": "a"} for z in drugs],
    }


def together(*several: Tables) -> Tables:
    return {name: [row for tables in several for row in tables.get(name, [])] for name in TYPES}


def base(r: int) -> Tables:
    """Persons below, in and above all quantiles of every group, and rows that say nothing about whose they are."""
    people = [rows_of(f"{g}{i}", [(g, x)], [x - 150] * r) for g in GROUPS for i, x in enumerate([0] * 12 + [150] * 18)]
    nobody = [rows_of(None, [("a", 300)] * 5, [300] * 5), rows_of("", [("b", 300)] * 5, [300] * 5)]
    alone = [{"patients": [{"id": "only", "g": "a", "x": 9}]}, {"visits": [{"id": "other", "y": 5, "t": "t"}]}]
    return together(*people, *nobody, *alone)


def extreme_persons(r: int) -> dict[str, Tables]:
    every, two = [(g, 300) for g in GROUPS], [("a", 300), ("b", 300)]
    return {
        "nobody": {},
        "one side only": {"patients": rows_of("new", every * r, [])["patients"]},
        "the other side only": {"visits": rows_of("new", [], [300] * 9)["visits"]},
        "all groups, top": rows_of("new", every, [300] * r),
        "two groups, top": rows_of("new", two, [300] * r),
        "two groups, bottom": rows_of("new", [(g, 0) for g, _ in two], [-300] * r),
        "two others, top": rows_of("new", [("c", 300), ("d", 300)], [300] * r),
        "two groups, no drugs": rows_of("new", two, [300] * r, []),
        "two others, no drugs": rows_of("new", [("c", 300), ("d", 300)], [300] * r, []),
        "two groups, no drugs, bottom": rows_of("new", [(g, 0) for g, _ in two], [-300] * r, []),
        "two groups, many patients": rows_of("new", two * r, [300]),
        "two others, many patients": rows_of("new", [("c", 300), ("d", 300)] * r, [300]),
        "one group, top": rows_of("new", [("a", 300)], [300] * r),
        "a thousand rows on both sides": rows_of("new", every * 250, [300] * 1_000, [5] * 1_000),
        "a thousand different rows": rows_of("new", [(GROUPS[i % 4], i % 301) for i in range(1_000)], range(1_000)),
        "duplicates": rows_of("new", [("a", 300)] * 7, [300] * 7, [5, 5]),
        "missing": rows_of("new", [(None, None), ("junk", 4)], [None] * 3),
    }


def opened_on(plan: Plan, tables: Tables) -> dict[Any, Any]:
    return prepared(plan, count_in_turn(plan, frames(tables)))


def pairs(unit: Person, count_of: int) -> list[tuple[int, int]]:
    if unit.neighbours == "add-remove":
        return [(0, i) for i in range(1, count_of)]
    return list(itertools.combinations(range(count_of), 2))


ATTAINING = (  # with these every bound is attained: they are always tried, and of the others some by every question
    "nobody",
    "the other side only",
    "two groups, bottom",
    "two groups, no drugs",
    "two others, no drugs",
    "two groups, many patients",
    "two others, many patients",
)
WORST = [(form, "replace", "rho" if form in ("left", "in", "exists") else "pure") for form in JOINED]
WORST += [("two", "add-remove", "rho"), ("left", "add-remove", "pure"), ("people", "add-remove", "rho")]


@pytest.mark.parametrize(("form", "neighbours", "currency"), WORST)
def test_persons_at_their_worst(form: str, neighbours: Any, currency: str) -> None:
    """No bound is exceeded, and each is attained: rows=3 in two groups of four, all of a person's rows in every table at once."""
    unit, share = person("id", rows=3, groups=2, neighbours=neighbours), SHARES[currency]
    plan = planned(JOINED[form], unit, share, **ONE_EACH.get(form, {}))
    extremes = turns(extreme_persons(3), WORST.index((form, neighbours, currency)), always=ATTAINING)
    found = [opened_on(plan, together(base(3), extra)) for extra in extremes.values()]
    reached = set()
    for i, j in pairs(unit, len(found)):
        for part, (moved, allowed) in moves(plan, found[i], found[j]).items():
            assert moved <= allowed, (part, i, j, float(moved), float(allowed))
            if part[1] == 0 and tight(moved, allowed, squares=share.epsilon is None):
                reached.add(part[0])
    every = {release.label for release in plan.releases if release.mechanism and not side(release)}
    assert {part for part in every if "quantile" not in part and "median" not in part} <= reached


ID = st.sampled_from(["new", "p0", "p1", None, ""])
PATIENT = st.builds(
    lambda id, g, x: {"id": id, "g": g, "x": x}, ID, st.sampled_from([*GROUPS, None]), st.sampled_from([0, 9, 300])
)
VISIT = st.builds(lambda id, y, t: {"id": id, "y": y, "t": t}, ID, st.sampled_from([-300, 0, 300, None]), st.sampled_from("st"))
DRUG = st.builds(lambda id, z: {"id": id, "z": z, "g": "a"}, ID, st.sampled_from([0, 5, None]))
ANY = st.fixed_dictionaries({
    "patients": st.lists(PATIENT, max_size=15), "visits": st.lists(VISIT, max_size=15), "drugs": st.lists(DRUG, max_size=6)
})  # fmt: skip


@pytest.mark.parametrize(
    ("neighbours", "share"), [("add-remove", RHO), ("replace", PURE)], ids=["add-remove-rho", "replace-pure"]
)
def test_no_person_moves_anything_too_far(neighbours: Any, share: Cost) -> None:
    @settings(deadline=None, max_examples=examples(16), suppress_health_check=list(HealthCheck))
    @given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.sampled_from(sorted(JOINED)), ANY, ANY)
    def search(r: int, g: int, most: int, form: str, tables: Tables, others: Tables) -> None:
        unit = person("id", rows=r, groups=g, neighbours=neighbours)
        plan = planned(JOINED[form], unit, share, **({"patients": most} | ONE_EACH.get(form, {})))
        rest = {name: [row for row in rows if row["id"] != "new"] for name, rows in tables.items()}
        new = {name: [row for row in rows if row["id"] == "new"] for name, rows in others.items()}
        before = together(rest, new) if neighbours == "replace" else rest
        found = moves(plan, opened_on(plan, before), opened_on(plan, tables))
        for part, (moved, allowed) in found.items():
            assert moved <= allowed, part
        target(float(max((moved / allowed for moved, allowed in found.values() if allowed), default=0)))

    search()


def test_open_keys_of_joined_rows() -> None:
    plan = planned(f"SELECT t, count(*) AS n FROM {BOTH} GROUP BY t", person("id", rows=2, groups=3), RHO)
    start = together(*(rows_of(f"p{i}", [("a", 5)], [1, 2]) for i in range(4)))
    before = keys(plan, frames(start))
    for extra in turns(extreme_persons(2), 0, always=ATTAINING).values():
        after = keys(plan, frames(together(start, extra)))
        moved = [abs(before.get(key, 0) - after.get(key, 0)) for key in {**before, **after}]
        assert max(moved, default=0) <= 1
        assert sum(moved) <= 3


def _kept(who: str, rows: Rows, cells: Sequence[str], most: int) -> Rows:
    """The rows that are joined, in plain Python: those with the smallest keyed hashes, and then the smallest cells."""

    def told(row: Mapping[str, Any]) -> str:
        texts = [who, *(None if row[cell] is None else str(row[cell]) for cell in cells)]
        return "/".join("-" if one is None else f"{len(one)}:{one}" for one in texts)

    def mark(row: Mapping[str, Any]) -> int:
        return int.from_bytes(hashlib.md5(f"{reference.SALT}/{told(row)}".encode()).digest(), "little") % (2**31 - 1)

    return sorted(rows, key=lambda row: (mark(row), *(str(row[cell]) for cell in cells)))[:most] if len(rows) > most else rows


def test_which_rows_are_joined_is_decided_by_a_persons_own_rows() -> None:
    """The same in any order and beside anybody, and those that plain Python chooses."""
    plan = planned(f"SELECT sum(x) AS s, sum(y) AS t FROM {BOTH}", person("id", rows=9, groups=9), patients=2, visits=3)
    chance = random.Random(3)
    mine = rows_of("new", [("a", x) for x in (1, 1, 40, 300)], [5, -7, 100, 100, None, 300], [])
    cleaned = [{**row, "y": 7 if row["y"] is None else row["y"]} for row in mine["visits"]]  # cells are hashed as cleaned
    patients, visits = _kept("new", mine["patients"], ["x"], 2), _kept("new", cleaned, ["y"], 3)
    wanted = [3 * sum(row["x"] for row in patients), 2 * sum(row["y"] for row in visits)]
    for _ in range(6):
        others = together(*(rows_of(f"p{i}", [("a", 0)], [0]) for i in range(chance.randrange(4))))
        tables = together(mine, others)
        for rows in tables.values():
            chance.shuffle(rows)
        found = count(plan, frames(tables))
        assert [number >> bits for (_, bits), (number,) in found.items()] == wanted


def test_tables_that_are_read_for_in_and_exists_are_not_cut() -> None:
    plan = planned(
        "SELECT count(*) AS n FROM patients WHERE id IN (SELECT id FROM visits WHERE y = 300)", person("id", rows=1, groups=1)
    )
    tables = rows_of("new", [("a", 1)], [*range(50), 300], [])
    assert [number >> bits for (_, bits), (number,) in count(plan, frames(tables)).items()] == [1]


@pytest.mark.parametrize(("most", "refused"), [(2**10, False), (2**12, True)])
def test_one_person_cannot_bring_more_rows_than_can_be_counted(most: int, refused: bool) -> None:
    unit = person("id", rows=2**10, groups=2**10)
    if not refused:
        planned(JOINED["two"], unit, patients=most, visits=most)
        return
    with pytest.raises(ParameterError, match="at_most="):
        planned(JOINED["two"], unit, patients=most, visits=most)
    planned("SELECT count(*) AS n FROM patients WHERE id IN (SELECT id FROM visits)", unit, patients=most, visits=most)
