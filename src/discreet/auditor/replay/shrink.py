"""Shrinking a pair that shows a violation: rows are left out and cells emptied for as long as it still does.

>>> shrink([3, 1, 4, 1, 5, 9], lambda rest: 5 in rest)
[5]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from discreet.auditor.neighbours import Pair, Row
from discreet.schema.table import Schema
from discreet.schema.units import Person

T = TypeVar("T")

_FEW = 4  # rows, of which cells are emptied one by one


def shrink_pair(pair: Pair, schema: Schema, fails: Callable[[Pair], bool]) -> Pair:
    """A pair of neighbours, still, that ``fails``; as small as leaving out one thing at a time can make it."""
    if fails(bare := replace(pair, rest=())):
        pair = bare
    found = pair
    found = replace(found, rest=tuple(shrink(list(found.rest), lambda rows: fails(replace(found, rest=tuple(rows))))))
    if isinstance(schema.unit, Person):
        least = 1 if schema.unit.neighbours == "replace" else 0
        now = found
        now = replace(now, into=tuple(shrink(list(now.into), lambda rows: fails(replace(now, into=tuple(rows))), least)))
        last = now
        found = replace(last, out=tuple(shrink(list(last.out), lambda rows: fails(replace(last, out=tuple(rows))), least)))
    return _empty_cells(found, schema, fails)


def shrink(items: list[T], fails: Callable[[list[T]], bool], least: int = 0) -> list[T]:
    """Leave out halves, quarters and in the end single ones, while it ``fails`` without them."""
    size = max(len(items) // 2, 1)
    while True:
        items = _leave_out(items, size, fails, least)
        if size == 1:
            return items
        size //= 2


def _leave_out(items: list[T], size: int, fails: Callable[[list[T]], bool], least: int) -> list[T]:
    place = 0
    while place < len(items):
        fewer = items[:place] + items[place + size :]
        if len(fewer) >= least and fails(fewer):
            items = fewer
        else:
            place += size
    return items


def _empty_cells(pair: Pair, schema: Schema, fails: Callable[[Pair], bool]) -> Pair:
    """Cells that do not matter are NULL."""
    if len(pair.rest) + len(pair.out) + len(pair.into) > _FEW:
        return pair
    names = [name for name, _ in pair.columns]
    kept = schema.unit.id if isinstance(schema.unit, Person) else None
    for side in ("rest", "out", "into"):
        for i in range(len(getattr(pair, side))):
            for j, name in enumerate(names):
                rows: list[Row] = list(getattr(pair, side))
                if name == kept or rows[i][j] is None:
                    continue
                rows[i] = (*rows[i][:j], None, *rows[i][j + 1 :])
                if fails(emptier := replace(pair, **{side: tuple(rows)})):  # type: ignore[arg-type]
                    pair = emptier
    return pair
