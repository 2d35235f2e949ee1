"""Tables of one row a person: they are what plain Python makes of each person's rows, and one person moves one row of them."""

from __future__ import annotations

import datetime
import random
from typing import Any

import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, agree, count, keys, marginal, planned, rehearse, table
from engine.test_sensitivity import all_parts, attained, compare
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.depth import THOROUGH, examples, turns

from discreet.engine.base import groups_of
from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.sql.counting import Counting
from discreet.engine.sql.statement import Raw
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions import Column as Name
from discreet.plan.people import Trait
from discreet.plan.plan import price_needs
from discreet.plan.query import People, Query
from discreet.plan.release import Additive
from discreet.plan.statistics import Histogram, Sums, list_axis
from discreet.schema.columns import Column, boolean, category, date, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import Person, person

DAY = datetime.date(2024, 1, 1)
COLUMNS: dict[str, Column] = {
    "g": category("a", "b", "c"),
    "x": integer(0, 300),
    "y": number(-10, 10, step=0.5, missing=1),
    "big": integer(-(2**62), 2**62),
    "t": text(length=12),
    "b": boolean(),
    "d": date("2024-01-01", "2024-03-31"),
}
TYPES = {
    "g": pa.string(),
    "x": pa.int64(),
    "y": pa.float64(),
    "big": pa.int64(),
    "t": pa.string(),
    "b": pa.bool_(),
    "d": pa.date32(),
    "id": pa.string(),
}
PLACES = {"places": [{"g": "a", "floor": 1}, {"g": "b", "floor": 2}]}
Rows = list[dict[str, Any]]


def row(who: Any = "new", g: Any = "a", x: Any = 300, y: Any = 10.0, **more: Any) -> dict[str, Any]:
    return {"id": who, "g": g, "x": x, "y": y, "big": 5, "t": g, "b": True, "d": DAY} | more


ASKED = [
    "SELECT avg(n) AS m, sum(n) AS s, count(*) AS c FROM (SELECT id, count(*) AS n FROM data GROUP BY id) t",
    "SELECT n, count(*) AS c FROM (SELECT id, count(*) AS n FROM data WHERE x > 100 GROUP BY id) t GROUP BY n",
    "SELECT k, sum(s) AS s, median(a) AS a, mode(k) AS o FROM (SELECT id, any_value(g) AS k, sum(y) AS s, avg(y) AS a FROM data "
    "GROUP BY id) t GROUP BY k",
    "SELECT count(p) AS p, sum(big) AS big, sum(low) AS low FROM (SELECT id, count(x) AS p, sum(big) AS big, min(big) AS low "
    "FROM data GROUP BY id) t",
    "SELECT s, count(*) AS c, sum(days) AS d FROM (SELECT id, bool_or(b) AS s, bool_and(b) AS every, max(d) - min(d) AS days "
    "FROM data GROUP BY id) t WHERE NOT every GROUP BY s",
    "SELECT m, count(*) AS c FROM (SELECT id, count(DISTINCT g) AS m, count(DISTINCT y) AS v FROM data GROUP BY id HAVING "
    "sum(x) > 300 OR count(DISTINCT t) = 1) u WHERE v <= 3 GROUP BY m",
    "SELECT avg(r) AS r, sum(low) AS l FROM (SELECT id, sum(x) / count(*) AS r, avg(x * y) AS low, min(x - y) AS z FROM data "
    "GROUP BY id) t WHERE z > -5",
    "SELECT avg(f) AS f, count(w) AS w FROM (SELECT id, count_if(b AND x > 10) AS f, avg(x) FILTER (WHERE g = 'a') AS w "
    "FROM data GROUP BY id) t",
    "SELECT month(first) AS k, quantile(last, 0.9) AS q FROM (SELECT id, min(d) AS first, max(x) AS last FROM data GROUP BY id) "
    "GROUP BY k",
    "SELECT k, sum(m) AS m, avg(w) AS w, median(p) AS p FROM (SELECT id, any_value(g) AS k, median(y) AS m, median(x * y) AS w, "
    "median(x) FILTER (WHERE b) AS p, median(big) AS big FROM data GROUP BY id HAVING median(x) > 1) t GROUP BY k",
    "SELECT share, count(*) AS c FROM (SELECT id, round(avg(b) * 4) AS share FROM data GROUP BY id) t GROUP BY share",
    "SELECT floor, count(*) AS c, sum(f) AS f FROM (SELECT id, any_value(data.g) AS g, sum(places.floor) AS f, "
    "max(places.floor) AS top FROM data LEFT JOIN places ON data.g = places.g GROUP BY id) t JOIN places ON t.g = places.g "
    "WHERE top = 2 GROUP BY floor",
    "SELECT variance(n) AS v, count(DISTINCT id) AS c FROM (SELECT id, count(*) AS n FROM data GROUP BY id) t",
]
OPEN = "SELECT t, count(*) AS c FROM (SELECT id, any_value(t) AS t, max(t) AS last FROM data GROUP BY id) u GROUP BY t"


def chance_rows(seed: int, rows: int = 60) -> Rows:
    chance = random.Random(seed)
    return [
        row(
            chance.choice(["p", "q", "r", "s", "", None, "7", "a long id " * 20]),
            chance.choice(["a", "b", "c", "junk", None]),
            chance.choice([0, 1, 150, 300, 10**12, -5, None]),
            chance.choice([-10.0, 0.0, 0.26, 10.0, 1e300, float("nan"), float("inf"), None]),
            big=chance.choice([2**63 - 1, -(2**63), 0, None]),
            t=chance.choice(["a", "b", "B", "é", "z" * 50, "", None]),
            b=chance.choice([True, False, None]),
            d=chance.choice([DAY, DAY + datetime.timedelta(50), datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]),
        )
        for _ in range(rows)
    ]


@pytest.mark.parametrize("question", ASKED)
def test_engines_make_what_plain_python_makes(question: str) -> None:
    """Also of persons with many more rows than are thought, and with none that is left."""
    for seed, (r, g, share) in enumerate(((1, 1, PURE), (5, 3, RHO))):
        if not THOROUGH and seed != ASKED.index(question) % 2:
            continue
        plan = planned(question, COLUMNS, person("id", rows=r, groups=g), share, PLACES)
        for held in ([], chance_rows(seed), [row("p", x=i % 300, big=2**62) for i in range(300)]):
            agree(plan, count(plan, table(plan, held, TYPES), public=PLACES), held, public=PLACES)


def test_open_keys_are_counted_by_persons() -> None:
    plan = planned(OPEN, COLUMNS, person("id", rows=2, groups=2), RHO)
    held = [
        row("p", t="b"),
        row("p", t="a"),
        row("p", t="B"),
        row("q", t="a"),
        row("r", t="é"),
        row("r", t="z"),
        row(None, t="B"),
    ]
    assert keys(plan, table(plan, held, TYPES)) == {("B",): 1, ("a",): 1, ("z",): 1}
    rehearse(plan, table(plan, held, TYPES))


def test_what_is_made_of_a_person_depends_on_nobody_else_and_on_no_order() -> None:
    """An engine's own any_value would be another one when rows lie elsewhere."""
    question = (
        "SELECT k, t, sum(x) AS x FROM (SELECT id, any_value(g) AS k, any_value(left(t, 1)) AS t, any_value(x) AS x FROM data "
        "WHERE id_is_p GROUP BY id) u GROUP BY k, t IN ('a', 'b', 'c')"
    ).replace("WHERE id_is_p ", "")
    plan = planned(question, COLUMNS, person("id", rows=2, groups=2))
    mine = [row("p", g, x, t=g) for g, x in (("c", 7), ("b", 200), ("a", 40))]
    others = [row(f"o{i}", "c", 300, t="c") for i in range(5000)]
    chance, found = random.Random(5), set()
    for _ in range(4):
        held = [*mine, *others]
        chance.shuffle(held)
        counted = count(plan, table(plan, held, TYPES))
        found.add(tuple(next(iter(counted.values()))))
    assert found == {(7, 0, 0, 0, 0, 0, 0, 0, 5000 * 300)}


def test_the_statement_stays_the_same() -> None:
    """Asked again, it is counted by the same text: this is its stage between the cleaned rows and the lines of a question."""
    question = (
        "SELECT g, sum(s) AS s FROM (SELECT id, any_value(g) AS g, sum(x) AS s, avg(y) AS a FROM data WHERE x > 1 GROUP BY id "
        "HAVING count(*) > 1) u GROUP BY g"
    )
    plan = planned(question, COLUMNS, person("id", rows=3, groups=2))
    raw = Raw("raw", {name: (name, "BIGINT" if name == "x" else "VARCHAR") for name in (*COLUMNS, "id")})
    measures = [(measure, one.bits) for one in plan.releases if isinstance(one.statistic, Sums) for measure in one.statistic.of]
    stages = Counting(plan, raw, DIALECT, "salt").sums(measures, groups_of(plan, None)).text.split(",\n")
    assert [stage.split(" AS ")[0] for stage in stages] == [
        'WITH "cleaned rows"',
        '"person rows"',
        '"cleaned persons"',
        "lines",
        "keys",
        "cells",
    ]
    assert stages[2] == (
        '"cleaned persons" AS (SELECT CAST(CASE WHEN sum(v0) < 0 THEN 0 WHEN sum(v0) > 1800 THEN 1800 ELSE sum(v0) END '
        "AS BIGINT) AS c1, min(v1) AS r0, CAST(CASE WHEN count(*) < 1 THEN 1 WHEN count(*) > 6 THEN 6 ELSE count(*) END "
        'AS BIGINT) AS c3, person AS person FROM "person rows" GROUP BY person)'
    )


# How far one person moves them.

PARTS = (
    "SELECT id, any_value(g) AS g, any_value(t) AS t, count(*) AS n, sum(x) AS s, sum(y) AS z, avg(y) AS a, max(x) AS m "
    "FROM data GROUP BY id"
)
OUTSIDE = (
    "count(*) AS c, count(m) AS p, sum(s) AS s, sum(z) AS z, avg(a) AS a, var_pop(m) AS v, median(m) AS q, "
    "quantile(n, 0.9) AS q9, mode(n) AS o"
)
GROUPED = f"SELECT g, {OUTSIDE} FROM ({PARTS}) u GROUP BY g"
WHOLE = f"SELECT {OUTSIDE} FROM ({PARTS}) u"
KEPT = f"SELECT {OUTSIDE} FROM ({PARTS} HAVING count(*) > 1 AND count(DISTINCT d) < 5) u WHERE g <> 'c'"
BY_COUNT = f"SELECT n, count(*) AS c, sum(s) AS s FROM ({PARTS}) u GROUP BY n"
MANY = 2_000


def base() -> Rows:
    """In every group so many persons below, in and above all quantiles that no loss that one moves is cut off at zero."""
    return [
        row(f"{g}{i}", g, x, x / 20 - 5, t=g)
        for g in "abc"
        for i, x in enumerate([0] * 12 + [150] * 18)
        for _ in range(1 + i % 3)
    ]


EXTREME: dict[str, Rows] = {
    "nobody": [],
    "one row, top": [row()],
    "two rows, top": [row()] * 2,
    "one row, bottom": [row(x=0, y=-10.0)],
    "full, top": [row()] * 6,
    "full, bottom": [row(x=0, y=-10.0)] * 6,
    "full, elsewhere": [row(g="b")] * 6,
    "full, elsewhere, bottom": [row(g="b", x=0, y=-10.0)] * 6,
    "full, middle": [row(x=150, y=0.0)] * 6,
    "missing": [row(g="a", x=None)] * 3,
    "no key": [row(g=None)] * 3,
    "two thousand rows": [row()] * MANY,
    "two thousand rows, bottom": [row(x=-(10**12), y=-1e300)] * MANY,
    "everywhere": [row(g=g, x=x, y=y) for g in "abc" for x, y in ((0, -10.0), (300, 10.0)) for _ in range(50)],
    "no id": [row(None)] * 3,
}


# With these every bound is attained: they are always tried, and of the others some by every question.
ATTAINING = (
    "nobody",
    "two rows, top",
    "one row, bottom",
    "full, elsewhere",
    "full, elsewhere, bottom",
    "full, middle",
    "two thousand rows",
)


@pytest.mark.diagonal
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("question", "turn"), [(GROUPED, 0), (WHOLE, 1), (KEPT, 1), (BY_COUNT, 0)], ids=["grouped", "whole", "kept", "by count"]
)
def test_one_person_moves_one_row_at_most(question: str, turn: int, neighbours: Any) -> None:
    """Declared sensitivities are not exceeded, and attained. Thoroughly, of question, neighbours and budget every two meet."""
    share = (PURE, RHO)[(turn + (neighbours == "replace")) % 2]
    unit = person("id", rows=3, groups=2, neighbours=neighbours)
    plan = planned(question, COLUMNS, unit, share)
    extremes = turns(EXTREME, (GROUPED, WHOLE, KEPT, BY_COUNT).index(question), always=ATTAINING)
    reached = attained(plan, [base() + extra for extra in extremes.values()], unit, TYPES)
    replaced = neighbours == "replace" and plan.keys.size != 1
    loose = {part for part in all_parts(plan) if replaced and "quantile" in part}  # two contests are paid, and one is moved
    if replaced and question == BY_COUNT:
        loose.add("sum(s)")  # the largest sum has the largest count beside it: nobody takes it from one group to another
    assert reached >= all_parts(plan) - loose


def test_one_person_moves_one_open_key() -> None:
    unit = person("id", rows=3, groups=2)
    plan = planned(OPEN, COLUMNS, unit, RHO)
    before = keys(plan, table(plan, base(), TYPES))
    for extra in EXTREME.values():
        after = keys(plan, table(plan, base() + extra, TYPES))
        assert sum(abs(after.get(key, 0) - before.get(key, 0)) for key in {**before, **after}) <= 1 == plan.releases[0].times


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_one_person_moves_one_cell_and_one_score(neighbours: Any, share: Cost) -> None:
    """Of a marginal, and of the sums of a score by which a candidate is chosen."""
    unit = person("id", rows=3, groups=2, neighbours=neighbours)
    cells = f"SELECT mode(n) AS a, median(m // 100) AS b FROM ({PARTS}) u"
    score = f"SELECT choose([1, 6], CASE WHEN n = candidate THEN 300 ELSE -300 END) AS best FROM ({PARTS}) u"
    for turn, plan in enumerate((marginal(planned(cells, COLUMNS, unit, share)), planned(score, COLUMNS, unit, share))):
        extremes = turns(EXTREME, turn + (neighbours == "replace"), always=ATTAINING)
        reached = attained(plan, [base() + extra for extra in extremes.values()], unit, TYPES)
        assert reached == all_parts(plan)


ANY_ROW = st.builds(
    row,
    st.sampled_from(["new", "new", "new", None]),
    st.sampled_from(["a", "b", "c", "junk", None]),
    st.sampled_from([0, 1, 150, 299, 300, 10**12, -5, None]),
    st.sampled_from([-10.0, 0.0, 10.0, 1e300, float("nan"), None]),
)


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_person_moves_anything_too_far(neighbours: Any, share: Cost) -> None:
    @settings(deadline=None, max_examples=examples(8), suppress_health_check=list(HealthCheck))
    @given(
        st.integers(1, 4),
        st.integers(1, 3),
        st.sampled_from([GROUPED, KEPT, BY_COUNT]),
        st.lists(ANY_ROW, max_size=30),
        st.lists(ANY_ROW, min_size=1, max_size=30),
        st.lists(ANY_ROW, max_size=20),
    )
    def search(r: int, g: int, question: str, others: Rows, mine: Rows, other: Rows) -> None:
        plan = planned(question, COLUMNS, person("id", rows=r, groups=g, neighbours=neighbours), share)
        rest = [one | {"id": f"p{i % 4}"} for i, one in enumerate(others)]
        compare(plan, rest + (other if neighbours == "replace" else []), rest + mine, TYPES)

    search()


def test_the_table_of_persons_has_the_unit_that_was_declared() -> None:
    unit = person("id", rows=3, groups=2, neighbours="replace", size=500)
    plan = planned(WHOLE, COLUMNS, unit)
    found = plan.schema.unit
    assert isinstance(found, Person)
    assert (found.id, found.rows, found.groups, found.neighbours, found.size) == ("id", 1, 1, "replace", 500)
    assert found.protected == unit.protected
    assert plan.private.unit == unit


# Traits that no SQL text asks for, but analyses do.


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("of", [Name("g"), Call("//", (Name("x"), Literal(100)))], ids=str)
def test_rows_in_the_fullest_group(of: Expression, neighbours: Any, share: Cost) -> None:
    """What plain Python makes of a person's rows; and one person moves one cell."""
    unit = person("id", rows=3, groups=2, neighbours=neighbours)
    schema, traits = Schema(COLUMNS, unit), (Trait("most", "fullest", of), Trait("groups", "distinct", of))
    query = Query((), people=People("id", Query((), where=Call(">", (Name("x"), Literal(-1)))), traits))

    def needs(facts: Any) -> Any:
        return {t.name: (Additive(Histogram((list_axis(Name(t.name), facts[t.name]),))),) for t in traits}  # type: ignore[arg-type]

    plan = price_needs(query, schema, share, needs)
    for seed in range(2):
        held = chance_rows(seed)
        agree(plan, count(plan, table(plan, held, TYPES)), held)
    extremes = turns(EXTREME, neighbours == "replace", always=(*ATTAINING, "everywhere"))
    assert attained(plan, [base() + extra for extra in extremes.values()], unit, TYPES) == all_parts(plan)
