"""Features and targets as public facts: bounds, lists and declared columns, and what they make of cells.

A number lies between public bounds and is counted in whole steps; a cell beyond a bound is clamped. A value of a list is its
place there. A day is the number of days since the first that is declared. What is no number, or not listed, is missing, unless a
declared column says what it becomes. As an input of a model a number is scaled to its bounds, a list is one input a value, 1
where it holds; what is missing is the middle of the bounds, or nothing.

>>> age, drug = read_features({"age": (0, 120), "drug": ["a", "b"]}, ["age", "drug"])
>>> age.inputs(np.array([0, age.steps])).tolist(), drug.inputs(drug.code(["b", "x"])).tolist()
([[-1.0], [1.0]], [[0.0, 1.0], [0.0, 0.0]])
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.exact import nearest, rational, shown
from discreet.mechanisms.rows.block import MISSING
from discreet.plan.expressions import Call, Expression, Literal, Value
from discreet.plan.expressions.facts import Facts, compared
from discreet.plan.measures import Measure
from discreet.plan.plan import What
from discreet.plan.statistics import Axis
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text

_STEPS = 2**24  # between two bounds that were given without a grid
_HOW = (
    "write bounds=(0, 1) for all columns, or by column bounds={'age': (0, 120), 'drug': ['a', 'b']}, or a list with one of "
    "these for every column"
)
_MOST_VALUES = 2**12


@dataclass(frozen=True)
class Feature:
    """A column as a model sees it: a number from ``lower`` to ``upper`` in ``steps``, or one of ``values``."""

    name: str
    lower: Fraction = Fraction(0)
    upper: Fraction = Fraction(1)
    steps: int = 1
    values: tuple[Value, ...] | None = None
    missing: int | None = None  # the units or the place that a missing cell becomes
    single: bool = False  # whether a list of two is one input, which says whether it is the second
    origin: datetime.date | None = None  # the day from which days are counted

    @property
    def width(self) -> int:
        """How many inputs it makes."""
        return 1 if self.values is None or self.single else len(self.values)

    @property
    def names(self) -> list[str]:
        """Of its inputs."""
        if self.values is None or self.single:
            return [self.name]
        return [f"{self.name}={value}" for value in self.values]

    @property
    def facts(self) -> dict[str, object]:
        """What makes it the same as another one, as plain JSON."""
        listed = None if self.values is None else [str(one) for one in self.values]
        found: dict[str, object] = {
            "bounds": [str(self.lower), str(self.upper), self.steps],
            "values": listed,
            "missing": self.missing,
        }
        return found if self.origin is None else {**found, "origin": self.origin.isoformat()}

    def what(self, of: Expression, facts: Facts) -> What:
        """As an engine reads it: units from the lower bound on, or places."""
        if self.values is not None:
            return Axis(of, len(self.values), values=self.values)
        if self.origin is not None:
            of = Call("days", (of, Literal(self.origin)))
        step = (self.upper - self.lower) / self.steps
        return Measure("value", 0, self.steps, of, facts.nullable, step, int(self.lower / step))

    def code(self, cells: object) -> Integers:
        """The same of cells that are here: numbers rounded to the grid, values by their places."""
        found = self._places(cells) if self.values is not None else self._units(cells)
        return found if self.missing is None else np.where(found == MISSING, self.missing, found)

    def inputs(self, codes: Integers, low: float = -1.0) -> Reals:
        """Inputs of a model, one line a row: numbers from ``low`` to 1, lists as 0 and 1."""
        if self.values is not None:
            chosen = codes[:, None] == np.arange(len(self.values))
            return np.asarray(chosen[:, 1:] if self.single else chosen, dtype=np.float64)
        scaled = low + (1.0 - low) / self.steps * codes
        return np.where(codes == MISSING, (low + 1.0) / 2, scaled)[:, None]

    def reals(self, codes: Integers) -> Reals:
        """Numbers as they are, NaN where one is missing."""
        return np.where(codes == MISSING, np.nan, nearest(self.lower) + nearest(self.upper - self.lower) / self.steps * codes)

    def cells(self, codes: Integers) -> NDArray[np.generic]:
        """What codes stand for: numbers, NaN where one is missing, days, or values of the list, else None."""
        if self.origin is not None:
            days = np.datetime64(self.origin, "D") + np.where(codes == MISSING, 0, codes).astype("timedelta64[D]")
            return np.where(codes == MISSING, np.datetime64("NaT", "D"), days)
        if self.values is None:
            return self.reals(codes)
        known = np.array([*self.values, None], dtype=object)
        return known[np.where(codes == MISSING, len(self.values), codes)]

    def _units(self, cells: object) -> Integers:
        if self.origin is not None:
            cells = _count_days(cells, self.origin)
        try:
            numbers = np.asarray(cells, dtype=np.float64).reshape(-1)
        except Exception:  # cell by cell, since none may decide for the others
            numbers = np.array([_number(cell) for cell in np.asarray(cells, dtype=object).reshape(-1)], dtype=np.float64)
        low, high = nearest(self.lower), nearest(self.upper)
        share = (np.clip(numbers, low, high) - low) * (self.steps / (high - low))
        return np.where(np.isnan(share), MISSING, np.rint(np.where(np.isnan(share), 0, share))).astype(np.int64)

    @cached_property
    def _known(self) -> dict[Value, int]:
        return {compared(value): place for place, value in enumerate(self.values or ())}

    def _places(self, cells: object) -> Integers:
        array = np.asarray(cells).reshape(-1)
        if array.dtype.kind in "biuf" and all(isinstance(one, float | bool) for one in self._known):
            order = sorted(self._known)  # type: ignore[type-var]
            known = np.array(order, dtype=np.float64)
            numbers = array.astype(np.float64)
            near = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            places = np.array([self._known[one] for one in order], dtype=np.int64)
            return np.where(known[near] == numbers, places[near], MISSING)
        return np.array([self._known.get(_plain(cell), MISSING) for cell in array.tolist()], dtype=np.int64)


def own_units(features: Sequence[Feature]) -> tuple[Reals, Reals]:
    """Half the range and the middle of every input, (x - middle) / half being what a model sees; 1 and 0 for lists."""
    half = [nearest(one.upper - one.lower) / 2 if one.values is None else 1.0 for one in features for _ in range(one.width)]
    middle = [nearest(one.upper + one.lower) / 2 if one.values is None else 0.0 for one in features for _ in range(one.width)]
    return np.array(half), np.array(middle)


def read_features(bounds: object, names: Sequence[str]) -> tuple[Feature, ...]:
    """What is declared of every column of an array or a frame."""
    if bounds is None:
        raise ParameterError(f"A model needs to know its columns, and reads no bounds off the data; {_HOW}.")
    if _is_pair(bounds):
        return tuple(read_feature(name, bounds) for name in names)
    if isinstance(bounds, Mapping):
        found = {str(name): one for name, one in bounds.items()}
        lacking = [name for name in names if name not in found]
        if lacking or len(found) > len(names):
            strange = [name for name in found if name not in names]
            said = f"have none for {', '.join(lacking[:5])}" if lacking else f"name {', '.join(strange[:5])}, which is no column"
            raise ParameterError(f"The bounds {said}; {_HOW}.")
        return tuple(read_feature(name, found[name]) for name in names)
    if isinstance(bounds, Sequence | np.ndarray) and not isinstance(bounds, str):
        if len(bounds) != len(names):
            raise ParameterError(f"There are {len(names)} columns and bounds for {len(bounds)}; {_HOW}.")
        return tuple(read_feature(name, one) for name, one in zip(names, bounds, strict=True))
    raise ParameterError(f"{shown(bounds)} are no bounds; {_HOW}.")


def read_feature(name: str, declared: Any) -> Feature:
    """What is declared of one column: (lower, upper), a list of values, or a column as a curator declares it."""
    if isinstance(declared, Integer | Number | Category | Boolean | Date | Text):
        return feature_of(name, declared)
    if _is_pair(declared) and not isinstance(declared, list):
        lower, upper = rational(f"The lower bound of {name}", declared[0]), rational(f"The upper bound of {name}", declared[1])
        if not lower < upper:
            raise ParameterError(f"The bounds of {name} are {shown(declared)}, and the first is not below the second; {_HOW}.")
        return Feature(name, lower, upper, _STEPS)
    if isinstance(declared, list | tuple | np.ndarray) and len(declared):
        return Feature(name, values=read_values(name, declared))
    raise ParameterError(f"What is declared of {name} says neither bounds nor values; {_HOW}.")


def read_values(name: str, declared: Any) -> tuple[Value, ...]:
    """A public list of different values: words, numbers or truth values."""
    values = tuple(_plain_value(name, one) for one in declared)
    if len({compared(one) for one in values}) < len(values):
        raise ParameterError(f"A value of {name} is listed twice; list each once.")
    if len(values) > _MOST_VALUES:
        raise ParameterError(f"{name} has {len(values):,} values, and at most {_MOST_VALUES:,} can be told apart; list fewer.")
    return values


def feature_of(name: str, column: Column) -> Feature:
    """A declared column as a feature."""
    if isinstance(column, Integer | Number):
        lower, upper = Fraction(column.lower), Fraction(column.upper)
        missing = None if column.missing is None else int((column.missing - lower) / column.step)
        return Feature(name, lower, upper, int((upper - lower) / column.step), missing=missing)
    if isinstance(column, Category | Boolean):
        values = (False, True) if isinstance(column, Boolean) else column.values
        place = None if column.missing is None else values.index(column.missing)
        return Feature(name, values=values, missing=place, single=isinstance(column, Boolean))
    if isinstance(column, Date):
        days = (column.upper - column.lower).days
        gone = None if column.missing is None else (column.missing - column.lower).days
        return Feature(name, Fraction(0), Fraction(days), days, missing=gone, origin=column.lower)
    raise ParameterError(f"{name} is a text, which no model takes as it is; make a number or a category of it.")


def read_classes(classes: object, name: str = "classes") -> Feature:
    """The classes of a target: a list of values, or a declared column, which also says what other labels become."""
    if classes is None:
        raise ParameterError(
            "Which classes there are is not read off the data; write classes=[0, 1], or classes=dp.category(...), whose missing= "
            "says what other labels become. Rows with other labels add nothing."
        )
    if isinstance(classes, Category | Boolean | Integer):
        return class_of(name, classes)
    if not isinstance(classes, Sequence | np.ndarray | range) or isinstance(classes, str) or len(classes) < 1:
        raise ParameterError(f"{shown(classes)} is no list of classes; write classes=[0, 1].")
    return _sorted(Feature(name, values=read_values(name, classes)))


def class_of(name: str, column: Column) -> Feature:
    """A declared column as the classes of a target."""
    if isinstance(column, Integer):
        if column.upper - column.lower >= _MOST_VALUES:
            raise ParameterError(f"{name} has more than {_MOST_VALUES:,} values, too many for classes; declare a category.")
        values = tuple(range(column.lower, column.upper + 1))
        return Feature(name, values=values, missing=None if column.missing is None else column.missing - column.lower)
    if isinstance(column, Category | Boolean):
        found = feature_of(name, column)
        return _sorted(Feature(name, values=found.values, missing=found.missing))
    raise ParameterError(f"{name} has no list of values that could be classes; declare a category, or a boolean.")


def _sorted(classes: Feature) -> Feature:
    """The same classes in the order of scikit-learn, which takes the last of two for the positive one."""
    values = classes.values or ()
    try:
        order = sorted(values)  # type: ignore[type-var]
    except TypeError:  # words among numbers
        return classes
    missing = None if classes.missing is None else order.index(values[classes.missing])
    return Feature(classes.name, values=tuple(order), missing=missing)


def _is_pair(given: object) -> bool:
    """Whether this is (lower, upper)."""
    if not isinstance(given, tuple | list | np.ndarray) or len(given) != 2:
        return False
    return all(isinstance(one, Real) and not isinstance(one, bool | np.bool_) for one in given)


def _plain_value(name: str, value: object) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str | bool | int | float) and value == value:
        return value
    raise ParameterError(f"{shown(value)} cannot be a value of {name}; list words, whole numbers or truth values.")


def _plain(cell: object) -> Any:
    """A cell as values are compared, whatever it stands beside; None for what is no value."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, str | bool):
        return cell
    return _number(cell) if isinstance(cell, int | float) else None


def _count_days(cells: object, origin: datetime.date) -> Reals:
    """Days since a day: of dates, of moments by their day, and of texts such as 2026-01-31; NaN for anything else."""
    array = np.asarray(cells).reshape(-1)
    if array.dtype.kind == "M":
        days = array.astype("datetime64[D]") - np.datetime64(origin, "D")
        return np.where(np.isnat(days), np.nan, days.astype(np.float64))
    return np.array([_day_number(cell) - origin.toordinal() for cell in array.tolist()], dtype=np.float64)


def _day_number(cell: object) -> float:
    try:
        day = datetime.date.fromisoformat(cell) if isinstance(cell, str) else cell
        return float(day.toordinal()) if isinstance(day, datetime.date) else float("nan")
    except (ValueError, TypeError):  # no day, or a moment that is none (NaT)
        return float("nan")


def _number(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]
    except Exception:  # of whatever kind: no cell ends a fit
        return float("nan")
