"""Random compositions: every kind of guarantee, 1 to 1e16 uses, sampling rates 1e-9 to 1, deltas 1e-300 to 0.99.

Of each: bounds are in order; one more use, a larger sample, a larger group or less noise never lowers them (the lower bound of
less is at most the upper bound of more); nothing is raised; epsilon and delta take at most two seconds of processor time each.
With --steps: 2 to 3,000 steps of sampled Gaussian noise, sigma 0.5 to 10, rates 1e-6 to 0.5, deltas 1e-10 to 1e-3. Of each:
epsilon is known to 1e-4 of itself, from ten steps on to 1e-9, or to 1e-12; in at most one second.
Exit code 1 if one fails. Case i of a seed is the same on every machine.

python benchmarks/compositions.py [--steps] [--cases 300] [--seed 1] [--only i]
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import warnings
from collections.abc import Callable
from fractions import Fraction

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.losses import BoundedRange, DiscreteLaplace, Laplace, Response

MOST_SECONDS = 2.0
STEPS_SECONDS = 1.0
SLACK = 1 + 1e-12

Kind = Callable[[Fraction, int], Privacy]  # of a size and a number, both public; a larger size costs more

KINDS: dict[str, Kind] = {
    "gaussian": lambda size, _: dp.gdp(size),
    "laplace": lambda size, _: Privacy.of(Laplace(size)),
    "pure": lambda size, _: dp.pure(size),
    "approximate": lambda size, n: dp.approximate(size, Fraction(1, 10 ** (3 + n % 12))),
    "response": lambda size, n: Privacy.of(Response(size, (3, 4, 10, 1000)[n % 4])),
    "discrete laplace": lambda size, n: Privacy.of(DiscreteLaplace((d := (1, 2, 5, 100, 516, 5000)[n % 6]), d / size)),
    "discrete gaussian": lambda size, _: dp.DiscreteGaussian(sensitivity=1, sigma=1 / max(size, Fraction(1, 100))).privacy,
    "exponential": lambda size, _: Privacy.of(BoundedRange(size)),
    "zcdp": lambda size, _: dp.zcdp(size),
}


def between(dice: random.Random, low: float, high: float) -> Fraction:
    """Log-uniform, to three digits."""
    return Fraction(f"{10 ** dice.uniform(math.log10(low), math.log10(high)):.3g}")


class Use:
    """A mechanism with its rate and count, and what costs at least as much."""

    def __init__(self, dice: random.Random) -> None:
        self.kind, self.number = dice.choice(sorted(KINDS)), dice.randrange(60)
        self.size = between(dice, 0.001, 8)
        self.rate = between(dice, 1e-9, 1) if dice.random() < 0.5 else Fraction(1)
        self.count = int(between(dice, 1, 1e16)) if dice.random() < 0.5 else dice.randint(1, 20)

    def one(self, *, size: int = 1, rate: Fraction | None = None) -> Privacy:
        whole = KINDS[self.kind](size * self.size, self.number)
        rate = self.rate if rate is None else rate
        return whole.sampled(rate) if rate < 1 else whole

    def __str__(self) -> str:
        return f"{self.count:,} {self.kind} {float(self.size):g}" + (f" @ {float(self.rate):g}" if self.rate < 1 else "")


def timed(call: Callable[[], tuple[float, float]]) -> tuple[tuple[float, float], float]:
    start = time.process_time()
    return call(), time.process_time() - start


def examine(seed: int, i: int) -> tuple[str, list[str], float]:
    """One composition: what it is with its bounds, what is wrong with it, and the longest time it took."""
    dice = random.Random(f"{seed}:{i}")
    uses = [Use(dice) for _ in range(dice.choice([1, 1, 2, 2, 3]))]
    delta = between(dice, 1e-300, 0.99) if dice.random() < 0.4 else between(dice, 1e-12, 0.99)
    epsilon = Fraction(str(dice.choice([0, 0.01, 1, 10])))
    name = " + ".join(map(str, uses)) + f", delta {float(delta):.3g}, epsilon {float(epsilon):g}"
    first, others = uses[0], sum((use.count * use.one() for use in uses[1:]), Privacy())
    less = first.count * first.one() + others
    more = {
        "one more use": less + first.one(),
        "a larger sample": first.count * first.one(rate=min(Fraction(1), 2 * first.rate)) + others,
        "less noise": first.count * first.one(size=2) + others,
    }
    if first.rate == 1 and first.kind != "approximate":
        more["a group"] = first.count * first.one().group(2) + others
    wrong = []
    try:
        (low, high), took = timed(lambda: less.epsilon_bounds(delta))
        (below, above), also = timed(lambda: less.delta_bounds(epsilon))
        name += f": [{low:.9g}, {high:.9g}] and [{below:.4g}, {above:.4g}], {took:.2f} s and {also:.2f} s"
        if not (0 <= low <= high and 0 <= below <= above <= 1):
            wrong.append("bounds out of order")
        which, larger = dice.choice(sorted(more.items()))
        (_, top), third = timed(lambda: larger.epsilon_bounds(delta))
        (_, most), fourth = timed(lambda: larger.delta_bounds(epsilon))
        if low > top * SLACK or below > most * SLACK:
            wrong.append(f"{which} costs less")
        longest = max(took, also, third, fourth)
        if longest > MOST_SECONDS:
            wrong.append(f"{longest:.1f} s")
    except Exception as error:  # whatever it is, it is wrong
        return name, [f"{type(error).__name__}: {error}"], math.inf
    return name, wrong, longest


def examine_steps(seed: int, i: int) -> tuple[str, list[str], float]:
    """Steps of sampled Gaussian noise: the same."""
    dice = random.Random(f"steps:{seed}:{i}")
    sigma, rate, delta = between(dice, 0.5, 10), between(dice, 1e-6, 0.5), between(dice, 1e-10, 1e-3)
    count = dice.randint(2, 9) if dice.random() < 0.4 else int(between(dice, 10, 3000))
    privacy = count * dp.gdp(1 / sigma).sampled(rate)
    (low, high), took = timed(lambda: privacy.epsilon_bounds(delta))
    name = f"{count:,} steps, sigma {float(sigma):g} @ {float(rate):g}, delta {float(delta):.3g}"
    name += f": [{low:.12g}, {high:.12g}], {took:.2f} s"
    wrong = []
    if high - low > max((1e-9 if count >= 10 else 1e-4) * low, 1e-12):
        wrong.append(f"{(high - low) / low:.1e} wide")
    if took > STEPS_SECONDS:
        wrong.append(f"{took:.1f} s")
    return name, wrong, took


def main() -> int:
    warnings.simplefilter("ignore")
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--cases", type=int, default=300)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--only", type=int)
    asked.add_argument("--all", action="store_true", help="print every case, not only those that fail")
    asked.add_argument(
        "--steps", action="store_true", help="steps of sampled Gaussian noise only, and how narrow their bounds are"
    )
    options = asked.parse_args()
    failed, times = 0, []
    for i in range(options.cases) if options.only is None else [options.only]:
        name, wrong, longest = (examine_steps if options.steps else examine)(options.seed, i)
        times.append(longest)
        failed += bool(wrong)
        if wrong or options.all or options.only is not None:
            print(i, name, *wrong, sep=" | ", flush=True)
    times.sort()
    print(
        f"{len(times)} compositions, {failed} fail; processor seconds: median {times[len(times) // 2]:.2f}, most {times[-1]:.2f}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
