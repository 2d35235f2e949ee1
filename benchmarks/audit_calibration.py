"""How often true claims are refuted: a thousand audits of tight, correct mechanisms at error probability 1e-3.

By Ville's inequality alarms are at most Binomial(1000, 1e-3): more than six have probability below 1e-4 (exit code 1).
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import discreet as dp

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.correct import CORRECT

AUDITS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
DRAWS = 3_000
ERROR = 1e-3


def main() -> None:
    table = Table("mechanism", "audits", "alarms", "largest certified epsilon", title=f"alarms at error probability {ERROR}")
    alarms = 0
    for name, case in CORRECT.items():
        audits = AUDITS // len(CORRECT)
        findings = [dp.audit(case.function, case.a, case.b, draws=DRAWS, error=ERROR, **case.claim) for _ in range(audits)]
        alarmed = sum(finding.violated for finding in findings)
        alarms += alarmed
        table.add_row(name, str(audits), str(alarmed), f"{max(finding.epsilon for finding in findings):.3g}")
    Console().print(table)
    sys.exit(int(alarms > 6))


if __name__ == "__main__":
    main()
