"""How deep a law is tried: with all its draws, examples and cases by ``make thorough``, with a stated part by ``make test``.

A part still finds the faults that a test is there for: thresholds follow from the number of draws, of a list its ends and a fixed
spread are tried, of a grid every value of every axis. What it may miss is a fault in one combination of them only.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import pytest

__all__ = ["THOROUGH", "deep", "diagonal", "examples", "spread", "thinned", "turns"]

THOROUGH = os.environ.get("DISCREET_THOROUGH", "0") != "0"

_Case = TypeVar("_Case")


def deep(whole: int, usual: int) -> int:
    """So many draws, tables or rounds: all of them, or as many as usual."""
    return whole if THOROUGH else usual


def examples(whole: int) -> int:
    """So many random examples: all of them, or usually a quarter, but no fewer than five of more."""
    return deep(whole, max(whole // 4, min(whole, 5)))


def spread(cases: Sequence[_Case], usual: int) -> list[_Case]:
    """All cases, or usually so many: the first, the last, and others as far apart as can be."""
    many = len(cases)
    if THOROUGH or usual >= many:
        return [*cases]
    return [cases[place * (many - 1) // (usual - 1)] for place in range(usual)]


def turns(cases: Mapping[str, _Case], turn: int, times: int = 3, *, always: Collection[str] = ()) -> dict[str, _Case]:
    """All cases, or usually those that are always tried and one of so many others: so many turns together try all."""
    if THOROUGH:
        return {**cases}
    others = [name for name in cases if name not in always]
    return {name: case for name, case in cases.items() if name in always or others.index(name) % times == turn % times}


def thinned(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The tests that are run usually: all, but for some cases of those marked ``spread`` or ``diagonal``."""
    left, grids = {*items}, dict[object, list[pytest.Item]]()
    for item in items:
        if item.get_closest_marker("diagonal") or item.get_closest_marker("spread"):
            grids.setdefault((item.parent, item.originalname), []).append(item)  # type: ignore[attr-defined]
    for cases in grids.values():
        grid, listed = (cases[0].get_closest_marker(name) for name in ("diagonal", "spread"))
        kept = spread(cases, *listed.args) if listed else diagonal(cases, *grid.args, **grid.kwargs) if grid else cases
        left.difference_update({*cases}.difference(kept))
    return [item for item in items if item in left]


def diagonal(items: Sequence[pytest.Item], times: int = 1) -> list[pytest.Item]:
    """Of one function's cases those that are tried usually: the first, the last, and more until every value of every parameter is
    among them so many times; those first that bring most, and of these the one with values that were rarest so far."""
    axes = [_axes(item) for item in items]
    there = Counter(value for values in axes for value in values)
    kept = [*dict.fromkeys((0, len(items) - 1))]
    while True:
        seen = Counter(value for place in kept for value in axes[place])
        missing = {value for value, cases in there.items() if seen[value] < min(times, cases)}
        if not missing:
            return [items[place] for place in sorted(kept)]
        left = [place for place in range(len(items)) if place not in kept]
        kept.append(max(left, key=lambda place: (len(axes[place] & missing), -sum(seen[value] for value in axes[place]))))


def _axes(item: pytest.Item) -> set[tuple[object, ...]]:
    """What a case has on every axis: the names of the parameters that go together, and which objects they are."""
    given: dict[str, object] = item.callspec.params  # type: ignore[attr-defined]
    named = [mark.args[0] for mark in item.iter_markers("parametrize")]
    together = [tuple(one.replace(",", " ").split()) if isinstance(one, str) else tuple(one) for one in named]
    alone = [(name,) for name in given if all(name not in names for names in together)]
    return {(names, *(id(given[name]) for name in names)) for names in (*together, *alone)}
