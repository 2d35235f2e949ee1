"""The speed of discreet alone, in processor time, the least of several repetitions: one row a case.

    python -m benchmarks.speed                     this checkout
    python -m benchmarks.speed --against FOLDER    and another one, which has a .venv of its own, in turns; with the ratio

A case that the other checkout cannot do is a dash there. Nothing is compared with peers here; the other benchmarks do that.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

Case = tuple[str, Callable[[], object]]

DELTA = 1e-6
TURNS = 3  # of each checkout
ENOUGH = 0.05  # seconds that are measured at once: a short call is repeated
REPEATS = 5
LONG = 1.0  # seconds: what takes longer is done once a turn


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def imports() -> Iterator[tuple[str, float]]:
    """A new interpreter that does so much, less one that does nothing."""

    def start(program: str) -> float:
        before = children()
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        return children() - before

    nothing = min(start("pass") for _ in range(REPEATS))
    for name in ("", "dp.Laplace", "dp.Privacy", "dp.local.Frequencies", "dp.audit", "dp.Curator", "import discreet.cli"):
        program = f"import discreet as dp\n{name}"
        yield f"import discreet{f'; {name}' if name else ''}", min(start(program) for _ in range(REPEATS)) - nothing


def releases() -> Iterator[Case]:
    """Every mechanism: one value, and a million."""
    import numpy as np

    import discreet as dp

    counts, reals = np.arange(10**6), np.linspace(0.0, 1e6, 10**6)
    votes, names = list(range(0, 100, 10)), [f"candidate {i}" for i in range(10)]
    for kind, whole, values in (("integers", 1, counts), ("reals", 1.0, reals)):
        for mechanism in (dp.Laplace(sensitivity=whole, epsilon=0.5), dp.Gaussian(sensitivity=whole, rho=0.5)):
            name = f"{type(mechanism).__name__}, {kind}"
            yield f"{name}: a number", functools.partial(mechanism.release, 42 * whole)
            yield f"{name}: a million", functools.partial(mechanism.release, values)
    discrete = dp.DiscreteGaussian(sensitivity=1, rho=0.5)
    yield "DiscreteGaussian: a number", lambda: discrete.release(42)
    yield "DiscreteGaussian: a million", lambda: discrete.release(counts)
    for law in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip):
        choice = law(sensitivity=1, epsilon=0.1)
        yield f"{law.__name__}: one of 10", functools.partial(choice.choose, names, votes)
        yield f"{law.__name__}: one of a million", functools.partial(choice.release, counts)
    finder = dp.SparseVector(sensitivity=1, epsilon=1, cutoff=3)
    yield "SparseVector: 10 queries", lambda: finder.release(votes, threshold=1000)
    yield "SparseVector: a million queries", lambda: finder.release(counts, threshold=10**7)
    answer, answers = dp.RandomizedResponse(epsilon=1, options=(0, 1)), counts % 2
    yield "RandomizedResponse: an answer", lambda: answer.release(1)
    yield "RandomizedResponse: a million", lambda: answer.release(answers)
    keys, words = dp.Threshold(epsilon=1, delta=1e-6), {f"word {i}": i for i in range(1000)}
    yield "Threshold: 1,000 keys", lambda: keys.release(words)
    yield "Laplace(...), its guarantee and error", lambda: (dp.Laplace(sensitivity=1, epsilon=0.5).privacy, discrete.error())


def guarantees() -> Iterator[Case]:
    """Brackets of epsilon, of guarantees that were never asked before: the cases of ``benchmarks/accounting.py``."""
    import discreet as dp

    def gaussian(sigma: float) -> dp.Privacy:
        return dp.Gaussian(sensitivity=1, sigma=sigma).privacy

    def laplace(epsilon: object) -> dp.Privacy:
        return dp.Laplace(sensitivity=1.0, epsilon=epsilon).privacy  # type: ignore[arg-type]

    pures = [Fraction(1000 + 7 * i, 100003) for i in range(300)]
    others = [Fraction(1000 + 11 * i, 100019) for i in range(150)]
    mixed = [gaussian(20 + i / 10) for i in range(100)] + [laplace(1 / Fraction(50 + i, 5)) for i in range(100)]
    mixed += [dp.pure(Fraction(200 + i, 10_000)) for i in range(50)]
    mixed += [dp.approximate(Fraction(500 + i, 10_000), 1e-9) for i in range(20)]
    lattice = dp.DiscreteGaussian(sensitivity=1, sigma=1).privacy.sampled(0.01)
    compositions = {
        "one Gaussian": gaussian(1),
        "private SGD, q=0.01, 1,000 steps": 1_000 * gaussian(1).sampled(0.01),
        "private SGD, q=0.01, 10,000 steps": 10_000 * gaussian(1).sampled(0.01),
        "Laplace 0.1, 100 times": 100 * laplace(0.1),
        "Laplace 0.1, 10,000 times": 10_000 * laplace(0.1),
        "pure 0.1, 1,000 times": 1_000 * dp.pure(0.1),
        "Gaussian sigma=10, 10,000 times": 10_000 * gaussian(10),
        "mix of 270": sum(mixed, dp.Privacy()),
        **{f"1,000 steps, q={rate}": 1_000 * gaussian(1).sampled(Fraction(rate)) for rate in ("1e-3", "1e-4", "1e-6")},
        **{f"{count} steps, q=0.01": count * gaussian(1).sampled(0.01) for count in (2, 5, 10, 20)},
        **{f"sampled discrete Gaussian, {count:,} times": count * lattice for count in (1, 10, 1_000)},
        **{f"sampled Laplace, {count:,} times": count * laplace(1).sampled(0.01) for count in (10, 1_000)},
        "pure 1e-6, 10^12 times": 10**12 * dp.pure(Fraction(1, 10**6)),
        "300 different pure": sum((dp.pure(e) for e in pures), dp.Privacy()),
        "150 Laplace, 150 pure": sum([dp.pure(e) for e in pures[:150]] + [laplace(e) for e in others], dp.Privacy()),
        "pure 1/3, 1/7, 0.1234567": 2 * dp.pure(Fraction(1, 3)) + dp.pure(Fraction(1, 7)) + dp.pure(0.1234567),
    }
    for name, privacy in compositions.items():
        yield f"epsilon: {name}", functools.partial(privacy.epsilon_bounds, DELTA)


def empty_caches() -> None:
    """What the accountant remembers, so that a guarantee is one that was never asked before."""
    for module in [module for name, module in sys.modules.items() if name.startswith("discreet.privacy")]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def questions(folder: Path) -> Iterator[Case]:
    """New questions to a curator, each with a WHERE that was never asked, and one that was."""
    import numpy as np
    import pyarrow as pa

    import discreet as dp

    columns = {"age": dp.integer(0, 120), "drug": dp.category("yes", "no"), "debt": dp.number(0, 10_000, step=0.01)}
    for size in (3, 10**6):
        place = np.arange(size)
        table = pa.table({"age": place % 120, "drug": np.where(place % 3 == 0, "yes", "no"), "debt": place % 9_999 / 10})
        budget = dp.Budget(epsilon=10**6)
        hospital = dp.Curator(table, unit=dp.rows(), columns=columns, budget=budget, ledger=folder / f"{size}.ledger")
        ages = iter(range(1, 10**9))

        def ask(hospital: dp.Curator = hospital, ages: Iterator[int] = ages) -> object:
            asked = f"SELECT drug, count(*) AS n, avg(debt) AS debt FROM data WHERE age <> {next(ages)} GROUP BY drug"
            return hospital.sql(asked, epsilon=0.01)

        def count(hospital: dp.Curator = hospital, ages: Iterator[int] = ages) -> object:
            return hospital.sql(f"SELECT count(*) AS n FROM data WHERE age <> {next(ages)}", epsilon=0.01)

        def again(hospital: dp.Curator = hospital) -> object:
            return hospital.sql("SELECT count(*) AS n FROM data", epsilon=0.01)

        yield f"a count on {size:,} rows", count
        yield f"a question on {size:,} rows", ask
        yield f"a repeated question on {size:,} rows", again
        yield f"a preview on {size:,} rows", lambda h=hospital: h.preview("SELECT avg(debt) AS d FROM data", epsilon=0.1)  # type: ignore[misc]


def surveys() -> Iterator[Case]:
    """Local privacy: a hundred thousand reports made, collected and concluded from."""
    import numpy as np

    import discreet as dp

    place = np.arange(10**5)
    tasks = {
        "Frequencies of 4": (dp.local.Frequencies(["a", "b", "c", "d"], epsilon=1), np.array(["a", "b", "c", "d"])[place % 4]),
        "Frequencies of 1,000": (dp.local.Frequencies(range(1000), epsilon=1), place % 1000),
        "Bit": (dp.local.Bit(epsilon=1), place % 2 == 0),
        "Mean": (dp.local.Mean(0, 100, epsilon=1), place % 100),
        "Distribution": (dp.local.Distribution(0, 100, epsilon=1), place % 100),
    }

    def run(task: object, values: object) -> object:
        collector = task.collector()  # type: ignore[attr-defined]
        collector.add(task.randomize(values))  # type: ignore[attr-defined]
        return collector.estimate()

    for name, (task, values) in tasks.items():
        yield f"{name}: 100,000 reports", functools.partial(run, task, values)
        yield f"{name}: one report", functools.partial(task.randomize, values[0].item())


def seconds(call: Callable[[], object], prepare: Callable[[], None] | None = None) -> float:
    """The least processor time of one call; ``prepare`` before each is not counted."""
    call()  # loads what is loaded late, and fills tables
    (prepare or int)()
    start = time.process_time()
    call()
    best = once = time.process_time() - start
    loops = 1 if prepare else max(1, int(ENOUGH / max(once, 1e-7)))
    for _ in range(1 if once > LONG else 4 * REPEATS if prepare else REPEATS):
        (prepare or int)()
        start = time.process_time()
        for _ in range(loops):
            call()
        best = min(best, (time.process_time() - start) / loops)
    return best


def measure() -> dict[str, float | None]:
    """All cases with the discreet of this interpreter."""
    found: dict[str, float | None] = dict(imports())
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_STATE_HOME=folder, LOCALAPPDATA=folder)
        groups = [
            (releases, None),
            (guarantees, empty_caches),
            (functools.partial(questions, Path(folder)), None),
            (surveys, None),
        ]
        for group, prepare in groups:
            for name, call in group():
                try:
                    found[name] = seconds(call, prepare)
                except Exception as problem:  # an older checkout may not know it
                    print(f"{name}: {type(problem).__name__}: {problem}", file=sys.stderr)
                    found[name] = None
    return found


def run(python: Path | str) -> dict[str, float | None]:
    """The same in another interpreter."""
    made = subprocess.run([python, __file__, "--once"], check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float | None] = json.loads(made.stdout)
    return found


def least(turns: list[dict[str, float | None]]) -> dict[str, float]:
    """The least of every case over all turns."""
    names = dict.fromkeys(name for turn in turns for name in turn)
    times = {name: [taken for turn in turns if (taken := turn.get(name)) is not None] for name in names}
    return {name: min(some) for name, some in times.items() if some}


def show(taken: float | None) -> str:
    if taken is None:
        return "-"
    unit, name = next(((unit, name) for unit, name in ((1.0, "s"), (1e-3, "ms")) if taken >= unit), (1e-6, "us"))
    return f"{taken / unit:,.3g} {name}"


def main() -> None:
    words = sys.argv[1:]
    if words == ["--once"]:
        print(json.dumps(measure()))
        return
    if words and (len(words) != 2 or words[0] != "--against"):
        sys.exit(__doc__)
    pythons = [sys.executable, *(str(Path(folder).resolve() / ".venv" / "bin" / "python") for folder in words[1:])]
    turns: list[list[dict[str, float | None]]] = [[] for _ in pythons]
    for _ in range(TURNS):
        for python, own in zip(pythons, turns, strict=True):
            own.append(run(python))
    here, *there = map(least, turns)
    print("| case | here |" + (" there | here / there |" if there else ""))
    print("|---|---|" + ("---|---|" if there else ""))
    for name, taken in here.items():
        other = there[0].get(name) if there else None
        print(
            f"| {name} | {show(taken)} |" + (f" {show(other)} | {taken / other:.2f} |" if other else " - | - |" if there else "")
        )


if __name__ == "__main__":
    main()
