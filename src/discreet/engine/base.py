"""What engines count and over which groups, whatever counts it: whole numbers, as secrets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import Table
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan
from discreet.plan.statistics import Statistic

__all__ = ["Counted", "Found", "Groups", "groups_of"]

Counted = tuple[Statistic, int]  # in 2**-bits units
Found = Mapping[Counted, Secret[NDArray[np.generic]] | Secret[Table]]


@dataclass(frozen=True)
class Groups:
    """The listed groups of a question: one list for every key, all combinations of them or line by line."""

    listed: tuple[Sequence[Value], ...]
    product: bool
    size: int


def groups_of(plan: Plan, chosen: Sequence[tuple[Value, ...]] | None = None) -> Groups:
    """The groups of a question: listed by public facts, or chosen privately."""
    if chosen is not None:
        columns = tuple(list(column) for column in zip(*chosen, strict=True)) or tuple([] for _ in plan.keys.keys)
        return Groups(columns, False, len(chosen))
    assert plan.keys.listings is not None
    return Groups(plan.keys.listings, True, plan.keys.size or 1)
