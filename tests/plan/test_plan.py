"""How large what a question makes of one row can become, and how long it is to an engine: known before it is paid for."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from support.random_expressions import CONSTANTS, FACTS, KINDS, SHAPED, draw

from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.sql.expressions import write
from discreet.errors import ParameterError
from discreet.plan.aggregates import Best, Count
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.plan.expressions.evaluate import OPERATIONS, evaluate, infer
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.plan import MOST_KEY, MOST_TERMS, MOST_TEXT, check, prepare, price, terms
from discreet.plan.query import Key, Output, Query
from discreet.plan.sql import parse_query
from discreet.schema.columns import boolean, category, date, integer, text
from discreet.schema.table import Schema
from discreet.schema.units import rows

LONGEST = 40
DECLARED = {
    "w": text(length=LONGEST),
    "v": text(length=7),
    "c": category("ΐ" * 9, "b"),
    "n": integer(0, 9),
    "b": boolean(),
    "d": date("2020-01-01", "2021-01-01"),
}
SCHEMA = Schema(DECLARED, rows())
KNOWN = {name: facts_of_column(column) for name, column in DECLARED.items()}
# letters that become two or three in another case
ROWS = [
    {"w": sign * LONGEST, "v": sign * 7, "c": "ΐ" * 9, "n": 9, "b": True, "d": datetime.date(2020, 9, 2)}
    for sign in ("x", "ΐ", "İ", "ß", " ", "👨")
]
BY_KIND = {"text": "w", "number": "n", "boolean": "b", "date": "d"}


def asks(expression: Expression) -> Query:
    """A question that needs all of an expression's value."""
    test = expression if infer(expression, KNOWN).kind == "boolean" else Call("is_null", (expression,))
    return Query((Output("n", Count()),), test)


def amplified(name: str, wide: int, deep: int) -> Iterator[Expression]:
    """An operation with as many and as long texts as it takes, within itself again and again."""
    operation = OPERATIONS[name]
    count = max(operation.least, min(wide, operation.most or wide))
    for kind in BY_KIND if wide < 1000 else ("text",):
        nested: Expression = Column(BY_KIND[kind])
        for _ in range(deep):
            arguments: list[Expression] = []
            for i in range(count):
                want = operation.takes[min(i, len(operation.takes) - 1)]
                if name == "case" and i % 2 == 0 and i < count - 1:
                    arguments.append(Column("b"))
                elif name in SHAPED and operation.constant is not None and i >= operation.constant:
                    arguments.append(Literal(SHAPED[name][0][i - operation.constant]))
                elif operation.constant is not None and i >= operation.constant:
                    inside = kind if want in ("same", "any") else want
                    arguments.append(Literal(i + 1 if inside == "number" else CONSTANTS[inside][0]))
                else:
                    arguments.append(nested if want in ("same", "any", kind) else Column(BY_KIND[want]))
            nested = Call(name, tuple(arguments[: count - (name == "case" and count % 2 == 0)]))
            try:
                infer(nested, KNOWN)
            except ParameterError:
                break
            yield nested


def made(expression: Expression) -> int:
    """The characters of all texts that an expression makes, each as often as it is written."""
    if not isinstance(expression, Call):
        return 0
    facts = infer(expression, KNOWN)
    return (facts.length or 0 if facts.kind == "text" else 0) + sum(map(made, expression.arguments))


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_operation_makes_more_than_is_known_in_advance(name: str) -> None:
    """Every operation of the language, also those to come: what it makes of the longest texts is no longer than its facts say;
    and however it is repeated, a question either stays within the limit or is refused."""
    tried = 0
    for wide, deep in ((2, 6), (3, 4), (300, 1), (33_000, 1)):
        for expression in amplified(name, wide, deep):
            facts, tried = infer(expression, KNOWN), tried + 1
            large = facts.kind == "text" and (facts.length or 0) > MOST_TEXT
            if not large and terms(expression) < 1000:
                for row in ROWS:
                    value = evaluate(expression, row)  # type: ignore[arg-type]
                    assert not isinstance(value, str) or len(value) <= (facts.length or 0)
            try:
                check(asks(expression), SCHEMA, KNOWN)
            except ParameterError:
                assert large or made(expression) > MOST_TEXT or terms(expression) >= MOST_TERMS
            else:
                assert not large
                assert terms(expression) <= MOST_TERMS
    assert tried


def test_the_limits_are_reached() -> None:
    """Texts, keys, terms, candidates, and a public table's texts: the largest that is answered, and one more."""
    long = Schema({"w": text(length=1000)}, rows(), {"maps": {"w": category("a"), "outline": category("x" * 30_000)}})
    known = {"w": facts_of_column(long.columns["w"]), "maps.outline": facts_of_column(long.public["maps"]["outline"])}

    def joined(count: int, *more: Expression) -> Call:
        return Call("concat", (*[Column("w")] * count, *more))

    one = Output("n", Count())
    fine = [
        Query((one,), Call("=", (joined(65), Literal("a")))),
        Query((one,), keys=(Key("k", joined(4)),)),
        Query((one,), Call("in", (Column("w"), *map(Literal, map(str, range(30_000)))))),
        Query((one,), Call("=", (Call("concat", (Column("maps.outline"),) * 2), Literal("a")))),
        Query((Output("z", Best(("a", "b" * 60_000), score(Call("=", (Column("w"), Column("candidate")))))),)),
    ]
    over = [
        (Query((one,), Call("=", (joined(66), Literal("a")))), "characters of one row"),
        (Query((one,), keys=(Key("k", joined(5)),)), f"at most {MOST_KEY:,}"),
        (Query((one,), keys=tuple(Key(f"k{i}", Column("w")) for i in range(5))), f"at most {MOST_KEY:,}"),
        (Query((one,), keys=(Key("k", Column("maps.outline")),)), f"at most {MOST_KEY:,}"),
        (Query((one,), Call("in", (Column("w"), *map(Literal, map(str, range(40_000)))))), "terms"),
        (Query((one,), Call("=", (Call("concat", (Column("maps.outline"),) * 3), Literal("a")))), "characters of one row"),
        (
            Query((Output("z", Best(("a", "b" * 60_000), score(Call("=", (joined(6, Column("candidate")), Literal("a")))))),)),
            "characters of one row",
        ),
        (
            Query((Output("z", Best(tuple(map(str, range(2000))), score(Call("=", (Column("w"), Column("candidate")))))),)),
            "terms",
        ),
    ]
    for query in fine:
        check(query, long, known)
    for query, says in over:
        with pytest.raises(ParameterError, match=says):
            check(query, long, known)


def score(test: Expression) -> Expression:
    return Call("case", (test, Literal(1), Literal(0)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_engine_writes_is_as_long_as_its_terms_say(kind: str) -> None:
    """Terms count what guards repeat: 60 characters of SQL each, whatever the expression."""
    chance = random.Random(kind)
    nested: Expression = Column("n")
    some = [draw(kind, chance.choice([1, 2, 3, 4]), chance) for _ in range(150)]
    for name in ("/", "%", "//", "least", "-", "neg"):
        nested = Call(name, (nested,) if name == "neg" else (nested, Column("m")))
        some.append(nested)
    for expression in some:
        sql = write(expression, dict.fromkeys(FACTS, "t.column"), lambda _: "$p1", DIALECT)
        assert len(sql) <= 60 * terms(expression), str(expression)


def test_nested_guards_are_refused_before_they_are_paid_for() -> None:
    nested: Expression = Column("n")
    for _ in range(40):
        nested = Call("/", (Literal(1), nested))
    with pytest.raises(ParameterError, match="terms"):
        check(asks(nested), SCHEMA, KNOWN)


# What plans of one question have in common.


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize("asked", ["count(*) AS a, avg(n) AS b", "sum(n) AS a, count(*) AS b", "median(n) AS a"])
def test_a_prepared_question_has_the_plans_that_it_has_anew(asked: str, pure: bool) -> None:
    query = parse_query(f"SELECT c, {asked} FROM data WHERE n > 2 GROUP BY c", SCHEMA)
    prepared = prepare(query, SCHEMA, pure=pure)
    for amount in (Fraction(1, 3), Fraction(1), Fraction(7, 2)):
        share = Cost("epsilon" if pure else "rho", amount)
        assert prepared.priced(share) == price(query, SCHEMA, share)


def test_a_plan_that_was_made_of_another_is_of_no_prepared_question() -> None:
    """Neither what is declared nor what was rehearsed of one question is taken for that of another."""
    plan = price(parse_query("SELECT count(*) AS n FROM data", SCHEMA), SCHEMA, Cost("rho", Fraction(1)))
    other = Schema({"n": integer(0, 1)}, rows())
    assert plan.prepared is not None
    assert replace(plan, share=Cost("rho", Fraction(2))).prepared is plan.prepared
    for changes in ({"query": Query((Output("n", Count()),), Column("b"))}, {"schema": other}, {"declared": other}):
        assert replace(plan, **changes).prepared is None
    assert [*replace(plan, schema=other).facts] == ["n"]
