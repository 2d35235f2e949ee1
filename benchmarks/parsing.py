"""How long it takes to read and price the questions of the corpus, in processor time: the slowest, and how many take over 15 ms.

    python -m benchmarks.parsing

A question is read and priced once before it is measured, as it is when it is asked again; refusals are measured too.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.timing import seconds  # noqa: E402

MOST = 0.015


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        _measure(Path(folder))


def _measure(folder: Path) -> None:
    from plan.corpus.worlds import WORLDS

    import discreet as dp
    from discreet.curator.plans import Select
    from discreet.errors import DiscreetError
    from discreet.plan.cost import Terms
    from discreet.plan.preview import price_within
    from discreet.plan.sql import parse_query

    schemas = {name: world.open(folder / f"{name}.ledger")._desk.schema for name, world in WORLDS.items()}
    budget = dp.Budget(epsilon=10, delta=1e-6)

    def ask(world: str, sql: str) -> None:
        with contextlib.suppress(DiscreetError):
            price_within(Terms(epsilon=1), [Select(parse_query(sql, schemas[world]), schemas[world])], budget)

    files = [file.stem for file in sorted((ROOT / "tests" / "plan" / "corpus").glob("*.py"))]
    modules = [importlib.import_module(f"plan.corpus.{name}") for name in files if name not in ("base", "worlds")]
    found = []
    for one in (one for module in modules for one in (*module.ASKED, *module.HOPELESS)):
        ask(one.world, one.sql)
        found.append((seconds(lambda one=one: ask(one.world, one.sql), repeats=3), " ".join(one.sql.split())))
    found.sort(reverse=True)
    times = [time for time, _ in found]
    print(f"{len(found)} questions: median {1e3 * statistics.median(times):.1f} ms, slowest {1e3 * times[0]:.1f} ms,")
    print(f"{sum(time > MOST for time in times)} over {1e3 * MOST:.0f} ms")
    for time, sql in found[:10]:
        print(f"{1e3 * time:8.1f} ms  {sql[:110]}")


if __name__ == "__main__":
    main()
