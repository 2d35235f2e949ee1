"""How numbers and days are written: little is allowed, everything else is refused in a sentence, and it is part of the facts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.digest import digest_of, former_digest
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.sql import parse_query
from discreet.schema.columns import Column, date, day_parts, integer, number
from discreet.schema.table import Schema
from discreet.schema.units import rows

REFUSED = {
    "two digits": ("%d.%m.%y", "century"),
    "another code": ("%d.%m.%Y %p", "not read"),
    "a letter": ("%dx%m.%Y", "not read"),
    "a quote": ("%d'%m'%Y", "not read"),
    "a percent sign": ("%%d.%m.%Y", "not read"),
    "an end": ("%d.%m.%Y%", "not read"),
    "a digit": ("%d0%m0%Y", "not read"),
    "a space before": (" %d.%m.%Y", "not read"),
    "a line behind": ("%d.%m.%Y\n", "not read"),
    "a nul": ("%d.%m.%Y\0", "not read"),
    "no day": ("%m.%Y", "once each"),
    "no month": ("%d.%Y", "once each"),
    "no year": ("%d.%m.", "once each"),
    "two days": ("%d.%d.%m.%Y", "once each"),
    "two months": ("%d.%m.%b.%Y", "once each"),
    "nothing": ("", "once each"),
    "a number": (7, "no text"),
    "a list": (["%d.%m.%Y"], "no text"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_formats_are_refused(case: str) -> None:
    format, sentence = REFUSED[case]
    with pytest.raises(ParameterError, match=sentence) as refusal:
        date("2020-01-01", "2021-01-01", format=format)  # type: ignore[arg-type]
    assert str(refusal.value).endswith('"%d.%m.%Y".')


@given(st.text("%dmYbBHMS.'\\]; -", max_size=14))
def test_what_is_let_through_is_made_of_allowed_parts(format: str) -> None:
    try:
        parts = day_parts(format)
    except ParameterError:
        return
    assert "".join(parts) == format
    assert not set("'\\];") & set(format)


@pytest.mark.parametrize("sign", ["", ";", ".,", None, 1, ["."], "٫"], ids=str)
def test_a_decimal_sign_is_a_point_or_a_comma(sign: object) -> None:
    for declare in (integer, number):
        with pytest.raises(ParameterError, match="must be"):
            declare(0, 5, decimal=sign)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (date("2020-01-01", "2021-01-01", format="%d.%m.%Y"), date("2020-01-01", "2021-01-01", format="%m.%d.%Y")),
        (date("2020-01-01", "2021-01-01", format="%d.%m.%Y"), date("2020-01-01", "2021-01-01")),
        (integer(0, 9, decimal=","), integer(0, 9)),
        (number(0, 9, decimal=","), number(0, 9)),
    ],
    ids=["formats", "a format", "integers", "numbers"],
)
def test_questions_under_other_spellings_are_other_questions(one: Column, other: Column) -> None:
    """Else a stored answer about what was read in one way would be given out for what is read in another."""
    digests = set()
    for column in (one, other):
        schema = Schema({"x": column}, rows())
        plan = price(parse_query("SELECT count(x) AS n FROM data", schema), schema, Cost("epsilon", Fraction(1)))
        digests |= {digest_of([plan]), former_digest([plan])}
    assert len(digests) == 4
