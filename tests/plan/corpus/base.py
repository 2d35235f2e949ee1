"""What a corpus is made of: a question in SQL as somebody writes it, and its answer in plain Python; or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from plan.corpus.worlds import Row, Rows

Line = tuple[Any, ...]  # of the result: keys and outputs in the order in which they were selected


@dataclass(frozen=True)
class Asked:
    """A question that is answered. ``answer`` makes the lines of the result of the rows of its world, in any order unless the
    question orders them; a single value stands for one line of one column."""

    world: str
    sql: str
    answer: Callable[[Rows], list[Line] | Any]
    ordered: bool = False
    tolerance: float = 1e-3  # relative, and absolute below 1


@dataclass(frozen=True)
class Hopeless:
    """A question that cannot be answered: a piece of the sentence that helps."""

    world: str
    sql: str
    says: str


def grouped(rows: Rows, by: Callable[[Row], Any], of: Callable[[Rows], Any]) -> list[Line]:
    """A line for every group: its key, or keys, and what is made of its rows. What has no key is in no group."""
    groups: dict[Any, Rows] = {}
    for row in rows:
        key = by(row)
        if key is not None and not (isinstance(key, tuple) and None in key):
            groups.setdefault(key, []).append(row)
    return [(*_line(key), *_line(of(members))) for key, members in groups.items()]


def _line(value: Any) -> Line:
    return value if isinstance(value, tuple) else (value,)


def where(rows: Iterable[Row], test: Callable[[Row], Any]) -> Rows:
    """Rows for which a test holds; what is unknown does not."""
    return [dict(row) for row in rows if test(row)]


def values(rows: Iterable[Row], name: str) -> list[Any]:
    """What is not missing of a column."""
    return [row[name] for row in rows if row[name] is not None]


def mean(rows: Iterable[Row], name: str) -> float:
    return fmean(values(rows, name))


def per_person(rows: Rows, by: str, of: Callable[[Rows], Any]) -> list[Any]:
    """What is made of the rows of each person."""
    people: dict[Any, Rows] = {}
    for row in rows:
        if row[by] is not None:
            people.setdefault(row[by], []).append(row)
    return [of(members) for members in people.values()]


@dataclass(frozen=True)
class Between:
    """Any number of a range is right: of an even number of rows, all that lie between the two in the middle are medians."""

    low: float
    high: float


def quantile(numbers: Iterable[float], share: float = 0.5) -> Between:
    """From the row before to the row after the one that a share of the rows lies below."""
    found = sorted(numbers)
    place = int(share * len(found))
    return Between(found[max(place - 1, 0)], found[min(place + 1, len(found) - 1)])
