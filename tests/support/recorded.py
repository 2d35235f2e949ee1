"""Replay a sampler or a mechanism on words chosen in advance. For tests; the results are **not private**.

>>> from discreet.noise import coins
>>> replay(lambda: coins.uniform(10, 3), [7, 5, 0])
NotPrivate(value=array([7, 5, 0]), words_left=0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from discreet.errors import EntropyError
from discreet.noise import bits

__all__ = ["NotPrivate", "replay"]

T = TypeVar("T")


@dataclass(frozen=True)
class NotPrivate(Generic[T]):
    """A result whose randomness was known beforehand: no guarantee covers it."""

    value: T
    words_left: int


def replay(function: Callable[[], T], words: Iterable[int]) -> NotPrivate[T]:
    """Run ``function`` with exactly these 64-bit words as its randomness, and stamp what it returns."""
    tape = np.fromiter(words, dtype=np.uint64)
    position = 0

    def read(count: int) -> bytes:
        nonlocal position
        wanted, start = count // 8, position
        if start + wanted > tape.size:
            raise EntropyError(f"The recording has {tape.size} words and word {start + wanted} was asked for; record more.")
        position += wanted
        return tape[start : start + wanted].tobytes()

    token = bits._source.set(read)
    try:
        return NotPrivate(function(), tape.size - position)
    finally:
        bits._source.reset(token)
