"""The shapes of SQL that count, and bound what one person adds: short texts, because the proofs are about them.

**Rows.** Sum by key, then look the keys up: nobody adds to more than one group.

**Persons, sums** (``weighted``). Per person and group: c rows, and the sums s of what they add. The rows of a cell get the weight
w = min(1, r / c) f, with f = min(1, C / norm) and norm that of the person's min(c, r) over all groups: L2 against r sqrt(m),
or L1 against r m. So weighted counts have norm at most C, and |w s| <= b w c in every group. In doubles w has a relative error
below 2^-49; it is lowered by 2^-40 wherever it is not 1, and products are cut off towards zero, so the bound holds in whole
numbers. Cells with w = 1 are summed exactly, and no order of rows changes anything.

**Persons, presence** (``chosen``): of a person's groups the m with the smallest keyed hash. The hash is followed by the number
of the group, so there are no ties and never m + 1.

**Persons, histograms**: in the chosen groups, with rows that weigh floor(2^12 r / c) where c > r, else 2^12.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from discreet.engine.dialect import Dialect

__all__ = ["chosen", "contribution", "heavy", "keyed", "mark", "number_of_person", "summed"]

_P = 2**31 - 1
_DIGITS = 10**18 - 1
_LOWERED = "0.99999999999909050529e0"  # 1 - 2^-40, and a little less


def keyed(keys: int) -> str:
    """``ON`` of the join with the table of keys."""
    return " AND ".join(f"lines.k{j} = keys.key{j}" for j in range(keys))


def summed(sums: Sequence[str], keys: int) -> str:
    """Rows: sums by group."""
    inside = ", ".join(f"{sql} AS s{j}" for j, sql in enumerate(sums))
    if not keys:
        return f"SELECT 0 AS i, {inside} FROM lines"
    by = ", ".join(f"k{j}" for j in range(keys))
    outside = ", ".join(f"s{j}" for j in range(len(sums)))
    return (
        f"SELECT keys.i AS i, {outside} FROM (SELECT {by}, {inside} FROM lines GROUP BY {by}) AS lines JOIN keys ON {keyed(keys)}"
    )


def heavy(rows: int, groups: int, norm: int) -> str:
    """Persons whose counts, cut off at ``rows`` a group, exceed the norm; and the factor that brings them back."""
    if norm == 2:
        size, most = f"CASE WHEN c > {rows} THEN {rows**2} ELSE c * c END", rows**2 * groups
        factor = f"sqrt({most}e0 / sum({size}))"
    else:
        size, most = f"CASE WHEN c > {rows} THEN {rows} ELSE c END", rows * groups
        factor = f"{most}e0 / sum({size})"
    return f"heavy AS (SELECT person, {factor} AS f FROM cells GROUP BY person HAVING sum({size}) > {most})"


def contribution(total: str, rows: int, bits: int, *, factor: bool, wide: bool, dialect: Dialect) -> str:
    """What a cell adds to a measure, in 2^-bits units."""
    whole = dialect.wide if wide else "BIGINT"
    light = f"c <= {rows} AND f IS NULL" if factor else f"c <= {rows}"
    weight = f"(CASE WHEN c > {rows} THEN {rows}e0 / c ELSE 1e0 END)" + (" * coalesce(f, 1e0)" if factor else "")
    scale, double = (f" * {2**bits}", f" * {2**bits}e0") if bits else ("", "")
    return (
        f"sum(CASE WHEN {light} THEN CAST({total} AS {whole}){scale} "
        f"ELSE CAST(trunc(CAST({total} AS {dialect.types['number']}){double} * ({weight} * {_LOWERED})) AS {whole}) END)"
    )


def number_of_person(salt: str, dialect: Dialect, *, whole: bool) -> str:
    """A whole number below P for every person: of the text of their id and of nothing else, because one row may decide the type
    of all ids (a missing one turns integers into doubles, a word turns them into texts). An id of up to 18 digits is a number
    itself, which is quicker than a keyed hash. ``whole``: all ids are integers.
    """
    text = f"CAST(person AS {dialect.types['text']})"
    digits = f"person BETWEEN -{_DIGITS} AND {_DIGITS}" if whole else dialect.digits.format(text=text)
    number = dialect.try_whole.format(value="person" if whole else text)
    hashed = dialect.hashed.format(salt=salt, person="person", most=_P)
    return f"CASE WHEN {digits} THEN ({number} % {_P} + {_P}) % {_P} ELSE {hashed} END"


def mark(salt: str) -> str:
    """A mark for the cell of person number p and group i: a keyed permutation of the numbers below the prime P, then i.

    t = A p + B i + C mod P, with A, B and C from the salt, then t^5 mod P, which is one to one because 5 does not divide P - 1.
    All products stay below 2^62: the same numbers on every engine.
    """
    a, b, c = (1 + int.from_bytes(sha256(f"{name} {salt}".encode()).digest()) % (_P - 1) for name in "ABC")
    t = f"(((p * {a}) % {_P} + (CAST(i AS BIGINT) * {b}) % {_P} + {c}) % {_P})"
    fourth = f"(({t} * {t} % {_P}) * ({t} * {t} % {_P}) % {_P})"
    return f"({fourth} * {t} % {_P}) * {2**24} + i"


def chosen(most: int, mark: str, dialect: Dialect) -> str:
    """Cells of at most ``most`` groups a person: those with the smallest marks."""
    return (
        f"marked AS (SELECT *, {mark} AS h FROM cells),\n"
        f"many AS (SELECT person, {dialect.nth_smallest.format(value='h', n=most)} AS last FROM marked "
        f"GROUP BY person HAVING count(*) > {most}),\n"
        f"chosen AS (SELECT marked.* FROM marked LEFT JOIN many ON marked.person = many.person WHERE last IS NULL OR h <= last)"
    )
