"""Every dialect against the reference meaning: random expressions over awkward rows agree, keep their facts, never raise."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Callable
from fractions import Fraction

import duckdb
import pytest
from engine.second import SECOND
from support.random_expressions import CONSTANTS, DECLARED, FACTS, KINDS, MAKES, SHAPED, VALUES, draw, rows

from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.sql.expressions import write
from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, columns_of
from discreet.plan.expressions.evaluate import OPERATIONS, evaluate, infer
from discreet.plan.expressions.facts import Facts

ROUNDED = ("/", "//", "round_to", "trunc_to", "power")  # quotients and powers, which doubles do not hold exactly
TYPES = {name: DIALECT.types[facts.kind] for name, facts in FACTS.items()}


@pytest.fixture(scope="module", params=[DIALECT, SECOND], ids=lambda dialect: dialect.name)
def ask(request: pytest.FixtureRequest) -> Callable[[list[Expression], list[dict[str, Value]]], list[tuple[Value, ...]]]:
    connection = duckdb.connect()
    last: list[str] = []  # the rows that are there, to the last bit: to write them takes longer than to ask most things of them

    def run(expressions: list[Expression], table: list[dict[str, Value]]) -> list[tuple[Value, ...]]:
        cells = [[k, *(row[name] for name in DECLARED)] for k, row in enumerate(table)]
        if last != [repr(cells)]:
            connection.execute(
                f"CREATE OR REPLACE TABLE t (k INTEGER, {', '.join(f'{name} {TYPES[name]}' for name in DECLARED)})"
            )
            connection.executemany(f"INSERT INTO t VALUES (?{', ?' * len(DECLARED)})", cells)
            last[:] = [repr(cells)]
        bound: list[Value] = []

        def bind(value: Value) -> str:
            bound.append(value)
            return f"${len(bound)}"

        texts = [write(expression, {name: f"t.{name}" for name in DECLARED}, bind, request.param) for expression in expressions]
        return connection.execute(f"SELECT {', '.join(texts)} FROM t ORDER BY k", bound).fetchall()

    return run


def plain_ascii(expression: Expression, row: dict[str, Value]) -> bool:
    """Whether letters outside ASCII cannot meet lower or upper."""
    seen = [row[name] for name in columns_of(expression)]
    return all(not isinstance(value, str) or value.isascii() for value in seen)


def changes_case(expression: Expression) -> bool:
    return isinstance(expression, Call) and (
        expression.name in ("lower", "upper") or any(map(changes_case, expression.arguments))
    )


def uses(expression: Expression, *names: str) -> bool:
    return isinstance(expression, Call) and (expression.name in names or any(uses(part, *names) for part in expression.arguments))


def holds(value: Value, facts: Facts, exact: bool) -> bool:
    """Whether a value lies within facts; rounding of quotients may move it by a little, or past a whole number."""
    if value is None:
        return facts.nullable
    if facts.values is not None and exact:
        return value in facts.values
    if facts.kind == "date":
        assert isinstance(value, datetime.date)
        return facts.lower is not None and facts.upper is not None and facts.lower <= value.toordinal() <= facts.upper
    if facts.kind != "number":
        return isinstance(value, {"text": str, "boolean": bool}[facts.kind])
    assert isinstance(value, float)
    near = 0.0 if exact else 1.0 + 1e-9 * abs(value)
    below = facts.lower is None or facts.lower <= Fraction(value) + Fraction(near)
    above = facts.upper is None or Fraction(value) - Fraction(near) <= facts.upper
    return below and above and (not exact or facts.step is None or (Fraction(value) / facts.step).denominator == 1)


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_expressions_agree_with_the_reference(ask: Callable[..., list[tuple[Value, ...]]], kind: str, seed: int) -> None:
    chance = random.Random(f"{kind}{seed}")
    table = rows(60, chance)
    expressions: list[Expression] = []
    while len(expressions) < 25:
        one = draw(kind, chance.choice([1, 2, 3]), chance)
        try:
            infer(one, FACTS)
        except ParameterError:
            continue
        expressions.append(one)
    for row, answers in zip(table, ask(expressions, table), strict=True):
        for expression, answer in zip(expressions, answers, strict=True):
            if changes_case(expression) and not plain_ascii(expression, row):
                continue
            expected = evaluate(expression, row)
            assert type(answer) is type(expected), str(expression)
            assert answer == expected, str(expression)
            assert not (answer == 0 and isinstance(answer, float) and math.copysign(1, answer) < 0), str(expression)
            assert holds(expected, infer(expression, FACTS), not uses(expression, *ROUNDED) and "0.1" not in str(expression)), (
                str(expression)
            )


@pytest.mark.parametrize("name", ["like", "starts_with", "contains", "||", "=", "<"])
def test_texts_pair_by_pair(ask: Callable[..., list[tuple[Value, ...]]], name: str) -> None:
    pairs: list[Expression] = [
        Call(name, (Column("w"), Literal(constant))) for constant in (*CONSTANTS["text"], "%B_", "A%", "a_b", "%%_")
    ]
    table = [dict(rows(1, random.Random(1))[0], w=value) for value in VALUES["w"]]
    for row, answers in zip(table, ask(pairs, table), strict=True):
        assert [evaluate(pair, row) for pair in pairs] == list(answers)


@pytest.mark.parametrize("name", ["trim", "length", "left", "right", "substring"])
def test_texts_one_by_one(ask: Callable[..., list[tuple[Value, ...]]], name: str) -> None:
    places = {"left": [Literal(2)], "right": [Literal(2)], "substring": [Literal(2), Literal(1)]}.get(name, [])
    table = [dict(rows(1, random.Random(1))[0], w=value) for value in VALUES["w"]]
    call = Call(name, (Column("w"), *places))
    assert [(evaluate(call, row),) for row in table] == ask([call], table)


WORDS = [
    "",
    "a",
    "aXbXc",
    "X",
    "00120",
    " a b ",
    "2024-02-30",
    "1999-12-31",
    "-0.0",
    "007",
    "1.",
    ".5",
    "+1",
    "1e3",
    "٣",
    "a\u0000b",
]
WORDS += ["\n", "ab\nab", "z" * 12, "1" * 15, "1" * 16, "0.1", "9" * 15 + "." + "9" * 15, "2024-2-9", "0001-01-01", "9999-12-31"]
# From 2018 to 2024, leap years and weeks 53: the turns of all months and years, and every seventeenth day between.
DAYS = [
    day
    for day in map(datetime.date.fromordinal, range(737000, 738900))
    if day.toordinal() % 17 == 0 or day.day in (1, 28, 29, 30, 31)
]
DAYS += [
    datetime.date(year, month, day)
    for year in range(2018, 2024)
    for month, days in ((12, range(22, 28)), (1, range(2, 10)))
    for day in days
]
DAYS += [datetime.date(year, month, day) for year in (1, 4, 1582, 1900, 2000, 9998) for month, day in ((1, 1), (2, 28), (12, 31))]
NUMBERS = [0.0, -0.5, 0.5, 1.5, 2.5, -2.5, 0.125, 1.005, 999.995, -1000.0, 8.0, 5.0, 1e-9, 123456.789]


@pytest.mark.parametrize("name", sorted({*SHAPED, *(name for names in MAKES.values() for name in names)} - {"case", "and", "or"}))
def test_operations_value_by_value(ask: Callable[..., list[tuple[Value, ...]]], name: str) -> None:
    """Every operation of one value and constants, on every awkward value of its type."""
    operation = OPERATIONS[name]
    if name not in SHAPED and (operation.least != 1 or operation.takes[0] not in ("text", "date", "number")):
        return
    column = {"text": "w", "date": "d", "number": "n"}[operation.takes[0]]
    some: list[Value] = {"w": [*VALUES["w"], *WORDS], "d": [*DAYS], "n": [*VALUES["n"], *NUMBERS]}[column]
    first = rows(1, random.Random(1))[0]
    table = [dict(first, **{column: value}) for value in some]
    if name in ("add_days", "add_months"):
        table = [row for row in table if row["d"] is not None and 50 < row["d"].year < 9000]  # type: ignore[union-attr]
    if name in ("lower", "upper"):
        table = [row for row in table if row["w"] is None or str(row["w"]).isascii()]
    calls = [Call(name, (Column(column), *map(Literal, constants))) for constants in SHAPED.get(name, [()])]
    for row, answers in zip(table, ask(calls, table), strict=True):
        for call, answer in zip(calls, answers, strict=True):
            expected = evaluate(call, row)
            assert type(answer) is type(expected), (str(call), row[column])
            assert answer == expected, (str(call), row[column])


@pytest.mark.parametrize(
    "name", sorted({one.name for one in OPERATIONS.values() if one.defined is None} - {"case", "and", "or", "bin"})
)
def test_every_operation_has_a_template(name: str) -> None:
    assert any(known.split(" ")[0] == name for known in DIALECT.templates)


def test_constants_are_bound_and_never_pasted() -> None:
    bound: list[Value] = []
    evil = "'; DROP TABLE data; --"
    sql = write(Call("=", (Column("w"), Literal(evil))), {"w": "t.w"}, lambda v: bound.append(v) or "$1", DIALECT)  # type: ignore[func-returns-value]
    assert sql == "(t.w = CAST($1 AS VARCHAR))"
    assert bound == [evil]


def test_quotients_of_extremes_are_finite_or_missing(ask: Callable[..., list[tuple[Value, ...]]]) -> None:
    tiny = Call("*", (Column("n"), Literal(Fraction(1, 10**150))))
    quotients: list[Expression] = [Call(name, (Literal(10**149), tiny)) for name in ("/", "//", "%")]
    table = [dict(row, n=value) for value in VALUES["n"] for row in rows(1, random.Random(1))]
    for row, answers in zip(table, ask(quotients, table), strict=True):
        for quotient, answer in zip(quotients, answers, strict=True):
            assert answer == evaluate(quotient, row)
            assert answer is None or (isinstance(answer, float) and math.isfinite(answer))


def test_a_text_that_explodes_is_refused() -> None:
    nested: Expression = Column("n")
    for _ in range(40):
        nested = Call("/", (Literal(1), nested))
    with pytest.raises(ParameterError, match="too deeply nested"):
        write(nested, {"n": "t.n"}, lambda _: "$1", DIALECT)
