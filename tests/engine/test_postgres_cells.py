"""PostgreSQL's cells, doubles and patterns: no row raises an error, and every value is the one that is meant."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
from engine import cells
from engine.reference import reference_clean, reference_id
from support.postgres import server

from discreet.engine import open_source
from discreet.engine.duckdb.dialect import DIALECT as DUCKDB
from discreet.engine.postgres.cleaning import clean, clean_id, scaled
from discreet.engine.postgres.dialect import DIALECT
from discreet.engine.postgres.patterns import written_format, written_pattern, written_unambiguous
from discreet.engine.postgres.source import PostgresSource
from discreet.engine.sql.dialect import quoted
from discreet.errors import ParameterError
from discreet.plan.expressions.automata import replace_all, search
from discreet.plan.expressions.dates import write_day
from discreet.plan.expressions.patterns import canonical
from discreet.schema.columns import Column, boolean, category, date, integer, number, text

HELD: dict[str, list[Any]] = {
    "smallint": [None, 0, 1, 5, 120, 121, -7],
    "bigint": cells.WHOLE,
    "double precision": [*cells.FLOATS, 1e15 + 0.5, 1234567890123456.5, -1e15 - 0.25, 1e15 + 0.125, 0.0001, 1e-7, 1.5e300],
    "real": [None, 0.5, 5.0, math.inf, math.nan, 2.0**100],
    "boolean": [None, True, False],
    "date": cells.DAYS,
    "timestamp": cells.MOMENTS,
    "timestamptz": cells.ZONED,
    "numeric": [*cells.DECIMALS, *cells.WIDE, *map(Decimal, ("NaN", "1e37", "1e-400", "-1e400", "9007199254740993.5"))],
    "text": cells.TEXTS,
    "varchar(100000)": cells.TEXTS,
    "uuid": [None, uuid.UUID(int=5), uuid.UUID(int=2**128 - 1)],
}
WRITTEN = [text for text in [*cells.TEXTS, *cells.SPELLED] if text != "epoch"]  # a day to DuckDB too, which the reference has not


@pytest.fixture(scope="module")
def connection() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(server().url(), autocommit=True, cursor_factory=psycopg.RawCursor, prepare_threshold=None) as opened:
        opened.execute("SET timezone = 'UTC'")
        opened.execute("SET search_path = pg_catalog")
        yield opened


def held(connection: psycopg.Connection[Any], kind: str, given: Sequence[object]) -> PostgresSource:
    """A table of one column, in the order of the cells."""
    connection.execute("DROP TABLE IF EXISTS public.cells")
    connection.execute(f"CREATE TABLE public.cells (n INTEGER, x {kind})".encode())
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO public.cells VALUES ($1, $2)", list(enumerate(given)))
    return open_source(f"{server().url()}&table=cells")  # type: ignore[return-value]


def cleaned(connection: psycopg.Connection[Any], source: PostgresSource, columns: dict[str, Column]) -> list[tuple[Any, ...]]:
    """What every declaration makes of the cells, and their ids."""
    raw = quoted("raw x"), source.raw["raw x"]
    listed = ", ".join([*(clean(column, *raw) for column in columns.values()), f"CAST({clean_id(*raw)} AS TEXT)"])
    return connection.execute(f'SELECT {listed} FROM {source.relation} ORDER BY "raw n"'.encode()).fetchall()


@pytest.mark.parametrize("kind", HELD)
def test_every_type_cleans_as_the_reference_does(connection: psycopg.Connection[Any], kind: str) -> None:
    given = [cell for cell in HELD[kind] if not (isinstance(cell, str) and "\0" in cell)]
    columns = cells.COLUMNS | ({} if kind != "text" else cells.WRITTEN)
    found = cleaned(connection, held(connection, kind, given), columns)
    for cell, row in zip(given, found, strict=True):
        known = str(cell) if isinstance(cell, uuid.UUID) else cell
        wanted = [*(reference_clean(column, known) for column in columns.values()), reference_id(known)]
        assert [(type(one), one) for one in row] == [(type(one), one) for one in wanted], repr(cell)[:60]


def test_spelled_numbers_and_days(connection: psycopg.Connection[Any]) -> None:
    given = [cell for cell in WRITTEN if "\0" not in (cell or "")]
    found = cleaned(connection, held(connection, "text", given), cells.WRITTEN)
    for cell, row in zip(given, found, strict=True):
        assert list(row[:-1]) == [reference_clean(column, cell) for column in cells.WRITTEN.values()], repr(cell)[:60]


SIMPLE: dict[str, Column] = {
    "n": integer(0, 9),
    "s": text(),
    "b": boolean(),
    "d": date("2000-01-01", "2030-01-01"),
    "c": category("é"),
}


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        ("char(5)", ["é", "7"], [(None, "é", None, None, "é", "é"), (7, "7", None, None, None, "7")]),
        ("public.feeling", ["é"], [(None, "é", None, None, "é", "é")]),
        ("public.small", [7], [(7, "7", None, None, None, "7")]),
        ("bytea", ["é".encode(), b"\xff", b"a\0"], [(None, "é", None, None, "é", "é"), (None,) * 6, (None,) * 6]),
        ("json", ["7"], [(None,) * 6]),
        ("jsonb", ["7"], [(None,) * 6]),
        ("integer[]", [[7]], [(None,) * 6]),
        ("interval", ["1 day"], [(None,) * 6]),
        ("time", ["10:00"], [(None,) * 6]),
        ("money", ["7"], [(None,) * 6]),
        ("oid", [7], [(7, "7", None, None, None, "7")]),
        ("name", ["é"], [(None, "é", None, None, "é", "é")]),
        ('"char"', ["7"], [(7, "7", None, None, None, "7")]),
        ("bit(3)", ["101"], [(9, "101", None, None, None, "101")]),
        ('text COLLATE public."any case"', ["É", "é"], [(None, "É", None, None, None, "É"), (None, "é", None, None, "é", "é")]),
        (
            "numeric",
            [Decimal("Infinity"), Decimal("-Infinity")],
            [(9, "inf", None, None, None, "inf"), (0, "-inf", None, None, None, "-inf")],
        ),
    ],
)
def test_odd_types(connection: psycopg.Connection[Any], kind: str, given: list[Any], wanted: list[tuple[Any, ...]]) -> None:
    for statement in (
        "CREATE TYPE public.feeling AS ENUM ('é')",
        "CREATE DOMAIN public.tiny AS INTEGER",
        "CREATE DOMAIN public.small AS public.tiny",
        "CREATE COLLATION public.\"any case\" (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    ):
        with suppress(psycopg.errors.DuplicateObject):
            connection.execute(statement.encode())
    assert cleaned(connection, held(connection, kind, given), SIMPLE) == wanted


@pytest.mark.parametrize("kind", ["text", "varchar", "bytea", "varbit"])
def test_no_cell_is_read_as_more_than_a_mebibyte(
    connection: psycopg.Connection[Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Servers fail where a text grows beyond a gigabyte, which regular expressions make of a quarter of that; and two long texts
    are two persons still, wherever they differ. Varying texts are read by the same expression, and seconds a megabyte: there a
    kibibyte is as long as a mebibyte, and a text is cleaned that is long in its bytes and not in its letters."""
    most = 2**20
    if kind == "varchar":
        most = 2**10
        monkeypatch.setattr("discreet.engine.postgres.source._LONG", most)
        monkeypatch.setattr("discreet.engine.postgres.source._BEGINNING", most // 4)
    digit = "\\x61" if kind == "bytea" else "1"
    long = "61" * 2 * most if kind == "bytea" else "1" * 2 * most
    given = [digit, long.join(["\\x", ""]) if kind == "bytea" else long, None]
    if kind in ("text", "varchar"):
        given += [f"{long[:-1]}2", "\u00e9" * (most // 2)]
    if kind == "varchar":
        given += ["\u00e9" * most]
    source = held(connection, kind, given)
    cells = [text for (text,) in connection.execute(f'SELECT "raw x" FROM {source.relation}'.encode()).fetchall()]
    assert max(len(text.encode()) for text in cells if text is not None) <= most
    assert cells[0] in ("a", "1")
    assert cells[2] is None
    assert len({*cells[3:], cells[1]}) == len(given) - 2
    assert len(source.fingerprint(b"salt")) > 9
    assert len(cleaned(connection, source, {"whole": integer(0, 9), "truth": boolean()})) == len(given)


def test_days_beyond_every_calendar(connection: psycopg.Connection[Any]) -> None:
    low, high = datetime.date(2000, 1, 1), datetime.date(2030, 1, 1)
    for kind in ("date", "timestamp", "timestamptz"):
        source = held(
            connection,
            kind,
            ["infinity", "-infinity", "4713-01-01 BC", "0044-03-15 BC", "5874897-01-01"][: 5 if kind == "date" else 4],
        )
        found = cleaned(connection, source, SIMPLE)
        assert [row[3] for row in found] == [high, low, low, low, high][: len(found)]
        assert found[0][1] == "infinity"
        assert found[3][1].startswith("0044-03-15 (BC)")


def test_cells_of_many_megabytes_fail_nothing(connection: psycopg.Connection[Any]) -> None:
    given = ["7" * 1_100_000, "x" * 1_100_000]  # more than is read as it is
    found = cleaned(connection, held(connection, "text", given), SIMPLE)
    assert [row[0] for row in found] == [None, None]
    assert all(row[1] == cell[: len(row[1])] and row[5][0] == "#" for row, cell in zip(found, given, strict=True))
    assert cleaned(connection, held(connection, "bytea", [b"x" * 11_000_000]), SIMPLE) == [(None,) * 6]


EXTREME = [
    0.0,
    1.0,
    -1.0,
    0.5,
    3.0,
    -7.0,
    0.1,
    1e-150,
    -1e-150,
    1e150,
    1e-200,
    1e-308,
    5e-324,
    -5e-324,
    2.2e-308,
    1e200,
    -1e200,
    1e300,
]
EXTREME += [
    1.7976931348623157e308,
    -1.7976931348623157e308,
    9e307,
    1e16 + 2,
    2.0**53,
    math.inf,
    -math.inf,
    math.nan,
    1e-160,
    1 / 3,
]


@pytest.mark.parametrize(
    "name", ["+ guarded", "- guarded", "* guarded", "/ guarded", "// guarded", "%", "round", "round guarded"]
)
def test_doubles_that_overflow_or_vanish_are_those_of_ieee_754(connection: psycopg.Connection[Any], name: str) -> None:
    """As DuckDB has them: nothing raises, whatever the operands are."""
    draw = random.Random(7)
    some = [*EXTREME, *(math.ldexp(draw.uniform(-1, 1), draw.randint(-1074, 1024)) for _ in range(60))]
    pairs = list(itertools.product(some, some)) if "round" not in name else [(one, 0.0) for one in some]
    template = DIALECT.templates[name].format("t.a", "t.b")
    sql = f"SELECT {template} FROM unnest($1::float8[], $2::float8[]) WITH ORDINALITY AS t(a, b, n) ORDER BY n"
    found = connection.execute(sql.encode(), [[a for a, _ in pairs], [b for _, b in pairs]]).fetchall()
    other = DUCKDB.templates[name.removesuffix(" guarded")].format("t.a", "t.b")
    given = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs], "n": range(len(pairs))})  # noqa: F841
    wanted = duckdb.sql(f"SELECT {other} FROM given AS t ORDER BY n").fetchall()
    for pair, (got,), (one,) in zip(pairs, found, wanted, strict=True):
        assert repr(got) == repr(one), pair


def test_scaling_is_that_of_ieee_754(connection: psycopg.Connection[Any]) -> None:
    for step in (Fraction(100), Fraction(1, 100), Fraction(3, 7), Fraction(10**15), Fraction(1, 10**15)):
        sql = f"SELECT {scaled('a', step)} FROM unnest($1::float8[]) WITH ORDINALITY AS t(a, n) ORDER BY n"
        found = [row[0] for row in connection.execute(sql.encode(), [EXTREME]).fetchall()]
        wanted = [one * float(step.numerator) / float(step.denominator) for one in EXTREME]
        assert [repr(one + 0.0) for one in found] == [repr(one + 0.0) for one in wanted]


def test_numbers_are_written_as_duckdb_writes_them(connection: psycopg.Connection[Any]) -> None:
    finite = [one for one in EXTREME if math.isfinite(one)] + [
        1e15,
        1e15 + 0.5,
        -1e15,
        123456789012345678.0,
        1e15 - 1,
        9999999999999998.0,
    ]
    sql = f"SELECT {DIALECT.number_text.format('a', text='TEXT')} FROM unnest($1::float8[]) WITH ORDINALITY AS t(a, n) ORDER BY n"
    found = [row[0] for row in connection.execute(sql.encode(), [finite]).fetchall()]
    assert found == [duckdb.execute("SELECT CAST(CAST(? AS DOUBLE) AS VARCHAR)", [one]).fetchall()[0][0] for one in finite]


def test_letters_have_the_other_case_that_duckdb_gives_them(connection: psycopg.Connection[Any]) -> None:
    """Every letter that has another case for DuckDB or for Python, which knows more of them, and every eighth of all others."""
    letters = [
        chr(code) for code in (*range(1, 0x3100), *range(0xA640, 0xAC00), *range(0xFB00, 0x10000), *range(0x10400, 0x10D00))
    ]
    asked = duckdb.execute("SELECT lower(a) <> a OR upper(a) <> a FROM (SELECT unnest(?) AS a)", [letters]).fetchall()
    cased = {one for one, (has,) in zip(letters, asked, strict=True) if has or one.lower() != one or one.upper() != one}
    assert len(cased) > 2000
    letters = [one for one in letters if one in cased or ord(one) % 8 == 0]
    given = ["".join(letters[i : i + 40]) for i in range(0, len(letters), 40)] + ["Straße", "ΣΊΣΥΦΟΣ", "İstanbul", "ǅ", "K"]
    for name in ("lower", "upper"):
        sql = f"SELECT {DIALECT.templates[name].format('a')} FROM unnest($1::text[]) WITH ORDINALITY AS t(a, n) ORDER BY n"
        found = [row[0] for row in connection.execute(sql.encode(), [given]).fetchall()]
        assert found == [row[0] for row in duckdb.execute(f"SELECT {name}(a) FROM (SELECT unnest(?) AS a)", [given]).fetchall()]


PATTERNS = [
    "a|ab",
    "(a|b)+c",
    "^a*b?$",
    "[^a]b",
    r"\bab\b",
    r"\Ba",
    "(ab)?c",
    "a{2,3}",
    ".*b",
    "a.c",
    r"\d+",
    r"[\w-]+",
    "x?",
    r"^$",
    "(a|ab)(c|bcd)?",
]
TEXTS = ["".join(letters) for n in range(5) for letters in itertools.product("abc", repeat=n)] + [
    "a\nc",
    "é ab",
    "ab_",
    "12-x",
    "]",
    "ab ab",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_they_do_elsewhere(connection: psycopg.Connection[Any], pattern: str) -> None:
    plain = canonical(pattern)
    sql = b'SELECT a COLLATE "C" ~ $2 FROM unnest($1::text[]) WITH ORDINALITY AS t(a, n) ORDER BY n'
    found = [row[0] for row in connection.execute(sql, [TEXTS, written_pattern(plain)]).fetchall()]
    assert found == [search(one, plain) is not None for one in TEXTS]


CHOSEN = [
    "(a+)b",
    "([ab]+)c",
    "a(b|c)?",
    "^(.*)b(.*)$",
    "(a|b)c*",
    "(ab?)+c",
    "a{1,2}(b|c)",
    "^a?[ab]*(b?)$",
    "([abc])",
    "a(ba)*(c?)",
]
REFUSED = ["a|ab", "(a|ab)(c|bcd)", "(.*)b", "a?(ab)?", "(|a)b", "(a*)(ab)*b"]


@pytest.mark.parametrize("pattern", CHOSEN)
def test_what_is_found_is_what_is_found_elsewhere(connection: psycopg.Connection[Any], pattern: str) -> None:
    plain = canonical(pattern, group=1)
    template = DIALECT.templates["regexp_extract"].format('(a COLLATE "C")', "$2")
    sql = f"SELECT {template} FROM unnest($1::text[]) WITH ORDINALITY AS t(a, n) ORDER BY n"
    found = [row[0] for row in connection.execute(sql.encode(), [TEXTS, written_unambiguous(plain)]).fetchall()]
    assert found == [search(one, plain, group=True) for one in TEXTS]
    if search("", plain) is None and "?)$" not in pattern:  # what may be empty is not replaced
        sql = "SELECT regexp_replace(a, $2, '#', 'g') FROM unnest($1::text[]) WITH ORDINALITY AS t(a, n) ORDER BY n"
        found = [row[0] for row in connection.execute(sql.encode(), [TEXTS, written_unambiguous(plain)]).fetchall()]
        assert found == [replace_all(one, plain, "#") for one in TEXTS]


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_of_which_engines_find_another_match_are_refused(pattern: str) -> None:
    with pytest.raises(ParameterError, match="another match"):
        written_unambiguous(canonical(pattern))


def test_days_are_written_as_elsewhere(connection: psycopg.Connection[Any]) -> None:
    formats = ["%Y-%m-%d", '%d. "%B" \\%Y', "%a %A %b %j", "%G-W%V-%u", "%y%%", "Month DD YYYY"]
    days = [datetime.date(1, 1, 1), datetime.date(2024, 2, 29), datetime.date(2026, 12, 31), datetime.date(9999, 12, 31)]
    for format, day in itertools.product(formats, days):
        template = DIALECT.templates["strftime"].format("$1::date", "$2")
        ((found,),) = connection.execute(f"SELECT {template}".encode(), [day, written_format(format)]).fetchall()
        assert found == write_day(day, format)


@pytest.mark.parametrize("value", ["'x'", "TRUE", "2.5", "DATE '2020-01-01'"])
def test_one_of_many_values_is_found_without_keeping_all(connection: psycopg.Connection[Any], value: str) -> None:
    """No array is longer than a gigabyte, which all rows of a long key together may be."""
    found = DIALECT.any_value.format("x")
    asked = f"SELECT {found} = {value}, array_length({found.removesuffix('[1]')}, 1) FROM (SELECT {value} AS x) AS one, "
    assert connection.execute(f"{asked} generate_series(1, 100)".encode()).fetchone() == (True, 1)


def test_a_column_may_have_any_name(connection: psycopg.Connection[Any]) -> None:
    for name in ("m", "c", "{0}", 'say "so"', "raw x", "person", "k0"):
        connection.execute("DROP TABLE IF EXISTS public.named")
        connection.execute(f"CREATE TABLE public.named ({quoted(name)} TEXT)".encode())
        connection.execute("INSERT INTO public.named VALUES ('7')")
        source = open_source(f"{server().url()}&table=named")
        raw = quoted(source.find(name)), source.raw[source.find(name)]
        for column in (integer(0, 9), number(0, 9), date("2000-01-01", "2030-01-01"), integer(-(2**62), 2**62, decimal=",")):
            sql = f"SELECT {clean(column, *raw)} FROM {source.relation}"  # type: ignore[attr-defined]
            assert connection.execute(sql.encode()).fetchall()[0][0] in (7, None, 7_000_000)
