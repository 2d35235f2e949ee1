"""What an engine must count, in plain Python: dictionaries, loops and exact fractions, one row after the other.

Written from what a plan means, not from any SQL. Doubles appear where the meaning is "calculated in doubles": in the value of an
expression, and where such a value is rounded to the grid of a measure.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import md5, sha256
from typing import Any

from engine.reference import reference_clean, reference_id

from discreet.plan.expressions import Column, Expression
from discreet.plan.expressions.evaluate import evaluate, infer
from discreet.plan.keys import Keys
from discreet.plan.measures import Measure
from discreet.plan.plan import Plan
from discreet.plan.statistics import Axis, Histogram
from discreet.schema.columns import Number
from discreet.schema.units import OneRow, Person

__all__ = ["SALT", "Line", "chosen_groups", "group_numbers", "histogram", "lines", "open_keys", "persons", "sums"]

SALT = "salt"
PRIME = 2**31 - 1
LOWERED = Fraction(1, 2**38)  # by how much of itself a weight may be lowered
Row = Mapping[str, Any]
Range = tuple[Fraction | int, Fraction | int]


@dataclass(frozen=True)
class Line:
    """A row that a question is about."""

    row: Row  # values by the names that questions use
    units: Mapping[str, int | None]  # of private number columns, in their steps
    person: str | None
    key: tuple[Any, ...]


def lines(plan: Plan, rows: Sequence[Row], public: Mapping[str, Sequence[Row]] | None = None) -> list[Line]:
    """Clean, look up, filter, and find keys; where a question is about persons, make one row of the rows of each first."""
    if plan.query.people is not None:
        return _person_lines(plan, rows, public or {})
    found = []
    for raw in rows:
        units = {name: reference_clean(column, raw[name]) for name, column in plan.schema.columns.items()}
        row: dict[str, Any] = {}
        for name, column in plan.schema.columns.items():
            value = units[name]
            row[name] = Fraction(value) * column.step if isinstance(column, Number) and value is not None else value
        person = reference_id(raw[plan.schema.unit.id]) if isinstance(plan.schema.unit, Person) else None
        if isinstance(plan.schema.unit, Person) and person is None:
            continue
        if not _joined(plan, row, public or {}):
            continue
        if plan.query.where is not None and evaluate(plan.query.where, row) is not True:
            continue
        found.append(Line(row, units, person, tuple(snapped(plan, key.of, row) for key in plan.keys.keys)))
    return found


def _person_lines(plan: Plan, rows: Sequence[Row], public: Mapping[str, Sequence[Row]]) -> list[Line]:
    from engine.reference_people import made_of

    assert plan.query.people is not None
    inner = replace(plan, query=plan.query.people.rows, schema=plan.private, declared=None, keys=Keys((), ()))
    people: dict[str, list[Line]] = {}
    for line in lines(inner, rows, public):
        assert line.person is not None
        people.setdefault(line.person, []).append(line)
    found = []
    for person, own in people.items():
        units = {trait.name: made_of(inner, trait, own) for trait in plan.query.people.traits}
        row: dict[str, Any] = {}
        for name, column in plan.schema.columns.items():
            value = units[name]
            row[name] = Fraction(value) * column.step if isinstance(column, Number) and value is not None else value
        kept = _joined(plan, row, public) and (plan.query.where is None or evaluate(plan.query.where, row) is True)
        if kept:
            found.append(Line(row, units, person, tuple(snapped(plan, key.of, row) for key in plan.keys.keys)))
    return found


def _joined(plan: Plan, row: dict[str, Any], public: Mapping[str, Sequence[Row]]) -> bool:
    for join in plan.query.joins:
        mine = [evaluate(expression, row) for expression, _ in join.on]
        matches = [other for other in public[join.table] if [other[theirs] for _, theirs in join.on] == mine and None not in mine]
        assert len(matches) <= 1
        if not matches and not join.keep:
            return False
        for name in plan.schema.public[join.table]:
            row[f"{join.name}.{name}"] = matches[0][name] if matches else None
    return True


def snapped(plan: Plan, of: Expression, row: Row) -> Any:
    """A number that was calculated lies on its grid, rounding errors aside."""
    value = evaluate(of, row)
    step = infer(of, plan.facts).step
    if isinstance(value, float) and step is not None:
        return float(round(Fraction(value) / step) * step)
    return value


def group_numbers(plan: Plan, chosen: Sequence[tuple[Any, ...]] | None = None) -> dict[tuple[Any, ...], int]:
    """The number of every listed key."""
    rows = plan.keys.rows() if chosen is None else chosen
    numbers = {tuple(map(_plain, key)): i for i, key in enumerate(rows)}
    assert len(numbers) == len(rows), "two keys are one"
    return numbers


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) else value


def added(plan: Plan, measure: Measure, line: Line) -> int:
    """What a line adds to a measure."""
    if measure.factors:
        return math.prod(added(plan, one, line) for one in measure.factors)
    of = measure.of
    if of is None:
        return measure.high
    value = evaluate(of, line.row)
    if value is None:
        return 0
    if measure.what == "present":
        return measure.high
    if measure.what == "rest":
        return measure.shift - _units(plan, measure, line, float(value), measure.shift - measure.high, measure.shift)  # type: ignore[arg-type]
    reach = math.isqrt(measure.high + measure.lift) if measure.what == "square" else 0
    low, high = (-reach, reach) if reach else (measure.low, measure.high)
    away = _units(plan, measure, line, float(value), low + measure.shift, high + measure.shift) - measure.shift  # type: ignore[arg-type]
    return away if measure.what == "value" else away**2 - measure.lift


def _units(plan: Plan, measure: Measure, line: Line, value: float, low: int, high: int) -> int:
    if isinstance(measure.of, Column) and measure.of.name in plan.schema.columns:
        column = plan.schema.columns[measure.of.name]
        if (column.step if isinstance(column, Number) else 1) == measure.step:
            units = line.units[measure.of.name]
            assert units is not None
            return units
    near = value * float(measure.step.denominator) / float(measure.step.numerator)
    return low if near < low else high if near > high else math.floor(near + 0.5)


def sums(
    plan: Plan, measures: Sequence[tuple[Measure, int]], given: Sequence[Line], groups: Mapping[Any, int]
) -> list[list[Range]]:
    """For every measure and group, between which numbers the engine's lies: one number twice where nothing has a weight."""
    inside = [line for line in given if line.key in groups]
    if not isinstance(plan.schema.unit, Person):
        totals = [[0] * len(groups) for _ in measures]
        for total, (measure, _) in zip(totals, measures, strict=True):
            for line in inside:
                total[groups[line.key]] += added(plan, measure, line)
        return [[(each, each) for each in total] for total in totals]
    cells: dict[str, dict[int, list[Line]]] = defaultdict(lambda: defaultdict(list))
    for line in inside:
        assert line.person is not None
        cells[line.person][groups[line.key]].append(line)
    ranges: list[list[Range]] = [[(0, 0)] * len(groups) for _ in measures]
    for mine in cells.values():
        weights = _weights(plan, {i: len(held) for i, held in mine.items()}, len(groups))
        for i, held in mine.items():
            for total, (measure, bits) in zip(ranges, measures, strict=True):
                exact = sum(added(plan, measure, line) for line in held) * 2**bits * weights[i]
                # A weight that is no fraction is known from below and to 2^-200; nothing with a weight is known to one unit.
                near = exact if weights[i] == 1 else exact * (1 - LOWERED)
                slack = 0 if weights[i] == 1 else 1 if exact > 0 else -1
                ends = sorted((near - slack, exact * (1 + Fraction(weights[i] != 1, 2**200))))
                total[i] = (total[i][0] + ends[0], total[i][1] + ends[1])
    return ranges


def _weights(plan: Plan, counts: Mapping[int, int], groups: int) -> dict[int, Fraction]:
    """The weight of a person's rows in every group: at most r rows' worth in each, and g groups' worth in all."""
    unit = plan.schema.unit
    assert isinstance(unit, Person)
    most = unit.groups if plan.keys.size is None else min(unit.groups, groups)
    capped = [min(count, unit.rows) for count in counts.values()]
    factor = Fraction(1)
    in_l1 = plan.share.epsilon is not None or plan.query.levels is not None
    if in_l1 and sum(capped) > unit.rows * most:
        factor = Fraction(unit.rows * most, sum(capped))
    squares = sum(count**2 for count in capped)
    if not in_l1 and squares > unit.rows**2 * most:
        factor = Fraction(math.isqrt((unit.rows**2 * most << 800) // squares), 2**400)
    return {i: factor * min(Fraction(1), Fraction(unit.rows, count)) for i, count in counts.items()}


def chosen_groups(person: str, numbers: Iterable[int], most: int) -> set[int]:
    """Of a person's groups those with the smallest mark: a keyed permutation below a prime, of the person and the group."""
    a, b, c = (1 + int.from_bytes(sha256(f"{name} {SALT}".encode()).digest()) % (PRIME - 1) for name in "ABC")
    hashed = int.from_bytes(md5(f"{SALT}/{person}".encode()).digest(), "little")
    p = (int(person) if re.fullmatch("-?[0-9]{1,18}", person) else hashed) % PRIME
    return set(sorted(numbers, key=lambda i: (pow(a * p + b * i + c, 5, PRIME), i))[:most])


def chosen_keys(person: str, names: Mapping[Any, str], most: int) -> set[Any]:
    """Of a person's open keys those with the smallest hash."""
    marks = {key: md5(f"{SALT}/{person}/{name}".encode()).hexdigest() + name for key, name in names.items()}
    return set(sorted(marks, key=lambda key: marks[key])[:most])


def persons(plan: Plan, given: Sequence[Line], groups: Mapping[Any, int]) -> list[int]:
    """Distinct persons of every group."""
    unit = plan.schema.unit
    assert isinstance(unit, Person)
    most = unit.groups if plan.keys.size is None else min(unit.groups, len(groups))
    mine: dict[str, set[int]] = defaultdict(set)
    for line in given:
        if line.key in groups and line.person is not None:
            mine[line.person].add(groups[line.key])
    counts = [0] * len(groups)
    for person, held in mine.items():
        for i in chosen_groups(person, held, most):
            counts[i] += 1
    return counts


def histogram(plan: Plan, cells: Histogram, given: Sequence[Line], groups: Mapping[Any, int]) -> list[list[int]]:
    """Rows, or weights of rows, by group and cell."""
    placed = []
    listed = [{_plain(value): i for i, value in enumerate(axis.values or ())} for axis in cells.axes]
    for line in given:
        places = [_place(plan, axis, values, line) for axis, values in zip(cells.axes, listed, strict=True)]
        if line.key in groups and None not in places:
            cell = 0
            for axis, place in zip(cells.axes, places, strict=True):
                cell = cell * axis.count + (place or 0)
            placed.append((line.person, groups[line.key], cell))
    table = [[0] * cells.count for _ in groups]
    unit = plan.schema.unit
    if not isinstance(unit, Person) or isinstance(unit, OneRow):  # one row a person is whole
        for _, i, cell in placed:
            table[i][cell] += 1
        return table
    most = unit.groups if plan.keys.size is None else min(unit.groups, len(groups))
    mine: dict[str, Counter[int]] = defaultdict(Counter)
    for person, i, _ in placed:
        assert person is not None
        mine[person][i] += 1
    kept = {person: chosen_groups(person, held, most) for person, held in mine.items()}
    for person, i, cell in placed:
        if person is not None and i in kept[person]:
            table[i][cell] += min(4096, 4096 * unit.rows // mine[person][i])
    return table


def _place(plan: Plan, cells: Axis, listed: Mapping[Any, int], line: Line) -> int | None:
    if cells.values is not None:
        return listed.get(snapped(plan, cells.of, line.row))
    number = evaluate(cells.of, line.row)
    if number is None:
        return None
    first, width = (float(x.numerator) / float(x.denominator) for x in (cells.first, cells.width))
    near = (float(number) - first) / width  # type: ignore[arg-type]
    return min(max(math.floor(near + 0.5), 0), cells.count - 1)


def open_keys(plan: Plan, given: Sequence[Line]) -> dict[tuple[Any, ...], int]:
    """How many rows, or chosen persons, have every key that there is."""
    some = [line for line in given if None not in line.key]
    if not isinstance(plan.schema.unit, Person):
        return dict(Counter(line.key for line in some))
    mine: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for line in some:
        assert line.person is not None
        mine[line.person].add(line.key)
    counts: Counter[tuple[Any, ...]] = Counter()
    for person, keys in mine.items():
        names = {key: _one_text(_told_apart(plan, key)) for key in keys}
        counts.update(chosen_keys(person, names, plan.schema.unit.groups))
    return dict(counts)


def _told_apart(plan: Plan, key: tuple[Any, ...]) -> list[str]:
    """One long text as its hash; several that may be long together as one text, and that as its hash."""
    words = [_word(value) for value in key]
    wide = sum(infer(asked.of, plan.facts).length or 0 for asked in plan.keys.keys) > 64
    if len(words) > 1 and not wide:
        return words
    (one,) = words if len(words) == 1 else [_one_text(words)]
    return ["#" + sha256(one.encode()).hexdigest() if len(one.encode()) > 64 else one]


def _one_text(words: Sequence[str]) -> str:
    return "/".join(f"{len(word)}:{word}" for word in words)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
