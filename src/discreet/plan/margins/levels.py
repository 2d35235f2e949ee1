"""Tables with margins, as GROUP BY CUBE asks for them: what is measured of their levels, and what all of them say together.

Cells are counted once, and every level that is measured is a sum of the same cells; ``lattice`` says which are, and makes them
consistent. Rows of the answer come level by level, with None for keys that are added up over.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Aggregate, Estimate, Expected, Typical
from discreet.plan.aggregates.soft import Forms
from discreet.plan.aggregates.sums import Count, Mean, Sum
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.keys import Keys
from discreet.plan.margins.lattice import Lattice, Level, below, make_whole, share_out
from discreet.plan.measures import ROWS, Frame, Measure, measure_presence, measure_value
from discreet.plan.noises import Noise, reach
from discreet.plan.query import Levels, Query
from discreet.plan.release import Additive, Need, Release, Released
from discreet.plan.statistics import Margin

MOST_AXES = 6  # keys of a table with margins
MOST_ROWS = 2**20  # of all its levels
_MISS = 0.05


def check_levels(query: Query, keys: Keys) -> None:
    """Refuse a table that has too many levels or rows, or keys that nobody listed."""
    assert query.levels is not None
    if len(keys.keys) > MOST_AXES:
        raise ParameterError(
            f"A table with margins has at most {MOST_AXES} keys, which are {2**MOST_AXES} levels, and not {len(keys.keys)}; ask "
            "for fewer at a time, or for the cells alone with GROUP BY."
        )
    if keys.listings is None:
        raise ParameterError(
            "A table with margins has cells that are listed in advance; declare categories, or list the keys "
            '(WHERE city IN (...), or keys={"city": [...]}).'
        )
    sizes = tuple(map(len, keys.listings))
    rows = sum(math.prod(sizes[axis] for axis in level) for level in query.levels.asked)
    if rows > MOST_ROWS:
        raise ParameterError(f"This table has {rows:,} cells and margins, and at most {MOST_ROWS:,} are made; group into fewer.")


def measures_of(aggregate: Aggregate, facts: Mapping[str, Facts]) -> tuple[Measure, ...]:
    """What is added up for an aggregate at every level."""
    if isinstance(aggregate, Count):
        return (ROWS if aggregate.of is None else measure_presence(aggregate.of, infer(aggregate.of, facts)),)
    if isinstance(aggregate, Sum):
        return (measure_value(aggregate.of, infer(aggregate.of, facts)),)
    if isinstance(aggregate, Mean):
        known = infer(aggregate.of, facts)
        return measure_presence(aggregate.of, known), measure_value(aggregate.of, known, centred=True)
    raise ParameterError(
        f"A table with margins has counts, sums and means, which add up, and {aggregate} does not; select what it is made of and "
        "compute with the numbers of the answer, which is free (the share of a condition is its avg), or ask for it in a "
        "question of its own, with plain keys: GROUP BY a, b."
    )


def level_needs(query: Query, keys: Keys, frame: Frame, facts: Mapping[str, Facts], *, pure: bool) -> dict[str, tuple[Need, ...]]:
    """The margins to measure for every output, each with its share."""
    assert query.levels is not None
    assert keys.listings is not None
    sizes, names = tuple(map(len, keys.listings)), keys.names
    weights = query.levels.weights or (Fraction(1),) * len(query.levels.asked)
    asked = tuple(zip(query.levels.asked, weights, strict=True))

    def needs(measure: Measure) -> list[Need]:
        every = [Margin(measure, names, sizes, level) for level in below(query.levels.asked)] if query.levels else []
        norms = {margin: margin.norms(frame) for margin in every}
        moved = tuple((margin.kept, Fraction(size.l1 if pure else size.l2)) for margin, size in norms.items())
        shares = share_out(sizes, asked, moved, pure=pure)
        free = [Additive(margin) for margin, size in norms.items() if not size.l1]
        return [*(Additive(margin, shares[margin.kept]) for margin in every if margin.kept in shares), *free]

    return {
        output.name: tuple(need for measure in measures_of(output.aggregate, facts) for need in needs(measure))
        for output in query.outputs
    }


def level_rows(levels: Levels, keys: Keys) -> list[tuple[Value, ...]]:
    """The keys of every row, level by level."""
    assert keys.listings is not None
    found: list[tuple[Value, ...]] = []
    for level in levels.asked:
        kept = tuple(listed if axis in level else (None,) for axis, listed in enumerate(keys.listings))
        found += Keys(keys.keys, kept).rows()
    return found


@dataclass(frozen=True)
class Leveled:
    """One measure of a table with margins: what was released of it."""

    levels: tuple[Level, ...]
    releases: tuple[Release, ...]

    @property
    def lattice(self) -> Lattice:
        margins = [release.statistic for release in self.releases]
        assert all(isinstance(one, Margin) for one in margins)
        measured = tuple((one.kept, release.spread) for one, release in zip(margins, self.releases, strict=True))  # type: ignore[union-attr]
        return Lattice(margins[0].sizes, measured)  # type: ignore[union-attr]

    def values(self, released: Mapping[Release, Released]) -> list[Reals]:
        """Every asked level, consistent with all others."""
        lattice = self.lattice
        shapes = [[lattice.sizes[axis] for axis in level] for level, _ in lattice.measured]
        tables = [released[one].real.reshape(shape) for one, shape in zip(self.releases, shapes, strict=True)]
        components = lattice.components(tables)
        return [lattice.compose(components, level).ravel() for level in self.levels]


def leveled(levels: Levels, releases: Sequence[Release]) -> list[Leveled]:
    """What was released for an output, measure by measure."""
    by_measure: dict[Measure, list[Release]] = {}
    for release in releases:
        assert isinstance(release.statistic, Margin)
        by_measure.setdefault(release.statistic.of, []).append(release)
    return [Leveled(levels.asked, tuple(those)) for those in by_measure.values()]


def estimate_levels(levels: Levels, aggregate: Aggregate, released: Mapping[Release, Released]) -> Estimate:
    """An output in every row of a table with margins, from what came out of its releases."""
    parts = leveled(levels, [*released])
    values = [part.values(released) for part in parts]
    lattices = [part.lattice for part in parts]
    if not isinstance(aggregate, Mean):
        return join_levels(
            [estimate_level(table, lattices[0], level) for level, table in zip(levels.asked, values[0], strict=True)]
        )
    return join_levels(
        [
            _forms(lattices, level, parts[1]).mean(count, centred)
            for level, count, centred in zip(levels.asked, *values, strict=True)
        ]
    )


def expect_levels(levels: Levels, aggregate: Aggregate, releases: Sequence[Release], typical: Typical) -> Expected:
    """How far off an output will be at every level."""
    parts = leveled(levels, releases)
    lattices = [part.lattice for part in parts]
    errors: dict[Level, float] = {}
    for level in levels.asked:
        if isinstance(aggregate, Mean):
            together = math.prod(size for axis, size in enumerate(lattices[0].sizes) if axis not in level)
            found = _forms(lattices, level, parts[1]).widest(float(typical.rows * together))
            assert found.lower is not None
            assert found.upper is not None
            errors[level] = float(np.max(found.upper - found.lower)) / 2
        else:
            errors[level] = _half(lattices[0], level)
    cell, *margins = errors.values()
    most = f" at most, {typical.of} in a cell" if isinstance(aggregate, Mean) else ""
    words = f"± {cell:,.4g} in a cell, ± {max(margins):,.4g} in a margin" if margins else f"± {cell:,.4g}{typical.each}"
    return Expected(max(errors.values()), words + most)


def estimate_level(table: Reals, lattice: Lattice, level: Level) -> Estimate:
    """A level as it was estimated, in a line, with the errors that it has."""
    flat, half = table.ravel(), _half(lattice, level)
    return Estimate(flat, np.full(flat.shape, lattice.deviation(level)), flat - half, flat + half)


@lru_cache(maxsize=4096)
def _half(lattice: Lattice, level: Level) -> float:
    return float(reach([Noise(spread, np.ones(1)) for spread in lattice.noise(level)], _MISS)[0])


def _forms(lattices: Sequence[Lattice], level: Level, summed: Leveled) -> Forms:
    """The count and the sum around the middle of a mean at one level."""
    count, centred = (lattice.noise(level) for lattice in lattices)
    margin = summed.releases[0].statistic
    assert isinstance(margin, Margin)
    ends = (float(units * margin.of.step) for units in (margin.of.shift, margin.of.low, margin.of.high))
    zeros, ones = (0.0,) * len(count), (1.0,) * len(count)
    return Forms((*count, *centred), (*ones, *(0.0 for _ in centred)), (*zeros, *(1.0 for _ in centred)), *ends)


def join_levels(levels: Sequence[Estimate]) -> Estimate:
    """One level after the other."""
    columns = zip(*((one.values, one.errors, one.lower, one.upper) for one in levels), strict=True)
    values, errors, lower, upper = (np.concatenate(column) for column in columns)
    return Estimate(values, errors, lower, upper)


def make_levels_whole(levels: Levels, sizes: Sequence[int], values: Sequence[Value]) -> list[int]:
    """Counts of a table with margins as whole numbers, none negative, that add up at every level; the cells come first."""
    cells = make_whole(np.array(values[: math.prod(sizes)], dtype=np.float64).reshape(sizes))
    others = (tuple(axis for axis in range(len(sizes)) if axis not in level) for level in levels.asked)
    whole = np.array([int(x) for x in cells.ravel()], dtype=object).reshape(sizes)
    return [int(x) for axes in others for x in np.asarray(whole.sum(axis=axes)).ravel()]
