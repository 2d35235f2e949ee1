"""A window for the auditor: who asks for it sees every value just before noise is added, and the mechanism it was given to.

Every mechanism lets its values out through ``let_out``. Outside ``recorded`` that is a plain call. Inside, a recorder stands
between mechanism and caller, in this thread and nowhere else. What it sees has no noise: it is for made-up data.

>>> from discreet.mechanisms import Laplace
>>> with recorded() as record:
...     noisy = Laplace(sensitivity=1, epsilon=1).release(42)
>>> [(type(release.mechanism).__name__, release.value) for release in record]
[('Laplace', 42)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar, cast

from discreet.mechanisms.secret import opened

__all__ = ["Recorder", "Release", "let_out", "recorded", "recorder"]

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Release:
    """A value on its way out, opened; and ``facts``: whatever else was said, which must be public."""

    mechanism: object
    value: object
    facts: tuple[object, ...] = ()


Recorder = Callable[[Release, Callable[[], object]], object]
"""Sees a release and decides what the caller gets: usually what the second argument draws."""

_recorder: ContextVar[Recorder | None] = ContextVar("discreet recorder", default=None)


def recorder() -> Recorder | None:
    """Who watches, if anybody does."""
    return _recorder.get()


def let_out(mechanism: object, value: object, draw: Callable[[], T], *facts: object) -> T:
    """What ``draw`` gives. A mechanism that uses another one lets out once."""
    watching = _recorder.get()
    if watching is None:
        return draw()
    token = _recorder.set(None)
    try:
        return cast(T, watching(Release(mechanism, opened(value), facts), draw))
    finally:
        _recorder.reset(token)


@contextmanager
def recorded(by: Recorder | None = None) -> Iterator[list[Release]]:
    """Watch everything that is released meanwhile; ``by`` a recorder of one's own, or into the list."""
    record: list[Release] = []

    def note(release: Release, draw: Callable[[], object]) -> object:
        record.append(release)
        return draw()

    token = _recorder.set(by or note)
    try:
        yield record
    finally:
        _recorder.reset(token)
