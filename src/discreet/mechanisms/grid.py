"""A public grid, and the one way in which noise is added on it.

The law belongs to the mechanism, not to the value. A mechanism with an *integer* sensitivity takes integers and returns
integers. One with a float or Fraction sensitivity takes reals and returns floats, multiples of ``grid``: a power of two about
2^-20 of the noise scale, fixed by public parameters alone. The grid rounds the *ideal real-valued* mechanism

    release(x) = grid * floor(x / grid + noise / grid + 1/2)

with x taken exactly: post-processing, so it costs nothing, needs no extra sensitivity, and the low-order bits of a
released float say nothing about x.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError, ValueRefused
from discreet.mechanisms.values import Numbers, Value, read_numbers

Released = int | float | NDArray[np.generic]
Rounded = Callable[[Reals, Callable[[int], Fraction]], Integers]

_FINE = 20  # binary digits between the noise scale and the grid
_INTEGER_SCALE = 2**52
_LARGEST_CELL = 2**51  # cells, and cells plus noise, stay exact in a double
_LAST = np.iinfo(np.int64)


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

    def release(self, value: Value, whole_noise: Callable[[int], Integers], rounded_noise: Rounded) -> Released:
        """Add noise to a scalar or an array: ``whole_noise`` to integers on grid 1, ``rounded_noise`` on any other grid."""
        if self.integral and self.exponent == 0:
            return release_integers(value, whole_noise)
        numbers = self.read(value)
        noisy = self._coarse(numbers, rounded_noise) if self.integral else self._fine(numbers, rounded_noise)
        if numbers.shape:
            return noisy.reshape(numbers.shape)
        return int(noisy[0]) if self.integral else float(noisy[0])

    def read(self, value: Value) -> Numbers:
        """The numbers of a value that can be released here; anything else is refused before noise is drawn."""
        numbers = read_numbers(value, integral=self.integral)
        if not self.integral:
            small = np.abs(numbers.near()) <= math.ldexp(1.0, self.exponent) * _LARGEST_CELL
            if not small.all():
                raise ValueRefused(
                    f"A value is too large for this mechanism's grid of {self.public:g}: at most {self.public * _LARGEST_CELL:g} "
                    "in size can be released. Clamp values to their declared bounds first, or add more noise."
                )
        return numbers

    def _scaled(self, reals: Reals) -> Reals:
        """reals / step, exactly but for what leaves the doubles."""
        if self.exponent > -1000:
            return np.ldexp(reals, -self.exponent)
        return np.ldexp(np.ldexp(reals, 1000), -self.exponent - 1000)

    def _fine(self, numbers: Numbers, noise: Rounded) -> Reals:
        if numbers.doubles:
            scaled = self._scaled(numbers.near())
            whole = np.floor(scaled)
            noisy = noise(scaled - whole, lambda i: numbers.exact(i) / self.step - int(whole[i]))
            whole += noisy
            return np.ldexp(whole, self.exponent)
        cells, near, exact = _split([numbers.exact(i) / self.step for i in range(numbers.size)])
        return np.ldexp(np.array(cells, dtype=np.float64) + noise(near, exact), self.exponent)

    def _coarse(self, numbers: Numbers, noise: Rounded) -> NDArray[np.object_]:
        cells, near, exact = _split([numbers.exact(i) / self.step for i in range(numbers.size)])
        step = int(self.step)
        noisy = [(cell + int(extra)) * step for cell, extra in zip(cells, noise(near, exact), strict=True)]
        return _object_array(noisy)


def _split(scaled: list[Fraction]) -> tuple[list[int], Reals, Callable[[int], Fraction]]:
    """Cells, and the place in each: near and exact."""
    cells = [number.numerator // number.denominator for number in scaled]
    rest = [number - cell for number, cell in zip(scaled, cells, strict=True)]
    return cells, np.array([float(x) for x in rest], dtype=np.float64), rest.__getitem__


def release_integers(value: Value, noise: Callable[[int], Integers]) -> Released:
    """Whole numbers plus whole noise.

    An int64 array or a list gives an int64 array, cut off at the ends of that type *after* the noise (post-processing), so that
    the type of the answer never depends on the data. A single integer, and arrays of Python's own (dtype object), know no limit.
    """
    numbers = read_numbers(value, integral=True)
    drawn = noise(numbers.size)
    if not isinstance(numbers.flat, list) and numbers.shape and _roomy(numbers.flat):
        drawn += numbers.flat.astype(np.int64, copy=False)
        return drawn.reshape(numbers.shape)
    sums = [int(numbers.exact(i)) + int(extra) for i, extra in enumerate(drawn)]
    if not numbers.shape:
        return sums[0]
    if numbers.boxed:
        return _object_array(sums).reshape(numbers.shape)
    return np.array([min(max(x, _LAST.min), _LAST.max) for x in sums], dtype=np.int64).reshape(numbers.shape)


def _roomy(flat: NDArray[np.generic]) -> bool:
    """Whether noise of up to 2^62 cannot overflow."""
    return flat.size == 0 or (int(flat.max()) <= 2**62 and int(flat.min()) >= -(2**62))


def _object_array(numbers: list[int]) -> NDArray[np.object_]:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return array


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
