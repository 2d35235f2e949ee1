"""Scalar expressions over one row, as frozen values.

Three nodes are enough: a column, a literal, and a call of an operation of ``evaluate.OPERATIONS``. Nothing here can read data
or run code that a user wrote. ``str()`` is canonical: two expressions mean the same if their texts are the same.

>>> str(Call("<", (Column("age"), Literal(18))))
'(age < 18)'
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Call", "Column", "Expression", "Literal", "Value", "Written"]
__all__ += ["both", "columns_of", "conjuncts", "depth", "nodes", "quoted", "rename", "size", "substitute"]

Value = int | float | Fraction | str | bool | datetime.date | None

# Words that mean something else to SQL; quoting one too many does no harm.
_WORDS = """
    all analyse analyze and anti any array as asc asof between both by case cast collate column constraint create cross
    current_date current_time current_timestamp current_user date default desc describe distinct do else end escape
    except exists extract false fetch filter for foreign from full glob global grant group having if ilike in initially
    inner intersect interval into is isnull join lateral leading left like limit localtime localtimestamp map natural
    next not notnull null of offset on only or order outer over overlaps partition pivot placing primary prior qualify
    range references returning right row rows sample select semi session_user set show similar some struct summarize
    symmetric table tablesample then time timestamp to trailing true try_cast union unique unnest unpivot update use
    user using values variadic view when where window with within
"""
_RESERVED = frozenset(_WORDS.split())


@dataclass(frozen=True)
class Column:
    """A declared column, by the name it was declared with; ``table.column`` for a public table's."""

    name: str

    def __str__(self) -> str:
        return ".".join(map(quoted, self.name.split(".", 1)))


class Written(Column):
    """What stands for a column in a text: an aggregate, as SQL writes it."""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Literal:
    """A constant. Numbers with a point are exact fractions."""

    value: Value

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        if isinstance(self.value, bool):
            return "TRUE" if self.value else "FALSE"
        if isinstance(self.value, datetime.date):
            return f"DATE '{self.value.isoformat()}'"
        if isinstance(self.value, Fraction):
            return _decimal(self.value)
        return repr(self.value)


@dataclass(frozen=True)
class Call:
    """An operation on expressions; which there are is said in ``evaluate.OPERATIONS``."""

    name: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        inside = [str(argument) for argument in self.arguments]
        if self.name == "case":
            pairs = zip(inside[:-1:2], inside[1::2], strict=True)
            return f"CASE {' '.join(f'WHEN {test} THEN {value}' for test, value in pairs)} ELSE {inside[-1]} END"
        if self.name in _MARKED:
            return _MARKED[self.name].format(*inside, rest=", ".join(inside[1:]))
        if not self.name[0].isalpha() and len(inside) == 2:
            return f"({inside[0]} {self.name} {inside[1]})"
        if self.name in ("and", "or"):
            return f"({f' {self.name.upper()} '.join(inside)})"
        return f"{self.name}({', '.join(inside)})"


Expression = Column | Literal | Call

_MARKED = {
    "in": "({0} IN ({rest}))",
    "like": "({0} LIKE {1})",
    "is_null": "({0} IS NULL)",
    "not": "(NOT {0})",
    "neg": "(- {0})",
    "round_to": "round({0}, {1})",
    "trunc_to": "trunc({0}, {1})",
    "regexp_extract": "regexp_extract({0}, {1}, 1)",
    "try_number": "TRY_CAST({0} AS DOUBLE)",
    "try_whole": "TRY_CAST({0} AS BIGINT)",
    "try_date": "TRY_CAST({0} AS DATE)",
    "as_text": "CAST({0} AS VARCHAR)",
    "date_trunc": "date_trunc({1}, {0})",
    "add_days": "({0} + INTERVAL '{1}' DAY)",
    "add_months": "({0} + INTERVAL '{1}' MONTH)",
}


def quoted(name: str) -> str:
    """A name as SQL writes it, in quotes unless it is a plain word.

    >>> print(quoted("age"), quoted("order"), quoted("blood group"))
    age "order" "blood group"
    """
    plain = name.isascii() and name.isidentifier() and name.lower() not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


def _decimal(value: Fraction) -> str:
    """All digits of a fraction; a quotient where they never end."""
    short = repr(float(value))
    if Fraction(short) == value:
        return short
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest != 1:
        return f"({value.numerator} / {value.denominator})"
    places = max(twos, fives)
    digits = str(abs(value.numerator) * (10**places // value.denominator)).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"


def nodes(expression: Expression) -> Iterator[Expression]:
    """The expression and all that it is made of."""
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from nodes(argument)


def columns_of(expression: Expression) -> Iterator[str]:
    """The names of all columns in an expression, with repetitions."""
    if isinstance(expression, Column):
        yield expression.name
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from columns_of(argument)


def conjuncts(condition: Expression | None) -> tuple[Expression, ...]:
    """The conditions that must all hold for this one to hold: what AND connects, however it was nested."""
    if isinstance(condition, Call) and condition.name == "and":
        return tuple(one for argument in condition.arguments for one in conjuncts(argument))
    return () if condition is None else (condition,)


def both(one: Expression | None, other: Expression | None) -> Expression | None:
    """What holds where both conditions do; None is no condition."""
    parts = (*conjuncts(one), *conjuncts(other))
    if one is None or other is None:
        return one or other
    return Call("and", parts)


def size(expression: Expression, most: int) -> int:
    """How many nodes an expression has, counted as a text would repeat them; counting stops soon after ``most``."""
    count, waiting = 0, [expression]
    while waiting and count <= most:
        one = waiting.pop()
        count += 1
        if isinstance(one, Call):
            waiting += one.arguments
    return count


def rename(expression: Expression, columns: Mapping[str, Column]) -> Expression:
    """The expression with columns in the place of others."""
    if isinstance(expression, Column):
        return columns.get(expression.name, expression)
    if isinstance(expression, Call):
        return Call(expression.name, tuple(rename(argument, columns) for argument in expression.arguments))
    return expression


def depth(expression: Expression) -> int:
    """How many operations stand within one another.

    >>> depth(Call("neg", (Call("abs", (Column("age"),)),)))
    2
    """
    deepest, waiting = 0, [(expression, 0)]
    while waiting:
        one, level = waiting.pop()
        deepest = max(deepest, level)
        if isinstance(one, Call):
            waiting += [(argument, level + 1) for argument in one.arguments]
    return deepest


def substitute(expression: Expression, name: str, value: Value) -> Expression:
    """The expression with a column replaced by a constant."""
    if isinstance(expression, Column):
        return Literal(value) if expression.name == name else expression
    if isinstance(expression, Call):
        return Call(expression.name, tuple(substitute(argument, name, value) for argument in expression.arguments))
    return expression
