"""The memory of a function: what Python shows of what it keeps from one run to the next, and whether that is random.

An answer that is drawn once and then handed out beside fresh noise leaves no trace in the order of the outputs: given the store,
runs are independent, and no test of the outputs (``state``) can find it. It must be looked for where it is kept.

Memory is harmless if it changes with every run (a counter, a log) and if it always ends up the same when the function starts
afresh (a public table that is loaded once). It is not if it settles on something random: a thousand runs are then one draw. So
what settled is put back as it was, the function is run again, and what it stores this time is compared with what it stored the
last time. Of a cache of ``functools`` the answers are compared with what the function behind it says now. No draw is used, and
nothing is estimated.

Places are found by following names: globals that the code mentions, closures, defaults, attributes, the dictionaries of objects,
functions and classes of the same project. Files, databases, other processes and what C keeps are out of sight.
"""

from __future__ import annotations

import builtins
import functools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from discreet.auditor.sampling.outputs import Output, read_output
from discreet.auditor.sampling.runs import Sampler

_ABSENT = object()
_PLAIN = (int, float, complex, str, bytes, type(None))
_MOST = 400  # places
_INSIDE = 100  # values of a container that are followed
_LARGEST = 1_000_000  # entries: what has more is data rather than memory
_RUNS = 10  # on each input: what changes in none of them has settled
_AGAIN = 12  # fresh starts that must all end alike
_LEAST = 3  # of them, when runs take long
_SECONDS = 3.0

Entries = dict[Any, Any]
Put = Callable[[Any], object]


class _Place:
    """Something that holds values by key: a container, or what a name is bound to (one value, under None)."""

    def __init__(self, name: str, read: Callable[[], Entries], write: Callable[[Entries], object], held: Any = None) -> None:
        self.name, self.read, self._write, self._held = name, read, write, held
        self._before = read()

    def size(self) -> int:
        """How much a container holds; what a name is bound to does not grow."""
        return 1 if self._held is None else _size(self._held)

    def changed(self, since: Entries | None = None) -> list[Any]:
        """The keys of what is not as it was."""
        now, before = self.read(), self._before if since is None else since
        return [key for key in {**before, **now} if not _same(now.get(key, _ABSENT), before.get(key, _ABSENT))]

    def put_back(self) -> None:
        if self.changed():
            self._write(self._before)


class _Cache:
    """A function with ``functools.lru_cache``; ``bind``, if it is known how, puts something else in its place."""

    def __init__(self, name: str, function: Any, bind: Put | None) -> None:
        self.name, self.function, self.bind = name, function, bind
        self._before = function.cache_info()

    def answered(self) -> bool:
        """Whether it answered from its store."""
        return bool(self.function.cache_info().hits > self._before.hits)

    def put_back(self) -> None:
        if self.function.cache_info() != self._before:
            self.function.cache_clear()


class Memory:
    """Everything a function can remember, and what it was at the beginning."""

    def __init__(self, function: object) -> None:
        self.places: list[_Place] = []
        self.caches: list[_Cache] = []
        self._seen: set[int] = set()
        plain = getattr(function, "__func__", function)
        self._home = getattr(plain, "__module__", None) or type(function).__module__
        self._follow("the function", function)

    @property
    def changed(self) -> bool:
        """Whether anything is not as it was (a cache: whether it answered from its store)."""
        return any(place.changed() for place in self.places) or any(cache.answered() for cache in self.caches)

    def restore(self) -> None:
        """Put everything back."""
        for place in self.places:
            place.put_back()
        for cache in self.caches:
            cache.put_back()

    def _follow(self, name: str, value: Any, bind: Put | None = None) -> None:
        if id(value) in self._seen or len(self.places) >= _MOST:
            return
        self._seen.add(id(value))
        if all(callable(getattr(value, part, None)) for part in ("cache_info", "cache_clear", "__wrapped__")):
            self.caches.append(_Cache(name, value, bind))
            self._follow(name, value.__wrapped__)
        elif isinstance(value, (dict, list, set, deque, bytearray, np.ndarray)):
            if _size(value) > _LARGEST:
                return
            self.places.append(_container(name, value))
            inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, deque)) else ()
            for part in list(inside)[:_INSIDE]:
                self._follow(name, part)
        elif isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self._follow(name, part)
        elif isinstance(value, MethodType):
            self._follow(name, value.__self__)
            self._follow(name, value.__func__)
        elif isinstance(value, FunctionType):
            self._follow_function(name, value)
        elif isinstance(value, type):
            self._follow_class(value)
        elif not isinstance(value, ModuleType) and self._is_ours(type(value)):
            self._follow(name, getattr(value, "__dict__", None))
            self._follow(name, type(value))

    def _is_ours(self, thing: Any) -> bool:
        """Whether it belongs to the project of the function, rather than to Python or an installed library."""
        module = str(getattr(thing, "__module__", None) or "")
        return module == self._home or _is_private(sys.modules.get(module))

    def _follow_function(self, name: str, function: FunctionType) -> None:
        if not self._is_ours(function):
            return
        self._follow(name, vars(function))  # attributes may come
        space, mentioned = function.__globals__, dict.fromkeys(_names(function.__code__))
        for wanted in mentioned:
            if wanted not in vars(builtins):
                self._bound(f"the global {wanted}", functools.partial(space.get, wanted, _ABSENT), _setter(space, wanted))
        for wanted, held in list(space.items()):
            if isinstance(held, ModuleType) and wanted in function.__code__.co_names and _is_private(held):
                for inner in mentioned.keys() & vars(held).keys():
                    read = functools.partial(vars(held).get, inner, _ABSENT)
                    self._bound(f"{wanted}.{inner}", read, _setter(vars(held), inner))
        for wanted, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._bound(f"the variable {wanted}", functools.partial(_read_cell, cell), functools.partial(_fill_cell, cell))
        for given in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._follow("a default", given)

    def _bound(self, name: str, read: Callable[[], object], bind: Put) -> None:
        self.places.append(_Place(name, lambda: {None: read()}, lambda held: bind(held[None])))
        self._follow(name, read(), bind)

    def _follow_class(self, owner: type) -> None:
        if not self._is_ours(owner):
            return
        for key, value in list(vars(owner).items()):
            inner = getattr(value, "__func__", value)  # of static and class methods
            if not key.startswith("__") or isinstance(inner, FunctionType):
                name, bind = f"{owner.__name__}.{key}", functools.partial(setattr, owner, key)
                if isinstance(value, _PLAIN):
                    self._bound(name, functools.partial(vars(owner).get, key), bind)
                else:
                    self._follow(name, inner, bind if inner is value else None)


def _container(name: str, held: Any) -> _Place:
    """Entries of a dictionary or of a list one by one, anything else as a whole."""
    if isinstance(held, dict):
        return _Place(name, lambda: dict(held), lambda entries: _refill(held, entries), held)
    if isinstance(held, (list, deque)):
        return _Place(name, lambda: dict(enumerate(held)), lambda entries: _refill(held, entries.values()), held)
    if isinstance(held, np.ndarray):
        return _Place(name, lambda: {None: held.copy()}, lambda entries: np.copyto(held, entries[None]), held)
    copy = frozenset if isinstance(held, set) else bytes
    return _Place(name, lambda: {None: copy(held)}, lambda entries: _refill(held, entries[None]), held)


def _refill(held: Any, entries: Any) -> None:
    held.clear()
    (held.update if isinstance(held, (dict, set)) else held.extend)(entries)


def _size(held: Any) -> int:
    return int(held.size if isinstance(held, np.ndarray) else len(held))


def _same(one: object, other: object) -> bool:
    """Whether it is the same thing; equal numbers and texts are, and what is copied to be compared."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and isinstance(one, (*_PLAIN, frozenset)) and one == other


def _is_private(module: ModuleType | None) -> bool:
    """Whether a module is somebody's own: neither Python's nor installed."""
    file = getattr(module, "__file__", None) or ""
    top = getattr(module, "__name__", "").partition(".")[0]
    return bool(file) and top not in sys.stdlib_module_names and top != "discreet" and "site-packages" not in file


def _names(code: CodeType) -> Iterator[str]:
    """Every name that the code mentions, also in functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _setter(space: dict[str, Any], key: str) -> Put:
    return lambda value: space.pop(key, None) if value is _ABSENT else space.__setitem__(key, value)


def _read_cell(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _ABSENT


def _fill_cell(cell: CellType, value: object) -> None:
    if value is _ABSENT:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def find_stored_randomness(memory: Memory, sampler: Sampler) -> str:
    """What is random and kept from one run to the next, in words; empty if nothing is that could be seen."""
    changed = [(place, place.changed()) for place in memory.places]  # before any more runs
    for cache in [cache for cache in memory.caches if cache.answered()]:
        if problem := _check_cache(cache, sampler):
            return problem
    settled = _find_settled([(place, keys) for place, keys in changed if keys], sampler)
    started, first = time.monotonic(), list[Output]()
    for turn in range(_AGAIN if settled else 0):
        if turn >= _LEAST and time.monotonic() - started > _SECONDS:
            break
        memory.restore()
        sampler.rerun(True)
        sampler.rerun(False)
        now = [_content(place, key) for place, key in settled]
        first = first or now
        for (place, _), one, other in zip(settled, first, now, strict=True):
            if one != other and not sampler.interrupted:
                kept = f"{place.name} holds random values from one run to the next"
                return f"{kept}, so that runs are not independent; forget them in every run"
    return ""


def _find_settled(changed: list[tuple[_Place, list[Any]]], sampler: Sampler) -> list[tuple[_Place, Any]]:
    """Entries that more runs do not change; those of what grows in every run are a log."""
    entries = {id(place): (place, keys) for place, keys in changed}
    logs = set(entries)
    for on_a in (True, False) * _RUNS if entries else ():
        before = {key: (place.size(), place.read()) for key, (place, _) in entries.items()}
        sampler.rerun(on_a)
        logs = {key for key in logs if entries[key][0].size() > before[key][0]}
        for key, (place, keys) in entries.items():
            moved = set(place.changed(before[key][1])) if keys else ()
            entries[key] = place, [one for one in keys if one not in moved]
    if sampler.interrupted:
        return []
    found = [(place, one) for key, (place, keys) in entries.items() if key not in logs for one in keys]
    return [(place, one) for place, one in found if not _is_curator(place.read().get(one))]


def _is_curator(held: object) -> bool:
    """It may be kept open: its repeats are found out by themselves."""
    curators = sys.modules.get("discreet.curator.curator")
    return curators is not None and isinstance(held, curators.Curator)


def _content(place: _Place, key: object) -> Output:
    try:
        return read_output(place.read().get(key, _ABSENT))
    except Exception:  # what cannot be looked at is not called random
        return (), ()


def _check_cache(cache: _Cache, sampler: Sampler) -> str:
    """Whether a cache hands out answers that the function behind it would not give again."""
    compared, differs = 0, False

    def spy(*arguments: object, **named: object) -> object:
        nonlocal compared, differs
        stored = cache.function(*arguments, **named)
        differs = differs or read_output(stored) != read_output(cache.function.__wrapped__(*arguments, **named))
        compared += 1
        return stored

    itself = cache.function is sampler.function
    if cache.bind is not None:
        cache.bind(spy)
    try:
        for on_a in (True, False) * _RUNS:
            sampler.rerun(on_a, spy if itself else None)
            if differs:
                break
    finally:
        if cache.bind is not None:
            cache.bind(cache.function)
    what = f"the cache of {cache.name}"
    if differs:
        return f"{what} gives random answers again, so that runs are not independent; clear it in every run"
    if not compared:
        return f"{what} answers again, and it cannot be told whether its answers are public; clear it in every run"
    return ""
