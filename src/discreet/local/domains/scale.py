"""A scale: numbers between two public bounds, and what becomes of everything else before it is randomised.

A number outside the bounds is clamped to the nearer one, infinity included. What is no number (NaN, a missing value, a word) is
refused on the client (``missing="refuse"``: nothing is drawn, nothing may be sent), becomes a uniformly drawn place between the
bounds (``"random"``), or the number that was declared for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import rational, shown
from discreet.noise.coins import uniform

_DIGITS = 53
_FOREIGN = (
    "An answer is no number and the task refuses such answers: send nothing, or declare missing= as a number within the "
    "bounds or as 'random'."
)
_LARGEST = Fraction(2) ** 1000


@dataclass(frozen=True)
class Scale:
    """The bounds, and the fate of what is no number.

    >>> Scale(Fraction(0), Fraction(10)).places([5, -3, 11.0]).tolist()
    [0.5, 0.0, 1.0]
    """

    lower: Fraction
    upper: Fraction
    missing: Fraction | str = "refuse"

    def __post_init__(self) -> None:
        if max(abs(self.lower), abs(self.upper)) > _LARGEST:
            raise ParameterError("The bounds are too large for numbers of 64 bits; choose another unit.")
        if not self.lower < self.upper:
            raise ParameterError(
                f"The lower bound {shown(float(self.lower))} is not below the upper, {shown(float(self.upper))}; "
                "write bounds that differ."
            )
        if not 2.0**-900 < self.width < 2.0**900:  # squares of it stay finite
            raise ParameterError("The bounds are too near or too far for numbers of 64 bits; choose another unit.")
        if isinstance(self.missing, str):
            if self.missing not in ("refuse", "random"):
                raise ParameterError("missing= must be 'refuse', 'random' or a number within the bounds.")
        elif not self.lower <= self.missing <= self.upper:
            raise ParameterError(f"missing={shown(float(self.missing))} must lie within the bounds.")

    @property
    def width(self) -> float:
        return float(self.upper - self.lower)

    def value(self, place: float) -> float:
        """The number at a place, 0 at the lower bound and 1 at the upper."""
        return float(self.lower) + place * self.width

    def places(self, values: Sequence[object] | np.ndarray) -> Reals:
        """Where the values lie between the bounds, as numbers from 0 to 1. Which place a value gets is no matter of privacy."""
        if isinstance(values, np.ndarray) and values.ndim != 1:
            raise ValueRefused("Answers must be a flat list or array, one for each person.")
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf":
            numbers = values.astype(np.float64)
        else:
            plain = values.tolist() if isinstance(values, np.ndarray) else values
            numbers = np.array([_read_number(value) for value in plain], dtype=np.float64)
        outside = np.isnan(numbers)
        if self.missing == "refuse" and outside.any():
            raise ValueRefused(_FOREIGN)
        inside = np.clip(np.where(outside, float(self.lower), numbers), float(self.lower), float(self.upper))
        found = np.clip((inside - float(self.lower)) / self.width, 0.0, 1.0)
        if self.missing == "random":  # drawn for everybody, so that the work does not tell who was outside
            return np.where(outside, uniform(2**_DIGITS, found.size) * 2.0**-_DIGITS, found)
        if isinstance(self.missing, Fraction):
            return np.where(outside, float((self.missing - self.lower) / (self.upper - self.lower)), found)
        return found

    @property
    def facts(self) -> dict[str, object]:
        """The scale as JSON, exact."""
        missing: object = self.missing if isinstance(self.missing, str) else {"value": str(self.missing)}
        return {"lower": str(self.lower), "upper": str(self.upper), "missing": missing}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Scale:
        """The scale that ``facts`` described."""
        missing = facts["missing"]
        fate = Fraction(missing["value"]) if isinstance(missing, dict) else str(missing)
        return cls(Fraction(str(facts["lower"])), Fraction(str(facts["upper"])), fate)


def read_scale(lower: object, upper: object, missing: object) -> Scale:
    """A scale from what a user wrote."""
    low, high = rational("lower", lower, "the least possible value"), rational("upper", upper, "the greatest possible value")
    if missing is None or isinstance(missing, str):
        return Scale(low, high, missing or "refuse")
    return Scale(low, high, rational("missing", missing, "'refuse', 'random' or a number within the bounds"))


def _read_number(value: object) -> float:
    """The value as a float, NaN where it is no number."""
    if not isinstance(value, (Real, np.floating, np.integer)) and not hasattr(value, "as_integer_ratio"):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        return math.nan
