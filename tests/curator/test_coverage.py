"""Intervals cover what the table would answer without noise, 95 % of the time.

Every case draws fresh noise 400 times on the same exact counts: 20 times on a table that holds the hospital 20 times, whose
groups have noise of their own and are answered together. False alarms: with coverage of at least 95 %, fewer than 353 of
400 intervals cover with probability below 3e-8 (binomial tail); where the interval is exact up to rounding, more than 398 cover
with probability below 3e-8 (and so an interval that is far too wide is noticed too): at most 20 comparisons a case, 6e-7.
Intervals that cover 85 % are found out 96 times in 100.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from curator.hospital import COLUMNS, table
from support.depth import THOROUGH

import discreet as dp
from discreet.curator.gate import Reservation
from discreet.curator.plans import answer_of, let_out
from discreet.engine import open_engine, open_source
from discreet.engine.base import groups_of
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema

COPIES = DRAWS = 20
LEAST, MOST = 353, 398
QUESTIONS = {
    "apart": "SELECT copy, drug_use, count(*) AS n, sum(debt) AS total, avg(age) AS age, var_pop(age) AS spread, "
    "median(age) AS half FROM data GROUP BY copy, drug_use",
    "pairs": "SELECT copy, drug_use, count(age) AS n, sum(debt) AS total, avg(debt) AS debt, avg(age) AS age FROM data "
    "WHERE age >= 3 GROUP BY copy, drug_use",
    "table": "SELECT copy, count(age) AS n, sum(age) AS total, avg(age) AS age, avg(CAST(age >= 30 AS INTEGER)) AS grown "
    "FROM data GROUP BY copy",
    "margins": "SELECT copy, drug_use, ward, count(*) AS cells FROM data GROUP BY copy, CUBE (drug_use, ward)",
    "margins of means": "SELECT copy, drug_use, sum(debt) AS total, avg(debt) AS debt FROM data GROUP BY copy, CUBE (drug_use)",
}
EXACT = {"n", "total", "age", "debt"}


UNITS = {
    "rows": dp.rows(),
    "replace": dp.rows(neighbours="replace", size=2000 * COPIES),
    "person": dp.person("patient", rows=2, groups=1),
}
SHARES = {"laplace": Cost("epsilon", Fraction(3)), "gaussian": Cost("rho", Fraction(1, 2))}
KNOWN = {**COLUMNS, "copy": dp.integer(1, COPIES)}
# Thoroughly, every question of every unit; usually every question, every unit and both laws.
EVERY_PAIR = [
    (q, u, [*SHARES][(i + j) % 2])
    for i, q in enumerate(QUESTIONS)
    for j, u in enumerate(UNITS)
    if THOROUGH or (i + j) % len(UNITS) == 0
]


@cache
def copies() -> pa.Table:
    """The same people, again and again, as others."""
    one = table().to_pandas()
    return pa.Table.from_pandas(pd.concat([one.assign(copy=i, patient=one["patient"] + 1000 * i) for i in range(1, COPIES + 1)]))


@pytest.mark.parametrize(("asked", "whose", "law"), EVERY_PAIR)
def test_intervals_cover(asked: str, whose: str, law: str) -> None:
    question, share, schema = QUESTIONS[asked], SHARES[law], Schema(KNOWN, UNITS[whose])
    plan = price(parse_query(question, schema), schema, share)
    source = open_source(copies(), columns=[*KNOWN, "patient"])
    groups = groups_of(plan)
    engine = open_engine(source, schema, {})
    counts = engine.count(plan, groups, "salt")
    quiet = price(parse_query(question, schema), schema, replace(share, amount=Fraction(10**7 if share.epsilon else 10**13)))
    truth = answer_of(
        quiet, groups, let_out(quiet, groups, counts, Reservation(quiet.privacy))
    )  # the same bounding, and hardly any noise
    covered = dict.fromkeys(truth.outputs, np.zeros(len(truth)))
    for _ in range(DRAWS):
        answer = answer_of(plan, groups, let_out(plan, groups, counts, Reservation(plan.privacy)))
        for name, column in answer.outputs.items():
            exact = np.array(truth.outputs[name].values)
            slack = 1e-6 * (1 + np.abs(exact))  # the truth has a little noise too
            inside = (np.array(column.lower) <= exact + slack) & (exact - slack <= np.array(column.upper))
            covered[name] = covered[name] + inside
    alike = np.unique([f"{row.get('drug_use')} {row.get('ward')}" for row in truth.rows()], return_inverse=True)[1]
    assert (np.bincount(alike) == COPIES).all()
    for name, by_copy in covered.items():
        counted = np.bincount(alike, by_copy)
        assert (counted >= LEAST).all(), (name, counted)
        if name in EXACT and any(release.mechanism is not None for release in plan.behind[name]):
            assert (counted <= MOST).all(), (name, counted)
