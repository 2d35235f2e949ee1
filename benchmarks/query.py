"""The curator against plain SQL, hand-written bounding SQL and OpenDP on Polars: one run, one table of ratios.

10 million rows of 1 million persons in 100 groups, as Parquet. Every measurement is a process of its own, which warms up once and
takes the minimum of several repeats; every repeat of ours is asked for a little more than the one before, so no stored answer
helps, and it includes parsing, pricing, two durable ledger entries and noise. The targets at the end are checked: exit code 1 if
one is missed. ``python benchmarks/query.py --large`` also grows the table to 100 million rows under a memory limit of 1 GB.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

FOLDER = Path(tempfile.gettempdir()) / "discreet-benchmark"
PERSONS, GROUPS = 1_000_000, 100
EPSILON, DELTA, MOST_ROWS, MOST_GROUPS = 1.0, 1e-6, 5, 3
Result = dict[str, float]


def data(millions: int) -> str:
    """A table with skewed persons and groups; made by DuckDB once."""
    import duckdb

    file = FOLDER / f"{millions}m.parquet"
    FOLDER.mkdir(exist_ok=True)
    if not file.exists():
        part = file.with_suffix(".part")
        duckdb.execute(
            f"COPY (SELECT CAST({PERSONS} * power(random(), 2) AS BIGINT) AS person, CAST(floor({GROUPS} * power(random(), 1.5)) "
            f"AS INTEGER) AS grp, 100 * random() AS value FROM range({millions * 1_000_000})) TO '{part}' (FORMAT parquet)"
        )
        part.rename(file)
    return str(file)


def measured(call: Callable[[int], object], repeats: int) -> Result:
    call(-1)
    wall, cpu = [], []
    for i in range(repeats):
        start, used = time.perf_counter(), time.process_time()
        call(i)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": min(wall), "cpu": min(cpu), "peak": peak}


def plain(sql: str, file: str) -> Callable[[int], object]:
    import duckdb

    database = duckdb.connect()
    return lambda _: database.execute(sql.format(file=file)).fetchall()


def ours(sql: str, file: object, *, persons: bool, memory: str | None = None) -> Callable[[int], object]:
    import discreet as dp

    folder = tempfile.mkdtemp()
    os.environ["XDG_STATE_HOME"] = folder
    curator = dp.Curator(
        file,
        unit=dp.person("person", rows=MOST_ROWS, groups=MOST_GROUPS) if persons else dp.rows(),
        columns={"grp": dp.integer(0, GROUPS - 1, missing=0), "value": dp.number(0, 100, step=0.01, missing=0)},
        budget=dp.Budget(epsilon=1000, delta=DELTA),
        ledger=f"{folder}/bench.ledger",
        memory=memory,
    )
    return lambda i: curator.sql(sql, epsilon=EPSILON + (i + 1) / 2**20)


BOUNDED = """
    WITH cells AS (
        SELECT person, grp, least(count(*), 5) AS c,
            sum(CASE WHEN value < 0 THEN 0 WHEN value > 100 THEN 10000 ELSE CAST(floor(value * 100 + 0.5) AS BIGINT) END) AS s
        FROM '{file}' GROUP BY person, grp),
    norms AS (SELECT person, sqrt(75.0 / sum(c * c)) AS f FROM cells GROUP BY person)
    SELECT grp, sum(CAST(trunc(c * least(f, 1) * 65536) AS BIGINT)), sum(CAST(trunc(s * least(f, 1)) AS BIGINT))
    FROM cells JOIN norms USING (person) GROUP BY grp
"""


def pair(millions: int) -> dict[str, str]:
    """Two tables about the same persons: one row each in the first, and in the second as many as they happen to have."""
    import duckdb

    FOLDER.mkdir(exist_ok=True)
    rows = millions * 1_000_000
    made = {
        "people": f"range AS person, CAST(hash(range) % {GROUPS} AS INTEGER) AS grp FROM range({rows})",
        "visits": f"CAST({rows} * power(random(), 2) AS BIGINT) AS person, 100 * random() AS value FROM range({rows})",
    }
    files = {name: FOLDER / f"{name}-{millions}m.parquet" for name in made}
    for name, file in files.items():
        if not file.exists():
            part = file.with_suffix(".part")
            duckdb.execute(f"COPY (SELECT {made[name]}) TO '{part}' (FORMAT parquet)")
            part.rename(file)
    return {name: str(file) for name, file in files.items()}


def plain_pair(millions: int) -> Callable[[int], object]:
    import duckdb

    database, text = duckdb.connect(), JOINED.format(**pair(millions))
    return lambda _: database.execute(text).fetchall()


def our_pair(millions: int) -> Callable[[int], object]:
    import discreet as dp

    folder = tempfile.mkdtemp()
    os.environ["XDG_STATE_HOME"] = folder
    curator = dp.Curator(
        pair(millions),
        unit=dp.person("person", rows=MOST_ROWS, groups=MOST_GROUPS),
        columns={
            "people": {"grp": dp.integer(0, GROUPS - 1, missing=0)},
            "visits": {"value": dp.number(0, 100, step=0.01, missing=0)},
        },
        budget=dp.Budget(epsilon=1000, delta=DELTA),
        ledger=f"{folder}/bench.ledger",
    )
    text = "SELECT grp, count(*) AS n, sum(value) AS s FROM people JOIN visits USING (person) GROUP BY grp"
    return lambda i: curator.sql(text, epsilon=EPSILON + (i + 1) / 2**20)


# Of each person at most 15 rows a table, before the join, and bounded again after it.
JOINED = """
    WITH mine AS (SELECT person, grp FROM '{people}' WHERE person IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY person ORDER BY hash(person, grp, 'salt')) <= 15),
    theirs AS (SELECT person, value FROM '{visits}' WHERE person IS NOT NULL
        QUALIFY row_number() OVER (PARTITION BY person ORDER BY hash(person, value, 'salt')) <= 15),
    cells AS (
        SELECT person, grp, least(count(*), 5) AS c,
            sum(CASE WHEN value < 0 THEN 0 WHEN value > 100 THEN 10000 ELSE CAST(floor(value * 100 + 0.5) AS BIGINT) END) AS s
        FROM mine JOIN theirs USING (person) GROUP BY person, grp),
    norms AS (SELECT person, sqrt(75.0 / sum(c * c)) AS f FROM cells GROUP BY person)
    SELECT grp, sum(CAST(trunc(c * least(f, 1) * 65536) AS BIGINT)), sum(CAST(trunc(s * least(f, 1)) AS BIGINT))
    FROM cells JOIN norms USING (person) GROUP BY grp
"""


def opendp_query(file: str | None, *, persons: bool) -> Callable[[int], object]:
    import opendp.prelude as odp
    import polars as pl

    odp.enable_features("contrib")
    few = pl.LazyFrame({"grp": [1, 2, 3], "value": [1.0, 2.0, 3.0]}, schema={"grp": pl.Int32, "value": pl.Float64})
    frame = few if file is None else pl.scan_parquet(file)
    value = pl.col("value").fill_null(0.0).fill_nan(0.0)
    unit = odp.unit_of(contributions=1, identifier=pl.col("person")) if persons else odp.unit_of(contributions=1)
    margins = [
        odp.polars.Margin(max_length=20_000_000, max_groups=GROUPS),
        odp.polars.Margin(by=["grp"], invariant="keys", max_length=20_000_000, max_groups=GROUPS),
    ]

    def ask(_: int) -> object:
        context = odp.Context.compositor(
            data=frame, privacy_unit=unit, privacy_loss=odp.loss_of(epsilon=EPSILON), split_evenly_over=1, margins=margins
        )
        query = context.query()
        if persons:  # k keeps k - 1 groups in this version, and the default keep="sample" raises
            query = query.truncate_per_group(MOST_ROWS, by=["grp"]).truncate_num_groups(MOST_GROUPS + 1, by=["grp"], keep="first")
        query = query.group_by("grp").agg(odp.len(), value.dp.sum((0.0, 100.0)))
        if persons:
            query = query.with_keys(pl.LazyFrame({"grp": pl.Series(range(GROUPS), dtype=pl.Int32)}))
        return query.release().collect()

    return ask


def known_again(file: str) -> Callable[[int], object]:
    """The scan by which rows are known again in other forms: once for new contents, before the first question is paid for."""
    from discreet.engine import open_engine, open_source
    from discreet.schema.columns import integer, number
    from discreet.schema.table import Schema
    from discreet.schema.units import Person

    columns = {"grp": integer(0, GROUPS - 1, missing=0), "value": number(0, 100, step=0.01, missing=0)}
    schema = Schema(columns, Person("person", MOST_ROWS, MOST_GROUPS))
    engine = open_engine(open_source(file, columns=["grp", "value", "person"]), schema, {})
    return lambda i: engine.identify(schema, bytes([i + 1]) * 32)


def few(sql: str) -> Callable[[int], object]:
    """Questions on three rows that differ by a number, to a curator that is open."""
    import discreet as dp

    folder = tempfile.mkdtemp()
    os.environ["XDG_STATE_HOME"] = folder
    columns = {"grp": dp.category(1, 2, 3), "value": dp.number(0, 100, step=0.01)}
    budget = dp.Budget(epsilon=1000)
    curator = dp.Curator(tiny(), unit=dp.rows(), columns=columns, budget=budget, ledger=f"{folder}/bench.ledger")
    return lambda i: curator.sql(sql.format(number=i + 2), epsilon=0.01)


def tiny() -> object:
    import pyarrow

    return pyarrow.table({"person": [1, 2, 3], "grp": [1, 2, 3], "value": [1.0, 2.0, 3.0]})


SUMS = "SELECT grp, count(*) AS n, sum(value) AS s FROM data GROUP BY grp"
MEANS = "SELECT grp, count(*) AS n, sum(value) AS s, avg(value) AS a FROM data GROUP BY grp"
MEDIANS = "SELECT grp, median(value) AS m FROM data GROUP BY grp"

COUNT_OF_FEW, MEANS_OF_FEW = "3 rows: a count", "3 rows: counts and means by key"
CASES: dict[str, tuple[Callable[[], Callable[[int], object]], int]] = {
    "rows: plain DuckDB": (lambda: plain("SELECT grp, count(*), sum(value) FROM '{file}' GROUP BY grp", data(10)), 15),
    "rows: discreet": (lambda: ours(SUMS, data(10), persons=False), 15),
    "rows: OpenDP": (lambda: opendp_query(data(10), persons=False), 1),
    "persons: hand-written SQL": (lambda: plain(BOUNDED, data(10)), 3),
    "persons: discreet": (lambda: ours(MEANS, data(10), persons=True), 3),
    "persons: OpenDP": (lambda: opendp_query(data(10), persons=True), 1),
    "medians: plain DuckDB": (lambda: plain("SELECT grp, quantile_cont(value, 0.5) FROM '{file}' GROUP BY grp", data(10)), 5),
    "medians: discreet": (lambda: ours(MEDIANS, data(10), persons=False), 5),
    "rows: known again": (lambda: known_again(data(10)), 3),
    "joined: hand-written SQL": (lambda: plain_pair(5), 3),
    "joined: discreet": (lambda: our_pair(5), 3),
    "3 rows: discreet": (lambda: ours(SUMS, tiny(), persons=False), 10),
    COUNT_OF_FEW: (lambda: few("SELECT count(*) AS n FROM data WHERE value <> {number}"), 50),
    MEANS_OF_FEW: (lambda: few("SELECT grp, count(*) AS n, avg(value) AS a FROM data WHERE value <> {number} GROUP BY grp"), 50),
    "3 rows: OpenDP": (lambda: opendp_query(None, persons=False), 2),
}
JOINED_BY_HAND = "joined: hand-written SQL"
LARGE = {
    f"{what}, {millions}M rows, 1 GB": (
        lambda millions=millions, persons=persons: ours(SUMS, data(millions), persons=persons, memory="1GB"),
        1,
    )
    for what, persons in (("rows", False), ("persons", True))
    for millions in (10, 100)
}


def run(name: str) -> Result:
    done = subprocess.run([sys.executable, __file__, "--case", name], stdout=subprocess.PIPE, text=True, check=True)
    found: Result = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    if sys.argv[1:2] == ["--case"]:
        make, repeats = {**CASES, **LARGE}[sys.argv[2]]
        print(json.dumps(measured(make(), repeats)))
        return
    cases = CASES | (LARGE if "--large" in sys.argv else {})
    found = {}
    table = Table(title="10M rows, 1M persons, 100 groups")
    for column in ("case", "wall s", "CPU s", "peak MB"):
        table.add_column(column, justify="left" if column == "case" else "right")
    for name in cases:
        found[name] = run(name)
        table.add_row(name, f"{found[name]['wall']:.3f}", f"{found[name]['cpu']:.2f}", f"{found[name]['peak']:,.0f}")
    console = Console()
    console.print(table)

    def ratio(one: str, other: str, of: str = "wall") -> float:
        return found[one][of] / found[other][of]

    targets = [
        ("rows: against plain SQL", ratio("rows: discreet", "rows: plain DuckDB"), 1.3),
        ("persons: against hand-written SQL", ratio("persons: discreet", "persons: hand-written SQL"), 1.2),
        ("joined: two private tables of 5M rows against hand-written SQL", ratio("joined: discreet", JOINED_BY_HAND), 1.3),
        ("persons: against OpenDP", ratio("persons: discreet", "persons: OpenDP"), 1 / 6),
        ("persons: memory against OpenDP", ratio("persons: discreet", "persons: OpenDP", "peak"), 1 / 3),
        ("medians: against quantile_cont", ratio("medians: discreet", "medians: plain DuckDB"), 3.0),
        *((f"{name}, seconds, {of}", found[name][of], 0.01) for name in (COUNT_OF_FEW, MEANS_OF_FEW) for of in ("cpu", "wall")),
    ]
    if "--large" in sys.argv:
        for what in ("rows", "persons"):
            small, large = (found[f"{what}, {millions}M rows, 1 GB"]["peak"] for millions in (10, 100))
            targets.append((f"{what}: memory of 100M rows against 10M", large / small, 1.5))
    missed = 0
    for name, value, most in targets:
        missed += value > most
        console.print(f"{'ok    ' if value <= most else 'MISSED'} {name}: {value:.3f} (at most {most:.3f})", highlight=False)
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
