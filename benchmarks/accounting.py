"""Epsilon of compositions: discreet against Google's dp-accounting, one process, processor time, ratios.

discreet's time is for a lower *and* an upper bound on a guarantee never asked before (its caches are emptied each time).
dp-accounting gives one number at its default grid, or none (no such mechanism, or out of reach). The targets at the end are
checked: exit code 1 if one is missed. On every case our upper bound is at most theirs, unless theirs is below our certified lower
bound, and a bracket takes at most a second.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version

from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as pld
from rich.console import Console
from rich.table import Table

import discreet as dp

DELTA = 1e-6


def empty_caches() -> None:
    """What the accountant remembers, so that a guarantee is one that was never asked before."""
    for module in [module for name, module in sys.modules.items() if name.startswith("discreet.privacy")]:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def seconds(call: Callable[[], object], repeats: int) -> tuple[float, object]:
    best, result = float("inf"), None
    for _ in range(repeats):
        empty_caches()
        start = time.process_time()
        result = call()
        best = min(best, time.process_time() - start)
    return best, result


def google(laws: list[tuple[Callable[[], pld.PrivacyLossDistribution], int]]) -> float:
    total = pld.identity()
    for law, count in laws:
        total = total.compose(law().self_compose(count))
    return float(total.get_epsilon_for_delta(DELTA))


def google_gaussian(sigma: float, rate: float = 1.0) -> Callable[[], pld.PrivacyLossDistribution]:
    return lambda: pld.from_gaussian_mechanism(sigma, sampling_prob=rate)


def google_laplace(scale: float, rate: float = 1.0) -> Callable[[], pld.PrivacyLossDistribution]:
    return lambda: pld.from_laplace_mechanism(scale, sampling_prob=rate)


def google_lattice(sigma: float, rate: float) -> Callable[[], pld.PrivacyLossDistribution]:
    return lambda: pld.from_discrete_gaussian_mechanism(sigma, sampling_prob=rate)


def google_box(epsilon: float, delta: float = 0.0) -> Callable[[], pld.PrivacyLossDistribution]:
    return lambda: pld.from_privacy_parameters(common.DifferentialPrivacyParameters(epsilon, delta))


def gaussian(sigma: float) -> dp.Privacy:
    return dp.Gaussian(sensitivity=1, sigma=sigma).privacy


def cases() -> dict[str, tuple[Callable[[], dp.Privacy], list[tuple[Callable[[], pld.PrivacyLossDistribution], int]]]]:
    step, laplace = google_gaussian(1.0, 0.01), google_laplace(10.0)

    def ours_laplace(scale: float) -> dp.Privacy:
        return dp.Laplace(sensitivity=1.0, scale=scale).privacy

    # Every question of the mix has its own parameters, as in real life.
    sigmas, scales = [20 + i / 10 for i in range(100)], [50 + i / 5 for i in range(100)]
    boxes = [(Fraction(200 + i, 10_000), 0.0) for i in range(50)] + [(Fraction(500 + i, 10_000), 1e-9) for i in range(20)]

    def mix() -> dp.Privacy:
        parts = [gaussian(sigma) for sigma in sigmas] + [ours_laplace(scale) for scale in scales]
        return sum(parts + [dp.approximate(epsilon, delta) for epsilon, delta in boxes], dp.Privacy())

    google_mix = [(google_gaussian(s), 1) for s in sigmas] + [(google_laplace(s), 1) for s in scales]
    google_mix += [(google_box(float(epsilon), delta), 1) for epsilon, delta in boxes]
    return {
        "private SGD, q=0.01, sigma=1, 1,000 steps": (lambda: 1_000 * gaussian(1).sampled(0.01), [(step, 1_000)]),
        "private SGD, 10,000 steps": (lambda: 10_000 * gaussian(1).sampled(0.01), [(step, 10_000)]),
        "Laplace 0.1, 100 times": (lambda: 100 * ours_laplace(10), [(laplace, 100)]),
        "Laplace 0.1, 10,000 times": (lambda: 10_000 * ours_laplace(10), [(laplace, 10_000)]),
        "pure 0.1, 1,000 times": (lambda: 1_000 * dp.pure(0.1), [(google_box(0.1), 1_000)]),
        "Gaussian sigma=10, 10,000 times": (lambda: 10_000 * gaussian(10), [(google_gaussian(10.0), 10_000)]),
        "mix of 270: Gaussian, Laplace, pure, (eps, delta)": (mix, google_mix),
        **small(),
    }


def small() -> dict[str, tuple[Callable[[], dp.Privacy], list[tuple[Callable[[], pld.PrivacyLossDistribution], int]]]]:
    """Small rates, few steps, and mixes without a common lattice."""
    pures = [Fraction(1000 + 7 * i, 100003) for i in range(300)]
    laplaces = [Fraction(1000 + 11 * i, 100019) for i in range(150)]

    def steps(
        count: int, rate: str
    ) -> tuple[Callable[[], dp.Privacy], list[tuple[Callable[[], pld.PrivacyLossDistribution], int]]]:
        return lambda: count * gaussian(1).sampled(Fraction(rate)), [(google_gaussian(1.0, float(rate)), count)]

    def lattice(count: int) -> tuple[Callable[[], dp.Privacy], list[tuple[Callable[[], pld.PrivacyLossDistribution], int]]]:
        noise = dp.DiscreteGaussian(sensitivity=1, sigma=1)
        return lambda: count * noise.privacy.sampled(0.01), [(google_lattice(1.0, 0.01), count)]

    def sampled_laplace(
        count: int,
    ) -> tuple[Callable[[], dp.Privacy], list[tuple[Callable[[], pld.PrivacyLossDistribution], int]]]:
        noise = dp.Laplace(sensitivity=1.0, epsilon=1)
        return lambda: count * noise.privacy.sampled(0.01), [(google_laplace(1.0, 0.01), count)]

    def pure_and_laplace() -> dp.Privacy:
        parts = [dp.pure(e) for e in pures[:150]] + [dp.Laplace(sensitivity=1.0, epsilon=e).privacy for e in laplaces]
        return sum(parts, dp.Privacy())

    boxes = [(google_box(float(e)), 1) for e in pures]
    laws = [(google_laplace(1 / float(e)), 1) for e in laplaces]
    return {
        **{f"{count:,} steps, q={rate}": steps(count, rate) for rate in ("1e-3", "1e-4", "1e-6") for count in (1_000,)},
        **{f"{count} steps, q=0.01": steps(count, "0.01") for count in (2, 3, 5, 9, 10, 20)},
        **{f"{count} steps, q=1e-3": steps(count, "1e-3") for count in (2, 10)},
        **{f"sampled discrete Gaussian, {count} times": lattice(count) for count in (1, 10, 1_000)},
        **{f"sampled Laplace, {count:,} times": sampled_laplace(count) for count in (10, 1_000)},
        "pure 1e-6, 10^12 times": (lambda: 10**12 * dp.pure(Fraction(1, 10**6)), []),
        "pure 1e-8, 10^16 times": (lambda: 10**16 * dp.pure(Fraction(1, 10**8)), []),
        "sampled Laplace 2.65 at 1/2, 100,000 times, and an exponential mechanism": (
            lambda: (
                10**5 * dp.Laplace(sensitivity=1.0, epsilon=2.65).privacy.sampled(0.5)
                + dp.Exponential(sensitivity=1, epsilon=2).privacy.sampled(0.5)
            ),
            [],
        ),
        "300 different pure": (lambda: sum((dp.pure(e) for e in pures), dp.Privacy()), boxes),
        "150 Laplace, 150 pure": (pure_and_laplace, boxes[:150] + laws),
        "few values: pure 1/3, 1/7, 0.1234567": (
            lambda: 2 * dp.pure(Fraction(1, 3)) + dp.pure(Fraction(1, 7)) + dp.pure(0.1234567),
            [(google_box(1 / 3), 2), (google_box(1 / 7), 1), (google_box(0.1234567), 1)],
        ),
    }


FASTER = {
    "private SGD, 10,000 steps": 50,
    "mix of 270: Gaussian, Laplace, pure, (eps, delta)": 50,
    "Laplace 0.1, 10,000 times": 10,
}


def main() -> int:
    console, missed, lines = Console(width=170), 0, []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = Table(title=f"epsilon at delta = {DELTA}, dp-accounting {version('dp-accounting')}")
    for name in ("composition", "discreet, lower", "discreet, upper", "width", "ms", "dp-accounting", "ms", "times faster"):
        table.add_column(name, justify="left" if name == "composition" else "right")
    results = {}
    for name, (ours, _) in cases().items():
        results[name] = seconds(lambda ours=ours: ours().epsilon_bounds(DELTA), 5)
    distinct = sum((dp.Laplace(sensitivity=1.0, scale=100 + i).privacy for i in range(150)), dp.Privacy()) + sum(
        (gaussian(50 + i) + dp.pure(Fraction(100 + i, 100_000)) for i in range(75)), dp.Privacy()
    )
    many, _ = seconds(lambda: distinct.epsilon_bounds(DELTA), 5)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for name, (_, theirs) in cases().items():
        took, bounds = results[name]
        low, high = bounds  # type: ignore[misc]
        peer, epsilon = seconds(lambda theirs=theirs: google(theirs), 1) if theirs else (math.nan, math.nan)
        table.add_row(
            name,
            f"{low:.12g}",
            f"{high:.12g}",
            f"{(high - low) / high:.0e}",
            f"{took * 1e3:.1f}",
            f"{epsilon:.12g}" if theirs else "-",
            f"{peer * 1e3:.0f}" if theirs else "-",
            f"{peer / took:,.0f}" if theirs else "-",
        )
        loose = high > epsilon * (1 + 1e-9) and epsilon >= low
        missed += loose + (took > 1)
        lines += [f"MISS {name}: looser than dp-accounting"] * loose + [f"MISS {name}: {took:.1f} s, at most 1"] * (took > 1)
        if name in FASTER:
            held = peer >= FASTER[name] * took
            missed += not held
            lines.append(f"{'ok  ' if held else 'MISS'} {name}: at least {FASTER[name]} x faster")
    console.print(table)
    for text, held in (
        (f"300 distinct mechanisms: {many * 1e3:.0f} ms, under 50 ms", many < 0.05),
        (f"memory above the interpreter's: {memory:.0f} MB, under 100 MB", memory < 100),
    ):
        missed += not held
        lines.append(f"{'ok  ' if held else 'MISS'} {text}")
    console.print("\n".join(lines), highlight=False)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
