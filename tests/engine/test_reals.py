"""Roots, logarithms, exponentials and powers: every dialect gives the reference's doubles, bit by bit, and these are right."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import duckdb
import pytest
from engine.second import SECOND

from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.sql.dialect import Dialect
from discreet.engine.sql.expressions import write
from discreet.plan.expressions import Call, Column, Expression, Literal, reals
from discreet.plan.expressions.evaluate import evaluate, infer
from discreet.plan.expressions.facts import Facts

X = Column("x")


@pytest.fixture(scope="module", params=[DIALECT, SECOND], ids=lambda dialect: dialect.name)
def ask(request: pytest.FixtureRequest) -> Callable[[Expression, Sequence[float]], list[float | None]]:
    """What an engine makes of a column of doubles."""
    dialect: Dialect = request.param
    connection = duckdb.connect()

    def run(expression: Expression, values: Sequence[float]) -> list[float | None]:
        connection.execute(
            "CREATE OR REPLACE TABLE t AS SELECT unnest($1::DOUBLE[]) AS x, unnest(range(len($1::DOUBLE[]))) AS k", [list(values)]
        )
        bound: list[object] = []

        def bind(value: object) -> str:
            bound.append(value)
            return f"${len(bound)}"

        text = write(expression, {"x": "t.x"}, bind, dialect)
        return [value for (value,) in connection.execute(f"SELECT {text} FROM t ORDER BY k", bound).fetchall()]

    return run


def around(value: float) -> list[float]:
    """A double and its neighbours."""
    found = [value]
    for toward in (-math.inf, math.inf):
        one = value
        for _ in range(3):
            one = math.nextafter(one, toward)
            found.append(one)
    return found


def positives(seed: int) -> list[float]:
    """Doubles where reductions turn: powers of two, the roots between them, ends of the range, and everything in between."""
    chance = random.Random(seed)
    edges = [2.0**k for k in range(-498, 499, 7)] + [reals.ROOT * 2.0**k for k in range(-490, 490, 11)]
    edges += [1.0, 10.0, 1000.0, 1e-150, 1e150, math.e, 0.5, 2.0, reals.HALF_ROOT]
    found = [one for edge in edges for one in around(edge)]
    found += [chance.uniform(1, 2) * 2.0 ** chance.randrange(-498, 498) for _ in range(3000)]
    return found + [1 + chance.uniform(-1e-3, 1e-3) for _ in range(500)] + [float(n) for n in range(1, 500)]


def exponents(seed: int) -> list[float]:
    chance = random.Random(seed)
    edges = [(k + 0.5) * math.log(2) for k in range(-1000, 500, 7)] + [
        0.0,
        1.0,
        -1.0,
        345.0,
        346.0,
        -700.0,
        -701.0,
        -1e300,
        1e300,
    ]
    found = [one for edge in edges for one in around(edge)]
    return found + [chance.uniform(-720, 350) for _ in range(3000)] + [chance.uniform(-1, 1) for _ in range(1000)]


ODD = [0.0, -1.0, -1e-300, 5e-324, 1e-151, 1.1e150, 1e300, -1e300]


@pytest.mark.parametrize("name", ["ln", "log2", "log10", "sqrt", "exp"])
def test_every_dialect_gives_the_same_doubles(ask: Callable[..., list[float | None]], name: str) -> None:
    values = [*(exponents(1) if name == "exp" else positives(1)), *ODD]
    call = Call(name, (X,))
    for value, found in zip(values, ask(call, values), strict=True):
        expected = evaluate(call, {"x": value})
        assert found == expected, (name, value.hex())
        assert found is None or math.copysign(1, found) == math.copysign(1, expected or 0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 16, -1, -2, 17, Fraction(1, 2), Fraction(1, 3), Fraction(-5, 2)])
def test_powers_are_the_same_doubles(ask: Callable[..., list[float | None]], exponent: int | Fraction) -> None:
    chance = random.Random(2)
    values = [chance.uniform(-50, 50) for _ in range(300)] + [0.0, 1.0, -1.0, 2.0, 1e-3]
    call = Call("power", (X, Literal(exponent)))
    for value, found in zip(values, ask(call, values), strict=True):
        assert found == evaluate(call, {"x": value})
        whole = isinstance(exponent, int) and abs(exponent) <= 16
        if value < 0 and not whole:
            assert found is None
        elif value != 0 or exponent > 0:
            assert found is not None
            assert math.isclose(found, value ** float(exponent) if value >= 0 else value**exponent, rel_tol=1e-12)


def test_a_power_of_two_is_exact_on_every_engine(ask: Callable[..., list[float | None]]) -> None:
    """What ``exp`` and ``ln`` rest on beside arithmetic: each power of two that they can multiply by."""
    values = [k * math.log(2) for k in range(-1000, 497)]
    factors = [2.0 ** math.floor(value * reals.LOG2_E + 0.5) for value in values]
    for value, factor, found in zip(values, factors, ask(Call("exp", (X,)), values), strict=True):
        assert found is not None
        assert found / factor == (reals.exponential(value) or 0.0) / factor
    assert all(math.frexp(factor)[0] == 0.5 for factor in factors)
    with duckdb.connect() as connection:
        powers = connection.execute("SELECT power(2e0, k) FROM (SELECT unnest(range(-1010, 511))::DOUBLE AS k)").fetchall()
    assert [power for (power,) in powers] == [2.0**k for k in range(-1010, 511)]


@pytest.mark.parametrize("wrong", [-0.49, -1e-9, 1e-9, 0.49])
def test_a_logarithm_does_not_depend_on_the_engines_own(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof's one assumption about an engine's log2: an error below a half changes no bit."""
    values = positives(3)
    expected = [reals.logarithm(value) for value in values]
    right = math.log2
    monkeypatch.setattr(math, "log2", lambda x: right(x) + wrong)
    assert [reals.logarithm(value) for value in values] == expected


def test_the_functions_are_right() -> None:
    for value in positives(4):
        found = reals.logarithm(value)
        if found is not None:
            assert math.isclose(found, math.log(value), rel_tol=2e-15, abs_tol=1e-300), value
    for value in exponents(4):
        found = reals.exponential(value)
        if found is not None:
            assert math.isclose(found, math.exp(max(value, -700.0)), rel_tol=2e-15), value
    for k in range(-30, 31):
        assert evaluate(Call("log2", (X,)), {"x": 2.0**k}) == k
        assert abs(k) > 22 or evaluate(Call("log10", (X,)), {"x": float(f"1e{k}")}) == k


@pytest.mark.parametrize("seed", range(4))
def test_values_lie_within_their_facts(seed: int) -> None:
    """Bounds of random ranges: the functions at both ends, and near them, are inside without any rounding."""
    chance = random.Random(seed)
    for _ in range(300):
        low, high = sorted(Fraction(chance.randrange(1, 10**9), 10 ** chance.randrange(0, 12)) for _ in range(2))
        exponent = chance.choice([2, 3, -1, -2, Fraction(1, 2), Fraction(3, 2), Fraction(-1, 3)])
        sign = chance.choice([1, 1, -1])
        ends = (sign * low, sign * high) if sign > 0 else (sign * high, sign * low)
        known = {"x": Facts("number", False, *ends)}
        calls = [Call(name, (X,)) for name in ("ln", "log2", "log10", "sqrt")] if sign > 0 else []
        calls += [Call("exp", (X,))] * (ends[1] <= 345)
        calls += [Call("power", (X, Literal(exponent)))] if sign > 0 or isinstance(exponent, int) else []
        for call in calls:
            facts = infer(call, known)
            for end in (*ends, (ends[0] + ends[1]) / 2):
                value = evaluate(call, {"x": end})
                if isinstance(value, float) and Fraction(float(end)) == end:  # a bound is exact, a double may be beside it
                    slack = abs(Fraction(value)) * Fraction(1, 2**50) if call.name == "power" else 0
                    assert facts.lower is None or facts.lower - slack <= value, (str(call), ends)
                    assert facts.upper is None or value <= facts.upper + slack, (str(call), ends)
