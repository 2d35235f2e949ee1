"""Digests: facts in words of their own, the same whatever classes are called, and the hashes that older ledgers keep."""

from __future__ import annotations

import json
import re
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest
from golden.worlds import WORLDS, open_world, questions, write_table

import discreet as dp
from discreet.curator import digest
from discreet.curator.digest import declared_text, facts_of
from discreet.curator.inspection import declarations
from discreet.curator.plans import Plans, Select
from discreet.plan.cost import Terms
from discreet.plan.preview import price_within
from discreet.plan.sql import parse_query
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Unit

COLUMNS: dict[str, Column] = {
    "age": dp.integer(0, 120),
    "debt": dp.number(0, 10, step=0.01, missing=0),
    "drug": dp.category("yes", "no"),
    "well": dp.boolean(missing=False),
    "seen": dp.date("2020-01-01", "2020-12-31"),
    "city": dp.text(),
}
TEXTS = {
    "age": "Integer(lower=0, upper=120, missing=None, decimal='.')",
    "debt": "Number(lower=Fraction(0, 1), upper=Fraction(10, 1), step=Fraction(1, 100), missing=Fraction(0, 1), decimal='.')",
    "drug": "Category(values=('yes', 'no'), missing=None)",
    "well": "Boolean(missing=False)",
    "seen": "Date(lower=datetime.date(2020, 1, 1), upper=datetime.date(2020, 12, 31), missing=None, format=None)",
    "city": "Text(missing=None)",
}
UNITS = {
    dp.rows(): "Rows(neighbours='add-remove', size=None)",
    dp.rows(neighbours="replace", size=9): "Rows(neighbours='replace', size=9)",
    dp.person("id", rows=8, groups=3): "Person(id='id', rows=8, groups=3, neighbours='add-remove', size=None)",
}
BUDGET = dp.Budget(epsilon=9, delta=1e-4)


def asked(text: str, *, epsilon: object = 1, unit: Unit | None = None, **columns: Column) -> Plans:
    schema = Schema(columns or COLUMNS, unit or dp.rows())
    return Plans(*price_within(Terms(epsilon), [Select(parse_query(text, schema), schema)], BUDGET))


def test_facts_are_written_out() -> None:
    (plan,) = asked("SELECT city, avg(debt) AS d FROM data WHERE age > 17 GROUP BY city ORDER BY d LIMIT 3").plans
    facts = facts_of(plan)
    assert (
        facts
        == json.loads(json.dumps(facts))
        == {
            "query": "SELECT city, avg(debt) AS d FROM data WHERE (age > 17) GROUP BY city",
            "columns": {
                "age": {"type": "integer", "lower": 0, "upper": 120, "missing": None, "decimal": "."},
                "debt": {"type": "number", "lower": "0", "upper": "10", "step": "1/100", "missing": "0", "decimal": "."},
                "drug": {"type": "category", "values": ["yes", "no"], "missing": None},
                "well": {"type": "boolean", "missing": False},
                "seen": {"type": "date", "lower": "2020-01-01", "upper": "2020-12-31", "missing": None, "format": None},
                "city": {"type": "text", "missing": None, "length": 1000},
            },
            "unit": {"type": "rows", "neighbours": "add-remove", "size": None},
            "public": [],
            "delta": str(Fraction(1, 80_000)),
            "releases": [
                ["keys", "private key selection"],
                ["count(*)", "Gaussian noise"],
                ["sum(debt - 5)", "Gaussian noise"],
            ],
        }
    )


def test_every_declaration_has_facts_and_its_former_text() -> None:
    assert {type(column) for column in COLUMNS.values()} == set(get_args(Column))
    assert {name: declared_text(column) for name, column in COLUMNS.items()} == TEXTS
    assert {unit: declared_text(unit) for unit in UNITS} == UNITS
    assert declared_text(dp.text(length=9, missing="?")) == "Text(missing='?', length=9)"
    assert {*digest._DECLARED} == {*map(type, COLUMNS.values()), *map(type, UNITS)}
    assert declarations(Schema(COLUMNS, dp.rows()))["age"] == "42daf02394dff135"


SAME = "SELECT count(*) AS n FROM data"
OTHERS = [
    asked("SELECT count(*) AS n FROM data WHERE age > 3"),
    asked(SAME, unit=dp.person("id", rows=8, groups=3)),
    asked(SAME, unit=dp.person("id", rows=8, groups=4)),
    asked(SAME, age=dp.integer(0, 120)),
    asked(SAME, **(COLUMNS | {"age": dp.integer(0, 121)})),
    asked(SAME, **(COLUMNS | {"city": dp.text(length=9)})),
    asked("SELECT city, count(*) AS n FROM data GROUP BY city"),
]


def test_what_is_paid_and_what_is_free_make_no_difference() -> None:
    one = asked(SAME)
    for other in (asked(SAME, epsilon=0.1), asked(SAME + " ORDER BY n"), asked(SAME + " HAVING n > 5")):
        assert (other.digest, other.former) == (one.digest, one.former)
    for kind in ("digest", "former"):
        assert len({getattr(other, kind) for other in (one, *OTHERS)}) == 1 + len(OTHERS)


def test_names_and_orders_make_no_difference() -> None:
    one = asked("SELECT drug, well, count(*) AS n, avg(debt) AS d FROM data GROUP BY drug, well")
    for other in (
        "SELECT drug AS a, well AS b, count(*) AS c, avg(debt) AS e FROM data GROUP BY drug, well",
        "SELECT well, drug, avg(debt) AS d, count(*) AS n FROM data GROUP BY well, drug HAVING n > 3 ORDER BY d",
        "SELECT count(*) AS k, avg(debt) AS d, well, drug, count(*) AS twice FROM data GROUP BY drug, well",
    ):
        assert asked(other).digest == one.digest
        assert set(asked(other).former).isdisjoint(one.former)
    for other in (
        "SELECT drug, well, count(*) AS n FROM data GROUP BY drug, well",
        "SELECT drug, well, count(*) AS n, avg(age) AS d FROM data GROUP BY drug, well",
        "SELECT drug, age > 9 AS well, count(*) AS n, avg(debt) AS d FROM data GROUP BY 1, 2",
    ):
        assert asked(other).digest != one.digest
    margins = "SELECT {0}, count(*) AS n FROM data GROUP BY ROLLUP ({0})"
    assert asked(margins.format("drug, well")).digest != asked(margins.format("well, drug")).digest


@pytest.mark.parametrize("world", WORLDS)
def test_stored_ledgers_know_questions_by_their_former_digests(
    world: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    golden = Path(__file__).parents[1] / "golden" / f"{world}.ledger"
    with sqlite3.connect(f"file:{golden}?mode=ro&immutable=1", uri=True) as database:
        kept = set(
            re.findall(r'"plan":"([0-9a-f]{64})"', "".join(text for (text,) in database.execute("SELECT text FROM records")))
        )
    write_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    with open_world(world, tmp_path) as hospital:
        former = {hospital._desk.plan(hospital._asked([text]), Terms(**cost)).former[0] for text, cost in questions(world)}
    assert former <= kept
    assert len(kept - former) == 6  # those that Python built, and a batch
