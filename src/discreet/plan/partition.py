"""Which keys the groups of an answer have in common: for totals over groups, and for the noise that two such totals share.

>>> from discreet.plan.expressions import Column
>>> groups = Partition({Column("ward"): ["eye", "eye", "ear"]}, 3)
>>> {tuple(common): many.tolist() for common, many in groups.others.items()}
{(0,): [1, 1, 0], (): [1, 1, 2]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.plan.expressions import Expression, Value


@dataclass(frozen=True, eq=False)
class Partition:
    """Which keys groups have in common: for every key that is asked for, the values that it has in all groups."""

    keys: Mapping[Expression, Sequence[Value]]
    size: int

    def of(self, keys: Sequence[Expression]) -> Partition:
        """By these keys only."""
        return Partition({key: self.keys[key] for key in keys}, self.size)

    @cached_property
    def _codes(self) -> dict[int, NDArray[np.int64]]:
        """A number for every value of every key."""
        found = {}
        for place, values in enumerate(self.keys.values()):
            known: dict[Value, int] = {}
            found[place] = np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
        return found

    def part(self, places: Sequence[int]) -> NDArray[np.int64]:
        """The number of the part that every group is in, where groups that agree on these keys are one part."""
        found = np.zeros(self.size, dtype=np.int64)
        for place in places:
            found = np.unique(np.stack([found, self._codes[place]]), axis=1, return_inverse=True)[1].reshape(self.size)
        return found

    def places(self, keys: Sequence[Expression]) -> frozenset[int]:
        """Where these keys stand among all."""
        all_of = list(self.keys)
        return frozenset(all_of.index(key) for key in keys)

    @cached_property
    def others(self) -> dict[frozenset[int], NDArray[np.int64]]:
        """For every set of keys, with how many other groups a group has these in common and no others (inclusion, exclusion)."""
        listed = range(len(self.keys))
        sets = [frozenset(one) for size in range(len(self.keys), -1, -1) for one in combinations(listed, size)]
        found: dict[frozenset[int], NDArray[np.int64]] = {}
        for one in sets:  # the largest first
            part = self.part(sorted(one))
            alike = np.bincount(part, minlength=1)[part] - 1 if self.size else part
            found[one] = alike - sum((found[other] for other in sets if other > one), np.zeros(self.size, dtype=np.int64))
        return found
