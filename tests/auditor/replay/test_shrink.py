"""A witness is as small as leaving out one thing at a time can make it, and still a pair of neighbours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.auditor.neighbours import Pair
from discreet.auditor.replay.shrink import shrink, shrink_pair
from discreet.schema.table import Schema

PERSONS = Schema({"x": dp.integer(0, 9)}, dp.person("id", rows=1, groups=1))
REPLACED = Schema({"x": dp.integer(0, 9)}, dp.person("id", rows=1, groups=1, neighbours="replace"))
ROWS = Schema({"x": dp.integer(0, 9), "y": dp.integer(0, 9)}, dp.rows())


@given(st.lists(st.integers(0, 9), max_size=40), st.sets(st.integers(0, 9), max_size=3))
def test_shrinking_leaves_what_is_needed(items: list[int], needed: set[int]) -> None:
    needed &= {*items}
    found = shrink(items, lambda rest: needed <= {*rest})
    assert sorted(found) == sorted(needed)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=40))
def test_shrinking_stops_at_the_least(items: list[int]) -> None:
    assert len(shrink(items, lambda _: True, least=2)) == 2


def test_a_thousand_rows_shrink_to_those_that_matter_in_few_steps() -> None:
    steps = 0

    def fails(pair: Pair) -> bool:
        nonlocal steps
        steps += 1
        return sum(row[0] == 7 for row in pair.into) >= 2

    rows = tuple((i % 10, "p") for i in range(1000))
    found = shrink_pair(Pair("", (("x", "int64"), ("id", "string")), rows, (), rows), PERSONS, fails)
    assert (found.rest, found.into) == ((), ((7, "p"), (7, "p")))
    assert steps < 100


def test_cells_that_do_not_matter_are_emptied_but_ids_stay() -> None:
    pair = Pair("", (("x", "int64"), ("y", "int64")), ((1, 2),), (), ((3, 4),))
    assert shrink_pair(pair, ROWS, lambda p: p.into[0][1] == 4).into == ((None, 4),)
    mine = Pair("", (("x", "int64"), ("id", "string")), (), (), ((3, "p"),))
    assert shrink_pair(mine, PERSONS, lambda p: bool(p.into)).into == ((None, "p"),)


def test_rows_stay_rows_and_those_who_are_replaced_stay_somebody() -> None:
    pair = Pair("", (("x", "int64"), ("y", "int64")), (), (), ((3, 4),))
    assert len(shrink_pair(pair, ROWS, lambda _: True).into) == 1
    both = Pair("", (("x", "int64"), ("id", "string")), (), ((1, "p"), (2, "p")), ((3, "p"), (4, "p")))
    found = shrink_pair(both, REPLACED, lambda _: True)
    assert (len(found.out), len(found.into)) == (1, 1)
