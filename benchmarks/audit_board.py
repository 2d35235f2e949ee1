"""The auditor on the peers: the same audits for OpenDP, diffprivlib, PyDP (Google's C++ library) and discreet.

A row is one audit at error probability 0.001, of up to DRAWS draws on each side and 12 seconds (* where time ended it first),
on one pair of inputs that are neighbours for that library: one record more or less, or replaced where the library says so.
"violated" means that the claim is refuted on that pair. "not refuted" is no praise beyond the draws stated, and below FEW draws
nothing is said. A leak that needs about as many draws as there are is found in some runs and not in others.

The last column says what the library's own documents ask of its user: a violation on inputs they exclude, or after a warning,
is the user's to avoid, and is listed because nothing stops it. Questions to discreet's curator take many milliseconds (parsing,
ledger, engine), so they have few draws; they are also replayed exactly, which only discreet's own releases can be. SmartNoise has
a board of its own, audit_board_smartnoise.py: it cannot be installed beside this OpenDP.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet.auditor.replay import replay

SECONDS, DRAWS, ERROR, FEW = 12.0, 10_000, 0.001, 200
NAN, INFINITY = float("nan"), float("inf")
AGES = [31.0, 45.0, 62.0, 18.0, 77.0]
BOUNDS = (0.0, 100.0)
TIED = [40.0] * 8 + [41.0, 90.0]


@dataclass(frozen=True)
class Case:
    library: str
    what: str
    function: Callable[[Any], object]
    a: object
    b: object
    note: str = ""
    claim: dict[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    seconds: float = SECONDS


def diffprivlib_cases() -> list[Case]:
    from diffprivlib import mechanisms, tools

    name, replaced = "diffprivlib", "one record replaced"
    gaussian = mechanisms.GaussianAnalytic(epsilon=1, delta=1e-5, sensitivity=1)
    return [
        Case(name, "Laplace, 0.0 and 1.0", mechanisms.Laplace(epsilon=1, sensitivity=1).randomise, 0.0, 1.0),
        Case(name, "Gaussian, 0.0 and 1.0", gaussian.randomise, 0.0, 1.0, claim={"epsilon": 1, "delta": 1e-5}),
        Case(name, "geometric, 0 and 1", mechanisms.Geometric(epsilon=1, sensitivity=1).randomise, 0, 1),
        Case(name, "mean, bounded", lambda x: tools.mean(x, epsilon=1, bounds=BOUNDS), AGES, [*AGES[:-1], 0.0], replaced),
        Case(name, "mean, no bounds", lambda x: tools.mean(x, epsilon=1), AGES, [*AGES[:-1], 1e6], f"{replaced}; it warns"),
        Case(name, "mean, a NaN record", lambda x: tools.mean(x, epsilon=1, bounds=BOUNDS), AGES, [*AGES[:-1], NAN], replaced),
        Case(
            name,
            "mean, one record or none",
            lambda x: tools.mean(x, epsilon=1, bounds=BOUNDS),
            [31.0],
            [],
            "outside its claim: the size is public there",
        ),
        Case(
            name,
            "sum, an infinite record",
            lambda x: tools.sum(x, epsilon=1, bounds=BOUNDS),
            AGES,
            [*AGES[:-1], INFINITY],
            replaced,
        ),
        Case(
            name, "median, ties", lambda x: tools.quantile(x, 0.5, epsilon=1, bounds=BOUNDS), TIED, [*TIED[:-1], 40.0], replaced
        ),
        Case(
            name,
            "histogram, no range",
            lambda x: tools.histogram(x, epsilon=1, bins=3),
            AGES,
            [*AGES[:-1], 1e6],
            f"{replaced}; it warns",
        ),
    ]


def opendp_cases() -> list[Case]:
    import opendp.prelude as odp

    odp.enable_features("contrib")
    name = "OpenDP"
    reals, whole = odp.atom_domain(T=float, nan=False), odp.atom_domain(T=int)
    laplace = odp.m.make_laplace(reals, odp.absolute_distance(T=float), scale=1.0)
    counts = odp.m.make_laplace(whole, odp.absolute_distance(T=int), scale=1.0)
    gaussian = odp.m.make_gaussian(reals, odp.absolute_distance(T=float), scale=1.0)
    scores = odp.m.make_noisy_max(odp.vector_domain(whole), odp.linf_distance(T=int), odp.max_divergence(), scale=2.0)
    total = (
        (odp.vector_domain(reals), odp.symmetric_distance())
        >> odp.t.then_clamp(BOUNDS)
        >> odp.t.then_sum()
        >> odp.m.then_laplace(100.0)
    )
    excluded = "outside its claim: its domain excludes NaN"
    return [
        Case(name, "Laplace, 0.0 and 1.0", laplace, 0.0, 1.0),
        Case(name, "Gaussian, 0.0 and 1.0, rho 0.5", gaussian, 0.0, 1.0, claim={"privacy": dp.zcdp(0.5)}),
        Case(name, "integer Laplace, 0 and 1", counts, 0, 1),
        Case(name, "noisy max, scores move both ways", scores, [0, 1, 1, 1], [1, 0, 0, 0]),
        Case(
            name, "randomized response", odp.m.make_randomized_response_bool(prob=0.75), True, False, claim={"epsilon": np.log(3)}
        ),
        Case(name, "sum, bounded", total, AGES, AGES[:-1]),
        Case(name, "sum, a NaN record", total, [*AGES, NAN], AGES, excluded, seconds=20),
        Case(name, "sum, one record or none", total, [31.0], []),
        Case(name, "sum, an infinite record", total, [*AGES, INFINITY], AGES),
    ]


def pydp_cases() -> list[Case]:
    import pydp.algorithms.laplacian as laplacian
    from pydp.algorithms import numerical_mechanisms

    name = "PyDP"
    low, high = BOUNDS

    def asked(kind: str, **more: Any) -> Callable[[Any], object]:
        make = getattr(laplacian, kind)
        return lambda rows: make(epsilon=1, dtype="float", **more).quick_result(list(rows))

    bounded = {"lower_bound": low, "upper_bound": high}
    laplace = numerical_mechanisms.LaplaceMechanism(epsilon=1, sensitivity=1)
    return [
        Case(name, "Laplace, 0.0 and 1.0", laplace.add_noise, 0.0, 1.0),
        Case(name, "count, one record or none", lambda x: laplacian.Count(epsilon=1, dtype="int").quick_result(x), [31], []),
        Case(name, "mean, bounded", asked("BoundedMean", **bounded), AGES, AGES[:-1]),
        Case(name, "mean, no bounds", asked("BoundedMean"), [*AGES * 20, 1e6], AGES * 20, "finds bounds privately"),
        Case(name, "mean, a NaN record", asked("BoundedMean", **bounded), [*AGES, NAN], AGES),
        Case(name, "mean, one record or none", asked("BoundedMean", **bounded), [31.0], []),
        Case(name, "sum, an infinite record", asked("BoundedSum", **bounded), [*AGES, INFINITY], AGES),
        Case(name, "median, ties", asked("Median", **bounded), TIED, TIED[:-1]),
        Case(name, "variance, bounded", asked("BoundedVariance", **bounded), [*AGES, 100.0], AGES),
    ]


def discreet_cases() -> list[Case]:
    name = "discreet"
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)  # durable writes take most of a draw
    os.environ["XDG_STATE_HOME"] = folder
    numbers = itertools.count()
    gaussian = dp.Gaussian(sensitivity=1.0, rho=0.5)

    def opened(rows: list[float]) -> dp.Curator:
        import pyarrow

        return dp.Curator(
            pyarrow.table({"age": pyarrow.array(rows, pyarrow.float64())}),
            unit=dp.rows(),
            columns={"age": dp.number(0, 100, step=1)},
            budget=dp.Budget(epsilon=10**6),
            ledger=f"{folder}/{next(numbers)}.ledger",
        )

    def question(what: str, sql: str, a: list[float], b: list[float]) -> Case:
        """One curator a table, and a new question (another name) for every draw: the same one again is a free repeat."""
        curators: dict[int, dp.Curator] = {}

        def ask(rows: list[float]) -> object:
            if len(rows) not in curators:
                curators[len(rows)] = opened(rows)
            return list(curators[len(rows)].sql(sql.format(next(numbers)), epsilon=1).rows()[0].values())

        def ask_once(rows: list[float]) -> object:
            with opened(rows) as curator:
                return curator.sql(sql.format(0), epsilon=1).rows()

        replayed = str(replay(ask_once, a, b)).partition(":")[0].lower().replace(" this pair", " an exact replay")
        return Case(name, what, ask, a, b, replayed, seconds=10)

    mean, total, median = (f"SELECT {f}(age) AS x{{}} FROM data" for f in ("avg", "sum", "median"))
    return [
        Case(name, "Laplace, 0.0 and 1.0", dp.Laplace(sensitivity=1.0, epsilon=1).release, 0.0, 1.0),
        Case(name, "Gaussian, 0.0 and 1.0, rho 0.5", gaussian.release, 0.0, 1.0, claim={"privacy": dp.zcdp(0.5)}),
        Case(name, "integer Laplace, 0 and 1", dp.Laplace(sensitivity=1, epsilon=1).release, 0, 1),
        Case(name, "noisy max, scores move both ways", dp.NoisyMax(sensitivity=1, epsilon=1).release, [0, 1, 1, 1], [1, 0, 0, 0]),
        question("mean, bounded", mean, AGES, AGES[:-1]),
        question("mean, a NaN record", mean, [*AGES, NAN], AGES),
        question("mean, one record or none", mean, [31.0], []),
        question("sum, an infinite record", total, [*AGES, INFINITY], AGES),
        question("median, ties", median, TIED, TIED[:-1]),
    ]


def arithmetic() -> list[str]:
    """Three times 0.1 from a budget of 0.3, and then a little more."""
    import diffprivlib

    said = []
    theirs = diffprivlib.BudgetAccountant(epsilon=0.3)
    try:
        for _ in range(3):
            theirs.spend(0.1, 0)
        said.append("diffprivlib: 0.3 holds 0.1 three times")
    except diffprivlib.utils.BudgetError:
        said.append("diffprivlib: the third 0.1 of 0.3 is refused (the float sum is 0.30000000000000004): safe, and wrong")
    ours = dp.filters.PureFilter(epsilon=0.3)
    for _ in range(3):
        ours = ours.spend(dp.pure(0.1))
    more = "accepted" if ours.fits(dp.pure(1e-17)) else "refused"
    said.append(f"discreet: 0.3 holds 0.1 three times; 1e-17 more is {more}")
    return said


def show(cases: list[Case], *packages: str) -> None:
    """Audit all cases and print the table."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    table = Table(title=f"Audits at error probability {ERROR}, {versions}")
    for column in ("library", "audit", "claim", "result", "draws", "ε ≥", "s", "remark"):
        table.add_column(column, justify="right" if column in ("draws", "ε ≥", "s") else "left")
    started, library = time.monotonic(), ""
    for case in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = dp.audit(case.function, case.a, case.b, **case.claim, draws=DRAWS, error=ERROR, seconds=case.seconds)
        result = found.verdict.partition(":")[0] if found.obstacle or found.violated else "not refuted"
        result = "too few draws" if result == "not refuted" and found.draws < FEW else result
        remark = "; ".join(text for text in (case.note, found.obstacle or (found.event if found.violated else "")) if text)
        if case.library != library and library:
            table.add_section()
        library = case.library
        epsilon = f"{found.epsilon:.2f}"
        short = "*" if result != "violated" and found.draws < DRAWS else ""
        table.add_row(library, case.what, found.claim, result, f"{found.draws:,}{short}", epsilon, f"{found.seconds:.1f}", remark)
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(table)
    console.print(f"{time.monotonic() - started:.0f} s in all", highlight=False)


def main() -> None:
    cases = [*diffprivlib_cases(), *opendp_cases(), *pydp_cases(), *discreet_cases()]
    show(cases, "opendp", "diffprivlib", "python-dp")
    print(*arithmetic(), sep="\n")


if __name__ == "__main__":
    main()
