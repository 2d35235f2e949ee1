"""The rows of a question that reads several private tables: each cleaned, cut, and joined by the person's id, as SQL.

For table number j of the question, each a common table expression that reads the one before:

    "table j"   declared columns, cleaned, and the person's id
    "own j"     rows with an id, of those that the question's condition on this table lets count
    "many j"    persons with more rows than are joined
    "cut j"     of such persons the rows with the smallest keyed hashes, of others all

and then ``"cleaned rows"``: the joined rows, with one person each, which the ordinary stages read (``statement``).

**The cut** (``plan.private`` has the theorem that needs it). The hash is of the person's id and the cells that the question reads
of a row, and of nothing else; rows with the same hash are put in the order of their cells, so that rows that are tied are alike
in all that the question can see, and whichever is kept, the joined rows are the same. So which rows of a person are kept depends
on that person's rows and the salt only, and there are at most as many as ``Private.most`` says, whatever the hash. Persons who
have no more than that are neither hashed nor ranked, which takes most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from discreet.engine.sql.dialect import Dialect
from discreet.plan.private import Private

MOST_HASH = 2**31 - 1


def joined_rows(
    name: str,
    tables: Sequence[Private],
    cells: Sequence[Mapping[str, str]],
    conditions: Sequence[str],
    relations: Sequence[str],
    members: Mapping[int, str],
    salt: Callable[[], str],
    dialect: Dialect,
) -> str:
    """The common table expressions that end with ``name``, the joined rows.

    ``cells`` has for every table the SQL of the person and of the cleaned columns, by alias; ``conditions`` what lets a row of
    the table ``table_name(j)`` count, "" for all; ``relations`` the raw tables; ``members`` the persons of tables that are asked
    for those. ``salt`` binds the salt.
    """
    quote = dialect.quote
    first, *others = [j for j, one in enumerate(tables) if one.joined]
    text, kept = [], {}
    for j, one in enumerate(tables):
        all_rows, own = quote(table_name(j)), quote(f"own {j}")
        if j in members:
            text.append(f"{own} AS ({members[j]})")
            kept[j] = own
            continue
        listed = ", ".join(f"{sql} AS {alias}" for alias, sql in cells[j].items())
        tests = " AND ".join(["person IS NOT NULL", *([f"({conditions[j]})"] if conditions[j] else [])])
        text.append(f"{all_rows} AS (SELECT {listed} FROM {relations[j]})")
        text.append(f"{own} AS (SELECT * FROM {all_rows} WHERE {tests})")
        kept[j] = own
        if one.joined and others:
            text += _cut(j, own, list(cells[j]), one.most, salt(), dialect)
            kept[j] = quote(f"cut {j}")
    columns = [f"t{first}.person AS person"]
    columns += [f"t{j}.{alias} AS {alias}" for j in (first, *others) for alias in cells[j] if alias != "person"]
    joins = "".join(
        f" {'LEFT ' if tables[j].how == 'left' else ''}JOIN {kept[j]} AS t{j} ON t{first}.person = t{j}.person" for j in others
    )
    asked = [
        f"{'NOT ' if one.how == 'anti' else ''}EXISTS (SELECT 1 FROM {kept[j]} AS t{j} WHERE t{j}.person = t{first}.person)"
        for j, one in enumerate(tables)
        if not one.joined
    ]
    where = f" WHERE {' AND '.join(asked)}" if asked else ""
    text.append(f"{name} AS (SELECT {', '.join(columns)} FROM {kept[first]} AS t{first}{joins}{where})")
    return ",\n".join(text)


def table_name(j: int) -> str:
    """The name of the cleaned rows of a question's table number j; no identifier, so that no public table can have it."""
    return f"table {j}"


def _cut(j: int, own: str, aliases: Sequence[str], most: int, salt: str, dialect: Dialect) -> list[str]:
    """Of every person at most so many rows."""
    many, cut, text = dialect.quote(f"many {j}"), dialect.quote(f"cut {j}"), dialect.types["text"]
    others = sorted(alias for alias in aliases if alias != "person")
    texts = [f"CAST({alias} AS {text})" for alias in ("person", *others)]
    told = " || '/' || ".join(f"coalesce(CAST(length({one}) AS {text}) || ':' || {one}, '-')" for one in texts)
    mark = dialect.hashed.format(salt=salt, person=f"({told})", most=MOST_HASH)
    listed, order = ", ".join(aliases), ", ".join([mark, *others])
    is_many = f"EXISTS (SELECT 1 FROM {many} WHERE {many}.person = {own}.person)"
    return [
        f"{many} AS (SELECT person FROM {own} GROUP BY person HAVING count(*) > {most})",
        f"{cut} AS (SELECT {listed} FROM {own} WHERE NOT {is_many} UNION ALL SELECT {listed} FROM (SELECT {listed}, "
        f"row_number() OVER (PARTITION BY person ORDER BY {order}) AS r FROM {own} WHERE {is_many}) AS ranked WHERE r <= {most})",
    ]
