"""Means as noisy pairs: never more noise than a count and a sum apart, and half the variance where that is the theorem."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.plan.aggregates import Count, Mean, Quantile, Sum
from discreet.plan.aggregates.soft import forms_of
from discreet.plan.cost import Cost
from discreet.plan.plan import Plan, price
from discreet.plan.release import Release
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Sums
from discreet.schema.columns import category, integer, number
from discreet.schema.table import Schema
from discreet.schema.units import Unit, person, rows

SHARES = {"pure": Cost("epsilon", Fraction(1, 10)), "rho": Cost("rho", Fraction(1, 1000))}
UNITS = {
    "rows": rows(),
    "rows replaced": rows(neighbours="replace", size=1000),
    "persons": person("id", rows=3, groups=2),
    "persons replaced": person("id", rows=3, groups=2, neighbours="replace"),
}
COLUMNS = {
    "g": category("a", "b", "c"),
    "even": integer(0, 98, missing=0),
    "odd": integer(-3, 10, missing=0),
    "far": integer(1000, 1010, missing=1000),
    "yes": integer(0, 1, missing=0),
    "no": integer(0, 1, missing=0),
    "three": integer(0, 3, missing=0),
    "cents": number(0, 100, step=0.01),
    "huge": integer(-(2**63) + 1, 2**63 - 1, missing=0),
}
OUTPUTS = [
    "avg(even)",
    "avg(even), count(*)",
    "avg(even), sum(even)",
    "avg(even), avg(odd)",
    "avg(even), avg(odd), count(*), sum(odd)",
    "avg(even), avg(odd), avg(far)",
    "avg(far), sum(far), count(*)",
    "avg(far), avg(even), sum(far)",
    "avg(yes)",
    "avg(yes), count(*)",
    "avg(yes), sum(yes)",
    "avg(yes), avg(no)",
    "avg(yes), avg(no), count(*)",
    "avg(yes), avg(no), avg(three)",
    "avg(three), count(*)",
    "avg(cents), count(*), count(cents)",
    "avg(cents), var_pop(cents), count(*)",
    "avg(even), stddev(odd)",
    "avg(even), median(odd), sum(three)",
    "avg(even * 0 + 5), count(*)",
    "avg(huge), count(*)",
]


def planned(outputs: str, unit: Unit, share: Cost, tail: str = "", *, pairs: bool = True) -> Plan:
    schema = Schema(COLUMNS, unit)
    named = ", ".join(f"{one.strip()} AS o{i}" for i, one in enumerate(outputs.split(", ")))
    keys = "g, " if "GROUP" in tail else ""
    return price(parse_query(f"SELECT {keys}{named} FROM data {tail}", schema), schema, share, pairs=pairs)


def paired(plan: Plan) -> list[Release]:
    return [one for one in plan.releases if isinstance(one.statistic, Sums) and one.statistic.is_pair]


def noise(plan: Plan, name: str) -> np.ndarray:
    """The standard deviations of one output's noise: of n times a mean, at 11 places between its bounds."""
    aggregate = next(output.aggregate for output in plan.query.outputs if output.name == name)
    releases = plan.behind[name]
    if len(releases) == 1 and not (isinstance(releases[0].statistic, Sums) and releases[0].statistic.is_pair):
        return np.array([releases[0].spread.deviation])
    if isinstance(aggregate, Mean):
        forms = forms_of(releases)
        return np.asarray(forms.deviation(1, -np.linspace(forms.low, forms.high, 11)))
    if isinstance(aggregate, Sum):
        return np.array([forms_of(releases).deviation(1, forms_of(releases).middle)])
    if isinstance(aggregate, Count):
        return np.array([forms_of(releases).deviation(0, 1)])
    if isinstance(aggregate, Quantile):
        return np.array([float(one.mechanism.selection.epsilon) ** -1 for one in releases])  # type: ignore[union-attr]
    return np.array([one.spread.deviation for one in releases])


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
@pytest.mark.parametrize("tail", ["", "WHERE even > 3", "GROUP BY g"], ids=["table", "some rows", "groups"])
def test_no_output_is_less_accurate_than_apart(tail: str, unit: Unit, share: Cost) -> None:
    """But for roots, which are rounded up to parts of 2^-8."""
    found = 0
    for outputs in OUTPUTS:
        now, before = (planned(outputs, unit, share, tail, pairs=pairs) for pairs in (True, False))
        found += len(paired(now))
        for name in now.behind:
            assert (noise(now, name) <= (1 + 3e-3) * noise(before, name)).all(), (outputs, name)
        if now.privacy is not None:  # and nothing costs more
            spent = now.privacy.epsilon(delta=0) if share.epsilon is not None else now.privacy.rho
            assert spent <= float(share.amount) * (1 + 1e-12), outputs
    assert found or (unit == UNITS["rows replaced"] and not tail and share.epsilon is None)  # the count is public


@pytest.mark.parametrize(
    ("unit", "tail"), [("rows", ""), ("rows", "GROUP BY g"), ("rows replaced", "GROUP BY g"), ("persons", "")]
)
def test_half_the_variance(unit: str, tail: str) -> None:
    """Wherever the mean lies, also of the count and the sum; beside other outputs, which stay as they were."""
    for outputs in ("avg(even)", "avg(even), count(*), sum(even)", "avg(far), median(odd), count(*)"):
        now, before = (planned(outputs, UNITS[unit], SHARES["pure"], tail, pairs=pairs) for pairs in (True, False))
        for name, aggregate in ((one.name, one.aggregate) for one in now.query.outputs):
            ratio = noise(now, name) / noise(before, name)
            assert ratio == pytest.approx(math.sqrt(1 / 2) if aggregate.paired else 1, rel=1e-3)


def test_a_quarter_where_one_row_is_exchanged_for_another() -> None:
    now, before = (planned("avg(even)", UNITS["rows replaced"], SHARES["pure"], "WHERE odd > 3", pairs=p) for p in (True, False))
    ratio = (noise(now, "o0") / noise(before, "o0")) ** 2
    assert ratio[5] == pytest.approx(1 / 4, rel=1e-4)
    assert ratio[0] == pytest.approx(1 / (2 + 1 / 2), rel=1e-4)  # (1/2 + 1/2) / (2 + 1/2)


def test_shares_under_gaussian_noise() -> None:
    """(p^2 + (1 - p)^2) / 2 instead of 1 + p^2."""
    now, before = (planned("avg(yes)", rows(), SHARES["rho"], pairs=pairs) for pairs in (True, False))
    p = np.linspace(0, 1, 11)
    assert (noise(now, "o0") / noise(before, "o0")) ** 2 == pytest.approx((p**2 + (1 - p) ** 2) / 2 / (1 + p**2), rel=1e-3)


@pytest.mark.parametrize(
    ("outputs", "unit", "share", "count"),
    [
        ("avg(even), avg(odd), avg(far)", "rows", "pure", 0),  # three share one count
        ("avg(even), avg(odd), avg(even)", "rows", "pure", 2),
        ("avg(even), var_pop(odd)", "rows", "pure", 0),  # the variance needs the count
        ("avg(even), avg(cents), var_pop(cents)", "rows", "pure", 1),
        ("avg(even)", "rows replaced", "pure", 0),  # the count is public
        ("avg(even)", "rows", "rho", 0),
        ("avg(yes), avg(no)", "rows", "rho", 2),
        ("avg(yes), avg(even)", "rows", "rho", 0),
        ("avg(even * 0 + 5)", "rows", "pure", 0),
        ("avg(huge)", "rows", "pure", 0),
    ],
)
def test_which_means_are_pairs(outputs: str, unit: str, share: str, count: int) -> None:
    assert len(paired(planned(outputs, UNITS[unit], SHARES[share]))) == count


def test_names_of_outputs_change_nothing() -> None:
    for order in itertools.permutations(["avg(even)", "count(*)", "sum(even)"]):
        plan = planned(", ".join(order), rows(), SHARES["pure"])
        assert [str(one.statistic) for one in plan.releases] == ["count and sum of even, as a pair"]
