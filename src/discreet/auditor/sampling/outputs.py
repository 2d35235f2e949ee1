"""An output of any type as a shape (paths, types, words) and the numbers in it.

The shape has everything that is not a finite number: types, lengths, keys and their order, texts, None, NaN, infinities, the sign
of a zero, exceptions. Numbers that stand in a text are numbers too. Two outputs are the same when shape and numbers are.
"""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np

from discreet.auditor.sampling.containers import name_type, take_apart
from discreet.auditor.texts import exception_text, shorten, split_numbers, strip_addresses
from discreet.display import clean

Shape = tuple[tuple[str, str], ...]  # (path, word); the word of a number is # and its type, of an array # type [size]
Output = tuple[Shape, tuple[float | int, ...]]

NUMBER = "#"
_DEPTH = 20
_EXACT = 1 << 53  # beyond it a float does not hold every integer
_MINUS_ZERO = "minus zero"
_FEW = 6  # numbers of an array that are shown
_SMALLEST = -400  # the exponent of a Decimal that is still looked at as a number

TIMED_OUT: Output = ((".hangs", "did not return in time"),), ()
_PLAIN: dict[type, Shape] = {kind: (("", NUMBER + kind.__name__),) for kind in (int, float, bool)}


def read_output(value: object) -> Output:
    """Take one output apart.

    >>> read_output({"n": 3, "who": "none"})
    ((('', 'dict of 2'), ("['n']", '#int'), ("['who']", "'none'")), (3,))
    """
    shape = _PLAIN.get(type(value))
    if shape is not None and -_EXACT < value < _EXACT and value != 0:  # type: ignore[operator]
        return shape, (value,)  # type: ignore[return-value]
    walk = _Walk()
    walk.into("", value)
    return tuple(walk.leaves), tuple(walk.numbers)


def read_exception(raised: BaseException) -> Output:
    """An exception as an output: its type, and its text."""
    walk = _Walk()
    walk.failure("", raised)
    return tuple(walk.leaves), tuple(walk.numbers)


def is_stored_answer(value: object) -> bool:
    """Whether this is an answer that a curator had stored, and gave again for free: not a draw."""
    curator = sys.modules.get("discreet.curator.answer")
    return curator is not None and isinstance(value, curator.Answer) and bool(value.repeated)


def is_annotation(path: str) -> bool:
    """Whether this is not a part of the output, but said of one: a sign, or a number that stands in a text."""
    return path.endswith(")")


class _Walk:
    """Goes through an output, and writes down what it meets."""

    def __init__(self) -> None:
        self.leaves: list[tuple[str, str]] = []
        self.numbers: list[float | int] = []
        self._above: list[int] = []  # the containers that one is in: some contain themselves

    def into(self, path: str, value: object) -> None:
        if isinstance(value, (bool, int, float, np.number, np.bool_, Fraction, Decimal)) and not isinstance(
            value, (complex, np.complexfloating, np.timedelta64)
        ):
            self._number(path, value)
        elif isinstance(value, str):
            self._text(path, value)
        elif value is None or isinstance(value, (bytes, bytearray)):
            self.leaves.append((path, shorten(repr(value))))
        elif isinstance(value, BaseException):
            self.failure(path, value)
        elif isinstance(value, np.ndarray) and _plain_array(value):
            self._array(path, value)
        elif len(self._above) > _DEPTH or id(value) in self._above:
            self.leaves.append((path, f"{name_type(value)}, which contains itself or is too deep"))
        else:
            name, inside = take_apart(value)
            self.leaves.append((path, name))
            self._above.append(id(value))
            for key, part in inside:
                self.into(path + key, part)
            self._above.pop()

    def failure(self, path: str, raised: BaseException) -> None:
        self.leaves.append((f"{path}.raised", name_type(raised)))
        self._text(f"{path}.text", exception_text(raised))

    def _text(self, path: str, text: str) -> None:
        self.leaves.append((path, shorten(repr(text))))
        form, found = split_numbers(text)
        if found:
            self.leaves.append((f"{path} (the text without its numbers)", shorten(repr(form))))
            self.leaves += [(f"{path} (number {i + 1} of the text)", f"{NUMBER}text") for i in range(len(found))]
            self.numbers += found

    def _array(self, path: str, value: np.ndarray) -> None:
        kind, flat = name_type(value), np.asarray(value).ravel()
        name = "" if type(value) is np.ndarray else f"{kind} of "
        self.leaves.append((path, f"{NUMBER}{name}{value.dtype} {list(value.shape)}"))
        if value.dtype.kind == "f":
            for place in np.flatnonzero((flat == 0) & np.signbit(flat)):
                index = "".join(f"[{int(i)}]" for i in np.unravel_index(place, value.shape))
                self.leaves.append((f"{path}{index} (sign)", _MINUS_ZERO))
            flat = flat + 0.0
        self.numbers += flat.tolist()

    def _number(self, path: str, value: object) -> None:
        kind = name_type(value)
        exact = int(value) if isinstance(value, (bool, int, np.integer, np.bool_)) else value
        tiny = isinstance(exact, Decimal) and exact.is_finite() and int(exact.as_tuple().exponent) < _SMALLEST
        try:
            number = math.nan if tiny else float(exact)  # type: ignore[arg-type]
        except (OverflowError, ValueError, TypeError):  # a signalling NaN, a huge integer or fraction
            number = math.nan
        if not math.isfinite(number):
            text = hex(exact) if isinstance(exact, int) else strip_addresses(str(value))  # large integers have no decimal text
            self.leaves.append((path, f"{kind} {shorten(text)}"))
            return
        self.leaves.append((path, NUMBER + kind))
        self.numbers.append(exact if isinstance(exact, int) else number)
        if number == 0 and math.copysign(1, number) < 0:
            self.leaves.append((f"{path} (sign)", _MINUS_ZERO))
        if isinstance(exact, Decimal):
            self.leaves.append((f"{path} (exponent)", str(exact.as_tuple().exponent)))
        if isinstance(exact, (Decimal, Fraction)) or (isinstance(exact, int) and abs(exact) > _EXACT):
            rest = Fraction(exact) - Fraction(number)
            if rest:
                self.leaves.append((f"{path} (beyond a float)", NUMBER + kind))
                self.numbers.append(float(rest))


def _plain_array(value: np.ndarray) -> bool:
    """Whether an array is nothing but finite numbers that floats can hold."""
    kind = value.dtype.kind
    if kind not in "biuf" or not value.ndim or value.dtype.itemsize > 8 or isinstance(value, np.ma.MaskedArray):
        return False
    if kind == "f":
        return bool(np.isfinite(value).all())
    return value.dtype.itemsize < 8 or not bool(((value > _EXACT) | (value < -_EXACT)).any())


def list_number_paths(shape: Shape) -> list[str]:
    """The path of every number of a shape, in order."""
    paths: list[str] = []
    for path, word in shape:
        if word.startswith(NUMBER) and word.endswith("]"):
            sides = [int(side) for side in word[word.index("[") + 1 : -1].split(",")]
            paths += [path + "".join(f"[{i}]" for i in index) for index in np.ndindex(*sides)]
        elif word.startswith(NUMBER):
            paths.append(path)
    return paths


def describe(output: Output) -> str:
    """An output in a few words; numbers that are not given are called by their type.

    >>> describe(read_output(3)), describe(read_exception(ValueError("seven"))), describe(read_output([None, 0.5]))
    ('3', "ValueError with the text 'seven'", 'list of 2 ([0]: None, [1]: 0.5)')
    """
    shape, numbers = output
    if shape[0][0] == ".raised":
        return _short(f"{shape[0][1]} with the text {_short(shape[1][1])}")
    place, shown = 0, []
    for path, word in shape:
        many = len(list_number_paths(((path, word),)))
        here = numbers[place : place + many]
        text = word.removeprefix(NUMBER)
        if not is_annotation(path) or word == _MINUS_ZERO:
            shown.append(
                (path, text if not here or many > _FEW else f"{text} {list(here)}" if word.endswith("]") else repr(here[0]))
            )
        place += many
    if len(shown) == 1:
        return _short(shown[0][1])
    return _short(f"{shown[0][1]} ({', '.join(f'{path}: {text}' for path, text in shown[1:])})")


def _short(text: str) -> str:
    return clean(text if len(text) <= 120 else f"{text[:110]}...")
