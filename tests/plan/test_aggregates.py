"""What an aggregate needs counted, and on which grid."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import ParameterError
from discreet.plan.aggregates import Aggregate, Best, Count, Mean, Mode, Quantile, Sum, Variance
from discreet.plan.aggregates.base import Context
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions import Column as Name
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.measures import ROWS, Measure
from discreet.plan.release import Additive, Largest, Ranked
from discreet.plan.statistics import MOST_CELLS, MOST_WORK, Axis, Histogram, Persons, Sums
from discreet.schema.columns import boolean, category, integer, number, text

X, Y = Name("x"), Name("y")
FACTS = {
    "age": facts_of_column(integer(0, 120)),
    "odd": facts_of_column(integer(-3, 10, missing=0)),
    "big": facts_of_column(integer(-(2**63) + 1, 2**63 - 1, missing=0)),
    "cents": facts_of_column(number(0, 10_000_000, step=0.01, missing=0)),
    "share": facts_of_column(number(0, 1)),
    "word": facts_of_column(category("a", "b")),
    "flag": facts_of_column(boolean()),
    "note": facts_of_column(text()),
    "public.big": facts_of_column(integer(-(2**63) + 1, 2**63 - 1, missing=0)),
}


def needs(aggregate: Aggregate, *beside: Aggregate, groups: int = 1) -> list[Sums | Persons | Histogram]:
    """The statistics that an aggregate needs."""
    found = aggregate.needs(Context(FACTS, groups, (aggregate, *beside)))
    assert all(isinstance(need, Additive | Largest | Ranked) for need in found)
    return [need.statistic for need in found]  # type: ignore[attr-defined]


def measures(aggregate: Aggregate, *beside: Aggregate) -> list[Measure]:
    return [measure for sums in needs(aggregate, *beside) if isinstance(sums, Sums) for measure in sums.of]


def ends(measure: Measure) -> tuple[int, int, int, Fraction]:
    return measure.low, measure.high, measure.shift, measure.step


def test_counts() -> None:
    assert measures(Count()) == [ROWS]
    assert measures(Count(Name("odd"))) == [ROWS]  # never missing
    assert measures(Count(Name("age"))) == [Measure("present", 0, 1, Name("age"), True)]


def test_sums_are_in_steps_and_means_are_around_the_middle() -> None:
    assert [ends(m) for m in measures(Sum(Name("cents")))] == [(0, 10**9, 0, Fraction(1, 100))]
    assert [ends(m) for m in measures(Mean(Name("odd")))][1] == (-6, 7, 3, 1)
    assert [ends(m) for m in measures(Mean(Name("age")))][1] == (-60, 60, 60, 1)
    assert [ends(m) for m in measures(Sum(Name("big")))] == [(-(2**63) + 1, 2**63 - 1, 0, 1)]


def test_squares() -> None:
    _, value, square = measures(Variance(Name("odd")))
    assert (square.low, square.high, square.lift, square.shift) == (-24, 25, 24, 3)  # 0 to 49, less 24
    assert square.worth == 1
    _, value, square = measures(Variance(Name("cents")))
    assert value.bound == 5 * 10**8
    assert square.worth == Fraction(1, 10**4)
    assert square.bound < 2**62


@pytest.mark.parametrize("of", [Call("+", (Name("big"), Literal(0))), Name("public.big")], ids=str)
def test_what_is_calculated_in_doubles_has_at_most_2_52_units(of: Expression) -> None:
    (measure,) = measures(Sum(of))
    assert measure.bound <= 2**52 + 1
    assert measure.bound * measure.step >= 2**63 - 1
    assert all(one.bound <= 2**52 + 1 for one in measures(Best((1, 2), Call("+", (Name("big"), Name("candidate"))))))


def test_candidates_share_a_grid() -> None:
    scores = measures(Best((1, Fraction(1, 4), 3), Call("*", (Name("age"), Name("candidate")))))
    assert [ends(one) for one in scores] == [
        (0, 480, 0, Fraction(1, 4)),
        (0, 120, 0, Fraction(1, 4)),
        (0, 1440, 0, Fraction(1, 4)),
    ]


def test_what_two_outputs_share_is_one_value() -> None:
    mean, total, count, variance = Mean(Name("age")), Sum(Name("age")), Count(Name("age")), Variance(Name("age"))
    assert needs(total, mean) == needs(total, variance) == needs(mean)  # a mean and a count say the sum
    assert needs(count)[0] == needs(mean)[0] == needs(variance)[0]
    assert needs(variance)[1] == needs(mean)[1]
    assert [ends(m) for m in measures(total, count)] == [(0, 120, 0, 1)]


def cells(aggregate: Aggregate, groups: int = 1) -> Axis:
    (found,) = needs(aggregate, groups=groups)
    assert isinstance(found, Histogram)
    (axis,) = found.axes
    return axis


def test_cells_of_quantiles() -> None:
    median = Fraction(1, 2)
    assert cells(Quantile(Name("age"), median)) == Axis(Name("age"), 121, Fraction(0), Fraction(1), Fraction(120))
    for groups in (1, 100, 10**6):
        found = cells(Quantile(Name("share"), median), groups)
        assert not found.exact
        assert 1 / found.width <= found.count - 1 < 1 / found.width + 1
        assert (found.width / FACTS["share"].step).denominator == 1  # type: ignore[operator]
        assert found.count <= max(2**8, min(MOST_CELLS, MOST_WORK // groups))
    assert cells(Quantile(Call("/", (Literal(1), Literal(2))), median)).count == 1  # a constant has one cell
    assert cells(Quantile(Call("/", (Name("age"), Literal(7))), median)).count == MOST_CELLS


def test_cells_of_modes() -> None:
    assert cells(Mode(Name("word"))).values == ("a", "b")
    assert cells(Mode(Name("flag"))).values == (False, True)
    assert cells(Mode(Call("//", (Name("age"), Literal(60))))).values == (0, 1, 2)


@pytest.mark.parametrize(
    "aggregate",
    [
        Mode(Name("note")),
        Quantile(Name("word"), Fraction(1, 2)),
        Sum(Call("/", (Name("age"), Call("/", (Name("age"), Literal(7)))))),
        Sum(Name("word")),
    ],
    ids=str,
)
def test_what_has_no_public_bounds_is_refused(aggregate: Aggregate) -> None:
    with pytest.raises(ParameterError, match=r"declare|bounds|list"):
        needs(aggregate)
