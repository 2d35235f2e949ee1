"""Who is protected: a row, or a person with all their rows; and what makes two tables neighbours.

``rows()``: every row is somebody, and tables are neighbours when one row is added or removed. ``person(id)``: tables are
neighbours when all rows of one person are added or removed. With ``neighbours="replace"`` one row, or one person's rows, is
exchanged for others; for rows the size of the table is then public and must be given.

A declared ``size`` is public. Without ``"replace"`` it is a rough figure that serves previews and warnings, and no guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.schema.sensitivity import Neighbours, check_neighbours


@dataclass(frozen=True)
class Rows:
    """Every row is somebody."""

    neighbours: Neighbours = "add-remove"
    size: int | None = None

    def __post_init__(self) -> None:
        _check(self.neighbours, self.size)
        if self.neighbours == "replace" and self.size is None:
            raise ParameterError(
                'Under neighbours="replace" the number of rows is public and must be given; '
                'write rows(neighbours="replace", size=1000).'
            )

    @property
    def protected(self) -> str:
        """Who is protected, and from which change: costs add up only where this is the same."""
        return f"every row ({self.neighbours})"


@dataclass(frozen=True)
class Person:
    """A person is all rows with the same id; they count for at most ``rows`` rows in a group, and ``groups`` groups' worth."""

    id: str
    rows: int
    groups: int
    neighbours: Neighbours = "add-remove"
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise ParameterError('A person is known by the name of a column; write person("patient_id", rows=8, groups=3).')
        for name in ("rows", "groups"):
            if whole(name, getattr(self, name)) > 2**19:
                raise ParameterError(f"{name} must be at most 2^19: a person who counts for more hides behind no noise.")
        _check(self.neighbours, self.size)

    @property
    def protected(self) -> str:
        """As above; how much a person may count for is each question's own affair."""
        return f"every person by {self.id} ({self.neighbours})"


class OneRow(Person):
    """A person in a table that has one row a person, made of all their rows: nothing is weighted, because nobody has a second."""


Unit = Rows | Person


@called_as("")
def rows(*, neighbours: Neighbours = "add-remove", size: int | None = None) -> Rows:
    """Protect every row.

    >>> rows(neighbours="replace", size=1000)
    Rows(neighbours='replace', size=1000)
    """
    return Rows(neighbours, size)


@called_as('"patient_id", rows=8, groups=3')
def person(id: str, *, rows: int, groups: int, neighbours: Neighbours = "add-remove", size: int | None = None) -> Person:
    """Protect every person, with all their rows.

    >>> person("patient_id", rows=8, groups=3).groups
    3
    """
    return Person(id, rows, groups, neighbours, size)


def _check(neighbours: Neighbours, size: int | None) -> None:
    check_neighbours(neighbours)
    if size is not None:
        whole("size", size)
