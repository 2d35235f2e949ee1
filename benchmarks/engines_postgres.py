"""PostgreSQL: what ``benchmarks.engines`` needs to know of it; and by itself, the statements of a curator against hand-written
SQL of the same bounding, with its integers against DuckDB's.

A server is started in a folder of its own, with no other work on it. Time is what its processes worked, without parallel workers.
The hand-written query clamps, rounds and bounds as ours does, with doubles where ours has integers; what it does not do is guard
a cell that would raise an error. Ours and the plain one take turns, of several turns the least counts, and targets are checked:
exit code 1 if one is missed.

    python -m benchmarks.engines_postgres [MILLIONS]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import psycopg
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from engine.driving import PURE, RHO, planned
from support.postgres import server

from discreet.engine import open_engine, open_source
from discreet.engine.base import Engine, groups_of
from discreet.mechanisms.secret import open_secret
from discreet.plan.plan import Plan
from discreet.schema.columns import category, number
from discreet.schema.units import person, rows

__all__ = ["EVERY", "GROWTH", "RATIOS", "close", "make", "peak", "plain", "source", "used"]

RATIOS = (1_000_000,)
GROWTH = (10**5, 10**6, 10**7)
EVERY = 2
_TYPES = {
    "INTEGER": "INTEGER",
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE PRECISION",
    "VARCHAR": "TEXT",
    "DATE": "DATE",
    "BOOLEAN": "BOOLEAN",
}
_folders: list[Path] = []  # of the server that is asked


def make(columns: str, size: int, folder: Path) -> str:
    """A table on a server that lives as long as this process; the address says all."""
    query, file = f"SELECT {columns} FROM range({size})", folder / "data.csv"
    with duckdb.connect() as database:
        database.execute("SET enable_progress_bar = false")
        kinds = {row[0]: _TYPES[row[1]] for row in database.execute(f"DESCRIBE {query}").fetchall()}
        database.execute(f"COPY ({query}) TO '{file}' (FORMAT csv, HEADER false)")
    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public.data")
        connection.execute(f"CREATE TABLE public.data ({', '.join(f'{name} {kind}' for name, kind in kinds.items())})".encode())
        with connection.cursor() as cursor, cursor.copy("COPY data FROM STDIN (FORMAT csv)") as copy, file.open("rb") as opened:
            while piece := opened.read(2**20):
                copy.write(piece)
        connection.execute("VACUUM ANALYZE data")
    file.unlink()
    return source(f"{server().url()}&options=-c%20max_parallel_workers_per_gather%3D0")


def source(made: str) -> str:
    _folders[:] = [Path(made.partition("host=")[2].partition("&")[0])]
    return made if "table=" in made else f"{made}&table=data"


def plain(made: str, sql: str) -> Callable[[], object]:
    connection = psycopg.connect(source(made).replace("&table=data", ""), autocommit=True, prepare_threshold=None)
    connection.execute("SET work_mem = '64MB'")
    connection.execute("SET jit = off")
    return lambda: connection.execute(sql.encode()).fetchall()


def used() -> float:
    """What this process and those of the server worked, also those that have ended."""
    parts = [_stat(process) for process in _processes()]
    ticks = sum(int(one[11]) + int(one[12]) for one in parts) + sum(int(one[13]) + int(one[14]) for one in parts[:1])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def peak() -> float:
    """The most that one process of the server held, with what all of them share."""
    lines = [line for process in _processes() for line in Path(f"/proc/{process}/status").read_text().splitlines()]
    return max(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def close(made: str) -> None:
    with psycopg.connect(source(made).replace("&table=data", ""), autocommit=True) as connection:
        connection.execute("DROP TABLE public.data")


def _processes() -> list[int]:
    """The server's own process, and those that it started."""
    first = int((_folders[0] / "data" / "postmaster.pid").read_text().split()[0])
    numbers = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [first, *(one for one in numbers if (found := _stat(one)) and int(found[1]) == first)]


def _stat(process: int) -> list[str]:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return []


MOST = 1.2
COLUMNS = {"grp": category(*(f"g{i}" for i in range(100))), "value": number(0, 100, step=0.01)}
QUESTION = "SELECT grp, count(*) AS n, sum(value) AS s FROM data GROUP BY grp"
PERSONS = "SELECT grp, count(DISTINCT person) AS n FROM data GROUP BY grp"
UNIT = person("person", rows=5, groups=3)
_VALUE = "CAST(floor(least(greatest(value, 0), 100) * 100 + 0.5) AS BIGINT)"
_CELLS = f"SELECT person, grp, count(*) AS c, sum({_VALUE}) AS s FROM data GROUP BY person, grp"
_SIZE = "sum(least(c, 5) * least(c, 5))"
PLAIN = {
    "rows": f"SELECT grp, count(*), sum({_VALUE}) FROM data GROUP BY grp",
    "persons, sums": f"WITH cells AS ({_CELLS}), heavy AS (SELECT person, sqrt(75 / CAST({_SIZE} AS DOUBLE PRECISION)) AS f "
    f"FROM cells GROUP BY person HAVING {_SIZE} > 75) SELECT grp, sum(least(c, 5) * coalesce(f, 1)), "
    "sum(s * least(1, 5e0 / c) * coalesce(f, 1)) FROM cells LEFT JOIN heavy USING (person) GROUP BY grp",
    "persons, presence": "WITH cells AS (SELECT DISTINCT person, grp FROM data), ranked AS (SELECT *, row_number() OVER "
    "(PARTITION BY person ORDER BY md5('salt/' || person || '/' || grp)) AS r FROM cells) "
    "SELECT grp, count(*) FROM ranked WHERE r <= 3 GROUP BY grp",
}
PLANS: dict[str, Plan] = {
    "rows": planned(QUESTION, COLUMNS, rows(), PURE),
    "persons, sums": planned(QUESTION, COLUMNS, UNIT, RHO),
    "persons, presence": planned(PERSONS, COLUMNS, UNIT, RHO),
}


def columns_of(millions: float) -> str:
    """Skewed persons and groups, and doubles; the same rows every time."""
    draws = [f"((hash(range + {seed}) % 1000003) / 1000003.0)" for seed in range(3)]
    return (
        f"CAST(floor({100_000 * millions} * power({draws[0]}, 2)) AS BIGINT) AS person, "
        f"'g' || CAST(floor(100 * power({draws[1]}, 1.5)) AS INTEGER) AS grp, 100 * {draws[2]} AS value"
    )


def counted(engine: Engine, plan: Plan) -> list[list[int]]:
    """The integers of a plan."""
    found = engine.count(plan, groups_of(plan), "salt")
    return [[int(number) for number in open_secret(secret).ravel()] for secret in found.values()]  # type: ignore[union-attr]


def main(millions: float) -> int:
    frame = duckdb.sql(f"SELECT {columns_of(millions)} FROM range({int(millions * 10**6)})").to_arrow_table()
    with tempfile.TemporaryDirectory() as folder:
        made = make(columns_of(millions), int(millions * 10**6), Path(folder))
    shown = Table("PostgreSQL", "plain, CPU s", "ours, CPU s", "ratio", "integers", title=f"{millions:g} million rows")
    missed = []
    for name, plan in PLANS.items():
        asked = [*COLUMNS, "person"] if name != "rows" else [*COLUMNS]
        ours = open_engine(open_source(made, columns=asked), plan.private, {})
        here = open_engine(open_source(frame, columns=asked), plan.private, {})
        same = counted(ours, plan) == counted(here, plan)
        calls = [plain(made, PLAIN[name]), lambda ours=ours, plan=plan: ours.count(plan, groups_of(plan), "salt")]  # type: ignore[misc]
        best = [float("inf")] * 2
        for _ in range(3):
            for j, call in enumerate(calls):
                before = used()
                call()
                best[j] = min(best[j], used() - before)
        ratio = best[1] / best[0]
        missed += [name] if ratio > MOST or not same else []
        shown.add_row(name, f"{best[0]:.2f}", f"{best[1]:.2f}", f"{ratio:.2f}", "the same" if same else "OTHERS")
    Console().print(shown)
    print(f"at most {MOST} times the plain query, with DuckDB's integers: {'held' if not missed else f'missed by {missed}'}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
