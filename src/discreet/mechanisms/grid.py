"""Values on a public grid, and the one way in which noise is added to them.

The law belongs to the mechanism, not to the value. A mechanism with an *integer* sensitivity takes integers and returns
integers. One with a float or Fraction sensitivity takes reals and returns floats, multiples of ``grid``: a power of two about
2^-20 of the noise scale, fixed by public parameters alone. The grid rounds the *ideal real-valued* mechanism

    release(x) = grid * floor(x / grid + noise / grid + 1/2)

with x taken exactly: post-processing, so it costs nothing, needs no extra sensitivity, and the low-order bits of a
released float say nothing about x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ValueRefused
from discreet.noise.lazy import Integers, Reals

__all__ = ["Grid", "Number", "Released", "Value", "choose_grid", "finite", "nearest", "read_reals", "release_integers"]

Number = int | float | Fraction | Decimal
Value = Number | Sequence[Number] | NDArray[np.generic]
Released = int | float | NDArray[np.generic]

_FINE = 20  # binary digits between the noise scale and the grid
_INTEGER_SCALE = 2**52
_LARGEST_CELL = 2**51  # cells, and cells plus noise, stay exact in a double


@dataclass(frozen=True)
class Grid:
    """Multiples of 2^exponent; ``integral`` mechanisms take and return whole numbers."""

    exponent: int
    integral: bool

    @property
    def step(self) -> Fraction:
        return Fraction(2) ** self.exponent

    @property
    def public(self) -> int | float:
        """The step as users see it: an ``int`` for integral mechanisms, else a float."""
        return int(self.step) if self.integral else float(self.step)

    def release(
        self,
        value: Value,
        whole_noise: Callable[[int], Integers],
        rounded_noise: Callable[[Reals, Callable[[int], Fraction]], Integers],
    ) -> Released:
        """Add noise to a scalar or an array: ``whole_noise`` to integers on grid 1, ``rounded_noise`` on any other grid."""
        if self.integral and self.exponent == 0:
            return release_integers(value, whole_noise)
        array = _array(value)
        on_grid = self._on_coarse_grid if self.integral else self._on_fine_grid
        noisy = on_grid(array.reshape(-1), rounded_noise)
        if array.ndim:
            return noisy.reshape(array.shape)
        return int(noisy[0]) if self.integral else float(noisy[0])

    def _on_fine_grid(self, flat: NDArray[np.generic], noise: Callable[[Reals, Callable[[int], Fraction]], Integers]) -> Reals:
        values, exact = _reals(flat)
        scaled = (
            np.ldexp(values, -self.exponent) if self.exponent > -1000 else np.ldexp(np.ldexp(values, 1000), -self.exponent - 1000)
        )
        if not (np.abs(scaled) <= _LARGEST_CELL).all():
            raise ValueRefused(
                f"A value is too large for this mechanism's grid of {self.public:g}: at most {self.public * _LARGEST_CELL:g} "
                "in size can be released. Clamp values to their declared bounds first, or add more noise."
            )
        cells = np.floor(scaled)
        noisy = noise(scaled - cells, lambda i: exact(i) / self.step - int(cells[i]))
        return np.ldexp(cells + noisy, self.exponent)

    def _on_coarse_grid(
        self, numbers: NDArray[np.generic], noise: Callable[[Reals, Callable[[int], Fraction]], Integers]
    ) -> NDArray[np.object_]:
        step = int(self.step)
        cells = [divmod(int(number), step) for number in _integers(numbers)]
        near = np.array([rest / step for _, rest in cells], dtype=np.float64)
        noisy = noise(near, lambda i: Fraction(cells[i][1], step))
        return np.array([(cell + int(extra)) * step for (cell, _), extra in zip(cells, noisy, strict=True)], dtype=object)


def release_integers(value: Value, noise: Callable[[int], Integers]) -> Released:
    """Whole numbers plus whole noise, without overflow."""
    array = _array(value)
    noisy = _add(_integers(array.reshape(-1)), noise(array.size))
    return noisy.reshape(array.shape) if array.ndim else int(noisy[0])


def choose_grid(scale: Fraction, *, integral: bool) -> Grid:
    """The public grid for a noise scale: 1 for integers up to scale 2^52, else about 2^-20 of the scale."""
    if integral and scale <= _INTEGER_SCALE:
        return Grid(0, True)
    magnitude = scale.numerator.bit_length() - scale.denominator.bit_length()  # log2 of the scale, to within one
    if not -960 <= magnitude <= 960:
        raise ParameterError(
            f"The noise scale is about 2^{magnitude}, too {'large' if magnitude > 0 else 'small'} for a grid of doubles; "
            "measure in another unit so that it lies between 2^-960 and 2^960."
        )
    return Grid(magnitude - _FINE, integral)


def _array(value: Value) -> NDArray[np.generic]:
    if isinstance(value, (Fraction, Decimal)):
        return np.array(value, dtype=object)
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueRefused("The value is neither a number nor a rectangular array of numbers; give one or the other.") from None


def read_reals(values: Value, *, whole: bool = False) -> tuple[Reals, Callable[[int], Fraction]]:
    """A list or array as doubles within a relative 2^-53, and exactly on demand; only integers where ``whole``."""
    flat = np.atleast_1d(_array(values)).reshape(-1)
    return _reals(_integers(flat) if whole else flat)


def finite(value: object) -> bool:
    """Whether a single value is a number, and a finite one."""
    if isinstance(value, (Decimal, float)):
        return math.isfinite(value)
    return isinstance(value, Rational) and not isinstance(value, bool)


def nearest(value: Fraction) -> float:
    """The nearest double, infinite beyond them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # too large for any grid


def _integers(flat: NDArray[np.generic]) -> NDArray[np.generic]:
    if flat.dtype.kind in "iu":
        return flat
    if flat.dtype == object and all(isinstance(x, Integral) and not isinstance(x, bool) for x in flat):
        return flat
    raise ValueRefused(
        "This mechanism has an integer sensitivity, so it releases whole numbers and nothing else: "
        "give it integers, or build it with a float sensitivity (sensitivity=1.0) to release reals."
    )


def _add(numbers: NDArray[np.generic], noise: Integers) -> NDArray[np.generic]:
    """Exact sums: int64 where nothing can overflow, Python's integers otherwise."""
    if numbers.dtype.kind in "iu" and (numbers.size == 0 or (int(numbers.min()) > -(2**62) and int(numbers.max()) < 2**62)):
        noise += numbers.astype(np.int64, copy=False)
        return noise
    return np.array([int(x) + int(extra) for x, extra in zip(numbers, noise, strict=True)], dtype=object)


def _reals(flat: NDArray[np.generic]) -> tuple[Reals, Callable[[int], Fraction]]:
    """Doubles within a relative 2^-53 of the values, and the values themselves as rationals."""
    kind, size = flat.dtype.kind, flat.dtype.itemsize
    if kind == "f" and size <= 8:
        reals = flat.astype(np.float64)
        if not np.isfinite(reals).all():
            raise ValueRefused(
                "A value is NaN or infinite and cannot be released; say what a missing value becomes before noise is added."
            )
        return reals, lambda i: Fraction(float(reals[i]))
    if kind in "iu":
        return flat.astype(np.float64), lambda i: Fraction(int(flat[i]))
    if kind == "O" and all(finite(x) for x in flat):
        exact = [Fraction(x) for x in flat]
        return np.array([nearest(x) for x in exact], dtype=np.float64), exact.__getitem__
    raise ValueRefused("A value is not a finite number and cannot be released; give numbers, or an array of them.")
