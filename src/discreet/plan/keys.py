"""The groups of a question: listed in advance from public facts, or open, and then chosen privately.

A declared list is cut down to the keys that WHERE leaves possible: every other group would be empty whatever the data, and its
number nothing but noise. Only the question's text and public facts decide that, so neighbouring tables have the same groups, and
sensitivities are those of the groups that are left.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, Value, columns_of, conjuncts, size
from discreet.plan.expressions.evaluate import agreed, evaluate, infer, listing, on_grid
from discreet.plan.expressions.facts import LARGE, MOST_KEYS, Facts, compared, tell_apart
from discreet.plan.query import Key, Query
from discreet.schema.columns import Kind

_MOST_STEPS = 2**20  # a second of work


@dataclass(frozen=True)
class Keys:
    """``listings``: the values of every key, in order; None where one of them is open. No keys: one group, the table."""

    keys: tuple[Key, ...] = ()
    listings: tuple[tuple[Value, ...], ...] | None = ()

    @property
    def size(self) -> int | None:
        """How many groups there are; None if that is not public."""
        return None if self.listings is None else math.prod(len(listed) for listed in self.listings)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self.keys)

    def rows(self) -> list[tuple[Value, ...]]:
        """Every group's key, in the order of the groups."""
        assert self.listings is not None
        return list(itertools.product(*self.listings))


def keys_of(query: Query, facts: Mapping[str, Facts]) -> Keys:
    """All groups that a question can have, if public facts list them."""
    listings: list[tuple[Value, ...]] = []
    is_open = False
    for key in query.keys:
        if key.values is not None:
            listings.append(tell_apart(_given(key, key.values, infer(key.of, facts).kind)))
            continue
        listed = listing(key.of, facts)
        if listed is None:
            known = infer(key.of, facts)
            if known.kind != "text":
                raise ParameterError(
                    f"{key.of} has too many possible values to group by; group into fewer, "
                    f"for example by bin({key.of}, 0, 10, 100) or {key.of} // 10 * 10."
                )
            is_open = True
        elif not listed:
            raise ParameterError(f"{key.of} is missing in every row, so that there are no groups; group by something else.")
        else:
            listings.append(tell_apart(_possible(key.of, listed, query.where, facts)))
    if is_open:
        return Keys(query.keys, None)
    found = Keys(query.keys, tuple(listings))
    if found.size is not None and found.size > MOST_KEYS:
        raise ParameterError(f"These keys make {found.size:,} groups, and at most {MOST_KEYS:,} can be listed; group into fewer.")
    return found


def _given(key: Key, values: tuple[Value, ...], kind: Kind) -> tuple[Value, ...]:
    """Keys that the asker lists, all of the key's own type: an engine that converts them might make one of two."""
    types = {"number": (int, float, Fraction), "text": (str,), "boolean": (bool,), "date": (datetime.date,)}[kind]
    for value in values:
        other = isinstance(value, datetime.datetime) or (isinstance(value, bool) and kind != "boolean")
        if not isinstance(value, types) or other or (kind == "number" and not abs(value) <= LARGE):  # type: ignore[arg-type, operator]
            raise ParameterError(
                f"The listed values of {key.of} must all be of its type, {kind}, and finite; one of them is not."
            )
    return values


def _possible(
    of: Expression, listed: tuple[Value, ...], where: Expression | None, facts: Mapping[str, Facts]
) -> tuple[Value, ...]:
    """The keys that a row can have for which all conditions on the key's own columns hold; the others are no row's key."""
    known = {name: facts[name] for name in columns_of(of)}
    tests = [test for test in conjuncts(where) if {*columns_of(test)} and {*columns_of(test)} <= {*known}]
    tests = [test for test in tests if agreed(test, known)]
    reached = _reached(of, tuple(tests), tuple(known.items())) if tests else None
    if reached is None:
        return listed
    left = tuple(value for value in listed if compared(value) in reached)
    if not left:
        raise ParameterError(
            f"No key of {of} satisfies WHERE, so that every group is empty; write a condition that some can meet."
        )
    return left


@lru_cache(maxsize=8)
def _reached(of: Expression, tests: tuple[Expression, ...], known: tuple[tuple[str, Facts], ...]) -> frozenset[Value] | None:
    """What an expression is on all rows that pass the tests; None where the rows are unknown or too many to try.

    Tests are tried as the engine tries them, on the values of columns and not on the key, which may have been rounded.
    """
    choices = [facts.listed() for _, facts in known]
    rows = [(*listed, None) for listed in choices if listed is not None]  # a missing value can make a key too
    steps = size(of, _MOST_STEPS) + sum(size(test, _MOST_STEPS) for test in tests)
    if None in choices or steps * math.prod(map(len, rows)) > _MOST_STEPS:
        return None
    step, found = infer(of, dict(known)).step, set()
    for values in itertools.product(*rows):
        row = {name: value for (name, _), value in zip(known, values, strict=True)}
        if all(evaluate(test, row) is True for test in tests):
            found.add(compared(on_grid(evaluate(of, row), step)))
    return frozenset(found)
