"""Exact noise against numpy's inexact noise and OpenDP's exact noise: one process, one table of ratios.

Every cell is the minimum over repeats of the processor time of a whole call, divided by the number of draws. OpenDP gets
shorter vectors, because it needs ten microseconds a draw. The targets at the end are checked: exit code 1 if one is missed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import opendp.prelude as odp
from rich.console import Console
from rich.table import Table
from timing import seconds

import discreet as dp
from discreet.noise.selection import Noise, noisy_argmax

N = 1_000_000
N_OPENDP = 50_000
SCALES = (1, 100, 1_000_000)
numpy_generator = np.random.default_rng()


def opendp_vector(make: Callable[..., Callable[[object], object]], distance: Callable[..., object], scale: float) -> float:
    measurement = make(odp.vector_domain(odp.atom_domain(T="i64")), distance(T="i64"), scale=float(scale))
    zeros = np.zeros(N_OPENDP, dtype=np.int64)
    return seconds(lambda: measurement(zeros), 2) / N_OPENDP


def additive() -> list[tuple[str, int, float, float, float]]:
    """Name, scale, and seconds a draw: discreet's whole release, numpy's noise alone, OpenDP's whole release."""
    zeros = np.zeros(N, dtype=np.int64)
    rows = []
    for scale in SCALES:
        ours = seconds(partial(dp.Laplace(sensitivity=1, scale=scale).release, zeros)) / N
        theirs = seconds(partial(numpy_generator.laplace, 0.0, scale, N)) / N
        rows.append(("discrete Laplace", scale, ours, theirs, opendp_vector(odp.m.make_laplace, odp.l1_distance, scale)))
    for scale in SCALES:
        ours = seconds(partial(dp.Gaussian(sensitivity=1, sigma=scale).release, zeros)) / N
        theirs = seconds(partial(numpy_generator.normal, 0.0, scale, N)) / N
        rows.append(("Gaussian", scale, ours, theirs, opendp_vector(odp.m.make_gaussian, odp.l2_distance, scale)))
    return rows


def contest(noise: Noise) -> tuple[float, float]:
    """Seconds to choose one of a million candidates: discreet, numpy."""
    scores = np.minimum(numpy_generator.integers(-200, 1, N), 0).astype(np.float64)
    scores[0] = 0.0
    ours = seconds(lambda: noisy_argmax(scores, Fraction(1, 10), noise, lambda i: Fraction(scores[i])))
    theirs = seconds(lambda: np.argmax(scores * 0.1 + numpy_generator.gumbel(0.0, 1.0, N)))
    return ours, theirs


def choice(candidates: Sequence[object], scores: np.ndarray) -> tuple[float, float]:
    """Seconds of a whole call of choose, and of numpy's Gumbel argmax over the same scores."""
    mechanism = dp.Exponential(sensitivity=1, epsilon=Fraction(1, 5))
    ours = seconds(lambda: mechanism.choose(candidates, scores))
    return ours, seconds(lambda: candidates[np.argmax(scores * 0.1 + numpy_generator.gumbel(0.0, 1.0, N))])


def rank_correlation(left: np.ndarray, right: np.ndarray) -> float:
    ranks = [np.argsort(np.argsort(x)) for x in (left, right)]
    return float(np.corrcoef(ranks)[0, 1])


def timing_leak(mechanism: dp.Laplace | dp.Gaussian | dp.DiscreteGaussian, draws: int = 20_000) -> float:
    """Rank correlation of the time of one scalar release with the size of its noise."""
    times, sizes = np.empty(draws), np.empty(draws)
    for i in range(draws):
        start = time.perf_counter_ns()
        noisy = mechanism.release(0)
        times[i] = time.perf_counter_ns() - start
        sizes[i] = abs(noisy)
    return rank_correlation(times, sizes)


def import_seconds() -> float:
    program = "import time; t = time.perf_counter(); import discreet; print(time.perf_counter() - t)"
    return min(float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout) for _ in range(5))


def main() -> int:
    odp.enable_features("contrib")
    misses = []

    def target(text: str, held: bool) -> str:
        if not held:
            misses.append(text)
        return f"{'ok  ' if held else 'MISS'} {text}"

    console = Console(width=100)
    table = Table(title=f"nanoseconds a draw, vectors of {N:,} (OpenDP {N_OPENDP:,}), numpy {np.__version__}, OpenDP 0.16.0")
    for name in ("noise", "scale", "discreet", "numpy (inexact)", "OpenDP", "discreet / numpy", "OpenDP / discreet"):
        table.add_column(name, justify="right")
    lines = []
    for name, scale, ours, numpy_s, opendp_s in additive():
        table.add_row(
            name,
            f"{scale:,}",
            *(f"{x * 1e9:,.1f}" for x in (ours, numpy_s, opendp_s)),
            f"{ours / numpy_s:.2f}",
            f"{opendp_s / ours:,.0f}",
        )
        most = 1.0 if name == "discrete Laplace" else 2.5
        lines.append(target(f"{name}, scale {scale:,}: at most {most} x numpy", ours <= most * numpy_s))
        lines.append(target(f"{name}, scale {scale:,}: at least 300 x faster than OpenDP", opendp_s >= 300 * ours))
    console.print(table)

    for noise in (Noise.GUMBEL, Noise.EXPONENTIAL):
        ours, theirs = contest(noise)
        text = f"{noise.value} argmax of {N:,}: {ours * 1e3:.1f} ms; numpy's Gumbel argmax {theirs * 1e3:.1f} ms"
        console.print(f"{text}; ratio {ours / theirs:.2f}")
        lines.append(target(f"{noise.value} argmax: at most 0.5 x numpy", ours <= 0.5 * theirs))

    scores = numpy_generator.integers(-200, 1, N)
    for name, candidates in (("a list", list(range(N))), ("an array", np.arange(N)), ("a range", range(N))):
        for values in (scores, scores.astype(np.float64)):
            ours, theirs = choice(candidates, values)
            text = f"choose one of {name} of {N:,}, {values.dtype} scores"
            console.print(f"{text}: {ours * 1e3:.1f} ms, numpy {theirs * 1e3:.1f} ms; ratio {ours / theirs:.2f}")
            lines.append(target(f"{text}: at most 0.6 x numpy", ours <= 0.6 * theirs))

    scalars = {
        "Laplace, integer": dp.Laplace(sensitivity=1, epsilon=1),
        "Laplace, real": dp.Laplace(sensitivity=1.0, epsilon=1),
        "Gaussian, integer": dp.Gaussian(sensitivity=1, rho=0.5),
        "Gaussian, real": dp.Gaussian(sensitivity=1.0, rho=0.5),
    }
    for name, mechanism in scalars.items():
        took, leak = seconds(lambda m=mechanism: [m.release(0) for _ in range(100)]) / 100, timing_leak(mechanism)
        console.print(f"one {name} release: {took * 1e6:.0f} us; rank correlation of time and |noise| {leak:+.3f}")
        lines.append(target(f"one {name} release: under 50 us", took < 50e-6))
        lines.append(target(f"one {name} release: time tells nothing of the noise (correlation below 0.05)", abs(leak) < 0.05))
    lines.append(target(f"import discreet: {import_seconds():.3f} s, under 0.3 s", import_seconds() < 0.3))
    console.print("\n".join(lines), highlight=False)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
