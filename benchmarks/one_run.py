"""Audits in one run: how much of a true claim is certified, and whether too little noise is found.

``python benchmarks/one_run.py [runs]`` prints one table. 5,000 canaries, each a gradient of norm 1 in a direction of its own,
are put into noisy gradient descent or left out by a coin; the auditor sees the parameters. The exit code is 1 if less than 40
% of the claim (4, 1e-5) is certified on average, if a true claim is refuted in more runs than its error of 5 % explains (at
1e-3), or if a third of the noise is not found in every run.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import discreet as dp
from discreet import learn

CANARIES, EPSILON, DELTA = 5_000, 4, 1e-5
LEAST, ERROR, HONEST = 0.4, 0.05, "as claimed"  # of the claim; of audits that refute what is true


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


@dataclass(frozen=True)
class Found:
    """Several audits of the same: what was certified on average, how many refuted the claim, CPU seconds of one, and whether that
    is as it should be."""

    noise: str
    steps: int
    certified: float
    error: float
    refuted: int
    runs: int
    seconds: float
    right: bool


def examine(noise: str, epsilon: float, steps: int, runs: int) -> Found:
    """So many audits of the claim, with the noise of another epsilon."""
    start = time.process_time()
    found = [
        dp.audit(lambda taken: descend(taken, epsilon, steps), canaries=CANARIES, epsilon=EPSILON, delta=DELTA)
        for _ in range(runs)
    ]
    seconds = (time.process_time() - start) / runs
    epsilons, refuted = [one.epsilon for one in found], sum(one.violated for one in found)
    mean, error = float(np.mean(epsilons)), float(np.std(epsilons) / max(runs - 1, 1) ** 0.5)
    chance = sum(math.comb(runs, k) * ERROR**k * (1 - ERROR) ** (runs - k) for k in range(refuted, runs + 1))
    right = mean + error >= LEAST * EPSILON and chance >= 1e-3 if noise == HONEST else refuted == runs
    return Found(noise, steps, mean, error, refuted, runs, seconds, right)


def examine_all(runs: int) -> list[Found]:
    """Noise as claimed, in few steps and in more, and a third of it."""
    return [examine(HONEST, EPSILON, 2, runs), examine(HONEST, EPSILON, 10, runs), examine("a third", weaker(EPSILON), 2, runs)]


def main() -> int:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    headers = ("noise", "steps", "certified", "of the claim", "refuted", "CPU s a run")
    table = Table(*headers, title=f"claim ({EPSILON}, {DELTA:g}), {runs} runs")
    found = examine_all(runs)
    for one in found:
        share = f"{one.certified / EPSILON:.2f}{'' if one.right else ' MISSED'}"
        certified = f"{one.certified:.2f} ± {one.error:.2f}"
        table.add_row(one.noise, str(one.steps), certified, share, f"{one.refuted} of {runs}", f"{one.seconds:.1f}")
    Console().print(table)
    return int(not all(one.right for one in found))


if __name__ == "__main__":
    sys.exit(main())
