"""Formulas are read as R and patsy read them, or refused in a sentence."""

from __future__ import annotations

import pytest

from discreet.analysis.linear.formula import Formula, parse_formula
from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression

LEVELS = {"ward": ("eye", "heart", "bone"), "sex": ("f", "m"), "k": (1, 2)}


def parsed(text: object) -> Formula:
    def read(name: str) -> Expression:
        if name == "nobody":
            raise ParameterError("There is no column nobody.")
        return Column(name)

    return parse_formula(text, read, lambda one: str(one) in ("ward", "sex"))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("y ~ x", "intercept x"),
        ("y ~ 1", "intercept"),
        ("y ~ x - 1", "x"),
        ("y ~ 0 + x", "x"),
        ("y ~ -1 + x + z", "x z"),
        ("y ~ x*z", "intercept x z x:z"),
        ("y ~ x*z - x:z", "intercept x z"),
        ("y ~ x + x + x:x", "intercept x"),
        ("y ~ ward", "intercept ward[heart] ward[bone]"),
        ("y ~ ward - 1", "ward[eye] ward[heart] ward[bone]"),
        ("y ~ x + ward + x:ward", "intercept x ward[heart] ward[bone] x:ward[heart] x:ward[bone]"),
        ("y ~ x*ward", "intercept x ward[heart] ward[bone] x:ward[heart] x:ward[bone]"),
        ("y ~ x:ward", "intercept x:ward[eye] x:ward[heart] x:ward[bone]"),
        ("y ~ sex*ward", "intercept sex[m] ward[heart] ward[bone] sex[m]:ward[heart] sex[m]:ward[bone]"),
        ("y ~ sex:ward - 1 + sex", "sex[f] sex[m] sex[f]:ward[heart] sex[m]:ward[heart] sex[f]:ward[bone] sex[m]:ward[bone]"),
        ("y ~ C(k)", "intercept k[2]"),
        ("y~x+ z ", "intercept x z"),
    ],
)
def test_columns_of_a_design(text: str, columns: str) -> None:
    assert sorted(one.label for one in parsed(text).columns(LEVELS)) == sorted(columns.split())


def test_expressions_are_read_whole() -> None:
    found = parsed("I(greatest(y, 1)) ~ I((x + 1) // 10) + `a * b`:z")
    assert str(found.response) == str(Column("greatest(y, 1)"))
    assert [str(one) for one in found.variables] == [str(Column(text)) for text in ("(x + 1) // 10", "a * b", "z")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (3, "A formula is a text"),
        ("y", "one ~"),
        ("y ~ x ~ z", "one ~"),
        ("~ x", "one ~"),
        ("y ~", "at its end"),
        ("y ~ x +", "at its end"),
        ("y ~ x z", "at 'z'"),
        ("y ~ x^2", "at '\\^2'"),
        ("y ~ (x + z):w", "at '\\(x"),
        ("y ~ 2", "2 is no term"),
        ("y ~ x / z", "at '/ z'"),
        ("y ~ log(x)", r"write I\(log"),
        ("y ~ I(x", "not closed"),
        ("y ~ x + y", "explains itself"),
        ("C(y) ~ x", "response is a number"),
        ("y ~ 0", "neither terms"),
        ("y + z ~ x", "at '\\+ z'"),
        ("y ~ nobody", "no column nobody"),
    ],
)
def test_what_cannot_be_read_is_refused(text: object, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parsed(text)


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 60"):
        parsed("y ~ " + " + ".join(f"x{i}" for i in range(70))).columns({})
