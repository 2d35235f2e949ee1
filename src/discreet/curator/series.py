"""The numbers of one output of an answer, with arithmetic that carries their intervals along.

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

import math
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates import figures
from discreet.plan.aggregates.figures import Figure
from discreet.plan.expressions import Value

_MISS = 0.05


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
