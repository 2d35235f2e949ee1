"""How many draws on each side until a broken mechanism is found out: the median of five audits at error probability 5 %.

Exit code 1 if a median exceeds its limit.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

import discreet as dp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.broken import BROKEN

RUNS = 5


def main() -> None:
    table = Table("mechanism", "median", "lowest", "highest", "limit", "seconds an audit", title="draws until found out")
    missed = False
    for name, case in BROKEN.items():
        started = time.process_time()
        claim = {"epsilon": 1, "delta": case.delta}
        findings = [dp.audit(case.function, case.a, case.b, **claim, draws=5 * case.draws) for _ in range(RUNS)]
        seconds = (time.process_time() - started) / RUNS
        draws = [finding.draws if finding.violated else 10**9 for finding in findings]
        median = int(statistics.median(draws))
        missed |= median > case.draws
        shown = [f"{number:,}" if number < 10**9 else "not found" for number in (median, min(draws), max(draws))]
        table.add_row(name, *shown, f"{case.draws:,}", f"{seconds:.2f}")
    Console().print(table)
    sys.exit(int(missed))


if __name__ == "__main__":
    main()
