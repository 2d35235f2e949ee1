"""Audits in one run: how much of a true claim is certified, and whether too little noise is found.

``python benchmarks/one_run.py [runs]`` prints one table. 5,000 canaries, each a gradient of norm 1 in a direction of its own, are
put into noisy gradient descent or left out by a coin; the auditor sees the parameters. The exit code is 1 if less than 40 % of
the claim (4, 1e-5) is certified on average, if a true claim is refuted in more runs than its error of 5 % explains (at 1e-3), or if a
third of the noise is not found in every run.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet import learn

CANARIES, EPSILON, DELTA = 5_000, 4, 1e-5


def descend(taken: np.ndarray, epsilon: float, steps: int) -> np.ndarray:
    """Parameters after noisy steps: what every canary has moved in its own direction."""
    rows = np.eye(CANARIES, dtype=np.float32)[taken]

    def gradients(_: object, x: np.ndarray, y: object) -> np.ndarray:  # noqa: ARG001
        return -x.astype(np.float64)

    found = learn.private_descent(
        gradients, np.zeros(CANARIES), rows, epsilon=epsilon, delta=DELTA, size=CANARIES, steps=steps, learning_rate=1.0
    )
    return found.parameters


def weaker(epsilon: float) -> float:
    """The epsilon at which noise is a third of what it is at this one."""
    sigma = dp.Gaussian(sensitivity=1, epsilon=epsilon, delta=DELTA).sigma / 3
    return dp.gdp(1 / sigma).epsilon(DELTA)


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    table = Table(
        "noise",
        "steps",
        "certified",
        "of the claim",
        "refuted",
        "CPU s a run",
        title=f"claim ({EPSILON}, {DELTA:g}), {runs} runs",
    )
    wrong = False
    for name, epsilon, steps in (("as claimed", EPSILON, 2), ("as claimed", EPSILON, 10), ("a third", weaker(EPSILON), 2)):
        start = time.process_time()
        found = [
            dp.audit(lambda taken: descend(taken, epsilon, steps), canaries=CANARIES, epsilon=EPSILON, delta=DELTA)  # noqa: B023
            for _ in range(runs)
        ]
        seconds = (time.process_time() - start) / runs
        mean, refuted = float(np.mean([one.epsilon for one in found])), sum(one.violated for one in found)
        table.add_row(name, str(steps), f"{mean:.2f}", f"{mean / EPSILON:.2f}", f"{refuted} of {runs}", f"{seconds:.1f}")
        if name == "as claimed":
            chance = sum(math.comb(runs, k) * 0.05**k * 0.95 ** (runs - k) for k in range(refuted, runs + 1))
            wrong |= mean < 0.4 * EPSILON or chance < 1e-3
        else:
            wrong |= refuted < runs
    Console().print(table)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
