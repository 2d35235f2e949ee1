"""Distinct values of a public list: what noise allows to say about them."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from support.accepted import COLUMNS, SCHEMA

from discreet.errors import ParameterError
from discreet.plan.aggregates import Present
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.release import Released
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema
from discreet.schema.units import Unit, person, rows

UNITS = [rows(), rows(neighbours="replace", size=100), person("id", rows=4, groups=2)]
SHARES = [Cost("epsilon", Fraction(1)), Cost("rho", Fraction(1, 8)), Cost("epsilon", Fraction(10**6))]


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("share", SHARES, ids=str)
def test_the_interval_covers_whenever_all_noise_is_within_its_bounds(unit: Unit, share: Cost) -> None:
    """Which it is with 95 % confidence; noise at its bounds included."""
    draw = random.Random(7)
    schema = Schema(COLUMNS, unit)
    plan = price(parse_query("SELECT smokes, count(DISTINCT age) AS n FROM data GROUP BY smokes", schema), schema, share)
    (release,), (output,) = plan.releases, plan.query.outputs
    assert isinstance(output.aggregate, Present)
    cells, half = 121, release.spread.half(1 - 0.05 / 121) / float(release.worth)
    for _ in range(30):
        whole = [[draw.choice([0, 0, 1, 2, 50]) for _ in range(cells)] for _ in range(2)]
        counts = np.array(whole, dtype=np.int64) << release.bits
        noise = np.array([[draw.choice([-1, 1, draw.uniform(-1, 1)]) for _ in range(cells)] for _ in range(2)]) * half
        found = output.aggregate.estimate([Released(release, (counts + np.trunc(noise)).astype(np.int64))])
        truth = np.count_nonzero(counts, axis=1)
        assert found.lower is not None
        assert found.upper is not None
        assert (found.lower <= truth).all()
        assert (truth <= found.upper).all()
        assert (found.values == found.lower).all()
        if half * float(release.worth) < 0.4:
            assert list(found.values) == list(truth)


def test_what_is_counted_and_what_is_refused() -> None:
    def asked(sql: str) -> str:
        return str(parse_query(sql, SCHEMA))

    assert (
        asked("SELECT count(DISTINCT drug_use) FROM data")
        == "SELECT count(DISTINCT drug_use) AS count_distinct_drug_use FROM data"
    )
    assert asked("SELECT approx_count_distinct(age // 10) AS n FROM data") == "SELECT count(DISTINCT (age // 10)) AS n FROM data"
    for text in (
        "SELECT count(DISTINCT drug_use) AS n FROM data",
        "SELECT count(DISTINCT drug_use) FILTER (WHERE smokes) AS n FROM data",
    ):
        assert parse_query(asked(text), SCHEMA) == parse_query(text, SCHEMA)
    for text, says in (
        ("count(DISTINCT city)", "SELECT DISTINCT city"),
        ("count(DISTINCT 5)", "column"),
        ("count(DISTINCT age, debt)", "one column"),
        ("count(DISTINCT (age, debt))", "one by one"),
    ):
        with pytest.raises(ParameterError, match=says):
            parse_query(f"SELECT {text} FROM data", SCHEMA)
    open_keys = parse_query("SELECT city, count(DISTINCT drug_use) FROM data GROUP BY city", SCHEMA)
    with pytest.raises(ParameterError, match="listed groups"):
        price(open_keys, SCHEMA, Cost("epsilon", Fraction(1), Fraction(1, 10**6)))
