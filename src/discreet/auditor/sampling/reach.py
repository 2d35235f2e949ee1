"""How far the memory of a function reaches, as far as Python shows it.

Places are found by following names: globals that the code mentions, closures, defaults, attributes, the dictionaries of objects,
functions and classes of the same project, caches of ``functools``. Files, databases, other processes and what C keeps are out of
sight.
"""

from __future__ import annotations

import builtins
import functools
import sys
from collections import deque
from collections.abc import Iterator, MutableMapping
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from discreet.auditor.sampling.places import ABSENT, PLAIN, Binding, Cache, Holder, Place

__all__ = ["places"]

_MOST = 400
_INSIDE = 100  # values of a container that are followed
_LARGEST = 1_000_000


def places(function: object) -> list[Place]:
    """All of them, the function's own first."""
    search = _Search(function)
    search.follow("the function", function, None)
    return search.found


class _Search:
    def __init__(self, function: object) -> None:
        self.found: list[Place] = []
        self._seen: set[int] = set()
        self._classes: set[type] = set()
        plain = getattr(function, "__func__", function)
        self._home = getattr(plain, "__module__", None) or type(function).__module__

    def follow(self, name: str, value: Any, binding: Binding | None) -> None:
        if id(value) in self._seen or len(self.found) >= _MOST:
            return
        self._seen.add(id(value))
        if all(callable(getattr(value, part, None)) for part in ("cache_info", "cache_clear", "__wrapped__")):
            self.found.append(Cache(name, value, binding))
            self.follow(name, value.__wrapped__, None)
        elif isinstance(value, (dict, list, set, deque, bytearray, np.ndarray)):
            holder = Holder(name, value)
            if holder.size() > _LARGEST:
                return  # data rather than memory
            self.found.append(holder)
            inside = value.values() if isinstance(value, dict) else value if isinstance(value, (list, deque)) else ()
            for part in list(inside)[:_INSIDE]:
                self.follow(name, part, None)
        elif isinstance(value, functools.partial):
            for part in (value.func, *value.args, *value.keywords.values()):
                self.follow(name, part, None)
        elif isinstance(value, MethodType):
            self.follow(name, value.__self__, None)
            self.follow(name, value.__func__, None)
        elif isinstance(value, FunctionType):
            self._function(name, value)
        elif isinstance(value, type):
            self._class(value)
        elif not isinstance(value, ModuleType) and self._ours(type(value)):
            self.follow(name, getattr(value, "__dict__", None), None)
            self._class(type(value))

    def _ours(self, thing: Any) -> bool:
        """Whether it belongs to the project of the function, rather than to Python or an installed library."""
        module = str(getattr(thing, "__module__", None) or "")
        return module == self._home or _private(sys.modules.get(module))

    def _function(self, name: str, function: FunctionType) -> None:
        if not self._ours(function):
            return
        self.follow(name, vars(function), None)  # attributes may come
        for wanted in dict.fromkeys(_names(function.__code__)):
            if wanted not in vars(builtins):
                self._name(f"the global {wanted}", function.__globals__, wanted)
        for wanted, held in list(function.__globals__.items()):
            if isinstance(held, ModuleType) and wanted in function.__code__.co_names and _private(held):
                for inner in _names(function.__code__):
                    if inner in vars(held):
                        self._name(f"{wanted}.{inner}", vars(held), inner)
        for wanted, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            binding = Binding(f"the variable {wanted}", functools.partial(_read, cell), functools.partial(_fill, cell))
            self._bound(binding)
        for given in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.follow("a default", given, None)

    def _name(self, name: str, space: MutableMapping[str, object], key: str) -> None:
        self._bound(Binding(name, functools.partial(space.get, key, ABSENT), functools.partial(_assign, space, key)))

    def _bound(self, binding: Binding) -> None:
        self.found.append(binding)
        self.follow(binding.name, binding.value, binding)

    def _class(self, owner: type) -> None:
        if not self._ours(owner) or owner in self._classes:
            return
        self._classes.add(owner)
        for key, value in list(vars(owner).items()):
            inner = getattr(value, "__func__", value)  # of static and class methods
            if not key.startswith("__") or isinstance(inner, FunctionType):
                name = f"{owner.__name__}.{key}"
                binding = Binding(name, functools.partial(vars(owner).get, key), functools.partial(setattr, owner, key))
                if isinstance(value, PLAIN):
                    self.found.append(binding)
                self.follow(name, inner, binding if inner is value else None)


def _private(module: ModuleType | None) -> bool:
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


def _read(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def _fill(cell: CellType, value: object) -> None:
    if value is ABSENT:
        del cell.cell_contents
    else:
        cell.cell_contents = value


def _assign(space: MutableMapping[str, object], key: str, value: object) -> None:
    if value is ABSENT:
        space.pop(key, None)
    else:
        space[key] = value
