"""What every mechanism can say of itself, and the one way in which its values get out.

Every mechanism lets its values out through ``let_out``, which is a window for the auditor: who asks for it sees every value just
before noise is added, and the mechanism it was given to. Outside ``recorded`` that is a plain call. Inside, a recorder stands
between mechanism and caller, in this thread and nowhere else. What it sees has no noise: it is for made-up data.

>>> from discreet.mechanisms import Laplace
>>> with recorded() as record:
...     noisy = Laplace(sensitivity=1, epsilon=1).release(42)
>>> [(type(release.mechanism).__name__, release.value) for release in record]
[('Laplace', 42)]

Two releases of neighbours through the same mechanism can be compared (``Mechanism.moved``): exactly, against the sensitivity that
was declared.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np

from discreet.mechanisms.secret import open_secret
from discreet.mechanisms.values import Histograms, Value, read_numbers
from discreet.privacy import Privacy

T = TypeVar("T")

FREE = Privacy()
"""What costs nothing."""


@dataclass(frozen=True)
class Moved:
    """How far a release moved between two neighbours.

    ``cost`` is what this pair loses at most. ``far`` says where it moved further than declared, ``many`` where it did so more
    often than one mechanism pays for, which is right if it was paid for more often. Comparisons of one ``stream`` belong
    together: it is paid for once, and if it was declared ``monotonic``, all of them move the same of two ``ways``.
    """

    cost: Privacy = FREE
    far: str | None = None
    many: str | None = None
    stream: object = None
    ways: frozenset[bool] = frozenset()
    monotonic: bool = False


class Mechanism(ABC):
    """A randomised release with its guarantee, its words and its distance."""

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """What one release costs."""

    @property
    @abstractmethod
    def label(self) -> str:
        """Its name in a sentence."""

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002 - for those that have a scale or a delta
        """How it releases a statistic whose step is worth ``unit``, ``times`` times: a phrase for previews and answers."""
        return self.label

    @abstractmethod
    def moved(self, before: Recording, after: Recording) -> Moved:
        """How far this release moved between two runs, of the same shape, on neighbours."""

    def _fill(self, **fields: object) -> None:
        """Set the fields of a frozen mechanism, in its constructor."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class Recording:
    """What a recorder sees of a release: the value before its noise, and ``facts``, what else was said, which must be public."""

    mechanism: Mechanism
    value: object
    facts: tuple[object, ...] = ()


Recorder = Callable[[Recording, Callable[[], object]], object]
"""Sees a release and decides what the caller gets: usually what the second argument draws."""

_recorder: ContextVar[Recorder | None] = ContextVar("discreet recorder", default=None)


def recorder() -> Recorder | None:
    """Who watches, if anybody does."""
    return _recorder.get()


def let_out(mechanism: Mechanism, value: object, draw: Callable[[], T], *facts: object) -> T:
    """What ``draw`` gives. A mechanism that uses another one lets out once."""
    watching = _recorder.get()
    if watching is None:
        return draw()
    token = _recorder.set(None)
    try:
        return cast(T, watching(Recording(mechanism, open_secret(value), facts), draw))
    finally:
        _recorder.reset(token)


@contextmanager
def recorded(by: Recorder | None = None) -> Iterator[list[Recording]]:
    """Watch everything that is released meanwhile; ``by`` a recorder of one's own, or into the list."""
    record: list[Recording] = []

    def note(release: Recording, draw: Callable[[], object]) -> object:
        record.append(release)
        return draw()

    token = _recorder.set(by or note)
    try:
        yield record
    finally:
        _recorder.reset(token)


# Distances, exactly and in words.


def changes(before: Recording, after: Recording) -> list[Fraction]:
    """Coordinate by coordinate, exactly; those of equal integers are left out."""
    a, b = read_numbers(cast("Value", before.value)), read_numbers(cast("Value", after.value))
    if isinstance(a.flat, np.ndarray) and isinstance(b.flat, np.ndarray) and a.flat.dtype == b.flat.dtype == np.int64:
        moved = np.flatnonzero(a.flat != b.flat)  # most do not
        return [Fraction(int(b.flat[i]) - int(a.flat[i])) for i in moved]
    return [b.exact(i) - a.exact(i) for i in range(a.size)]


def show_change(before: Recording, after: Recording, moved: Fraction, declared: int | Fraction, norm: str) -> str | None:
    """Words for a distance (a square, if the norm is L2) above what was declared; None if it is not."""
    if moved <= (declared**2 if norm == "L2" else declared):
        return None
    size = _show_root(moved) if norm == "L2" else show_number(moved)
    return (
        f"moved by {size}, declared {show_number(Fraction(declared))} ({norm}): "
        f"{show_value(before.value)} and {show_value(after.value)}"
    )


def show_number(number: Fraction) -> str:
    """A distance, short."""
    if number.denominator == 1:
        return str(number.numerator) if abs(number) < 10**15 else f"about 2^{abs(number.numerator).bit_length() - 1}"
    return f"{float(number):.6g}" if abs(number) < 10**300 else "more than 10^300"


def _show_root(square: Fraction) -> str:
    whole = math.isqrt(square.numerator) if square.denominator == 1 else 0
    if whole * whole == square:
        return show_number(Fraction(whole))
    return f"{math.sqrt(square):.6g}" if square < 10**300 else "very much"


def show_value(value: object) -> str:
    """A value that was made up, which may be shown; not all of it."""
    if isinstance(value, Histograms):
        value = list(value)
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 120 else f"{text[:100]}..."
