"""discreet audits itself: every kind of question, under every unit and kind of budget, on extreme neighbours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv
from support.depth import THOROUGH

import discreet as dp
from discreet.auditor import curators
from discreet.auditor.curators import replay_curator
from discreet.auditor.neighbours import Maker, Pair
from discreet.engine.sql.people import PersonStatement
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit

COLUMNS: dict[str, Any] = {
    "x": dp.integer(-300, 300),
    "y": dp.number(0, 10, step=0.5, missing=1),
    "g": dp.category("a", "b", "c"),
    "t": dp.text(),
    "b": dp.boolean(),
    "d": dp.date("2020-01-01", "2020-12-31"),
}
PLACES = pa.table({"g": ["a", "b", "c"], "floor": [1, 2, 2]})
UNITS: dict[str, Unit] = {
    "rows": dp.rows(),
    "rows replaced": dp.rows(neighbours="replace", size=7),
    "persons": dp.person("id", rows=2, groups=2),
    "persons replaced": dp.person("id", rows=2, groups=2, neighbours="replace"),
}
BUDGETS: dict[str, Any] = {"pure": dp.Budget(epsilon=8), "approximate": dp.Budget(epsilon=8, delta=1e-6)}

GROUPED = (
    "SELECT g, b, count(*) AS n, count(x) AS c, sum(x) AS s, avg(y) AS m, var_pop(y) AS v, median(x) AS q, mode(x // 200) AS o "
    "FROM data GROUP BY g, b"
)
WHOLE = (
    "SELECT count(*) AS n, sum(y) AS s, stddev_pop(x) AS v, quantile(y, 0.9) AS q, mode(g) AS o, "
    "sum(CASE WHEN b THEN abs(x) * 2 ELSE NULL END) AS e, count(DISTINCT g) AS k FROM data WHERE d >= '2020-06-01' OR t LIKE 'O%'"
)
WITHIN = (
    "WITH near AS (SELECT data.*, p.floor AS f, again.floor AS above FROM data JOIN places p USING (g) "
    "LEFT JOIN places again ON CASE WHEN p.floor > 1 THEN 'a' ELSE 'b' END = again.g) "
    "SELECT f, count_if(above > 1) AS n, sum(x) AS s FROM (SELECT * FROM near WHERE y < 400) GROUP BY ALL"
)
JOINED = (
    "SELECT places.floor AS floor, count(*) AS n, sum(CASE WHEN data.g = 'a' THEN 2 ELSE -1 END) AS s "
    "FROM data JOIN places ON data.g = places.g GROUP BY floor"
)
FUNCTIONS = (
    "SELECT date_trunc('quarter', d) AS q, count(*) AS n, sum(ln(y + 1)) AS l, avg(round(x / 7, 1)) AS r, "
    "sum(power(x, 2)) AS p, sum(least(greatest(TRY_CAST(regexp_extract(t, '[0-9]+') AS DOUBLE), 0), 9)) AS t, "
    "median(width_bucket(x, -300, 300, 6)) AS b "
    "FROM data WHERE d + INTERVAL 1 MONTH > '2020-02-15' AND t !~ '^x+$' GROUP BY q"
)
TOTALS = (
    "SELECT g, b, 100.0 * count(*) / sum(count(*)) OVER () AS share, "
    "sum(abs(x)) / sum(sum(abs(x))) OVER (PARTITION BY g) AS part FROM data GROUP BY g, b"
)
PERSONS = "SELECT g, count(DISTINCT id) AS p FROM data GROUP BY g"
OPEN = "SELECT t, count(*) AS n, median(y) AS q FROM data GROUP BY t"


quick = pytest.mark.usefixtures("replayed")


def stored(monkeypatch: pytest.MonkeyPatch, storage: Any, every: int = 3) -> None:
    """Only pairs with these types of columns, to save time; and usually every third one, others under the other kind of
    neighbours. That of all strange rows of a person is among those of whoever comes or goes."""

    def some(schema: Schema) -> list[Pair]:
        pairs = list(Maker(schema, storage).pairs())
        first = isinstance(schema.unit, Person) != (schema.unit.neighbours == "replace")
        return pairs if THOROUGH else pairs[first::every] or pairs

    monkeypatch.setattr(curators, "extreme_pairs", some)


def maker(unit: Unit, budget: Any, **more: Any) -> Callable[[pa.Table, Path], dp.Curator]:
    def make(table: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(
            table,
            unit=unit,
            columns={name: COLUMNS[name] for name in table.column_names if name in COLUMNS},
            budget=budget,
            ledger=ledger,
            **more,
        )

    return make


def ask(curator: dp.Curator, *more: str) -> object:
    """Several payments from one ledger; the answers, and what is left, must not differ."""
    best = curator.choose([-300, 0, 300], score="CASE WHEN x > candidate THEN x ELSE 0 END").release(epsilon=1)
    return [*curator.batch([GROUPED, WHOLE, JOINED, WITHIN, *more], epsilon=4), best, str(curator.budget.remaining)]


@pytest.mark.parametrize(
    ("unit", "budget"),
    [("rows", "pure"), ("rows replaced", "approximate"), ("persons", "approximate"), ("persons replaced", "pure")],
)
@quick
def test_no_extreme_pair_refutes_discreet(unit: str, budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if unit.startswith("rows"):  # for other types of columns see below
        stored(monkeypatch, "declared")
    make = maker(UNITS[unit], BUDGETS[budget], public={"places": PLACES})
    more = [] if unit.startswith("rows") else [PERSONS]
    found = replay_curator(make, lambda curator: ask(curator, *more), Schema(COLUMNS, UNITS[unit]))
    assert not found.violated, str(found)
    assert found.releases >= (18 + len(more)) * found.pairs


@pytest.mark.parametrize(("unit", "budget"), [("persons", "pure"), ("persons replaced", "approximate")])
@quick
def test_the_other_norms(unit: str, budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is bounded by its L1 norm above, by its L2 norm here, and the other way round."""
    stored(monkeypatch, "declared")
    found = replay_curator(
        maker(UNITS[unit], BUDGETS[budget]),
        lambda curator: curator.batch([GROUPED, PERSONS], epsilon=4),
        Schema(COLUMNS, UNITS[unit]),
    )
    assert not found.violated, str(found)
    assert found.releases >= 7 * found.pairs


@pytest.mark.parametrize("unit", ["rows replaced", "persons"])
@quick
def test_functions_of_rows(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, "declared")
    schema = Schema({name: COLUMNS[name] for name in ("x", "y", "t", "d")}, UNITS[unit])
    found = replay_curator(maker(schema.unit, BUDGETS["pure"]), FUNCTIONS, schema, epsilon=4)
    assert not found.violated, str(found)
    assert found.releases >= 6 * found.pairs


@pytest.mark.parametrize("unit", ["rows replaced", "persons"])
@quick
def test_shares_of_totals(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, "declared")
    schema = Schema({name: COLUMNS[name] for name in ("x", "g", "b")}, UNITS[unit])
    found = replay_curator(maker(schema.unit, BUDGETS["approximate"]), TOTALS, schema, epsilon=4)
    assert not found.violated, str(found)
    assert found.releases >= 2 * found.pairs


@pytest.mark.parametrize("unit", ["rows", "persons"])
@quick
def test_open_keys(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, "declared")
    schema = Schema({"t": dp.text(), "y": COLUMNS["y"]}, UNITS[unit])
    both = (OPEN, "SELECT DISTINCT t FROM data")
    found = replay_curator(
        maker(schema.unit, BUDGETS["approximate"]), lambda curator: [curator.sql(text, epsilon=1) for text in both], schema
    )
    assert not found.violated, str(found)
    assert found.releases >= 2 * found.pairs


PEOPLE = [
    "SELECT k, count(*) AS c, count(m) AS p, sum(s) AS s, avg(a) AS a, median(m) AS q, mode(n) AS o FROM (SELECT id, "
    "any_value(g) AS k, count(*) AS n, sum(x) AS s, avg(y) AS a, max(x) AS m FROM data GROUP BY id) u GROUP BY k",
    "WITH u AS (SELECT id, count(*) AS n, min(d) AS first, bool_or(b) AS b, count(DISTINCT t) AS t FROM data JOIN places ON "
    "data.g = places.g WHERE y > 0 GROUP BY id HAVING sum(places.floor) > 1) SELECT n, count(*) AS c, sum(t) AS t FROM u "
    "WHERE b OR first > '2020-02-01' GROUP BY n",
]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("unit", ["persons", "persons replaced"])
@quick
def test_one_row_a_person(unit: str, budget: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, "declared" if budget == "pure" else "text")
    make = maker(UNITS[unit], BUDGETS[budget], public={"places": PLACES})
    found = replay_curator(make, lambda curator: curator.batch(PEOPLE, epsilon=4), Schema(COLUMNS, UNITS[unit]))
    assert not found.violated, str(found)
    assert found.releases >= 9 * found.pairs


@pytest.mark.parametrize(
    "broken",
    [
        lambda _, __, total: f"CAST(least({total}, {2**62}) AS BIGINT)",
        lambda _, __, total: f"CAST(least(greatest({total}, -300), 300) + 300 * count(*) OVER () AS BIGINT)",
    ],
    ids=["unbounded", "of others"],
)
@quick
def test_persons_that_are_not_bounded_are_caught(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its clamping, or where what is made of one person depends on how many others there are, the same replay objects."""
    stored(monkeypatch, "declared")
    monkeypatch.setattr(PersonStatement, "_clamped", broken)
    question = "SELECT sum(s) AS s FROM (SELECT id, sum(x) AS s FROM data GROUP BY id) u"
    schema = Schema({"x": COLUMNS["x"]}, UNITS["persons"])
    found = replay_curator(maker(schema.unit, BUDGETS["pure"]), question, schema, epsilon=1)
    assert found.witness is not None
    assert found.witness.replay.differences[0].kind == "moved"


def in_arrow(table: pa.Table, _: Path) -> object:
    return table


def in_pandas(table: pa.Table, _: Path) -> object:
    """Where one missing cell turns whole numbers into doubles."""
    return table.to_pandas()


def in_csv(table: pa.Table, folder: Path) -> object:
    """Where everything is text, on lines."""
    csv.write_csv(table, folder / "data.csv")
    return folder / "data.csv"


@pytest.mark.parametrize(("written", "storage"), [(in_arrow, "doubles"), (in_pandas, "declared"), (in_csv, "text")])
def test_other_sources(written: Any, storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(monkeypatch, storage)
    schema = Schema({name: COLUMNS[name] for name in ("x", "g", "d")}, dp.rows())

    def make(table: pa.Table, ledger: Path) -> dp.Curator:
        source = written(table, ledger.parent)
        return dp.Curator(source, unit=schema.unit, columns=schema.columns, budget=BUDGETS["pure"], ledger=ledger)

    found = replay_curator(
        make, "SELECT g, count(*) AS n, sum(x) AS s FROM data WHERE d > '2020-02-01' GROUP BY g", schema, epsilon=1
    )
    assert not found.violated, str(found)
    assert found.releases == 2 * found.pairs


@pytest.mark.parametrize(("unit", "storage"), [("rows", "text"), ("persons", "declared")])
@quick
def test_the_shares_that_a_check_buys(unit: str, storage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row is in at most one state of each column, and every state's count pays for itself."""
    stored(monkeypatch, storage)
    schema = Schema({name: COLUMNS[name] for name in ("x", "g")}, UNITS[unit])
    found = replay_curator(maker(schema.unit, BUDGETS["pure"]), lambda curator: curator.check(epsilon=1), schema)
    assert not found.violated, str(found)
    assert found.releases == 6 * found.pairs
