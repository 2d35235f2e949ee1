"""Several private tables about the same persons in one question, joined by the person's id and by nothing else.

**Theorem.** Let every table of a question keep of each person at most k of their rows, chosen by those rows and a salt alone, and
let rows be joined where their persons are equal. Then every joined row belongs to one person; which rows a person adds depends on
that person's own rows only; and they are at most the product of the k of all tables that are joined.

*Proof.* A joined row is a combination of one row of every table (of a table that is kept LEFT, also of none), all of the same
person: that person's. Rows without an id are in no table. A person's combinations are made of what the tables keep of that
person, which their own rows and the salt decide: other people have no part in it, and there are at most k choices a table (LEFT:
one where there are none). IN, EXISTS and their opposites keep or drop all combinations of a person, or some of them, by that
person's own rows in the other table (by whether there is one, or by what is made of all of them), and add none. So adding,
removing or replacing a person's rows, in all tables at once, adds, removes or replaces that person's joined rows: the joined
table is a table of persons, and is bounded after that like any other.

k is public (``Schema.tables``), so that nobody's rows decide whether a question can be finished. Tables that a question reads for
IN and EXISTS only are not cut: a row stays or goes once, however many rows of theirs it meets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, Written, quoted, rename
from discreet.plan.people import Trait

MOST_JOINED = 2**20  # rows that one person may bring into a question

How = Literal["first", "inner", "left", "semi", "anti"]


@dataclass(frozen=True)
class Private:
    """A private table that a question reads, and how its rows meet those before it: by the column ``person``.

    ``most``: how many rows of a person are joined; ``where``: which of its rows count. "semi" is IN and EXISTS, "anti" their
    opposites: since rows without an id are in no table, NOT IN has no unknown answer and is the opposite of IN. ``traits``: IN
    asks for persons by what is made of those rows (GROUP BY the person), and ``having`` is a condition on that.
    """

    table: str
    person: str
    how: How = "first"
    most: int = 1
    where: Expression | None = None
    traits: tuple[Trait, ...] = ()
    having: Expression | None = None

    @property
    def joined(self) -> bool:
        """Whether its columns are in sight."""
        return self.how not in ("semi", "anti")

    def __str__(self) -> str:
        name, person = quoted(self.table), quoted(self.person)
        if self.how == "first":
            return name
        if self.joined:
            on = f"USING ({person})" if self.where is None else f"ON {person} = {name}.{person} AND {self.where}"
            return f"{'LEFT ' if self.how == 'left' else ''}JOIN {name} {on}"
        where = "" if self.where is None else f" WHERE {self.where}"
        if self.having is not None:
            made = {trait.name: Written(str(trait)) for trait in self.traits}
            where += f" GROUP BY {person} HAVING {rename(self.having, made)}"
        return f"{person} {'NOT ' if self.how == 'anti' else ''}IN (SELECT {person} FROM {name}{where})"


def check_private(tables: Sequence[Private]) -> None:
    """Refuse what one person could make too large to be counted."""
    joined = [one for one in tables if one.joined]
    rows = math.prod(one.most for one in joined)
    if len(joined) > 1 and rows > MOST_JOINED:
        each = " times ".join(f"{one.most:,} of {one.table}" for one in joined)
        raise ParameterError(
            f"One person may bring {rows:,} rows into this join, {each}, and at most {MOST_JOINED:,} are joined; declare fewer: "
            f"at_most={{{', '.join(f'{one.table!r}: 10' for one in joined[:1])}}}."
        )


def describe_cut(tables: Sequence[Private]) -> tuple[str, ...]:
    """How many rows of a person are joined, where tables are."""
    joined = [one for one in tables if one.joined]
    if len(joined) < 2:
        return ()
    each = " and ".join(f"{one.most:,} of {one.table}" for one in joined)
    return (f"Of each person's rows at most {each} are joined.",)
