"""The cells of counting questions: rows that public facts do not tell apart, because every question is true of all or of none.

A question is a condition over columns. What it is made of by AND, OR and NOT are its tests. Of a column that is compared with
constants, values between two neighbouring constants pass the same tests; of any other column, declared values are tried one by
one. So every column falls into few classes, a missing value among them wherever a question can still be true of it, and rows of
the same classes answer alike: truth is computed for classes, in three values (2 true, 1 unknown, 0 false), of which AND is the
least, OR the largest, and NOT takes the other. Classes that make no question true are not counted, and combinations of classes
that make the same questions true are one cell.

The engine numbers the classes of every column by a CASE, so that a row is in one combination at most, whatever it holds. All of
this is decided by the questions and by declarations.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.mechanisms.matrix.strategy import MOST_CELLS
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, columns_of, size
from discreet.plan.expressions.evaluate import agreed, evaluate
from discreet.plan.expressions.facts import Facts
from discreet.plan.statistics import Axis

MOST_TRUTHS = 2**26  # questions times combinations of classes
_MOST_LISTED = 2**16  # values of a column that are looked at one by one
_MOST_STEPS = 2**22  # of evaluating tests: a few seconds of work
_MOST_RUNS = 1024  # of neighbouring values that a CASE tells apart

Truths = NDArray[np.int8]
_LOGIC = ("and", "or", "not")
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_COMPARED = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "=": np.equal, "<>": np.not_equal}


@dataclass(frozen=True, eq=False)
class Cells:
    """What the engine counts (``axes``), and how it answers questions: ``places`` says for every combination of classes in which
    cell it is, -1 for none; ``rows`` has for every question the cells of which it is true."""

    axes: tuple[Axis, ...]
    places: Integers
    rows: Integers


@dataclass(frozen=True, eq=False)
class _Side:
    """One column: values that stand for all (None is missing, and last), and the class of each."""

    name: str
    facts: Facts
    points: tuple[Value, ...]
    classes: Integers
    fine: bool = False  # every declared number is a point, and a class

    @property
    def count(self) -> int:
        return int(self.classes.max()) + 1

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """One value of every class."""
        _, first = np.unique(self.classes, return_index=True)
        return tuple(self.points[i] for i in first)

    @cached_property
    def numbers(self) -> Reals | None:
        """The same as doubles."""
        return _numbers(self.values)

    def axis(self, kept: Integers) -> Axis:
        """The classes that are kept, in order, as the engine counts them."""
        numbers = np.full(self.count + 1, -1)
        numbers[kept] = np.arange(len(kept))
        new = numbers[self.classes]
        if self.fine and (np.diff(kept) == 1).all():
            return self._fine(kept)
        missing = next((int(place) for place, value in zip(new, self.points, strict=True) if value is None), -1)
        otherwise = Literal(None if missing < 0 else missing)
        tests = list(self._tests(new))
        if missing == 0 and len(kept) == 1 and all(place < 0 for _, place in tests):
            of = Call("case", (Call("is_null", (Column(self.name),)), Literal(0), Literal(None)))
        else:
            cases = [part for test, place in tests for part in (test, Literal(None if place < 0 else place))]
            of = Call("case", (*cases, otherwise))
        return Axis(of, len(kept), Fraction(0), Fraction(1), Fraction(len(kept) - 1))

    def _tests(self, new: Integers) -> Iterator[tuple[Expression, int]]:
        """A test for every class, or run of neighbouring values, in the order in which they are tried."""
        of = Column(self.name)
        known = [(value, int(place)) for value, place in zip(self.points, new, strict=True) if value is not None]
        if _is_ordered(self.facts):
            for (value, place), after in zip(known, [*known[1:], None], strict=True):
                if after is None or after[1] != place:
                    yield Call("<=", (of, Literal(value))), place
            return
        other = [place for value, place in known if isinstance(value, _Other)]
        for place in dict.fromkeys(place for _, place in known):
            words = tuple(Literal(value) for value, own in known if own == place and not isinstance(value, _Other))
            if place not in other and words:
                yield Call("in", (of, *words)), place
        if other:
            apart = tuple(Literal(value) for value, own in known if own != other[0])
            test: Expression = Call("not", (Call("in", (of, *apart)),)) if apart else _present(of)
            yield test, other[0]

    def _fine(self, kept: Integers) -> Axis:
        """Neighbouring numbers, each a cell; what is missing comes after the last."""
        assert self.facts.step is not None
        values = [self.points[i] for i in kept]
        first = _exact(values[0])
        last = first + (len(values) - 1) * self.facts.step
        of: Expression = Column(self.name)
        if values[-1] is None:
            of = Call("coalesce", (of, Literal(_value(last, "number"))))
        ends = (Call(">=", (of, Literal(_value(first, "number")))), Call("<=", (of, Literal(_value(last, "number")))))
        within = Call("case", (Call("and", ends), of, Literal(None)))
        return Axis(of if len(kept) == self.count else within, len(values), first, self.facts.step, last)


class _Other(str):
    """Any text but those that questions compare with."""


def cells_of(questions: Sequence[Expression], facts: Mapping[str, Facts]) -> Cells:
    """The cells of some questions. One that can be true of no row is refused."""
    questions = [_turned(question) for question in questions]
    sides = _sides(questions, facts)
    shape = tuple(side.count for side in sides)
    _check_count(math.prod(shape), sides, len(questions))
    tested: dict[Expression, Truths] = {}
    truths = np.empty((len(questions), math.prod(shape)), dtype=bool)
    for i, question in enumerate(questions):
        truths[i] = np.broadcast_to(_truth(question, sides, tested) == 2, shape).ravel()
        if not truths[i].any():
            raise ParameterError(f"No row can satisfy {_short(question)}, whatever the data: it counts 0; leave it out.")
    asked = np.unravel_index(np.flatnonzero(truths.any(axis=0)), shape)
    kept = [np.unique(classes) for classes in asked]
    counted = np.ravel_multi_index(np.ix_(*kept), shape).ravel()
    truths = truths[:, counted]
    places, first = _alike(np.packbits(truths, axis=0))
    used = np.flatnonzero(truths[:, first].any(axis=0))  # all but the one of which no question is true
    renumbered = np.full(len(first), -1)
    renumbered[used] = np.arange(len(used))
    axes = tuple(side.axis(own) for side, own in zip(sides, kept, strict=True))
    return Cells(axes, renumbered[places], truths[:, first[used]].astype(np.int64))


def list_values(name: str, facts: Mapping[str, Facts]) -> tuple[Value, ...]:
    """The values of a column that a cell each can be counted for."""
    known = facts[name]
    if known.size is None or known.size > _MOST_LISTED:
        many = "has no declared list of values" if known.size is None else f"has {known.size:,} values"
        raise ParameterError(f"{name} {many}, too many for a cell each; ask for its ranges with edges=, or compare it.")
    return tuple(known.listed() or ())


def table_of(names: Sequence[str], facts: Mapping[str, Facts], *, missing: bool) -> tuple[Axis, ...]:
    """A cell for every combination of declared values; and of missing ones, last, where they can be, if told."""
    sides = []
    for name in names:
        values = list_values(name, facts)
        points = (*values, None) if missing and facts[name].nullable else values
        fine = _is_ordered(facts[name]) and facts[name].kind == "number" and len(values) > _MOST_RUNS
        sides.append(_Side(name, facts[name], points, np.arange(len(points)), fine))
    _check_count(math.prod(side.count for side in sides), sides, 1)
    return tuple(side.axis(np.arange(side.count)) for side in sides)


def _check_count(cells: int, sides: Sequence[_Side], questions: int) -> None:
    if cells > MOST_CELLS or cells * questions > MOST_TRUTHS:
        widest = max(sides, key=lambda side: side.count)
        raise ParameterError(
            f"{questions:,} question{'s' if questions != 1 else ''} over {cells:,} cells are too many: {widest.name} alone "
            f"is cut into {widest.count:,} parts; compare it with fewer values, cut it with edges=, or ask about fewer columns."
        )


def _sides(questions: Sequence[Expression], facts: Mapping[str, Facts]) -> list[_Side]:
    own: dict[str, dict[Expression, None]] = {}
    shared: set[str] = set()
    for question in questions:
        for test in _tests_of(question):
            names = {*columns_of(test)}
            for name in dict.fromkeys(columns_of(test)):
                own.setdefault(name, {})
                if len(names) == 1:
                    own[name][test] = None
            shared |= names if len(names) > 1 else set()
    return [_side(name, tuple(tests), facts[name], alone=name not in shared, known=facts) for name, tests in own.items()]


def _side(name: str, tests: Sequence[Expression], facts: Facts, *, alone: bool, known: Mapping[str, Facts]) -> _Side:
    """One column, cut by the tests that are about it alone; values that other tests need too stay apart."""
    strange = next((test for test in tests if not agreed(test, known)), None)
    if strange is not None:
        raise ParameterError(
            f"Engines differ about {_short(strange)}, where letters are beyond ASCII; compare with listed values."
        )
    points = _points(name, tests, facts, alone=alone)
    if facts.nullable:
        points = (*points, None)
    if alone:
        work = sum(size(test, _MOST_STEPS) for test in tests if not _is_plain(test))
        if work * len(points) > _MOST_STEPS or len(tests) * len(points) > MOST_TRUTHS:
            raise ParameterError(
                f"{name} has {len(points):,} values, too many to try {len(tests):,} conditions on; compare it with constants."
            )
        numbers = _numbers(points)
        classes, _ = _alike(np.array([_tried(test, name, points, numbers) for test in tests], dtype=np.int8))
    else:
        classes = np.arange(len(points))
    side = _Side(name, facts, points, classes)
    runs = int(np.count_nonzero(np.diff(classes))) + 1
    if not _is_ordered(facts) or runs <= _MOST_RUNS:
        return side
    if facts.kind == "number" and facts.size is not None and facts.size <= _MOST_LISTED:
        points = (*(facts.listed() or ()), *((None,) if facts.nullable else ()))
        return _Side(name, facts, points, np.arange(len(points)), True)
    raise ParameterError(
        f"{name} is cut into {runs:,} parts, and at most {_MOST_RUNS:,} are told apart; compare it with fewer values."
    )


def _points(name: str, tests: Sequence[Expression], facts: Facts, *, alone: bool) -> tuple[Value, ...]:
    """Values of a column such that any other one passes the same tests as the next of them."""
    if facts.values is not None:
        return facts.values
    plain = alone and all(map(_is_plain, tests))
    if plain and facts.kind in ("number", "date") and facts.size is not None:
        return _around(tests, facts)
    if (
        plain
        and facts.kind == "text"
        and all(test.name in ("=", "<>", "in", "is_null") for test in tests if isinstance(test, Call))
    ):
        words = dict.fromkeys(str(literal.value) for test in tests for literal in _literals(test))
        other = next(text for text in (f"other {i}" for i in range(len(words) + 1)) if text not in words)
        return (*words, _Other(other))
    if facts.size is None or facts.size > _MOST_LISTED:
        listed = "a category" if facts.kind == "text" else "a coarser step"
        raise ParameterError(
            f"What these questions make of {name} is not known in advance: declare {listed}, or compare it with constants."
        )
    return tuple(facts.listed() or ())


def _around(tests: Sequence[Expression], facts: Facts) -> tuple[Value, ...]:
    """For every constant c the largest value below c, and the largest that is not above it; and the largest of all.

    Were x < p, with none of these from x on before p, on two sides of a constant c, then x < c <= p or x <= c < p: but then the
    largest value below c, or not above it, is one of these that lies from x on before p.
    """
    assert facts.step is not None
    assert facts.lower is not None
    assert facts.upper is not None
    low, high = int(facts.lower / facts.step), int(facts.upper / facts.step)
    places = {high}
    for constant in {_exact(literal.value) for test in tests for literal in _literals(test)}:
        places |= {math.ceil(constant / facts.step) - 1, math.floor(constant / facts.step)}
    return tuple(_value(place * facts.step, facts.kind) for place in sorted(places) if low <= place <= high)


def _turned(question: Expression) -> Expression:
    """The same with every constant to the right of the column that it is compared with."""
    if not isinstance(question, Call):
        return question
    if question.name in _LOGIC:
        return Call(question.name, tuple(map(_turned, question.arguments)))
    if question.name in _TURNED and isinstance(question.arguments[0], Literal):
        return Call(_TURNED[question.name], question.arguments[::-1])
    return question


def _is_ordered(facts: Facts) -> bool:
    return facts.values is None and facts.kind in ("number", "date")


def _is_plain(test: Expression) -> bool:
    """Whether a test compares one column with constants, or asks whether it is missing."""
    if not isinstance(test, Call) or not isinstance(test.arguments[0], Column):
        return False
    if test.name == "is_null":
        return True
    return test.name in (*_COMPARED, "in") and all(isinstance(one, Literal) for one in test.arguments[1:])


def _literals(test: Expression) -> Iterator[Literal]:
    if isinstance(test, Call):
        yield from (one for one in test.arguments if isinstance(one, Literal))


def _tests_of(question: Expression) -> Iterator[Expression]:
    """What AND, OR and NOT connect."""
    if isinstance(question, Call) and question.name in _LOGIC:
        for one in question.arguments:
            yield from _tests_of(one)
    else:
        yield question


def _tried(test: Expression, name: str, points: Sequence[Value], numbers: Reals | None) -> Truths:
    """What a test of one column is for each of these values; ``numbers`` are the same as doubles, by which engines compare."""
    if numbers is not None and _is_plain(test) and isinstance(test, Call) and test.name != "is_null":
        constants = [float(_exact(literal.value)) for literal in _literals(test)]
        found = np.isin(numbers, constants) if test.name == "in" else _COMPARED[test.name](numbers, constants[0])
        return np.where(np.isnan(numbers), 1, 2 * found).astype(np.int8)
    return np.array([_level(evaluate(test, {name: value})) for value in points], dtype=np.int8)


def _numbers(points: Sequence[Value]) -> Reals | None:
    """Numbers, or days, as doubles, and NaN for what is missing; None for other things."""
    if any(isinstance(value, (str, bool)) for value in points):
        return None
    return np.array([math.nan if value is None else float(_exact(value)) for value in points])


def _truth(question: Expression, sides: Sequence[_Side], tested: dict[Expression, Truths]) -> Truths:
    """The truth of a question for every combination of classes, along the axes of its columns."""
    if isinstance(question, Call) and question.name in _LOGIC:
        parts = [_truth(one, sides, tested) for one in question.arguments]
        if question.name == "not":
            return (2 - parts[0]).astype(np.int8)
        found = parts[0]
        for part in parts[1:]:
            found = np.minimum(found, part) if question.name == "and" else np.maximum(found, part)
        return found
    if question not in tested:
        tested[question] = _tabulated(question, sides)
    return tested[question]


def _tabulated(test: Expression, sides: Sequence[_Side]) -> Truths:
    """The truth of one test."""
    names = {*columns_of(test)}
    mine = [side for side in sides if side.name in names]
    shape = [side.count if side.name in names else 1 for side in sides]
    if len(mine) == 1:
        return _tried(test, mine[0].name, mine[0].values, mine[0].numbers).reshape(shape)
    if math.prod(shape) * size(test, _MOST_STEPS) > _MOST_STEPS:
        widest = max(mine, key=lambda side: side.count)
        raise ParameterError(
            f"{_short(test)} compares columns with each other, {math.prod(shape):,} combinations of values, too many to try; "
            f"declare a coarser step for {widest.name}."
        )
    found = np.empty([side.count for side in mine], dtype=np.int8)
    for at in np.ndindex(found.shape):
        found[at] = _level(evaluate(test, {side.name: side.values[i] for side, i in zip(mine, at, strict=True)}))
    return found.reshape(shape)


def _level(value: Value) -> int:
    return 1 if value is None else 2 if value is True else 0


def _alike(columns: NDArray[np.generic]) -> tuple[Integers, Integers]:
    """Equal columns: the number of each one's kind, kinds in the order of their first, and where those are."""
    if not len(columns):
        return np.zeros(columns.shape[1], dtype=np.int64), np.zeros(1, dtype=np.int64)
    lines = np.ascontiguousarray(columns.T)
    keys = lines.view(np.dtype((np.void, lines.dtype.itemsize * lines.shape[1]))).ravel()
    _, first, kinds = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks[kinds.ravel()], first[order]


def _present(of: Expression) -> Expression:
    return Call("not", (Call("is_null", (of,)),))


def _exact(value: Value) -> Fraction:
    if isinstance(value, datetime.date):
        return Fraction(value.toordinal())
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)  # type: ignore[arg-type]


def _value(number: Fraction, kind: str) -> Value:
    if kind == "date":
        return datetime.date.fromordinal(int(number))
    return int(number) if number.denominator == 1 else number


def _short(of: Expression) -> str:
    text = str(of)
    return text if len(text) <= 80 else f"{text[:77]}..."
