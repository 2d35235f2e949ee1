"""Adversarial cells, by the type that holds them, and the declarations they are read under."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from discreet.schema.columns import Column, boolean, category, date, integer, number, text

__all__ = ["CELLS", "COLUMNS", "MIXED", "TEXTS"]

COLUMNS: dict[str, Column] = {
    "age": integer(0, 120),
    "filled": integer(-5, 10**15, missing=3),
    "longest": integer(-(2**63) + 1, 2**63 - 1),
    "long": integer(-(2**60), 2**62),
    "money": number(0, 1000, step=0.01),
    "share": number(-1, 1, step=1e-6, missing=0.5),
    "exact": number(-(2**53), 2**53, step=1),
    "odd": number(-(2**53) + 1, 2**53 - 1, step=1),
    "coarse": number(0, 10**9, step=1000),
    "thirds": number(Fraction(-10, 3), Fraction(100, 3), step=Fraction(1, 3)),
    "astronomic": number(-1e300, 1e300, step=1e290),
    "word": category("yes", "no", "it's", "5", "true", "1.5", missing="no"),
    "nul": category("a\0b", "''"),
    "code": category(1, 2, 5, 2**62),
    "small code": category(0, 7),
    "flag": boolean(),
    "kept": boolean(missing=True),
    "day": date("1900-01-01", "2030-01-01"),
    "any day": date("0001-01-01", "9999-12-31", missing="2000-01-01"),
    "note": text(),
    "noted": text(missing="?"),
}

WHOLE = [None, 0, 1, -1, 5, 7, 120, 121, 2**31, 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**53) - 1, 20200101]
FLOATS = [
    None,
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1.0,
    5.0,
    5.7,
    -5.5,
    0.5,
    0.005,
    0.015,
    0.49999999999999994,
    1e308,
    -1e308,
]
FLOATS += [5e-324, 2.0**53, 2.0**53 - 1, 2.0**53 + 2, 2.0**62, 2.0**63, -(2.0**63), 2.0**64, 1e22, 1e16, 123456.789, 0.1, 1e-5]
FLOATS += [120.5, 1e37, 1e39, 10 / 3, 2.0**52 + 1, 2.0**52 - 0.5]
TEXTS = [
    None,
    "",
    " 7 ",
    "007",
    "abc",
    "5",
    "5.0",
    "5.7",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "Infinity",
    "-infinity",
    "1e400",
    "-1e400",
]
TEXTS += [
    "1e5",
    "+5",
    "+-5",
    "1_000",
    "0x10",
    "0b1",
    "true",
    "TRUE",
    " true ",
    "False",
    "yes",
    "no",
    " Yes",
    "N",
    "1",
    "0",
    "1.0",
    "0.0",
]
TEXTS += [
    "it's",
    "1.5",
    "1.50",
    "é😀",
    "x" * 100_000,
    "9" * 400,
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
]
TEXTS += [
    "9007199254740993",
    "9007199254740993.0",
    "1" + "0" * 37,
    "1" + "0" * 40,
    "2020-01-01",
    "2020-01-01 10:00:00",
    "2020-02-30",
]
TEXTS += [
    "0001-01-01",
    "9999-12-31",
    "10000-01-01",
    "infinity",
    "2020-1-1",
    "2020-01-01T10:00:00",
    ".5",
    "1.",
    ".",
    "٣",
    "\u00a07",
    "\t7",
]
TEXTS += ["0.015", "4611686018427387904", "a'b", "a;--", "%", "1e-400", "5e0", "''", "a\0b", '"', 'say "so"', "a,b", "a;b"]
DAYS = [None, datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2020, 1, 1), datetime.date(1899, 12, 31)]
MOMENTS = [None, datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 23, 59, 59, 999999), datetime.datetime(1, 1, 1)]
MOMENTS += [datetime.datetime(9999, 12, 31, 23, 59, 59), datetime.datetime(1969, 12, 31, 23, 0, 0, 500000)]
WEST = datetime.timezone(datetime.timedelta(hours=-5))
ZONED = [None, datetime.datetime(2020, 1, 1, 23, tzinfo=WEST), datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]
DECIMALS = [None, *map(Decimal, ("5.00", "5.70", "-0.50", "120.00", "1.50", "0.00", "0.01"))]
WIDE = [None, *map(Decimal, ("123456789012345678901234567.8901234567", "5", "0.1", "9223372036854775807", "5.5"))]

# The type that holds the cells, the cells, and what they are (where that is not the same).
CELLS: dict[str, tuple[pa.DataType, list[object]]] = {
    "int64": (pa.int64(), WHOLE),
    "int8": (pa.int8(), [None, 1, 5, -7, 120]),
    "uint64": (pa.uint64(), [None, 0, 5, 2**63, 2**64 - 1]),
    "double": (pa.float64(), FLOATS),
    "float": (pa.float32(), [None, 0.5, 5.0, math.inf, math.nan, 2.0**100]),
    "half": (pa.float16(), [None, 1.5, 5.0]),
    "string": (pa.string(), TEXTS),
    "large string": (pa.large_string(), TEXTS),
    "string view": (pa.string_view(), TEXTS),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), TEXTS),
    "boolean": (pa.bool_(), [None, True, False]),
    "date": (pa.date32(), DAYS),
    "timestamp": (pa.timestamp("us"), MOMENTS),
    "milliseconds": (pa.timestamp("ms"), [None, datetime.datetime(2020, 1, 1), datetime.datetime(1, 1, 1, 10)]),
    "nanoseconds": (pa.timestamp("ns"), [None, MOMENTS[2], MOMENTS[-1]]),
    "zoned": (pa.timestamp("us", "UTC"), ZONED),
    "far zone": (pa.timestamp("ms", "America/New_York"), ZONED),
    "zoned nanoseconds": (pa.timestamp("ns", "UTC"), ZONED),
    "decimal": (pa.decimal128(10, 2), DECIMALS),
    "wide decimal": (pa.decimal128(38, 10), WIDE),
    "whole decimal": (pa.decimal128(38, 0), [None, Decimal(5), Decimal(10**37), Decimal(-(10**37))]),
    "widest decimal": (pa.decimal256(50, 2), DECIMALS),
    "nothing": (pa.null(), [None, None]),
}

MIXED: list[object] = [
    *WHOLE,
    *FLOATS,
    *TEXTS,
    *DAYS,
    *MOMENTS,
    *ZONED,
    *DECIMALS,
    True,
    False,
    2**64,
    -(2**100),
    10**38,
    10**400,
]
