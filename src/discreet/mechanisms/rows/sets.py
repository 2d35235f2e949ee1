"""Sets of items that units have, of which at most so many count; and how often listed items, and pairs of them, are had.

**Sensitivity.** Of every unit (a row, or a person with all their rows) at most m distinct items count: which, depends on its own
items and on a keyed hash of each, the same for all units. A count of units by item then moves by 1 in at most m places where a
unit is added or removed: by m in L1 and sqrt(m) in L2 norm; counts by pairs of items in at most m (m - 1) / 2. Where a unit is
replaced, by twice as much in L1, and sqrt(2) times in L2, since what is taken away and what is added are both at least 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import TypeVar

import numpy as np

from discreet.arrays import Integers
from discreet.mechanisms.rows.block import Block, Blocks
from discreet.mechanisms.secret import Secret, open_secret

Owned = tuple[Sequence[str], Integers]  # items one after the other, and the number of the row that has each
Owners = Callable[[Block], Owned]
"""Makes of the rows of an open block their items, by public parameters and of nothing but each row."""

_Result = TypeVar("_Result")


def mark_item(item: str, key: bytes) -> int:
    """The keyed hash of an item, by which it counts before others or after them."""
    return int.from_bytes(blake2b(item.encode("utf-8", "surrogatepass"), key=key[:64], digest_size=8).digest(), "little") >> 1


def choose(units: Integers, codes: Integers, marks: Integers, most: int) -> tuple[Integers, Integers]:
    """Distinct pairs of a unit and an item, at most so many of a unit, those with the least marks; units ascend. Codes below 0
    are no items."""
    pairs = np.unique((units[codes >= 0] << 32) | codes[codes >= 0])
    owner, code = pairs >> 32, pairs & (2**32 - 1)
    order = np.lexsort((code, marks[code], owner)) if len(code) else np.zeros(0, dtype=np.int64)
    owner, code = owner[order], code[order]
    kept = np.arange(len(owner)) - np.searchsorted(owner, owner) < most
    return owner[kept], code[kept]


def owners_of(block: Block, rows: Integers) -> Integers:
    """The units that rows belong to."""
    if block.starts is None:
        return np.asarray(rows, dtype=np.int64)
    return np.asarray(np.searchsorted(block.starts, rows, side="right") - 1, dtype=np.int64)


def count_items(blocks: Blocks, of: Owners, listed: Sequence[str], most: int, key: bytes) -> Secret[Integers]:
    """How many units have each listed item; and, last, how many units there are."""
    total = np.zeros(len(listed) + 1, dtype=np.int64)

    def add(block: Block, owner: Integers, code: Integers) -> None:  # noqa: ARG001
        total[:-1] += np.bincount(code, minlength=len(listed))
        total[-1] += block.units

    _each(blocks, of, listed, most, key, add)
    return Secret(total)


def count_pairs(blocks: Blocks, of: Owners, listed: Sequence[str], most: int, key: bytes) -> Secret[Integers]:
    """How many units have both of every two listed items: item i and a later item j at the place that ``pair_places`` says."""
    size = len(listed)
    total = np.zeros(size * (size - 1) // 2, dtype=np.int64)

    def add(block: Block, owner: Integers, code: Integers) -> None:  # noqa: ARG001
        order = np.lexsort((code, owner))
        owner, code = owner[order], code[order]
        for apart in range(1, most):  # an item and the one that stands so far behind it, of the same unit
            same = owner[apart:] == owner[:-apart] if apart < len(owner) else np.zeros(0, dtype=bool)
            if not same.any():
                break
            places = pair_places(code[:-apart][same], code[apart:][same], size)
            np.add.at(total, places, 1)

    _each(blocks, of, listed, most, key, add)
    return Secret(total)


def pair_places(first: Integers, second: Integers, size: int) -> Integers:
    """Where pairs i < j of ``size`` items stand: (0, 1), (0, 2), ..., (1, 2), ..."""
    return np.asarray(first * (2 * size - first - 1) // 2 + second - first - 1, dtype=np.int64)


def _each(
    blocks: Blocks,
    of: Owners,
    listed: Sequence[str],
    most: int,
    key: bytes,
    add: Callable[[Block, Integers, Integers], None],
) -> None:
    places = {item: place for place, item in enumerate(listed)}
    marks = np.array([mark_item(item, key) for item in listed], dtype=np.int64)
    for secret in blocks:
        block = open_secret(secret)
        items, rows = of(block)
        codes = np.fromiter((places.get(item, -1) for item in items), dtype=np.int64, count=len(items))
        add(block, *choose(owners_of(block, np.asarray(rows)), codes, marks, most))
