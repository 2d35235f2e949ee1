"""GROUP BY as keys, and as levels where it asks for margins: CUBE, ROLLUP and GROUPING SETS.

A level is a set of keys; several elements of GROUP BY have the levels that take one of each. What is not in a level is added up
over, and missing in its rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Expression, Literal, Value, columns_of
from discreet.plan.expressions.evaluate import infer
from discreet.plan.margins.levels import MOST_AXES
from discreet.plan.query import Levels
from discreet.plan.sql.scalars import aggregates_in, scalar
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import name_of, only

Grouped = list[tuple[Expression, tuple[Value, ...] | None]]  # keys, with the values that are listed for them

LEVELLED = (exp.Grouping, exp.GroupingId)
_LEVELS = (exp.Cube, exp.Rollup, exp.GroupingSets)
_MOST = 2**MOST_AXES  # sets of keys


@dataclass(frozen=True)
class Item:
    """One entry of the select list: an aggregate, or what should be a key."""

    name: str | None
    node: exp.Expression
    key: Expression | None  # None: an aggregate


def read_group(node: object, items: Sequence[Item], scope: Scope) -> tuple[Grouped, Levels | None]:
    """The keys in order, each once, and the levels that are asked for, if it is not every combination of all keys alone; ``key IN
    (...)`` for a selected key lists the keys to show."""
    if node is None:
        return [], None
    assert isinstance(node, exp.Group)
    only(node, "expressions", "all", "cube", "rollup")
    selected = [item.key for item in items]
    if node.args.get("all"):
        return [(key, None) for key in dict.fromkeys(selected) if key is not None], None
    found: dict[Expression, tuple[Value, ...] | None] = {}

    def read(one: exp.Expression) -> Expression:
        of, values = _grouped(one, items, scope), None
        if isinstance(of, Call) and of.name == "in" and of not in selected and of.arguments[0] in selected:
            infer(of, scope.facts)
            values, of = in_order(of.arguments[1:]), of.arguments[0]
        if not any(True for _ in columns_of(of)):
            raise ParameterError("GROUP BY takes columns or expressions over them; write GROUP BY region.")
        infer(of, scope.facts)
        found[of] = values
        return of

    sets = [{read(one): None for key in chosen for one in _listed([key])} for chosen in _sets(node)]
    places = {of: i for i, of in enumerate(found)}
    asked = {tuple(sorted(places[of] for of in chosen)) for chosen in sets}
    plain = asked == {tuple(range(len(found)))}
    levels = None if plain else Levels(tuple(sorted(asked, key=lambda level: (-len(level), level))))
    return list(found.items()), levels


def read_grouping(node: exp.Grouping | exp.GroupingId, key: Callable[[exp.Expression], Expression | None]) -> Expression:
    """GROUPING (a, b), or GROUPING_ID, of a row of the result: a bit for every key, the last one lowest, which is 1 where the row
    adds up over it. A key of a table with margins is missing there and nowhere else."""
    found = [key(one) if isinstance(one, exp.Column) else None for one in node.expressions]
    keys = [one for one in found if one is not None]
    if not keys or len(keys) < len(found) or len(keys) > MOST_AXES:
        raise ParameterError(
            "GROUPING says which keys of a table with margins a row adds up over; write GROUP BY CUBE (a) ORDER BY GROUPING(a)."
        )
    bits = [Call("case", (Call("is_null", (one,)), Literal(2**place), Literal(0))) for place, one in enumerate(reversed(keys))]
    total: Expression = bits[0]
    for bit in bits[1:]:
        total = Call("+", (bit, total))
    return total


def _sets(node: exp.Group) -> list[tuple[exp.Expression, ...]]:
    """The sets of keys that a GROUP BY asks for."""
    found: list[list[tuple[exp.Expression, ...]]] = [_of(one) for one in node.expressions]
    for kind in ("cube", "rollup"):
        if node.args.get(kind):  # GROUP BY a, b WITH ROLLUP
            only(node, "expressions", kind)
            found = [_of((exp.Cube if kind == "cube" else exp.Rollup)(expressions=node.expressions))]
    count = 1
    for each in found:
        count *= len(each)
        if count > _MOST:
            raise _too_many()
    return [tuple(key for chosen in one for key in chosen) for one in itertools.product(*found)]


def _of(node: exp.Expression) -> list[tuple[exp.Expression, ...]]:
    if not isinstance(node, _LEVELS):
        return [(node,)]
    only(node, "expressions")
    inside = node.expressions
    if len(inside) > (_MOST if isinstance(node, exp.GroupingSets) else MOST_AXES):
        raise _too_many()
    if isinstance(node, exp.GroupingSets):
        return [one for each in inside for one in _of(each)]
    if not inside or any(isinstance(one, _LEVELS) for one in inside):
        raise ParameterError("CUBE and ROLLUP take keys; write GROUP BY CUBE (a, b), or GROUPING SETS (CUBE (a, b), (c)).")
    if isinstance(node, exp.Rollup):
        return [tuple(inside[:size]) for size in range(len(inside), -1, -1)]
    return [one for size in range(len(inside), -1, -1) for one in itertools.combinations(inside, size)]


def _too_many() -> ParameterError:
    return ParameterError(f"At most {MOST_AXES} keys have margins, which are {_MOST} levels; ask for fewer at a time.")


def _listed(nodes: Sequence[exp.Expression]) -> Iterator[exp.Expression]:
    """Keys, also those in brackets."""
    for node in nodes:
        if isinstance(node, exp.Tuple):
            only(node, "expressions")
            yield from _listed(node.expressions)
        else:
            yield node


def _grouped(node: exp.Expression, items: Sequence[Item], scope: Scope) -> Expression:
    if isinstance(node, exp.Literal) and not node.is_string:
        place = str(node.this)
        if not place.isdecimal() or not 1 <= len(place) < 6 or not 1 <= int(place) <= len(items):
            raise ParameterError(f"GROUP BY {place[:20]} names no selected column; there are {len(items)}.")
        key = items[int(place) - 1].key
        if key is None:
            raise ParameterError(f"GROUP BY {place} names an aggregate; group by a column.")
        return key
    if isinstance(node, exp.Column) and node.args.get("table") is None and isinstance(node.this, exp.Identifier):
        name, quoted = name_of(node.this)
        known = any(scope.schema.find(name, table=table, quoted=quoted) for table in scope.tables.values())
        for item in items:
            same = item.name is not None and (item.name == name or (not quoted and item.name.lower() == name.lower()))
            if same and not known and item.key is not None:
                return item.key
    if aggregates_in(node):
        raise ParameterError("GROUP BY takes columns, not aggregates; put a condition on them into HAVING.")
    return scalar(node, scope)


def in_order(literals: Sequence[Expression]) -> tuple[Value, ...]:
    """The values of literals, each once."""
    return tuple(sorted({one.value for one in literals if isinstance(one, Literal)}))  # type: ignore[type-var]
