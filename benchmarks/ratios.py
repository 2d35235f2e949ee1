"""Simulated tables with ratios, shares, differences and products: on these, intervals are held against `inversion`.

Fixed before any comparison. A table has 30, 300 or 3,000 rows with x = round(100 Beta(2, 4)) declared on [0, 100], y =
round(20 Beta(2, 2)) on [0, 20] and a flag that is true with probability 0.3; each of 10,000 tables is drawn anew, and so is
its noise. Its rows are divided into two groups: *balanced*, one half each, or *small*, a tenth (3, 30, 300 rows) and the
rest. The first group is the denominator of all that has one denominator. Every number is released by itself, Laplace of scale
2 for a count, 200 for a sum of x and 40 for a sum of y; or Gaussian of 3, 300 and 60.

    ratio                   sum(x) / sum(y), first group                                     range [0, infinity)
    share                   count of the flag / count, first group, noises of their own      [0, 1]
    share of a total        A / (A + C), those with the flag and those without, first group  [0, 1]
    difference of columns   (sum(x) - sum(y)) / count, first group                           [-20, 100]
    difference of means     of x, first group minus second                                   [-100, 100]
    difference of shares    of the flag, first group minus second                            [-1, 1]
    difference of ratios    sum(x) / sum(y), first group minus second                        all numbers
    product of ratios       sum(x) / sum(y) of the first group times the second's            [0, infinity)

Widths are compared on the first 1,000 tables where a hypothesis is a plane, and on the first 200 where it is curved. Whatever
else the library releases for the same answer (a mean as two counts of a row's place between its bounds, say), both get the
same numbers and laws, at the same cost.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import discreet as dp
from benchmarks.inversion import Noise, Ratio, of_ratio, of_two
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.release import Released
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema

TABLES = 10_000
WIDTHS = {"plane": 1000, "curved": 200}
SEEDS = {30: 48271193, 300: 90561427, 3000: 17390563}
AGAIN = {30: 60325117, 300: 77420561, 3000: 31874509}  # for what was changed after the first
SCALES = {"laplace": (2, 200, 40), "gaussian": (3, 300, 60)}  # of a count, of sums of x and of y
SHARES = {"balanced": 0.5, "small": 0.1}
FORMS = {
    "ratio": (0, np.inf),
    "share": (0, 1),
    "share of a total": (0, 1),
    "difference of columns": (-20, 100),
    "difference of means": (-100, 100),
    "difference of shares": (-1, 1),
    "difference of ratios": (-np.inf, np.inf),
    "product of ratios": (0, np.inf),
}


@dataclass(frozen=True)
class Setting:
    """One form, size, law and division, with its tables as they were released."""

    form: str
    rows: int
    law: Literal["laplace", "gaussian"]
    division: Literal["balanced", "small"]
    seed: int

    @property
    def curved(self) -> bool:
        return self.form in ("difference of means", "difference of shares", "difference of ratios", "product of ratios")

    @property
    def bounds(self) -> tuple[float, float]:
        return FORMS[self.form]

    def generator(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, zlib.crc32(f"{self.form} {self.law} {self.division}".encode())])

    def draw(self, tables: int = TABLES) -> tuple[np.ndarray, list[np.ndarray]]:
        """Each table's value, and the released numbers: (numerator, denominator) of a ratio, a row a table, once or twice."""
        rng = self.generator()
        first = round(self.rows * SHARES[self.division])
        groups = [totals(self.seed, rows, i, tables) for i, rows in enumerate((first, self.rows - first)[: 1 + self.curved])]
        truths = [self.numbers(group) for group in groups]
        values = [ratio.estimate(truth) for ratio, truth in zip(self.ratios, truths, strict=True)]
        noisy = [truth + self.noise(rng, tables) for truth in truths]
        if not self.curved:
            return values[0], noisy
        return (values[0] * values[1] if self.form.startswith("product") else values[0] - values[1]), noisy

    def numbers(self, group: np.ndarray) -> np.ndarray:
        count, x, y, flag = group.T
        pairs = {
            "share": (flag, count),
            "share of a total": (flag, count - flag),
            "difference of columns": (x - y, count),
            "difference of means": (x, count),
            "difference of shares": (flag, count),
        }
        return np.stack(pairs.get(self.form, (x, y)), axis=1)

    def noise(self, rng: np.random.Generator, tables: int) -> np.ndarray:
        return np.stack([law.draw((tables,), rng) for law in self.ratios[0].noises], axis=1)

    @property
    def ratios(self) -> list[Ratio]:
        count, x, y = (Noise(self.law, scale) for scale in SCALES[self.law])
        noises = {
            "share": (count, count),
            "share of a total": (count, count),
            "difference of columns": (x.add(y), count),
            "difference of means": (x, count),
            "difference of shares": (count, count),
        }.get(self.form, (x, y))
        ratio = Ratio((1, 0), (1, 1) if self.form == "share of a total" else (0, 1), noises)
        return [ratio, ratio] if self.curved else [ratio]

    def invert(self, noisy: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Exact inversion: lower ends, upper ends, whether bounded."""
        if not self.curved:
            return of_ratio(self.ratios[0], noisy[0], self.bounds)
        how = "product" if self.form.startswith("product") else "difference"
        one, two = self.ratios
        rng = np.random.default_rng([self.seed, 1])
        return of_two(how, (one, two), (noisy[0], noisy[1]), rng, self.bounds)


@cache
def totals(seed: int, rows: int, group: int, tables: int) -> np.ndarray:
    """Count, sum of x, sum of y and count of the flag of as many rows, for each table: how many rows have each value is
    multinomial."""
    rng = np.random.default_rng([seed, rows, group])
    x = np.clip((np.arange(102) - 0.5) / 100, 0, 1)
    y = np.clip((np.arange(22) - 0.5) / 20, 0, 1)
    laws = np.diff(1 - (1 - x) ** 5 - 5 * x * (1 - x) ** 4), np.diff(3 * y**2 - 2 * y**3)  # of Beta(2, 4) and Beta(2, 2)
    sums = [rng.multinomial(rows, law, tables) @ np.arange(len(law)) for law in laws]
    return np.stack([np.full(tables, rows), *sums, rng.binomial(rows, 0.3, tables)], axis=1).astype(float)


def settings(seeds: dict[int, int] = SEEDS) -> Iterator[Setting]:
    for form in FORMS:
        for rows, seed in seeds.items():
            for law in ("laplace", "gaussian"):
                for division in ("balanced", "small"):
                    yield Setting(form, rows, law, division, seed)


_COLUMNS = {
    "x": dp.integer(0, 100, missing=0),
    "y": dp.integer(0, 20, missing=0),
    "flag": dp.boolean(missing=False),
    "inside": dp.boolean(missing=False),
}
_FIRST, _SECOND = "FILTER (WHERE inside)", "FILTER (WHERE NOT inside)"
QUESTIONS = {  # in the order of the numbers of both groups
    "ratio": "sum(x) / sum(y)",
    "share": f"count(*) {_FIRST} / count(*)",
    "share of a total": f"count(*) {_FIRST} / (count(*) {_FIRST} + count(*) {_SECOND})",
    "difference of columns": "(sum(x) - sum(y)) / count(*)",
    "difference of means": f"sum(x) {_FIRST} / count(*) {_FIRST} - sum(x) {_SECOND} / count(*) {_SECOND}",
    "difference of shares": f"sum(flag::INTEGER) {_FIRST} / count(*) {_FIRST}"
    f" - sum(flag::INTEGER) {_SECOND} / count(*) {_SECOND}",
    "difference of ratios": f"sum(x) {_FIRST} / sum(y) {_FIRST} - sum(x) {_SECOND} / sum(y) {_SECOND}",
    "product of ratios": f"(sum(x) {_FIRST} / sum(y) {_FIRST}) * (sum(x) {_SECOND} / sum(y) {_SECOND})",
}


def answer(setting: Setting, noisy: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The library's lower ends, upper ends, and where something is known."""
    schema = Schema(_COLUMNS, dp.rows())
    each = 3 if setting.form == "difference of columns" else 4 if setting.curved else 2
    cost = Cost("epsilon", Fraction(each, 2)) if setting.law == "laplace" else Cost("rho", Fraction(each, 18))
    plan = price(parse_query(f"SELECT {QUESTIONS[setting.form]} AS z FROM data", schema), schema, cost)
    releases = plan.behind["z"]
    numbers = np.concatenate(noisy, axis=1).T
    distinct = list(dict.fromkeys(releases))
    scales = [float(r.mechanism.scale if setting.law == "laplace" else r.mechanism.sigma) for r in distinct]
    if setting.form == "difference of columns":  # whose noises are drawn as one: the second sum is left without any
        assert scales == list(map(float, (SCALES[setting.law][1], SCALES[setting.law][2], SCALES[setting.law][0])))
        numbers = np.stack([numbers[0], np.zeros_like(numbers[0]), numbers[1]])
    else:
        assert scales == [noise.scale for ratio in setting.ratios for noise in ratio.noises]
    units = dict(zip(distinct, numbers, strict=True))
    estimate = plan.query.outputs[0].aggregate.estimate([Released(one, units[one]) for one in releases])
    known = np.array([value is not None for value in estimate.values])
    low, high = (np.asarray(end, dtype=float) for end in (estimate.lower, estimate.upper))
    return np.clip(low, *setting.bounds), np.clip(high, *setting.bounds), known & np.isfinite(low) & np.isfinite(high)


def compare(setting: Setting, tables: int = TABLES) -> str:
    """One line: coverage, how often nothing is known, widths."""
    value, noisy = setting.draw(tables)
    low, high, known = answer(setting, noisy)
    slack = 1e-9 * (1 + abs(value))
    covered = ~known | ((low <= value + slack) & (value - slack <= high))
    first = slice(0, min(tables, WIDTHS["curved" if setting.curved else "plane"]))
    below, above, bounded = setting.invert([x[first] for x in noisy])
    own = ~bounded | ((below <= value[first] + slack[first]) & (value[first] - slack[first] <= above))
    both = bounded & known[first]
    mine, exact = (high - low)[first][both], (above - below)[both]
    line = f"{setting.form:21} {setting.law:8} {setting.rows:5} {setting.division:8}"
    line += f" {covered.mean():7.2%} {(~known).mean():7.2%} {(~bounded).mean():7.2%} {own.mean():7.2%} {both.sum():5}"
    if both.sum() < 30:
        return line
    ratio = mine.mean() / exact.mean()
    error = (mine - ratio * exact).std() / np.sqrt(len(mine)) / exact.mean()
    each = (mine / np.where(exact > 0, exact, 1))[exact > 0]
    missed = "" if ratio <= 1.1 and each.mean() <= 1.1 and covered.mean() >= 0.94 else " MISSED"
    return f"{line} {ratio:7.3f} ({error:.3f}) {each.mean():7.3f} ({each.std() / np.sqrt(len(each)):.3f}){missed}"


def main() -> None:
    names = ("covered", "nothing", "exact", "covered", "both", "width (error)", "each (error)")
    print(f"{'':21} {'law':8} {'rows':>5} {'division':8} " + " ".join(f"{name:>7}" for name in names))
    wanted = [word for word in sys.argv[1:] if word != "--again"]
    for setting in settings(AGAIN if "--again" in sys.argv else SEEDS):
        if not wanted or setting.form in wanted:
            print(compare(setting), flush=True)


if __name__ == "__main__":
    main()
