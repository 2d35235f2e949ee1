"""One output of any type, taken apart: its shape (paths, types, words) and the numbers in it.

The shape has everything that is not a finite number: types, lengths, keys and their order, texts, None, NaN, infinities, minus
zero, exceptions. Two outputs are the same when shape and numbers are.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

__all__ = ["Outcome", "Shape", "describe", "failure", "hang", "outcome", "repeated"]

Shape = tuple[tuple[str, str], ...]  # (path, word); the word of a number is # and its type, of an array # type [size]
Outcome = tuple[Shape, tuple[float | int, ...]]

NUMBER = "#"
_DEPTH = 20
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LONGEST = 200

_PLAIN: dict[type, Shape] = {kind: (("", NUMBER + kind.__name__),) for kind in (int, float, bool)}


def outcome(value: object) -> Outcome:
    """Take one output apart.

    >>> outcome({"n": 3, "who": "none"})
    ((('', 'dict of 2'), ("['n']", '#int'), ("['who']", "'none'")), (3,))
    """
    shape = _PLAIN.get(type(value))
    if shape is not None and -1e300 < value < 1e300 and value != 0:  # type: ignore[operator]
        return shape, (value,)  # type: ignore[return-value]
    leaves: list[tuple[str, str]] = []
    numbers: list[float | int] = []
    _walk("", value, leaves, numbers, 0)
    return tuple(leaves), tuple(numbers)


def failure(raised: BaseException) -> Outcome:
    """An exception as an output: its type, and its text."""
    try:
        text = str(raised)
    except Exception:  # a message that cannot be printed is still the same message
        text = "(without text)"
    return ((".raised", type(raised).__name__), (".text", _cut(repr(text)))), ()


def hang() -> Outcome:
    """The output of a run that does not return."""
    return ((".hangs", "did not return in time"),), ()


def repeated(value: object) -> bool:
    """Whether this is an answer that a curator had stored, and gave again for free: not a draw."""
    curator = sys.modules.get("discreet.curator.answer")
    return curator is not None and isinstance(value, curator.Answer) and bool(value.repeated)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({hash(text):x})"


def _walk(path: str, value: object, leaves: list[tuple[str, str]], numbers: list[float | int], depth: int) -> None:
    kind = type(value).__name__
    if depth > _DEPTH:
        leaves.append((path, f"{kind}, too deep"))
    elif isinstance(value, (bool, int, float, np.number, np.bool_, Fraction, Decimal)) and not isinstance(value, complex):
        _number(path, value, leaves, numbers)
    elif value is None or isinstance(value, (str, bytes, bytearray)):
        leaves.append((path, _cut(repr(value))))
    elif isinstance(value, BaseException):
        shape, _ = failure(value)
        leaves += [(path + name, word) for name, word in shape]
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.ndim and bool(np.isfinite(value).all()):
        leaves.append((path, f"{NUMBER}{value.dtype} {list(value.shape)}"))
        numbers += (
            (value.ravel() + (0.0 if value.dtype.kind == "f" else 0)).tolist()
            if value.dtype.kind != "b"
            else value.ravel().tolist()
        )
    else:
        name, parts = _parts(value, kind)
        leaves.append((path, name))
        for key, part in parts:
            _walk(path + key, part, leaves, numbers, depth + 1)


def _number(path: str, value: object, leaves: list[tuple[str, str]], numbers: list[float | int]) -> None:
    kind = type(value).__name__
    plain: float | int
    if isinstance(value, (bool, int, np.integer, np.bool_)):
        plain = int(value)
    else:
        try:
            plain = float(value)  # type: ignore[arg-type]
        except (OverflowError, ValueError, TypeError):  # a signalling NaN, a huge fraction, a complex number of numpy
            leaves.append((path, f"{kind} {_cut(str(value))}"))
            return
    if isinstance(plain, int) and abs(plain) >= 1 << 1000:
        leaves.append((path, f"{kind} of {plain.bit_length()} bits"))
    elif not math.isfinite(plain) or (plain == 0 and math.copysign(1, plain) < 0):
        leaves.append((path, f"{kind} {plain}"))
    else:
        leaves.append((path, NUMBER + kind))
        numbers.append(plain)


def _parts(value: object, kind: str) -> tuple[str, list[tuple[str, object]]]:
    """The name of a container and what is in it; of any other object its attributes, or its text without addresses."""
    rows = getattr(value, "rows", None)
    if callable(rows) and type(value).__module__.startswith("discreet."):
        return kind, [("", rows())]
    for method, arguments in (("to_pydict", ()), ("to_dict", ("list",)), ("to_dict", ()), ("tolist", ())):
        convert = getattr(value, method, None)
        if callable(convert) and not isinstance(value, type):
            try:
                return kind, [("", convert(*arguments))]
            except Exception:
                continue
    if isinstance(value, Mapping):
        return f"{kind} of {len(value)}", [(f"[{_cut(repr(key))}]", part) for key, part in value.items()]
    if isinstance(value, Set):
        return f"{kind} of {len(value)}", [(f"{{{index}}}", part) for index, part in enumerate(sorted(value, key=repr))]
    if isinstance(value, (list, tuple)):
        return f"{kind} of {len(value)}", [(f"[{index}]", part) for index, part in enumerate(value)]
    if isinstance(value, complex):
        return kind, [(".real", value.real), (".imag", value.imag)]
    if is_dataclass(value) and not isinstance(value, type):
        return kind, [(f".{item.name}", getattr(value, item.name)) for item in fields(value)]
    if hasattr(value, "__dict__") and type(value).__repr__ is object.__repr__:
        return kind, [(f".{name}", part) for name, part in vars(value).items()]
    return f"{kind} {_ADDRESS.sub('', _cut(repr(value)))}", []


def describe(output: Outcome) -> str:
    """An output in a few words; numbers that are not given are called by their type.

    >>> describe(outcome(3)), describe(failure(ValueError("seven"))), describe(outcome([None, 0.5]))
    ('3', "ValueError with the text 'seven'", 'list of 2 ([0]: None, [1]: 0.5)')
    """
    shape, numbers = output
    if shape[0][0] == ".raised":
        return f"{shape[0][1]} with the text {_short(shape[1][1])}"
    left = list(numbers)
    parts = []
    for path, word in shape:
        single = word.startswith(NUMBER) and not word.endswith("]")
        parts.append((path, repr(left.pop(0)) if single and left else word.removeprefix(NUMBER)))
    if len(parts) == 1:
        return _short(parts[0][1])
    return _short(f"{parts[0][1]} ({', '.join(f'{path}: {text}' for path, text in parts[1:])})")


def _short(text: str) -> str:
    return text if len(text) <= 120 else f"{text[:110]}..."
