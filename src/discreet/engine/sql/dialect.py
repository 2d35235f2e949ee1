"""What differs between the SQL of engines, as tables: names of types, tokens, and a template for every scalar operation.

In the template of an operation ``{0}``, ``{1}`` ... are the arguments, ``{all}`` all of them and ``{rest}`` all but the first,
with commas; and ``{present}`` says that no argument is missing. Arguments come in brackets of their own. Where an engine fails on
doubles that are too large or too small, the template ``* guarded`` stands where a product may be either (``magnitude``). What is
the same in every SQL (CASE, CAST, AND, OR, joins, common table expressions) needs no token.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.plan.expressions import Value
from discreet.schema.columns import Column, Integer, Kind

WHOLE_IDS, NUMBERS_OR_TEXTS = "whole numbers", "numbers or texts"  # kinds of ids that can be compared with each other
_PLACES = 2**12  # the largest array of groups that an engine makes of bounds it knows


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A public text as SQL. Quotes are doubled; DuckDB has no other escape in plain literals.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''").replace("\x00", "' || chr(0) || '") + "'"


COMMON: Mapping[str, str] = {  # operations that every engine so far writes alike
    "+": "{0} + {1}",
    "-": "{0} - {1}",
    "*": "{0} * {1} + 0e0",
    "/": "CASE WHEN abs({1}) >= 1e-150 THEN {0} / {1} + 0e0 END",
    "neg": "0e0 - {0}",
    "abs": "abs({0})",
    "sqrt": "sqrt(CASE WHEN {0} BETWEEN 0e0 AND 1e300 THEN {0} END) + 0e0",
    "least": "CASE WHEN {present} THEN least({all}) END",
    "greatest": "CASE WHEN {present} THEN greatest({all}) END",
    "=": "{0} = {1}",
    "<>": "{0} <> {1}",
    "<": "{0} < {1}",
    "<=": "{0} <= {1}",
    ">": "{0} > {1}",
    ">=": "{0} >= {1}",
    "not": "NOT {0}",
    "is_null": "{0} IS NULL",
    "in": "{0} IN ({rest})",
    "coalesce": "coalesce({all})",
    "nullif": "nullif({0}, {1})",
    "||": "{0} || {1}",
    "replace": "replace({0}, {1}, {2})",
}


@dataclass(frozen=True)
class Dialect:
    """How one engine writes what engines write differently. Templates yield doubles for numbers, and raise no error whatever the
    row; whole numbers are ``BIGINT`` but for sums."""

    name: str
    types: Mapping[Kind, str]
    templates: Mapping[str, str]
    clean: Callable[..., str]  # (column, raw SQL, raw type, doubles=) -> SQL of a declared value
    clean_key: Callable[[Column, str, str], str]  # the same before its list is asked
    clean_id: Callable[[str, str], str]  # (raw SQL, raw type) -> SQL of a person's id
    id_kind: Callable[[str], str]  # the word for a raw type of ids; under one word, and numbers with texts, ids are compared
    whole_types: frozenset[str]  # types of whole numbers, as sources name them
    wide: str  # an integer type in which no sum overflows
    total: str  # an aggregate: the exact sum of whole numbers, however large it is
    truncated: str  # a double, cut off towards zero
    nearest: str  # the double that is nearest to a whole number of any width
    quotient: str  # {0} over {1}, both positive whole numbers, rounded down
    is_nan: str
    is_finite: str
    hashed: str  # a whole number from 0 to {most} - 1 that only the {salt} can tell, for a {person}
    keyed_hash: str  # a text that only the {salt} can tell, for a {person} and a {group}; different for different groups
    brief: str  # a text, or where it has more than 64 bytes, "#" and a hash of it that nobody can find twice
    nth_smallest: str | None  # an aggregate: the {n}-th smallest {value}; None: values are ranked instead
    any_value: str  # an aggregate: of values that are all the same
    least: str  # an aggregate: the least value that is not missing, of texts by their bytes
    greatest: str  # the greatest
    lower_median: str  # an aggregate: of what is not missing the value in the middle, of two the lesser
    upper_median: str  # the greater of the two
    is_digits: str  # whether a text is a whole number of up to 18 digits
    try_whole: str  # the 64-bit integer that a value is, or NULL
    constants: str  # the list that is bound to a {placeholder}, of values of a {type}
    is_listed: str  # whether a {value} is in such a {list}
    numbered: str  # such a {list} of {n} values as a table t{j} of values k and numbers i
    double: str  # the double that is written as {0}, digits and perhaps a point
    placeholder: str  # of the parameter named {0}, the {1}-th, which may appear several times in a statement
    quote: Callable[[str], str] = quoted  # a name
    brief_types: frozenset[str] = frozenset()  # types, as sources name them, by whose cells rows can be grouped as they are
    clamped: str = ""  # the whole number {0} from {1} to {2}, the least where it is missing, by functions of one cell alone
    coded_types: frozenset[str] = frozenset()  # types, as sources name them, of cells for which it serves
    unbounded: str = ""  # the same cell {0}, where an engine that knows bounds of cells looks up rows, else values of a list
    narrowed: Mapping[str, str] = field(default_factory=dict)  # types, and smaller ones that hold the same, by which to group
    byte: str = ""  # the whole number {0} from 0 to 255, else NULL, where rows are quicker grouped by so few
    in_doubles: Callable[[Integer, str], bool] = lambda *_: False  # whether cells of a raw type are best whole numbers as doubles
    cut: str = ""  # the first {1} characters of the text {0}, where that is a function of one cell that is quick
    fits: str = ""  # whether the text {0} has at most {1} bytes, where that is quicker than to leave out a longer one
    widened: str = "CAST({0} AS {wide})"  # a double that is a whole number, in the type in which no sum overflows
    number_text: str = "CAST({0} AS {text})"  # a double that is a key, as DuckDB writes it
    public: str = "{0}"  # the name of a public table in statements
    fence: str = ""  # at the end of a SELECT: its columns are calculated once, and not wherever they are named
    rescaled: Callable[[str, Fraction], str] | None = None  # ``scaled`` where a double that is too large or too small is an error
    rewritten: Mapping[str, Callable[[str], str]] = field(default_factory=dict)  # second arguments, which are constants
    by_constant: Mapping[str, Callable[[str, str], str]] = field(default_factory=dict)  # (SQL, constant) -> SQL, of an operation
    floor: str = "floor({0})"  # of a double, as a double
    hidden: str = ""  # of the secret parameter {0}, where its placeholder would show it
    quick_total: str = ""  # an aggregate: the exact sum of whole numbers below 2^22, of which no table has too many
    gathered: str = ""  # after a query, where rows are sent: what sends all rows of a person to one place
    windows: bool = False  # whether a table that is read twice is made twice, so that what a person has is best found in passing
    picks_keys: bool = False  # whether to group again is to send again, so that of groups with different keys some are picked
    row_hash: str = ""  # 128 bits that only the {salt} can tell, for a row of {cells}; without it rows are not told apart so
    row_text: str = ""  # a text as a cell of such a row: it says where it ends
    row_sums: tuple[str, ...] = ()  # aggregates: of the hashes h of rows, whatever their order; halves of 64 bits, none cut off
    alone: bool = False  # whether nobody else changes what it runs in, so that what was rehearsed once passes again
    sends_cells: bool = False  # whether rows are better counted by cells in the engine than sent one by one

    def scaled(self, number: str, step: Fraction, *, bounded: bool = False) -> str:
        """A double times a rational: two roundings at most, none where it is 1. ``bounded``: nothing near the ends of doubles."""
        if self.rescaled is not None and not bounded:
            return self.rescaled(number, step)
        times = f" * {self.double.format(step.numerator)}" if step.numerator != 1 else ""
        over = f" / {self.double.format(step.denominator)}" if step.denominator != 1 else ""
        return f"({number}{times}{over})" if times or over else number

    def summed(self, number: str, bound: int) -> str:
        """The aggregate that adds up whole numbers up to a bound: 2^41 of them, if they are small, stay below 2^63."""
        return (self.quick_total if self.quick_total and bound <= 2**22 else self.total).format(number)

    def rational(self, number: Fraction) -> str:
        """The double that is nearest to a rational of few digits."""
        top, bottom = self.double.format(number.numerator), self.double.format(number.denominator)
        return f"({top} / {bottom})" if number.denominator > 1 else top

    def rounded(self, number: str, low: int, high: int) -> str:
        """A double rounded to a whole number between two others, which no row can make fail; NaN is missing."""
        least, most, half = (self.double.format(bound) for bound in (low, high, "0.5"))
        return (
            f"CASE WHEN {number} BETWEEN {least} AND {most} THEN CAST(floor({number} + {half}) AS BIGINT) "
            f"WHEN {number} < {least} THEN {low} WHEN {self.is_nan.format(number)} THEN NULL "
            f"WHEN {number} > {most} THEN {high} END"
        )

    def group_alone(self, cell: str, kind: str, of: Kind, size: int | None) -> tuple[str, str]:
        """The cell by which rows are grouped quickest where it is the only key, and its type. ``size``: of how many values a
        column with a list of its values is, where that is known. The text of a cell is not that of a narrower one."""
        if kind in self.narrowed and of != "text":
            return f"CAST({cell} AS {self.narrowed[kind]})", self.narrowed[kind]
        bounded = kind in self.coded_types or (of == "date" and kind == self.types["date"])
        return self.unbounded.format(cell) if self.unbounded and bounded and size is not None and size <= _PLACES else cell, kind


def as_constants(values: Sequence[Value]) -> list[Value]:
    """Values as engines have them: numbers are doubles."""
    if (kinds := {*map(type, values)}) <= {str} or kinds == {int}:
        return [*map(float, values)] if int in kinds else [*values]  # type: ignore[arg-type]
    return [float(v) if isinstance(v, (int, Fraction)) and not isinstance(v, bool) else v for v in values]


def selected(columns: Mapping[str, str]) -> str:
    """A SELECT list of SQL by alias."""
    return ", ".join(f"{sql} AS {alias}" for alias, sql in columns.items()) or "1 AS nothing"
