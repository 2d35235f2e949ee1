"""Cells and functions of one row, value by value, against their meaning in plain Python: a few statements of many columns."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import duckdb
import engine.test_expressions as expressions
import pyarrow as pa
import pytest
from engine.cells import CELLS, COLUMNS, SPELLED, WRITTEN
from engine.reference import reference_clean, reference_id
from support.random_expressions import CONSTANTS, DECLARED, FACTS, KINDS, MAKES, SHAPED, VALUES, draw, rows

from discreet.engine import open_source
from discreet.engine.spark.cleaning import clean, clean_id
from discreet.engine.spark.dialect import DIALECT
from discreet.engine.spark.session import SparkEngineSession
from discreet.engine.spark.texts import number_text
from discreet.engine.sql.expressions import write
from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, columns_of
from discreet.plan.expressions.evaluate import OPERATIONS, evaluate, infer
from discreet.plan.expressions.reals import exponential, logarithm

TYPES = {"number": pa.float64(), "text": pa.string(), "boolean": pa.bool_(), "date": pa.date32()}
# Types that Spark has, in one table: a column for each, and as many rows as the longest has cells.
HELD = ["int64", "int8", "double", "float", "string", "boolean", "date", "timestamp", "zoned", "decimal", "wide decimal"]
HELD += ["whole decimal"]
NAMES = {"w": "text", "d": "date", "n": "number"}


def ask(spark: Any, held: pa.Table, listed: Sequence[str], parameters: dict[str, object] | None = None) -> list[list[Any]]:
    """What SQL makes of every row, in order; the columns are named as in the table."""
    numbered = held.append_column("row number", pa.array(range(len(held)), pa.int32()))
    session = SparkEngineSession(open_source(spark.createDataFrame(numbered)), {})
    wanted = ", ".join(f"{sql} AS e{i}" for i, sql in enumerate(listed))
    found = session.fetch(f"SELECT {wanted}, `row number` FROM {session.relation} ORDER BY `row number`", parameters or {})
    session.close()
    return [found[f"e{i}"] for i in range(len(listed))]


def raw_of(spark: Any, held: pa.Table) -> dict[str, str]:
    return dict(open_source(spark.createDataFrame(held.slice(0, 1))).raw)


@pytest.mark.parametrize(
    ("how", "some"),
    [("interpreted", HELD[:4]), ("spark", HELD[4:5]), ("interpreted", HELD[5:])],
    ids=["numbers", "texts", "others"],
)
def test_cells_mean_the_same_whatever_holds_them(how: str, some: list[str], request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue(how)
    longest = max(len(CELLS[held][1]) for held in some)
    padded = {held: [*CELLS[held][1], *[None] * (longest - len(CELLS[held][1]))] for held in some}
    table = pa.table({f"of {held}": pa.array(cells, CELLS[held][0]) for held, cells in padded.items()})
    raw = raw_of(spark, table)
    asked = [(held, column) for held in some for column in COLUMNS.values()]
    listed = [clean(column, f"`of {held}`", raw[f"of {held}"]) for held, column in asked]
    listed += [f"CAST({clean_id(f'`of {held}`', raw[f'of {held}'])} AS STRING)" for held in some]
    found = ask(spark, table, listed)
    for (held, column), values in zip(asked, found, strict=False):
        expected = [reference_clean(column, cell) for cell in padded[held]]
        assert [(repr(c)[:40], type(v), v) for c, v in zip(padded[held], values, strict=True)] == [
            (repr(c)[:40], type(v), v) for c, v in zip(padded[held], expected, strict=True)
        ], (held, column)
    for held, values in zip(some, found[len(asked) :], strict=True):
        assert values == [reference_id(cell) for cell in padded[held]], held


def test_cells_that_are_spelled_as_declared(spark: Any) -> None:
    cells = [*CELLS["string"][1], *SPELLED]
    found = ask(spark, pa.table({"of": pa.array(cells, pa.string())}), [clean(one, "`of`", "STRING") for one in WRITTEN.values()])
    for (name, column), values in zip(WRITTEN.items(), found, strict=True):
        assert [*zip(cells, values, strict=True)] == [(cell, reference_clean(column, cell)) for cell in cells], name


def _agree(spark: Any, asked: Sequence[Expression], table: list[dict[str, Value]]) -> None:
    bound: dict[str, object] = {}

    def bind(value: object) -> str:
        bound[f"p{len(bound)}"] = value
        return f":p{len(bound) - 1}"

    listed = [write(one, {name: f"`of {name}`" for name in DECLARED}, bind, DIALECT) for one in asked]
    held = pa.table({f"of {n}": pa.array([row[n] for row in table], TYPES[FACTS[n].kind]) for n in DECLARED})
    for one, values in zip(asked, ask(spark, held, listed, bound), strict=True):
        for row, value in zip(table, values, strict=True):
            expected = evaluate(one, row)
            assert (type(value), value) == (type(expected), expected), (str(one), {name: row[name] for name in columns_of(one)})
            assert not (value == 0 and isinstance(value, float) and math.copysign(1, value) < 0), str(one)


@pytest.mark.parametrize("column", NAMES)
def test_functions_value_by_value(column: str, request: pytest.FixtureRequest) -> None:
    """Those of numbers are a thousand long formulas, which take a long time to compile; some are among the random ones."""
    spark = request.getfixturevalue("interpreted" if column == "n" else "spark")
    some = {"w": [*VALUES["w"], *expressions.WORDS], "d": expressions.DAYS, "n": [*VALUES["n"], *expressions.NUMBERS]}[column]
    first = rows(1, random.Random(1))[0]
    table = [dict(first, **{column: value}) for value in some if column != "d" or 50 < value.year < 9000]  # type: ignore[union-attr]
    asked: list[Expression] = []
    for name in sorted(
        {*SHAPED, *(name for names in MAKES.values() for name in names)} - {"case", "and", "or", "lower", "upper"}
    ):
        if OPERATIONS[name].takes[0] == NAMES[column] and (name in SHAPED or OPERATIONS[name].least == 1):
            asked += [Call(name, (Column(column), *map(Literal, constants))) for constants in SHAPED.get(name, [()])]
    if column == "w":
        texts = [*CONSTANTS["text"], "%B_", "A%", "a_b", "%%_"]
        pairs = [(name, one) for name in ("like", "starts_with", "contains", "||", "=", "<") for one in texts]
        asked += [Call(name, (Column("w"), Literal(one))) for name, one in pairs]
        asked += [Call("left", (Column("w"), Literal(2))), Call("right", (Column("w"), Literal(2)))]
        asked += [Call("substring", (Column("w"), Literal(2), Literal(1)))]
    _agree(spark, asked, table)


def test_random_expressions(spark: Any) -> None:
    chance = random.Random(11)
    table, asked = rows(40, chance), list[Expression]()
    while len(asked) < 40:
        one = draw(chance.choice(KINDS), chance.choice([1, 2]), chance)
        try:
            infer(one, FACTS)
            write(one, {name: name for name in DECLARED}, lambda _: ":p", DIALECT)
        except ParameterError:
            continue
        if not expressions.changes_case(one):
            asked.append(one)
    _agree(spark, asked, table)


def test_letters_numbers_and_reals_to_the_last_bit(interpreted: Any) -> None:
    """Every letter in either case as DuckDB changes it; doubles as it writes them; logarithms and powers of two, each of them."""
    letters = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(letters[i : i + 4096]) for i in range(0, len(letters), 4096)] + ["ΑΣ", "İ", "ß", "ǅ"]
    with duckdb.connect() as database:
        known = database.execute("SELECT lower(t), upper(t) FROM (SELECT unnest($1) AS t)", [texts]).fetchall()
    listed = [DIALECT.templates[name].format("`of`") for name in ("lower", "upper")]
    assert [*zip(*ask(interpreted, pa.table({"of": texts}), listed), strict=True)] == known
    chance = random.Random(3)
    some = [1.0, 60.0, 0.5, 1e15, 1e16, 1.5e16, 123456789.5, 1e-4, 1e-5, 5e-324, 1.7976931348623157e308, 1e22, 2.0**70, -7.25]
    some += [chance.uniform(-1, 1) * 10.0 ** chance.randint(-20, 20) for _ in range(200)]
    with duckdb.connect() as database:
        known = database.execute("SELECT CAST(x AS VARCHAR) FROM (SELECT unnest($1) AS x)", [some]).fetchall()
    held = pa.table({"of": some})
    assert [*zip(*ask(interpreted, held, [number_text("`of`")]), strict=True)] == known
    powers = [math.ldexp(1.0, k) for k in range(-498, 498)]
    powers += [chance.uniform(0.5, 2) * 2.0 ** chance.randint(-400, 400) for _ in range(300)]
    ln, exp = (DIALECT.templates[name].format("`of`") for name in ("ln", "exp"))
    assert ask(interpreted, pa.table({"of": powers}), [ln])[0] == [logarithm(x) for x in powers]
    exponents = [chance.uniform(-710, 346) for _ in range(500)] + [float(k) for k in range(-700, 346, 7)]
    assert ask(interpreted, pa.table({"of": exponents}), [exp])[0] == [exponential(x) for x in exponents]
