"""One output of an answer in every row, how it is written, and arithmetic that carries its intervals along.

A column is what an answer keeps. What was estimated stays in arrays: Python's own numbers are made of them when somebody looks,
and a long answer is written without.

A series is a tuple of values. ``+ - * /`` with numbers and with other series of the same answer are interval arithmetic: if the
intervals that went in all cover, so does the one that comes out. The interval of one output misses 5 % of the time, so a result
of two outputs covers at least 90 % of the time, of three 85 %: that is its ``confidence``, whatever noise they have in common.
Where more is known, SQL and ``agg`` do better: ``sum(a) / sum(b)`` there has one interval of 95 %, and a shorter one.

>>> n = Series((80, 20), (74.0, 14.0), (86.0, 26.0), frozenset({"n"}))
>>> half = n / 2
>>> half, half.lower, half.confidence
((40.0, 10.0), (37.0, 7.0), 0.95)
>>> both = n + Series((1, 2), (0.0, 1.0), (2.0, 3.0), frozenset({"m"}))
>>> both, both.upper, both.confidence
((81.0, 22.0), (88.0, 29.0), 0.9)
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates import figures
from discreet.plan.aggregates.base import Estimate
from discreet.plan.aggregates.figures import Figure
from discreet.plan.expressions import Value

_MISS = 0.05
_PARTS = ("values", "errors", "lower", "upper")
_LONG = 2**12
_SMALL = 2.0**32
_WHOLE = 2.0**53  # up to here doubles are whole numbers of 64 bits

Written = None | bool | int | float | str | dict[str, str]
_PLAIN = frozenset({type(None), bool, int, str})


@dataclass(frozen=True, init=False)
class Column:
    """One output in every row: values, standard errors, and the ends of 95 % intervals; choices have values only."""

    values: tuple[Value, ...]
    errors: tuple[float, ...] | None
    lower: tuple[float, ...] | None
    upper: tuple[float, ...] | None
    mechanism: str

    def __init__(
        self,
        values: Iterable[Value],
        errors: Iterable[float] | None = None,
        lower: Iterable[float] | None = None,
        upper: Iterable[float] | None = None,
        mechanism: str = "",
    ) -> None:
        self.__dict__["mechanism"] = mechanism
        for name, given in zip(_PARTS, (values, errors, lower, upper), strict=True):
            self.__dict__[name] = made = None if given is None else tuple(given)
            if made is not None and len(made) != len(self.values):
                raise ParameterError(f"An output has {len(self.values)} values and {len(made)} {name}; give one for each.")
        if (self.lower is None) != (self.upper is None):
            raise ParameterError("An interval has two ends; give lower and upper, or neither.")

    @classmethod
    def of(cls, found: Estimate, mechanism: str) -> Column:
        """An estimate as plain values, made of its arrays when they are asked for."""
        made = cls((), mechanism=mechanism)
        for name in _PARTS:
            part = getattr(found, name)
            if isinstance(part, np.ndarray):
                del made.__dict__[name]
                made.__dict__[f"_{name}"] = _as_whole(part) if found.whole and name == "values" else part
            else:
                made.__dict__[name] = part if part is None else tuple(part)
        return made

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> Column:
        """The column of which these are the facts, as JSON gives them back."""
        parts: dict[str, Any] = {name: all_read(part) if isinstance(part, list) else part for name, part in facts.items()}
        return cls(**parts)

    def __getattr__(self, name: str) -> Any:
        if f"_{name}" not in self.__dict__:
            raise AttributeError(f"A column has no {name}.")
        self.__dict__[name] = made = tuple(self.__dict__[f"_{name}"].tolist())
        return made

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.__dict__["_values"]) if "_values" in self.__dict__ else len(self.values)

    def facts(self) -> dict[str, object]:
        """What its text says; many numbers as the array that they are in."""
        found: dict[str, object] = {}
        for name in _PARTS:
            array = self.__dict__.get(f"_{name}")
            if array is not None and len(array) >= _LONG and array.dtype != object and np.isfinite(array).all():
                found[name] = array
            elif (part := getattr(self, name)) is not None:
                found[name] = all_written(part)
            found["mechanism"] = self.mechanism
        return found


def _as_whole(values: Reals) -> NDArray[np.generic]:
    """Doubles that are whole numbers, as integers of any size."""
    if (np.abs(values) <= _WHOLE).all():
        return values.astype(np.int64)
    wide = np.empty(len(values), dtype=object)
    wide[:] = [int(value) for value in values]
    return wide


def all_written(values: Sequence[Value]) -> Sequence[Written]:
    """Values as JSON has them. Most columns hold nothing but what it has words for; one look at their types is enough."""
    kinds = {*map(type, values)}
    if kinds <= _PLAIN or (kinds == {float} and all(map(math.isfinite, cast(Sequence[float], values)))):
        return cast(Sequence[Written], values)
    return [_written(value) for value in values]


def _written(value: Value) -> Written:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    return value


def all_read(written: Iterable[Written]) -> tuple[Value, ...]:
    """The values that JSON has so."""
    return tuple(map(_read, written))


def _read(written: Written) -> Value:
    if not isinstance(written, dict):
        return written
    ((kind, text),) = written.items()
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "fraction":
        return Fraction(text)
    if kind == "float":
        return float(text)
    raise ValueError(kind)


def write_facts(facts: object) -> str:
    """Facts as JSON. Long columns of numbers are written by Arrow, in a fourth of the time; they mean the same numbers."""
    return "".join(_pieces(facts)) if _is_long(facts) else json.dumps(facts, allow_nan=False)


def _is_long(facts: object) -> bool:
    if isinstance(facts, dict):
        return any(map(_is_long, facts.values()))
    return isinstance(facts, np.ndarray) or (isinstance(facts, tuple) and len(facts) >= _LONG)


def _pieces(facts: object) -> Iterator[str]:
    """The text of facts, piece by piece: one that is long is put together once."""
    if isinstance(facts, tuple) and len(facts) >= _LONG:
        facts = _as_array(facts)
    if isinstance(facts, dict):
        for j, (name, one) in enumerate(facts.items()):
            yield f"{', ' if j else '{'}{json.dumps(name)}: "
            yield from _pieces(one)
        yield "}" if facts else "{}"
    elif isinstance(facts, np.ndarray):
        yield "["
        yield from _write_numbers(facts)
        yield "]"
    else:
        yield json.dumps(facts, allow_nan=False)


def _as_array(values: tuple[object, ...]) -> object:
    """Numbers of one type as an array of them, where there is one for them all."""
    kinds = {*map(type, values)}
    try:
        return np.array(values, dtype={int: np.int64, float: np.float64}[kinds.pop()]) if len(kinds) == 1 else values
    except (KeyError, OverflowError):
        return values


def _write_numbers(numbers: NDArray[np.generic]) -> Iterator[str]:
    """Numbers with commas, doubles in the fewest digits by which each is known; a whole one with a point, or it would be read as
    an integer. What is one number in all rows, as standard errors mostly are, is written once."""
    import pyarrow
    from pyarrow import compute

    bits = numbers.view(np.int64)  # by which -0.0 is not 0.0
    if len(bits) > 1 and (bits == bits[0]).all():
        one = "".join(_write_numbers(numbers[:1]))
        yield f"{one}, " * (len(bits) - 1)
        yield one
        return
    point = ""
    if numbers.dtype.kind == "f" and (whole := np.floor(numbers) == numbers).any():
        small = bool((np.abs(numbers) < _SMALL).all())  # of which those that are whole are written without an exponent
        if small and whole.all() and not (np.signbit(numbers) & (numbers == 0)).any():
            numbers, point = numbers.astype(np.int64), ".0"
    texts = compute.cast(pyarrow.array(numbers), pyarrow.string())
    if numbers.dtype.kind == "f" and whole.any():
        told = compute.or_(compute.match_substring(texts, "."), compute.match_substring(texts, "e")) if not small else ~whole
        texts = compute.binary_join_element_wise(texts, compute.if_else(told, "", ".0"), "")
    together = pyarrow.ListArray.from_arrays(pyarrow.array([0, len(texts)], pyarrow.int32()), texts)
    yield f"{compute.binary_join(together, f'{point}, ')[0].as_py()}{point}"


class Series(tuple[Value, ...]):
    """Values, and the ends of their intervals; choices have none. ``sources``: the outputs that they are made of."""

    lower: tuple[float, ...] | None
    upper: tuple[float, ...] | None
    sources: frozenset[str]

    __array_priority__ = 1000  # numbers of numpy leave arithmetic to this

    def __new__(
        cls,
        values: Iterable[Value],
        lower: tuple[float, ...] | None = None,
        upper: tuple[float, ...] | None = None,
        sources: frozenset[str] = frozenset(),
    ) -> Self:
        made = super().__new__(cls, values)
        made.lower, made.upper, made.sources = lower, upper, sources
        return made

    @property
    def confidence(self) -> float:
        """How often an interval covers, at least."""
        return max(0.0, round(1 - _MISS * len(self.sources), 9))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The values; a number of which nothing is known is NaN."""
        numbers = all(value is None or isinstance(value, (int, float)) for value in self)
        plain = [math.nan if numbers and value is None else value for value in self]
        return np.array(plain, dtype=dtype)

    def __add__(self, other: object) -> Series:
        return self._with(other, figures.plus)

    __radd__ = __add__

    def __sub__(self, other: object) -> Series:
        return self._with(other, figures.minus)

    def __rsub__(self, other: object) -> Series:
        return self._with(other, lambda a, b: figures.minus(b, a))

    def __mul__(self, other: object) -> Series:
        return self._with(other, figures.product)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Series:
        return self._with(other, figures.quotient)

    def __rtruediv__(self, other: object) -> Series:
        return self._with(other, lambda a, b: figures.quotient(b, a))

    def __neg__(self) -> Series:
        return self._made(figures.negative(self._figure()), self.sources)

    def __abs__(self) -> Series:
        return self._made(figures.size(self._figure()), self.sources)

    def __round__(self, digits: int = 0) -> Series:
        return self._made(figures.rising(self._figure(), lambda x: round(x, digits)), self.sources)

    def __reduce__(self) -> tuple[Any, ...]:
        return Series, (tuple(self), self.lower, self.upper, self.sources)

    def _figure(self) -> Figure:
        if self.lower is None or self.upper is None:
            raise ParameterError("A choice has no interval, and is not computed with; write tuple(answer[name]) for its values.")
        values: Reals = self.__array__(np.float64)
        return Figure(values, np.array(self.lower), np.array(self.upper), np.isnan(values))

    def _with(self, other: object, operation: Callable[[Figure, Figure], Figure]) -> Series:
        mine = self._figure()
        if isinstance(other, Series):
            if len(other) != len(self):
                raise ParameterError(f"These have {len(self)} and {len(other)} rows; compute with outputs of the same answer.")
            return self._made(operation(mine, other._figure()), self.sources | other.sources)
        if isinstance(other, bool) or not isinstance(other, (int, float, np.integer, np.floating)):
            return NotImplemented  # type: ignore[no-any-return]
        try:
            number = float(other)
        except OverflowError:
            raise ParameterError("This number is beyond all doubles; write a smaller one.") from None
        return self._made(operation(mine, figures.public_figure(number, mine.values)), self.sources)

    @staticmethod
    def _made(found: Figure, sources: frozenset[str]) -> Series:
        nothing = ~(found.lower <= found.upper)
        lower, upper = np.where(nothing, -np.inf, found.lower), np.where(nothing, np.inf, found.upper)
        values = [None if math.isnan(x) else float(x) for x in found.values]
        return Series(values, tuple(map(float, lower)), tuple(map(float, upper)), sources)
