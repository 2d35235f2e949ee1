"""Engines: what privacy costs beside the plain query of the same engine, and how that grows with rows, groups and persons.

    python -m benchmarks.engines [ENGINE ...]            ratios, a line a case: every type of keys, with and without WHERE
    python -m benchmarks.engines --growth [ENGINE ...] [rows] [groups] [persons]   time and memory against these, or against all
    python -m benchmarks.engines --draw                  docs/pictures/growth-ENGINE.svg, from what --growth measured last
    python -m benchmarks.engines --forecast              what a cluster would send, hold and work, computed from the plan

An engine is a module with the names of ``Bench`` and a line in ``ENGINES``: it makes a table, runs plain SQL on it, says what the
curator opens, and how much work and memory that took wherever it was done. Tables are made of formulas, are the same on all of
them, and are deleted afterwards. Plain and private questions take turns in one process, of several turns the least counts, in
processor time and by the clock. Every question is a new one, so that no stored answer helps: parsing, pricing, two durable
entries in the ledger and noise are included.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Protocol

ENGINES = {
    "duckdb": "benchmarks.engines_duckdb",
    "arrow": "benchmarks.engines_arrow",
    "postgres": "benchmarks.engines_postgres",
    "spark": "benchmarks.engines_spark",
}
HERE = Path(__file__).parent
MEASURED = HERE.parent / "docs" / "pictures" / "growth.json"
GROUPS, FIRST_DAY = 100, date(2024, 1, 1)
MOST = {"v": 1.5, "w": 1.25}  # times the plain query, at most: sums of doubles, and of whole numbers
ROWS, PERSONS = 5, 3  # rows in a group, and groups, that count of a person
TURNS = 7
SETTLED = 3  # seconds: files that were written just now are looked at anew by every question
GROWS = ("rows", "groups", "persons")


class Bench(Protocol):
    """An engine, as a module."""

    RATIOS: Sequence[int]  # numbers of rows for the table of ratios
    GROWTH: Sequence[int]  # and for growth

    def make(self, columns: str, rows: int, folder: Path) -> object:
        """A table of so many rows; ``columns`` is SQL of DuckDB over ``range``, the number of a row."""

    def source(self, made: object) -> object:
        """What a curator opens."""

    def plain(self, made: object, sql: str) -> Callable[[], object]:
        """What runs a query of the engine's own, in which ``data`` is the table."""

    def used(self) -> float:
        """Seconds that processors worked for us so far."""

    def peak(self) -> float:
        """Megabytes that were held at most."""

    def close(self, made: object) -> None:
        """Leave nothing behind."""


def columns_of(groups: int, persons: int, *, every: bool) -> str:
    """SQL of the columns: a key, a double and who it is; or, beside them, keys of ``every`` type, a whole number and an age."""

    def skewed(seed: int, most: int, power: float) -> str:
        return f"CAST(floor({most} * power((hash(range + {seed}) % {2**53}) / {2**53}.0, {power})) AS INTEGER)"

    key = skewed(0, groups, 1.5)
    few = f"{key} AS whole, (hash(range + 1) % 1000000) / 10000.0 AS v, CAST({skewed(4, persons, 2.0)} AS BIGINT) AS person"
    return (
        few
        if not every
        else (
            f"{few}, 'group ' || {key} AS text, {key} AS listed, DATE '{FIRST_DAY}' + {key} AS day, {key} % 3 = 0 AS truth, "
            f"CAST(hash(range + 2) % 1000 AS BIGINT) AS w, CAST(hash(range + 3) % 100 AS INTEGER) AS age"
        )
    )


def curator(source: object, groups: int, *, persons: bool, every: bool, folder: Path) -> object:
    import discreet as dp

    state = folder / ("persons" if persons else "rows")  # a machine of its own: these are two budgets for the same people
    os.environ.update(XDG_STATE_HOME=str(state), LOCALAPPDATA=str(state))
    others = {
        "text": dp.category(*(f"group {i}" for i in range(GROUPS))),
        "listed": dp.category(*range(GROUPS)),
        "day": dp.date(FIRST_DAY, FIRST_DAY + timedelta(GROUPS - 1)),
        "truth": dp.boolean(),
        "w": dp.integer(0, 1000),
        "age": dp.integer(0, 120),
    }
    return dp.Curator(
        source,
        unit=dp.person("person", rows=ROWS, groups=PERSONS) if persons else dp.rows(),
        columns={"whole": dp.integer(0, max(groups - 1, 1)), "v": dp.number(0, 100, step=0.01), **(others if every else {})},
        budget=dp.Budget(epsilon=10**6, delta=1e-6),
        ledger=folder / f"{'persons' if persons else 'rows'}.ledger",
        version="the first",
    )


def least(bench: Bench, calls: Sequence[Callable[[], object]], turns: int) -> list[tuple[float, float]]:
    """Of every call the least processor time and the least time, in turns, after one that does not count."""
    best = [(float("inf"), float("inf"))] * len(calls)
    for turn in range(turns + (turns > 1)):
        for j, call in enumerate(calls):
            start, used = time.perf_counter(), bench.used()
            call()
            if turn or turns == 1:
                best[j] = min(best[j][0], bench.used() - used), min(best[j][1], time.perf_counter() - start)
    return best


def asking(asked: object, sql: str) -> Callable[[], object]:
    """A question that is paid for whenever it is asked: each time for a little more, so that no stored answer serves."""
    numbers = iter(range(10**9))
    return lambda: asked.sql(sql, epsilon=1 + Fraction(next(numbers), 10**6))  # type: ignore[attr-defined]


def ratios(name: str) -> bool:
    """A table of what row-level counts and sums cost beside the plain query; whether all are below what they may be."""
    bench = load(name)
    print(f"| {name}: rows | key | sum of | WHERE | plain CPU s | wall s | CPU ratio | wall ratio | at most |")
    print("|---|---|---|---|---|---|---|---|---|")
    well = True
    for rows in bench.RATIOS:
        with tempfile.TemporaryDirectory() as folder:
            made = bench.make(columns_of(GROUPS, max(rows // 10, 1), every=True), rows, Path(folder))
            time.sleep(SETTLED)
            opened = curator(bench.source(made), GROUPS, persons=False, every=True, folder=Path(folder))
            first = asking(opened, "SELECT count(*) AS n FROM data")
            for _ in range(TURNS + 1):  # what an epsilon is worth is found out once
                first()
            for key in ("text", "whole", "listed", "day", "truth"):
                for value, most in MOST.items():
                    for where in ("", " WHERE age <= 60"):
                        end = f"sum({value}) AS s FROM data{where} GROUP BY {key}"
                        calls = [
                            bench.plain(made, f"SELECT {key}, count(*) AS n, {end}"),
                            asking(opened, f"SELECT {key}, count(*) AS n, {end}"),
                        ]
                        (cpu, wall), (our_cpu, our_wall) = least(bench, calls, TURNS)
                        well &= our_cpu <= most * cpu and our_wall <= most * wall
                        print(
                            f"| {rows:,} | {key} | {'doubles' if value == 'v' else 'whole numbers'} | {'yes' if where else 'no'} "
                            f"| {cpu:.3f} | {wall:.3f} | {our_cpu / cpu:.2f} | {our_wall / wall:.2f} | {most} |",
                            flush=True,
                        )
            opened.close()  # type: ignore[attr-defined]
            bench.close(made)
    return well


CASES = {
    "plain": ("SELECT whole, count(*) AS n, sum(v) AS s FROM data GROUP BY whole", None),
    "rows": ("SELECT whole, count(*) AS n, sum(v) AS s FROM data GROUP BY whole", False),
    "plain persons": (
        "SELECT whole, count(*) AS n, sum(s) AS s FROM (SELECT person, whole, count(*) AS n, sum(v) AS s FROM data "
        "GROUP BY person, whole) AS cells GROUP BY whole",
        None,
    ),
    "persons": ("SELECT whole, count(*) AS n, sum(v) AS s FROM data GROUP BY whole", True),
}


def sizes(bench: Bench) -> Iterator[tuple[str, int, int, int]]:
    """What grows, and how many rows, groups and persons there are."""
    for rows in bench.GROWTH:
        yield "rows", rows, GROUPS, max(rows // 10, 10)
    every = getattr(bench, "EVERY", 1)  # a power of ten, or the second: some engines take a while to begin
    for exponent in range(0, 7, every):
        yield "groups", 10**6, 10**exponent, 10**5
    for exponent in range(2 + every, 7, every):
        yield "persons", 10**6, GROUPS, 10**exponent


def grow(name: str, against: Sequence[str]) -> list[dict[str, object]]:
    """Time and memory of every case, each in a process of its own, which makes no table but opens one that was made."""
    bench, found = load(name), []
    for what, rows, groups, persons in sizes(bench):
        if what not in against:
            continue
        with tempfile.TemporaryDirectory() as folder:
            made = bench.make(columns_of(groups, persons, every=False), rows, Path(folder))
            for case in CASES:
                if what == "persons" and case in ("plain", "rows"):
                    continue
                job = json.dumps([name, case, groups, str(made), folder])
                command = [sys.executable, "-m", "benchmarks.engines", "--case", job]
                done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent, check=False)
                if done.returncode:
                    print(f"{name}: {what} {rows:,} {groups:,} {persons:,} {case}: {done.stderr.splitlines()[-1:]}", flush=True)
                    continue
                one = {"engine": name, "grows": what, "rows": rows, "groups": groups, "persons": persons, "case": case}
                found.append(one | json.loads(done.stdout.splitlines()[-1]))
                print(json.dumps(found[-1]), flush=True)
            bench.close(made)
    return found


def case(job: str) -> None:
    """One case of growth."""
    name, what, groups, made, folder = json.loads(job)
    bench, (sql, persons) = load(name), CASES[what]
    if persons is None:
        call = bench.plain(made, sql)
    else:
        call = asking(curator(bench.source(made), groups, persons=persons, every=False, folder=Path(folder)), sql)
    (first,) = least(bench, [call], 1)
    again = least(bench, [call], 3 if first[0] < 1 else 1)
    cpu, wall = min(first[0], again[0][0]), min(first[1], again[0][1])
    print(json.dumps({"cpu": round(cpu, 4), "wall": round(wall, 4), "peak": round(bench.peak(), 1)}))


def draw() -> None:
    """Time and memory against rows, groups and persons, of every engine that was measured."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    import discreet as dp
    from discreet.canvas import BLUE, GREEN, GREY, ORANGE, finish

    points = json.loads(MEASURED.read_text())
    looks = {"plain": (GREY, "--"), "rows": (BLUE, "-"), "plain persons": (GREEN, "--"), "persons": (ORANGE, "-")}
    names = {
        "plain": "plain query",
        "rows": "discreet, rows",
        "plain persons": "plain, by person",
        "persons": "discreet, persons",
    }
    for engine in dict.fromkeys(point["engine"] for point in points):
        against = [grows for grows in GROWS if any((p["engine"], p["grows"]) == (engine, grows) for p in points)]
        figure, axes = pyplot.subplots(2, len(against), figsize=(11, 6), layout="constrained", squeeze=False)
        for column, grows in enumerate(against):
            for row, (of, said) in enumerate((("cpu", "processor seconds"), ("peak", "megabytes"))):
                ax = axes[row][column]
                for one, (colour, line) in looks.items():
                    some = [p for p in points if (p["engine"], p["grows"], p["case"]) == (engine, grows, one)]
                    if some:
                        ax.loglog(
                            [p[grows] for p in some], [p[of] for p in some], line, color=colour, marker="o", label=names[one]
                        )
                ax.set(xlabel=grows, ylabel=said)
                finish(ax, f"{said} against {grows}")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False)
        dp.plots.save(axes[0][0], MEASURED.with_name(f"growth-{engine}.svg"))
        pyplot.close(figure)


# Bytes of what the plan sends: a key or id, a number of rows, a sum of 128 bits; a person's group is a number of 32.
READ = 12  # of a row in Parquet: its key, value and person, compressed
LINE, CELL, NORM = 8 + 8 + 16, 8 + 4 + 8 + 16, 8 + 8
SPLIT = 128 * 2**20  # bytes that a task reads, or gets


def forecast(cells: float = 0.89) -> None:
    """Rows, and persons with ten rows each, on a cluster; ``cells`` is how many pairs of person and group there are to a row, as
    in the tables here.

    Rows: each task sends a line for every key that it saw. Persons: a line for every row is sent to where all of its person are,
    or, where a person may have many rows in a group, one for every pair of both, twice and with a norm.
    """
    points = [one for one in json.loads(MEASURED.read_text()) if one["engine"] == "duckdb" and one["grows"] == "rows"]
    work = {one["case"]: one["cpu"] / one["rows"] for one in points}  # of the largest table
    print("| rows | unit | read | tasks | sent | a task gets | tasks that add up | processor hours |")
    print("|---|---|---|---|---|---|---|---|")
    for exponent in range(9, 13):
        rows = 10**exponent
        tasks = -(-rows * READ // SPLIT)
        few, many = rows * CELL, int(rows * cells) * (2 * CELL + NORM)
        for unit, sent in (("rows", tasks * GROUPS * LINE), ("persons", few), ("persons, many rows", many)):
            parts = max(1, -(-sent // SPLIT))
            print(
                f"| 1e{exponent} | {unit} | {size(rows * READ)} | {tasks:,} | {size(sent)} | {size(sent // parts)} | {parts:,} "
                f"| {rows * work[unit.split(',')[0]] / 3600:,.2g} |"
            )


def size(bytes: int) -> str:
    """Bytes as people say them."""
    power = max(p for p in range(5) if bytes >= 1000**p or not p)
    return f"{bytes / 1000**power:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


def load(name: str) -> Bench:
    sys.path.insert(0, str(HERE.parent))  # also where this file is run by its path
    module: Bench = importlib.import_module(ENGINES[name])  # type: ignore[assignment]
    return module


def used_here() -> float:
    """Seconds that this process worked, and those that it started and waited for."""
    return time.process_time()


def peak_here() -> float:
    """Megabytes that this process held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    flags = [word for word in sys.argv[1:] if word.startswith("--")]
    names = [word for word in sys.argv[1:] if not word.startswith("--")]
    if flags == ["--case"]:
        case(names[0])
    elif flags == ["--growth"]:
        chosen = [name for name in names if name in ENGINES] or list(ENGINES)
        against = [name for name in names if name in GROWS] or list(GROWS)
        for name in chosen:
            found = grow(name, against)
            kept = json.loads(MEASURED.read_text()) if MEASURED.exists() else []
            kept = [point for point in kept if point["engine"] != name or point["grows"] not in against] + found
            MEASURED.write_text("[\n" + ",\n".join(json.dumps(point) for point in kept) + "\n]\n")
    elif flags == ["--draw"]:
        draw()
    elif flags == ["--forecast"]:
        forecast()
    elif not flags:
        sys.exit(sum(not ratios(name) for name in names or ["duckdb", "arrow"]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
