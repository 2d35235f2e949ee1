"""PostgreSQL's SQL.

Its arithmetic raises an error where a double overflows, vanishes or is divided by zero, so what may do so is guarded. Its
``round`` goes to even numbers, its doubles have no remainder and no logarithm to the base 2, and its ``LIKE`` has an escape
unless told. A number with a point is a ``numeric``, so doubles are cast. Texts are compared by their bytes and letters are mapped
one by one, as DuckDB does both, whatever the collations of a database are.
"""

from __future__ import annotations

import sys
from functools import cache
from types import MappingProxyType

from discreet.engine.postgres.cleaning import WHOLE, clean, clean_id, clean_key, id_kind, scaled
from discreet.engine.postgres.patterns import written_format, written_pattern, written_unambiguous
from discreet.engine.postgres.texts import INFINITY, MINUS_INFINITY, NAN, let, made_day
from discreet.engine.sql.dialect import COMMON, Dialect, text_literal
from discreet.engine.sql.reals import double, exponential, logarithm
from discreet.plan.expressions.conversions import DAY_FORM, NUMBER_FORM, WHOLE_FORM
from discreet.plan.expressions.dates import UNITS

PUBLIC = "discreet public {0}"  # no identifier, so that no name of ours is the same
_FINITE = f"abs(a) < {INFINITY} AND abs(b) < {INFINITY}"
_MIDDLE = "abs(a) BETWEEN 1e-150 AND 1e150 AND abs(b) BETWEEN 1e-150 AND 1e150"
_MOST = sys.float_info.max


def _two(within: str) -> str:
    """Names for both arguments of an operation."""
    return f"(SELECT {within} FROM (SELECT {{0}} AS a, {{1}} AS b OFFSET 0) AS of_both)"


def _signed(test: str) -> str:
    return f"CASE WHEN {test} THEN {INFINITY} ELSE {MINUS_INFINITY} END"


def _sum(sign: str) -> str:
    """A sum: what would overflow is infinite. Then both are large, and a quarter of it says whether it would: quarters are
    exact."""
    far = f"CASE WHEN abs(a * 0.25 {sign} b * 0.25) > {double(_MOST / 4)} THEN {_signed('a > 0')} ELSE a {sign} b END"
    return _two(f"CASE WHEN {_FINITE} AND abs(a) > 1e290 AND abs(b) > 1e290 THEN {far} ELSE a {sign} b END")


def _product() -> str:
    """A product: what would overflow is infinite, what would vanish is zero. Of two factors of which one is above 1 in size and
    one below neither can happen; of others the product of exactly scaled factors says."""
    over = f"abs(a) * {double(2.0**-512)} * (abs(b) * {double(2.0**-512)}) > {double(1 - 2.0**-53)}"
    under = f"abs(a) * {double(2.0**600)} * (abs(b) * {double(2.0**600)}) <= {double(2.0**125)}"
    far = (
        f"WHEN abs(a) >= 1 AND abs(b) >= 1 THEN CASE WHEN {over} THEN {_signed('(a > 0) = (b > 0)')} ELSE a * b END "
        f"WHEN abs(a) < 1 AND abs(b) < 1 THEN CASE WHEN {under} THEN 0 ELSE a * b END"
    )
    return _two(f"CASE WHEN {_MIDDLE} OR a = 0 OR b = 0 OR NOT ({_FINITE}) THEN a * b {far} ELSE a * b END + 0e0")


def _quotient() -> str:
    """A quotient by what counts as no zero, in the same way."""
    over = f"abs(a) * {double(2.0**-600)} / abs(b) > {double(_MOST * 2.0**-600)}"
    under = f"abs(a) * {double(2.0**1000)} / (abs(b) * {double(2.0**-100)}) <= {double(2.0**25)}"
    far = (
        f"WHEN abs(a) >= 1 AND abs(b) < 1 THEN CASE WHEN {over} THEN {_signed('(a > 0) = (b > 0)')} ELSE a / b END "
        f"WHEN abs(a) < 1 AND abs(b) >= 1 THEN CASE WHEN {under} THEN 0 ELSE a / b END"
    )
    whole = f"CASE WHEN {_MIDDLE} OR a = 0 OR NOT ({_FINITE}) THEN a / b {far} ELSE a / b END + 0e0"
    return _two(f"CASE WHEN abs(b) >= 1e-150 THEN {whole} END")


def _remainder() -> str:
    """a - b floor(a / b), exactly: of whole numbers as such, of others as whole numbers of a power of two."""
    digits = "54 - floor(ln(abs({0})) * 1.4426950408889634)"
    power = "power(CAST(2 AS NUMERIC), CAST(greatest(x, y) - {1} AS INTEGER))"
    whole = f"CAST(CAST({{0}} * power(2e0, {{1}}) AS BIGINT) AS NUMERIC) * {power}"
    fraction = (
        f"CAST(mod({whole.format('a', 'x')}, {whole.format('b', 'y')}) AS DOUBLE PRECISION) * power(2e0, 0e0 - greatest(x, y))"
    )
    fraction = f"(SELECT {fraction} FROM (SELECT {digits.format('a')} AS x, {digits.format('b')} AS y OFFSET 0) AS of_digits)"
    both = "floor(a) = a AND floor(b) = b AND abs(a) < 9e18"
    rest = (
        f"CASE WHEN NOT (abs(a) < {INFINITY}) OR b = {NAN} THEN {NAN} WHEN abs(a) < abs(b) THEN a "
        f"WHEN {both} THEN CAST(CAST(a AS BIGINT) % CAST(b AS BIGINT) AS DOUBLE PRECISION) ELSE {fraction} END"
    )
    signed = let("r", rest, "CASE WHEN r <> 0 AND (r < 0) <> (b < 0) THEN r + b ELSE r + 0e0 END")
    return _two(f"CASE WHEN abs(b) >= 1e-150 THEN {signed} END")


_ROUNDED = "sign({0}) * (floor(abs({0})) + CASE WHEN abs({0}) - floor(abs({0})) >= 0.5 THEN 1 ELSE 0 END) + 0e0"
_TRIMMED = "btrim({0}, ' ')"


def _written_as(form: str, text: str) -> str:
    """A text where it has this form, and nothing where not."""
    braces = form.replace("{", "{{").replace("}", "}}")
    return f"CASE WHEN {text} ~ '^(?:{braces})$' THEN {text} END"


def _date_of(text: str) -> str:
    parts = (f"CAST(substr({text}, {start}, {length}) AS INTEGER)" for start, length in ((1, 4), (6, 2), (9, 2)))
    day = f"CASE WHEN left({text}, 4) <> '0000' THEN {made_day(*parts)} END"
    braces = DAY_FORM.replace("{", "{{").replace("}", "}}")
    return f"CASE WHEN {text} ~ '^{braces}$' THEN {day} END"


def _part(name: str) -> str:
    return f"CAST(extract({name} FROM {{0}}) AS DOUBLE PRECISION)"


def _exponential() -> str:
    """Of what is next to zero it is 1, and the series would vanish on its way."""
    return let("v", "{0}", exponential(let).replace("{0}", "(CASE WHEN abs(v) < 1e-290 THEN 0e0 ELSE v END)"))


_MONTH = "(extract(year FROM {0}) * 12 + extract(month FROM {0}))"

_TEMPLATES = {
    **COMMON,
    "+ guarded": _sum("+"),
    "- guarded": _sum("-"),
    "* guarded": _product(),
    "/ guarded": _quotient(),
    "//": "CASE WHEN abs({1}) >= 1e-150 THEN floor({0} / {1} + 0e0) END",
    "// guarded": f"floor({_quotient()})",
    "%": _remainder(),
    "floor": "floor({0})",
    "ceil": "ceil({0}) + 0e0",
    "round": _ROUNDED,
    "round guarded": let("x", "{0}", _ROUNDED.format("x")),
    "trunc": "trunc({0}) + 0e0",
    "sign": "sign({0})",
    "ln": let("v", "{0}", logarithm(let, "ln(x) * 1.4426950408889634e0").replace("{0}", "v")),
    "exp": _exponential(),
    "like": "{0} LIKE {1} ESCAPE ''",
    "trim": _TRIMMED,
    "length": "CAST(length({0}) AS DOUBLE PRECISION)",
    "substring": "substr({0}, CAST({1} AS INTEGER), CAST({2} AS INTEGER))",
    "left": "left({0}, CAST({1} AS INTEGER))",
    "right": "right({0}, CAST({1} AS INTEGER))",
    "concat": "concat({all})",
    "starts_with": "starts_with({0}, {1})",
    "contains": "strpos({0}, {1}) > 0",
    "ends_with": "right({0}, length({1})) = {1}",
    "strpos": "CAST(strpos({0}, {1}) AS DOUBLE PRECISION)",
    "ltrim": "ltrim({0}, {1})",
    "rtrim": "rtrim({0}, {1})",
    "split_part": "split_part({0}, {1}, CAST({2} AS INTEGER))",
    "lpad": "lpad({0}, CAST({1} AS INTEGER), {2})",
    "rpad": "rpad({0}, CAST({1} AS INTEGER), {2})",
    "regexp_matches": "{0} ~ {1}",
    "regexp_extract": "CASE WHEN {0} ~ {1} THEN coalesce((regexp_match({0}, {1}))[1], '') END",
    "regexp_replace": "regexp_replace({0}, {1}, {2}, {3})",
    "try_number": f"CAST({_written_as(NUMBER_FORM, _TRIMMED)} AS DOUBLE PRECISION) + 0e0",
    "try_whole": f"CAST(CAST({_written_as(WHOLE_FORM, _TRIMMED)} AS BIGINT) AS DOUBLE PRECISION)",
    "try_date": let("t", "{0}", _date_of("t")),
    "as_text": "CAST(CAST(floor(CASE WHEN {0} BETWEEN -1e16 AND 1e16 THEN {0} END + 0.5e0) AS BIGINT) AS TEXT)",
    "year": _part("year"),
    "quarter": _part("quarter"),
    "month": _part("month"),
    "day": _part("day"),
    "weekday": _part("isodow"),
    "dayofyear": _part("doy"),
    "days": "CAST({0} - {1} AS DOUBLE PRECISION)",
    "week": _part("week"),
    "dow": _part("dow"),
    "isoyear": _part("isoyear"),
    "months": f"CAST({_MONTH} - {_MONTH.replace('{0}', '{1}')} AS DOUBLE PRECISION)",
    **{f"date_trunc {unit}": f"CAST(date_trunc('{unit}', CAST({{0}} AS TIMESTAMP)) AS DATE)" for unit in UNITS},
    "add_days": "{0} + CAST({1} AS INTEGER)",
    "add_months": "CAST({0} + make_interval(months => CAST({1} AS INTEGER)) AS DATE)",
    "strftime": "to_char(CAST({0} AS TIMESTAMP), {1})",
}


class _Templates(dict[str, str]):
    """Those of upper and lower case are long, and made when they are needed."""

    def __missing__(self, name: str) -> str:
        if name not in ("lower", "upper"):
            raise KeyError(name)
        letters, others = _mapped(name)
        plain = f'{name}({{0}} COLLATE "C")'  # of ASCII
        other = f"translate({plain}, {text_literal(letters)}, {text_literal(others)})"
        return f"CASE WHEN octet_length({{0}}) = length({{0}}) THEN {plain} ELSE {other} END"


@cache
def _mapped(name: str) -> tuple[str, str]:
    """The letters beyond ASCII that another letter stands for in the other case, and those: as DuckDB has them."""
    import duckdb

    ranges = ("range(128, 55296)", "range(57344, 131072)")  # beyond, no letter has another case
    codes = " UNION ALL ".join(f"SELECT chr(CAST(i AS INTEGER)) AS a FROM {one} AS t(i)" for one in ranges)
    with duckdb.connect() as database:
        found = database.execute(f"SELECT a, {name}(a) FROM ({codes}) WHERE {name}(a) <> a").fetchall()
    return "".join(a for a, _ in found), "".join(b for _, b in found)


def _bytes_of_hash() -> str:
    """md5 as 128 bits, the first byte of which weighs least, modulo a number below 2^31: 32 bits at a time, all below 2^63."""
    rest = "0"
    for word in (3, 2, 1, 0):
        digits = " + ".join(f"(CAST(get_byte(d, {4 * word + byte}) AS BIGINT) << {8 * byte})" for byte in range(4))
        rest = f"((({rest}) * 4294967296 + {digits}) % {{most}})"
    return let("d", "decode(md5(CAST({salt} AS TEXT) || '/' || CAST({person} AS TEXT)), 'hex')", rest)


def _number_text() -> str:
    """A finite double as DuckDB writes it: with a point, and with an exponent from 10^16 on, where PostgreSQL begins at 10^15."""
    sign, digits = "CASE WHEN x < 0 THEN '-' ELSE '' END", "translate(left(t, -4), '-.', '')"
    moved = f"{sign} || rpad(left({digits}, 16), 16, '0') || '.' || coalesce(nullif(substr({digits}, 17), ''), '0')"
    other = f"CASE WHEN right(t, 4) = 'e+15' THEN {moved} WHEN floor(x) = x AND abs(x) < 1e15 THEN t || '.0' ELSE t END"
    return f"(SELECT {other} FROM (SELECT {{0}} AS x, CAST({{0}} AS TEXT) AS t OFFSET 0) AS of_number)"


def _wide() -> str:
    """A whole double below 2^127 in size as a numeric, to the last bit: its own conversion keeps fifteen digits."""
    high, middle = f"trunc(x / {double(2.0**64)})", f"trunc(y / {double(2.0**11)})"
    parts = (f"CAST(CAST({high} AS BIGINT) AS NUMERIC) * {2**64}", f"CAST(CAST({middle} AS BIGINT) AS NUMERIC) * {2**11}")
    last = f"CAST(CAST(y - {middle} * {double(2.0**11)} AS BIGINT) AS NUMERIC)"
    return let("x", "{0}", let("y", f"x - {high} * {double(2.0**64)}", f"{parts[0]} + {parts[1]} + {last}"))


DIALECT = Dialect(
    "postgres",
    types=MappingProxyType({"number": "DOUBLE PRECISION", "text": "TEXT", "boolean": "BOOLEAN", "date": "DATE"}),
    templates=MappingProxyType(_Templates(_TEMPLATES)),
    clean=clean,
    clean_key=clean_key,
    clean_id=clean_id,
    id_kind=id_kind,
    whole_types=WHOLE,
    brief_types=WHOLE | {"boolean", "date", "double precision", "real"},
    wide="NUMERIC",
    total="sum({0})",  # of whole numbers a numeric, exact
    truncated="trunc({0})",
    nearest="CAST({0} AS DOUBLE PRECISION)",
    quotient="{0} / {1}",
    is_nan=f"({{0}} = {NAN})",
    is_finite=f"(abs({{0}}) < {INFINITY})",
    keyed_hash=(
        "(md5(CAST({salt} AS TEXT) || '/' || CAST({person} AS TEXT) || '/' || CAST({group} AS TEXT)) || CAST({group} AS TEXT)) "
        'COLLATE "C"'
    ),
    hashed=_bytes_of_hash(),
    brief="CASE WHEN octet_length({0}) > 64 THEN '#' || encode(sha256(convert_to({0}, 'UTF8')), 'hex') ELSE {0} END",
    nth_smallest=None,
    any_value="(array_agg(DISTINCT {0}))[1]",  # of all of them it would be an array that may be longer than a gigabyte
    least="min({0})",  # texts are compared by their bytes: cleaned ones have no other collation
    greatest="max({0})",
    lower_median="percentile_disc(0.5) WITHIN GROUP (ORDER BY {0})",
    upper_median="percentile_disc(0.5) WITHIN GROUP (ORDER BY {0} DESC)",
    is_digits="({0} ~ '^-?[0-9]{{1,18}}$')",
    try_whole="CAST({0} AS BIGINT)",  # asked of digits alone
    constants="CAST({placeholder} AS {type}[])",
    is_listed="{value} IN (SELECT unnest({list}))",
    numbered="(SELECT k, n - 1 AS i FROM unnest({list}) WITH ORDINALITY AS u(k, n)) AS t{j}",
    double="CAST('{0}' AS DOUBLE PRECISION)",
    placeholder="${1}",
    number_text=_number_text(),
    public=PUBLIC,
    fence=" OFFSET 0",  # or nested values would be copied so often that planning alone takes seconds
    widened=_wide(),
    rescaled=scaled,
    rewritten=MappingProxyType(
        {
            "regexp_matches": written_pattern,
            "regexp_extract": written_unambiguous,
            "regexp_replace": written_unambiguous,
            "strftime": written_format,
        }
    ),
    sends_cells=True,
)
