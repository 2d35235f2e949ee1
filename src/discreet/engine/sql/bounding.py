"""The pieces of SQL that bound what a person adds: weights of cells, and the choice of groups (``counting`` has the theorems)."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from discreet.engine.sql.dialect import Dialect

P = 2**31 - 1  # a prime
_DIGITS = 10**18 - 1
_LOWERED = "0.99999999999909050529"  # 1 - 2^-40, and a little less


def heavy(rows: int, groups: int, norm: int, dialect: Dialect) -> str:
    """Persons whose counts, cut off at ``rows`` a group, exceed the norm; and the factor that brings them back. With windows, all
    cells, and the factor of those persons'."""
    if norm == 2:
        size, most = f"CASE WHEN c > {rows} THEN {rows**2} ELSE c * c END", rows**2 * groups
    else:
        size, most = f"CASE WHEN c > {rows} THEN {rows} ELSE c END", rows * groups
    total = dialect.summed(size, rows**norm)
    if dialect.windows:
        ratio = f"{dialect.double.format(most)} / size"
        factor = f"CASE WHEN size > {most} THEN {f'sqrt({ratio})' if norm == 2 else ratio} END"
        sized = f"SELECT *, {total} OVER (PARTITION BY person) AS size FROM cells"
        return f"heavy AS (SELECT *, {factor} AS f FROM ({sized}) AS sized)"
    ratio = f"{dialect.double.format(most)} / {total}"
    factor = f"sqrt({ratio})" if norm == 2 else ratio
    return f"heavy AS (SELECT person, {factor} AS f FROM cells GROUP BY person HAVING {total} > {most})"


def contribution(total: str, rows: int, bits: int, *, factor: bool, bound: int, dialect: Dialect) -> str:
    """What a cell adds to a measure, in 2^-bits units; at most the bound."""
    wide = bound >= 2**62
    whole = dialect.wide if wide else "BIGINT"
    light = f"c <= {rows} AND f IS NULL" if factor else f"c <= {rows}"
    double = dialect.double.format
    weight = f"(CASE WHEN c > {rows} THEN {double(rows)} / c ELSE {double(1)} END)"
    weight += f" * coalesce(f, {double(1)})" if factor else ""
    scale, scaled = (f" * {2**bits}", f" * {double(2**bits)}") if bits else ("", "")
    value = f"CAST(c AS {dialect.types['number']})" if total == "c" else dialect.nearest.format(total)
    less = dialect.truncated.format(f"{value}{scaled} * ({weight} * {double(_LOWERED)})")
    cut = dialect.widened.format(less, wide=whole) if wide else f"CAST({less} AS {whole})"
    return dialect.summed(f"CASE WHEN {light} THEN CAST({total} AS {whole}){scale} ELSE {cut} END", bound)


def number_of_person(salt: str, dialect: Dialect, *, whole: bool) -> str:
    """A whole number below P for every person: of the text of their id and of nothing else, because one row may decide the type
    of all ids (a missing one turns integers into doubles, a word turns them into texts). An id of up to 18 digits is a number
    itself, which is quicker than a keyed hash. ``whole``: all ids are integers.
    """
    text = f"CAST(person AS {dialect.types['text']})"
    digits = f"person BETWEEN -{_DIGITS} AND {_DIGITS}" if whole else dialect.is_digits.format(text)
    number = dialect.try_whole.format("person" if whole else text)
    hashed = dialect.hashed.format(salt=salt, person="person", most=P)
    return f"CASE WHEN {digits} THEN ({number} % {P} + {P}) % {P} ELSE {hashed} END"


def marks(salt: str, hide: Callable[[object], str]) -> tuple[str, str]:
    """A mark for the cell of person number p and group i: a keyed permutation of the numbers below the prime P, then i. The table
    to read, and the mark.

    t = A p + B i + C mod P, with A, B and C from the salt, then t^5 mod P, which is one to one because 5 does not divide P - 1.
    All products stay below 2^62: the same numbers on every engine. A, B and C are as secret as the salt, so they are bound.
    """
    keys = (1 + int.from_bytes(sha256(f"{name} {salt}".encode()).digest()) % (P - 1) for name in "ABC")
    a, b, c = (f"CAST({hide(key)} AS BIGINT)" for key in keys)
    t = f"((p * {a}) % {P} + (CAST(i AS BIGINT) * {b}) % {P} + {c}) % {P}"
    fourth = f"((t * t % {P}) * (t * t % {P}) % {P})"
    return f"(SELECT *, {t} AS t FROM cells) AS mixed", f"({fourth} * t % {P}) * {2**24} + i"


def chosen(most: int, mark: str, dialect: Dialect, cells: str = "cells", rank: str = "row_number") -> str:
    """Cells of at most ``most`` groups a person: those with the smallest marks."""
    marked = f"marked AS (SELECT *, {mark} AS h FROM {cells}),\n"
    if dialect.nth_smallest is None:
        ranked = f"SELECT *, {rank}() OVER (PARTITION BY person ORDER BY h) AS r FROM marked"
        return f"{marked}chosen AS (SELECT * FROM ({ranked}) AS ranked WHERE r <= {most})"
    return (
        f"{marked}many AS (SELECT person, {dialect.nth_smallest.format(value='h', n=most)} AS last FROM marked "
        f"GROUP BY person HAVING count(*) > {most}),\n"
        f"chosen AS (SELECT marked.* FROM marked LEFT JOIN many ON marked.person = many.person WHERE last IS NULL OR h <= last)"
    )
