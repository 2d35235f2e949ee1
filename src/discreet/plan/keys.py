"""The groups of a question: listed in advance from public facts, or open, and then chosen privately."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.plan.evaluate import infer, listing
from discreet.plan.expressions import Value
from discreet.plan.facts import MOST_KEYS, Facts
from discreet.plan.operation import LARGE
from discreet.plan.query import Key, Query
from discreet.schema.columns import Kind

__all__ = ["Keys", "keys_of"]


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
        listed = listing(key.of, facts) if key.values is None else _given(key, key.values, infer(key.of, facts).kind)
        if listed is None:
            known = infer(key.of, facts)
            if known.kind != "text":
                raise ParameterError(
                    f"{key.of} has too many possible values to group by; group into fewer, "
                    f"for example by bin({key.of}, 0, 10, 100) or {key.of} // 10 * 10."
                )
            is_open = True
        else:
            listings.append(_apart(listed))
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


def _apart(listed: tuple[Value, ...]) -> tuple[Value, ...]:
    """Every key once. Engines compare numbers as doubles, and a row that is equal to two keys would be counted twice."""
    apart: dict[Value, Value] = {}
    for value in listed:
        number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
        apart.setdefault(float(value) if number else value, value)  # type: ignore[arg-type]
    return tuple(apart.values())
