"""Adversarial cells, by the type that holds them, and the declarations they are read under."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from discreet.schema.columns import Column, boolean, category, date, integer, number, text

__all__ = ["CELLS", "COLUMNS", "MIXED", "SPELLED", "TEXTS", "WRITTEN"]

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
    "cut": text(length=3),
}
WRITTEN: dict[str, Column] = {
    "comma": number(-1000, 2_000_000, step=0.01, decimal=","),
    "comma share": number(0, 1, step=Fraction(1, 3), missing=0, decimal=","),
    "comma age": integer(0, 5000, decimal=","),
    "comma longest": integer(-(2**63) + 1, 2**63 - 1, missing=7, decimal=","),
    "german": date("1900-01-01", "2030-01-01", format="%d.%m.%Y"),
    "american": date("0001-01-01", "9999-12-31", missing="2000-01-01", format="%m/%d/%Y"),
    "american time": date("1900-01-01", "2030-01-01", format="%m/%d/%Y %H:%M:%S"),
    "turned": date("1900-01-01", "2030-01-01", format="%Y-%d-%m"),
    "packed": date("1900-01-01", "2030-01-01", format="%Y%m%d"),
    "named": date("1900-01-01", "2030-01-01", format="%d-%b-%Y"),
    "named in full": date("1900-01-01", "2030-01-01", format="%B %d, %Y"),
    "hungarian": date("1900-01-01", "2030-01-01", format="%Y. %m. %d."),
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
    "2020-01-01 23:30:00-05:00",
    "2020-01-01T23:30-05",
    "2020-01-02 00:30:00+0530",
    "2020-01-01 23:30:00.25 -05:00",
    "2020-01-01 23:30:00Z",
    "0001-01-01 00:30:00+02:00",
    "9999-12-31 23:30:00-02:00",
    ".5",
    "1.",
    ".",
    "٣",
    "\u00a07",
    "\t7",
]
TEXTS += ["0.015", "4611686018427387904", "a'b", "a;--", "%", "1e-400", "5e0", "''", "a\0b", '"', 'say "so"', "a,b", "a;b"]
SPELLED = ["1,5", "12,50", "1.100,50", "1,100.50", "1.125", "1,125", "0.125", "0,125", "12.5", "1.100.000", "1,100,000.5", ",5"]
SPELLED += ["5,", "1 100,5", "1'100.5", "1\u2019100,5", "1\u00a0100", "1\u202f100\u202f000,25", " -1.100 ", "+1,100\t"]
SPELLED += ["1,5E+03", "1.100e2", ",", "1.10", "1.1000", "1000.000", "1.100 000", "1,,5", "1,1,1", "1.100,5,5", "--1,5"]
SPELLED += ["1,5 EUR", "9.223.372.036.854.775.807", ".,", "9,223,372,036,854,775,806", "-9.007.199.254.740.993", "1,5\0"]
SPELLED += ["1_000,5", "\u0661,5", "999.999.999.999.999.999.999", "12,", "01.100", "05.03.2024", "5.3.2024", " 05.03.2024\n"]
SPELLED += ["05.03.24", "05. 03.2024", "05.03.02024", "31.02.2024", "29.02.2023", "29.02.0000", "01.01.0000", "00.00.0000"]
SPELLED += ["05.13.2024", "05.03.2024 10:00", "05.03.-2024", "05.03.2024x", "05.03.2024\0", "\u0660\u0665.03.2024"]
SPELLED += ["03/05/2024", "3/5/2024", "13/05/2024", "12/31/9999", "03/05/2024 23:59:59", "03/05/2024 3:5:7"]
SPELLED += ["03/05/2024 24:00:00", "03/05/2024  10:00:00", "03/05/2024 10:00:60", "2024-13-01", "2024-01-13", "2024-05-03"]
SPELLED += ["20240305", "2024035", "2024305", "epoch", "05-Mar-2024", "5-MAR-2024", "05-March-2024", "05-M\u00e4r-2024"]
SPELLED += ["March 05, 2024", "may 5, 2024", "Mar 05, 2024", "March 05,2024", "2024. 03. 05.", "2024.03.05.", "2024. 3. 5."]
SPELLED += ["2024. 03. 05", "Augu\u017ft 05, 2024", "05-\u017fep-2024", "30.12.1899", "01.02.2031"]
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
