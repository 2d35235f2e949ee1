"""Containers taken apart: the name of a container, and every part of it with the path that leads there.

Nothing may be invisible: labels of tables, masks, slots and time zones are parts too. An object that says how it looks (its own
``repr``) is taken at its word, any other is its attributes.
"""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, Set, ValuesView
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from discreet.auditor.texts import shorten, strip_addresses

Parts = tuple[str, list[tuple[str, object]]]

UNREAD = "which is not read"
_EPOCH = datetime.datetime(2000, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def name_type(value: object) -> str:
    """The name of its type; in quotes if it could be taken for something else."""
    name = type(value).__name__
    return name if name.isidentifier() else repr(name)


def take_apart(value: object) -> Parts:
    """The name of a container and what is in it; of any other object its attributes, or its text without addresses.

    >>> take_apart({"a": 1})
    ('dict of 1', [("['a']", 1)])
    """
    name, inside = _take_apart(value, name_type(value))
    seen: dict[str, int] = {}
    for place, (key, part) in enumerate(inside):  # keys that look the same are not the same part
        seen[key] = seen.get(key, 0) + 1
        if seen[key] > 1:
            inside[place] = (f"{key}#{seen[key]}", part)
    return name, inside


def _take_apart(value: object, kind: str) -> Parts:
    library = type(value).__module__.partition(".")[0]
    table = _TABLES.get(library)
    found = None if table is None else table(value, kind)
    if found is not None:
        return found
    if library == "discreet" and callable(rows := getattr(value, "rows", None)):
        return kind, [(".rows", rows())]
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
        return kind, _moment(value)
    if isinstance(value, Mapping):
        return f"{kind} of {len(value)}", [(f"[{shorten(strip_addresses(repr(key)))}]", part) for key, part in value.items()]
    if isinstance(value, (Sequence, deque, KeysView, ValuesView, ItemsView)):
        return f"{kind} of {len(value)}", [(f"[{index}]", part) for index, part in enumerate(value)]
    if isinstance(value, Set):
        ordered = sorted(value, key=lambda part: strip_addresses(repr(part)))
        return f"{kind} of {len(value)}", [(f"{{{index}}}", part) for index, part in enumerate(ordered)]
    if isinstance(value, complex):
        return kind, [(".real", value.real), (".imag", value.imag)]
    for method in ("to_pydict", "to_dict", "tolist", "to_list"):
        convert = getattr(type(value), method, None)
        if callable(convert) and not isinstance(value, type):
            try:
                return kind, [(f".{method}", convert(value))]
            except Exception:
                continue
    return _object(value, kind)


def _object(value: object, kind: str) -> Parts:
    if is_dataclass(value) and not isinstance(value, type):
        return kind, [(f".{item.name}", getattr(value, item.name)) for item in fields(value) if hasattr(value, item.name)]
    if isinstance(value, (Iterator, Awaitable, AsyncIterator)):
        return f"{kind}, {UNREAD}", []
    if type(value).__repr__ is object.__repr__:
        return kind, [(f".{name}", part) for name, part in read_attributes(value).items()]
    return f"{kind} {shorten(strip_addresses(repr(value)))}", []


def read_attributes(value: object) -> dict[str, object]:
    """What is kept in an object, by name: in its dictionary, and in the slots of its classes."""
    found = dict(getattr(value, "__dict__", {})) if not isinstance(value, type) else {}
    for above in type(value).__mro__:
        slots = vars(above).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else tuple(slots):
            inner = f"_{above.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            if name not in ("__dict__", "__weakref__") and hasattr(value, inner):
                found[name] = getattr(value, inner)
    return found


def _moment(value: datetime.date | datetime.time | datetime.timedelta) -> list[tuple[str, object]]:
    """A time as a number, and what else it has."""
    if isinstance(value, datetime.timedelta):
        return [(" in microseconds", value // _MICROSECOND)]
    if isinstance(value, datetime.datetime):
        bare = datetime.datetime(*value.timetuple()[:6], value.microsecond)
        rest: list[tuple[str, object]] = [(".tzinfo", str(value.tzinfo)), (".fold", value.fold)]
        return [(" in microseconds", (bare - _EPOCH) // _MICROSECOND), *rest, (".nanosecond", getattr(value, "nanosecond", 0))]
    if isinstance(value, datetime.date):
        return [(" in days", value.toordinal())]
    since = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    return [(" in microseconds", since), (".tzinfo", str(value.tzinfo)), (".fold", value.fold)]


def _numpy(value: Any, kind: str) -> Parts | None:
    """Arrays that hold more than finite numbers; moments are numbers."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        number = "NaT" if np.isnat(value) else int(value.astype(np.int64))
        return f"{kind} {value.dtype}", [(" as a number", number)]
    if isinstance(value, np.complexfloating):
        return kind, [(".real", value.real), (".imag", value.imag)]
    if isinstance(value, np.void):
        return f"{kind} {shorten(str(value.dtype))}", [(".item", value.item())]
    if not isinstance(value, np.ndarray):
        return None
    name = f"{kind} of {shorten(str(value.dtype))} {list(value.shape)}"
    if value.dtype.kind in "mM":
        return name, [(" as numbers", value.astype(np.int64))]
    plain_ones = value if isinstance(value, np.ma.MaskedArray) else np.asarray(value)  # a matrix has no rows but matrices
    inside = plain_ones.tolist()  # None where it is masked
    return name, _number_parts(inside) if value.ndim else [(".item", inside)]


def _number_parts(values: list[object]) -> list[tuple[str, object]]:
    return [(f"[{i}]", part) for i, part in enumerate(values)]


def _pandas(value: Any, kind: str) -> Parts | None:
    if hasattr(type(value), "iloc"):
        columns = [value.iloc[:, i] for i in range(value.shape[1])] if value.ndim == 2 else [value]
        paths = [f"[{shorten(strip_addresses(repr(label)))}]" for label in value.columns] if value.ndim == 2 else [".values"]
        heads = [(".columns", value.columns)] if value.ndim == 2 else [(".name", value.name)]
        kinds = [getattr(column.dtype, "categories", None) for column in columns]
        known = [(f".categories[{i}]", list(names)) for i, names in enumerate(kinds) if names is not None]
        cells = [(path, column.to_numpy()) for path, column in zip(paths, columns, strict=True)]
        return f"{kind} of {list(value.shape)}", [*heads, (".index", value.index), *known, *cells]
    if kind == "RangeIndex":
        return f"{kind} {value!r}", []
    if kind.endswith("Index"):
        return f"{kind} of {value.dtype}", [(".names", list(value.names)), *_number_parts(value.tolist())]
    return None


def _polars(value: Any, kind: str) -> Parts | None:
    if kind == "DataFrame":
        return f"{kind} of {list(value.shape)}", [(f"[{name!r}]", value[name]) for name in value.columns]
    if kind == "Series":
        return f"{kind} of {shorten(str(value.dtype))}", [(".name", value.name), *_number_parts(value.to_list())]
    return None


def _arrow(value: Any, kind: str) -> Parts | None:
    if hasattr(type(value), "schema") and hasattr(type(value), "columns"):
        names = enumerate(value.schema.names)
        return f"{kind} of {value.num_rows}", [(f"[{name!r}]", value.column(i)) for i, name in names]
    if hasattr(type(value), "to_pylist"):
        return f"{kind} of {shorten(str(value.type))}", _number_parts(value.to_pylist())
    return None


_TABLES: dict[str, Callable[[Any, str], Parts | None]] = {
    "numpy": _numpy,
    "pandas": _pandas,
    "polars": _polars,
    "pyarrow": _arrow,
}
