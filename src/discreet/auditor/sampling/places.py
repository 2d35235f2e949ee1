"""Places where a function can keep something from one run to the next: a place can be marked, compared, and put back."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["ABSENT", "PLAIN", "Binding", "Cache", "Holder", "Place"]

ABSENT = object()
PLAIN = (int, float, complex, str, bytes, type(None))
_ENTRIES = 1_000  # of a container that are looked at one by one


class Holder:
    """A container or an array, which keeps things inside."""

    def __init__(self, name: str, held: Any) -> None:
        self.name, self.value = name, held

    def mark(self) -> object:
        if isinstance(self.value, np.ndarray):
            return self.value.copy()
        return list(self.value.items()) if isinstance(self.value, dict) else list(self.value)

    def size(self) -> int:
        return int(self.value.size if isinstance(self.value, np.ndarray) else len(self.value))

    def changed(self, mark: Any) -> list[Place]:
        """The entries that are not as they were; the whole, where it has no entries of its own or too many are new."""
        if not isinstance(self.value, (dict, list)):
            return [self]
        now, old = self._entries(self.mark()), self._entries(mark)
        keys = [key for key, held in now.items() if not same(held, old.get(key, ABSENT))]
        if not keys or len(keys) > _ENTRIES:
            return [self]
        read = functools.partial(_entry, self.value)
        bind = self.value.__setitem__
        return [Binding(self.name, functools.partial(read, key), functools.partial(bind, key)) for key in keys]

    def _entries(self, mark: Any) -> dict[Any, object]:
        return dict(mark) if isinstance(self.value, dict) else dict(enumerate(mark))

    def differs(self, mark: Any) -> bool:
        """Whether it has other things in it; equal numbers and texts are the same."""
        now: Any = self.mark()
        if isinstance(now, np.ndarray):
            return not (now.shape == mark.shape and now.tobytes() == mark.tobytes())
        if len(now) != len(mark):
            return True
        if isinstance(self.value, dict):
            return not all(same(x[0], y[0]) and same(x[1], y[1]) for x, y in zip(now, mark, strict=True))
        return not all(map(same, now, mark))

    def put_back(self, mark: Any) -> None:
        if not self.differs(mark):
            return
        if isinstance(self.value, np.ndarray):
            self.value[...] = mark
            return
        self.value.clear()
        (self.value.extend if isinstance(self.value, (list, deque, bytearray)) else self.value.update)(mark)


class Binding:
    """A name, or the cell of a closure, that can be bound to something else."""

    def __init__(self, name: str, read: Callable[[], object], bind: Callable[[object], None]) -> None:
        self.name, self._read, self.bind = name, read, bind

    @property
    def value(self) -> object:
        return self._read()

    def mark(self) -> object:
        return self._read()

    def differs(self, mark: object) -> bool:
        return not same(self._read(), mark)

    def put_back(self, mark: object) -> None:
        if self.differs(mark):
            self.bind(mark)


class Cache:
    """A function with ``functools.lru_cache``; ``binding`` is how the rest of the code gets at it, if that is known."""

    def __init__(self, name: str, function: Any, binding: Binding | None) -> None:
        self.name, self.value, self.binding = name, function, binding

    def mark(self) -> object:
        return self.value.cache_info()

    def differs(self, mark: Any) -> bool:
        """Whether it answered from its store."""
        return bool(self.value.cache_info().hits > mark.hits)

    def put_back(self, mark: object) -> None:
        if self.mark() != mark:
            self.value.cache_clear()


Place = Holder | Binding | Cache


def same(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and isinstance(one, PLAIN) and one == other)


def _entry(held: Any, key: object) -> object:
    try:
        return held[key]
    except LookupError:
        return ABSENT
