"""Rows to learn from: public facts of features and target, and the rows themselves as secret blocks.

Whether rows come from arrays or from a curator's engine, a block has the columns ``"0"``, ``"1"`` ... for the features, and
``"y"`` for the target: whole numbers, coded alike (``features``).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.learn.features import Feature
from discreet.mechanisms.rows.block import Block, Blocks, Columns, Reader, change
from discreet.mechanisms.rows.held import hold
from discreet.mechanisms.secret import Secret
from discreet.noise.bits import words
from discreet.schema.sensitivity import Neighbours
from discreet.schema.units import Person, Unit
from discreet.schema.units import Rows as RowUnit

TARGET = "y"
_LONG = 10**300  # from which on integers are written by sixteens: Python writes none of more than 4,300 digits
_EXPONENT = 400
_NUMBERS = (int, float, np.integer, np.floating, np.bool_, type(None))
_NESTED = (list, tuple, np.ndarray)
_UNIT = (
    'Who is protected? Leave unit= out for rows that are added or removed, or write unit="replace", unit=dp.rows(size=1000) or '
    'unit=dp.person("patient", rows=8, groups=1) with fit(X, y, groups=ids).'
)


@dataclass(frozen=True, eq=False)
class Rows:
    """What a model learns from. All but what ``read`` gives is public."""

    features: tuple[Feature, ...]
    target: Feature | None
    unit: Unit
    _read: Reader = field(repr=False)

    @property
    def neighbours(self) -> Neighbours:
        return self.unit.neighbours

    @property
    def size(self) -> int | None:
        """The declared number of rows; None where it is to be bought."""
        return self.unit.size

    @property
    def width(self) -> int:
        """The inputs of a model: numbers, and one for every value of a list."""
        return sum(feature.width for feature in self.features)

    @property
    def names(self) -> list[str]:
        """Of the inputs."""
        return [name for feature in self.features for name in feature.names]

    @property
    def classes(self) -> int:
        """How many the target has."""
        assert self.target is not None
        assert self.target.values is not None
        return len(self.target.values)

    def read(self) -> Blocks:
        """All rows once, as they are coded."""
        return self._read()

    def inputs(self, block: Block, low: float = -1.0) -> Reals:
        """Of the rows of an open block: a line of inputs each."""
        return inputs_of(self.features, block.columns, block.height, low)

    def labels(self, block: Block) -> Integers:
        """The class or the units of each row's target; ``MISSING`` where it has none."""
        return np.asarray(block[TARGET], dtype=np.int64)

    def prepare(self, into: Any) -> Reader:
        """A reader of other columns, made of each block once."""
        return hold(lambda: change(self.read(), into))


def inputs_of(features: Sequence[Feature], columns: Columns, height: int, low: float = -1.0) -> Reals:
    """A line of inputs for every row of coded columns."""
    made = np.empty((height, sum(feature.width for feature in features)))
    at = 0
    for j, feature in enumerate(features):
        made[:, at : at + feature.width] = feature.inputs(np.asarray(columns[str(j)], dtype=np.int64), low)
        at += feature.width
    return made


def read_unit(unit: object, height: int) -> Unit:
    """Who is protected in arrays. Where rows are replaced their number is public, and must be what was said of it."""
    if unit is None or unit == "add-remove":
        return RowUnit()
    if unit == "replace":
        return RowUnit("replace", max(height, 1))
    if isinstance(unit, RowUnit) and unit.neighbours == "replace" and unit.size != height:
        raise ParameterError(f"The unit says that there are {unit.size:,} rows, which are replaced, and {height:,} were given.")
    if isinstance(unit, RowUnit | Person):
        return unit
    raise ParameterError(f"unit={shown(unit)} is no unit. {_UNIT}")


def check_groups(groups: object, unit: Unit) -> None:
    """Persons are told apart by ids, and nobody else is."""
    if (groups is not None) != isinstance(unit, Person):
        raise ParameterError(
            'Persons are told apart by groups=ids, one a row, and protected by unit=dp.person("id", rows=8, groups=1); '
            "give both or neither."
        )


def read_columns(table: Any) -> tuple[list[NDArray[np.generic]], list[str]]:
    """The columns of an array, of lists, or of a frame, and their names; x0, x1 ... where they have none."""
    if hasattr(table, "tocsr"):
        raise ParameterError(
            "Sparse input is refused: a sparse array or matrix was given, and rows are read as dense; give X.toarray()."
        )
    if hasattr(table, "columns") and hasattr(table, "__getitem__") and not isinstance(table, np.ndarray):
        names = [str(name) for name in table.columns]
        if len({*names}) < len(names):
            raise ParameterError("Two columns of X have the same name; give every column a name of its own.")
        return [np.asarray(table[name]) for name in table.columns], names
    array = read_lines(table)
    if array.dtype.kind == "c":
        raise ParameterError("Complex data not supported: a feature is a real number or one of a list.")
    if array.ndim != 2:
        raise ParameterError(
            f"X has {array.ndim} dimensions and needs rows and columns. Reshape your data with X.reshape(-1, 1) if it has a "
            "single feature, or X.reshape(1, -1) if it is a single row."
        )
    return [array[:, j] for j in range(array.shape[1])], [f"x{j}" for j in range(array.shape[1])]


def read_lines(table: Any) -> NDArray[np.generic]:
    """An array of a table that is no frame."""
    try:
        return np.asarray(table, dtype=object if _is_mixed(table) else None)
    except ValueError:
        raise ParameterError("The rows of X have different lengths; give every row one cell for every column.") from None


def _is_mixed(table: Any) -> bool:
    """Whether these are lists with words among numbers, of which numpy would make words throughout: one row's cell must not
    change what the cells of others are."""
    if isinstance(table, np.ndarray) or not isinstance(table, Sequence):
        return False
    lines = [np.asarray(line, dtype=object) if isinstance(line, np.ndarray) else line for line in table]
    return any(not isinstance(cell, _NUMBERS) for line in lines if isinstance(line, Sequence | np.ndarray) for cell in line)


def read_cells(given: Any) -> NDArray[np.generic]:
    """One value a row. The cells of a list stay what they are, each by itself: numpy would make words of all numbers where there
    is one word, and doubles of all ids where one is broken."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return np.asarray(given)
    if all(isinstance(one, _NESTED) for one in given):
        with suppress(ValueError):  # of different lengths: cells, then, if strange ones
            return np.asarray(given)
    return np.fromiter(given, dtype=object, count=len(given))


def read_arrays(
    features: Sequence[Feature], target: Feature | None, columns: Sequence[object], y: object, groups: object, unit: Unit
) -> Rows:
    """Rows of arrays that are here: coded at once, and hidden."""
    coded: dict[str, NDArray[np.generic]] = {
        str(j): one.code(cells) for j, (one, cells) in enumerate(zip(features, columns, strict=True))
    }
    height = len(coded["0"]) if coded else 0
    if target is not None:
        coded[TARGET] = target.code(y)
    starts = None
    if isinstance(unit, Person):
        order, starts = by_person(list(coded.values()), np.asarray(groups).reshape(-1), unit.rows)
        coded = {name: column[order] for name, column in coded.items()}
        height = len(order)
    block = Secret(Block(coded, height, starts))
    return Rows(tuple(features), target, unit, lambda: [block])


def by_person(columns: Sequence[NDArray[np.generic]], ids: NDArray[np.generic], most: int) -> tuple[Integers, Integers]:
    """Rows in the order of persons, at most so many of each, by a keyed hash of what a row holds; and where each begins. Rows
    without an id are left out."""
    texts, persons = tell_persons(ids)
    many = np.bincount(persons)[persons] > most
    marks = np.zeros(len(ids), dtype=np.uint64)
    salt = words(4).tobytes()
    for i in np.flatnonzero(many).tolist():
        hashed = blake2b(texts[i].encode("utf-8", "surrogatepass"), key=salt, digest_size=8)
        for column in columns:
            hashed.update(_bytes(column, i))
        marks[i] = int.from_bytes(hashed.digest(), "little")
    order = np.lexsort((marks, persons))
    ranks = np.arange(len(order)) - np.searchsorted(persons[order], persons[order])
    order = order[(ranks < most) & (texts[order] != "")]
    return order, np.flatnonzero(np.diff(persons[order], prepend=-1))


def tell_persons(ids: NDArray[np.generic]) -> tuple[NDArray[np.object_], Integers]:
    """One text for every id, by which persons are the same, empty where there is none; and the place of each among all."""
    texts = np.fromiter(map(_name, ids.tolist()), dtype=object, count=len(ids))
    known: dict[str, int] = {}  # texts of numpy are all as long as the longest, and end before a last NUL
    return texts, np.fromiter((known.setdefault(text, len(known)) for text in texts), dtype=np.int64, count=len(ids))


def _name(one: object) -> str:
    """What a person is told apart by; nothing where there is no id. Numbers are compared by what they are worth: 1 is 1.0."""
    if isinstance(one, str):
        return f"={one}"
    try:
        if one is None or bool(one != one):
            return ""
        worth = _worth(one)
        return f"={worth:#x}" if isinstance(worth, int) and abs(worth) >= _LONG else f"={worth}"
    except Exception:  # what is not even the same as itself or not, or has no text: none of it may end a fit
        return ""


def _worth(one: object) -> object:
    """A number as it is written, whatever its type: a whole one as an integer, and one that a double is written like as that."""
    if isinstance(one, float | np.floating) and not float(one).is_integer():
        return one
    if isinstance(one, Decimal):
        if not one.is_finite():
            return float(one)
        sign, digits, exponent = one.as_tuple()
        if one and abs(one.adjusted()) > _EXPONENT:  # no double, and as an integer longer than memory, maybe
            text = "".join(map(str, digits)).rstrip("0")
            return f"{'-' * sign}{text}e{int(exponent) + len(digits) - len(text)}"
        one = Fraction(one)
    if isinstance(one, Fraction) and one.denominator > 1:
        return float(one) if abs(one) < _LONG and one == Fraction(repr(float(one))) else one
    return int(one) if isinstance(one, bool | np.bool_ | float | np.floating | Fraction) else one


def _bytes(column: NDArray[np.generic], place: int) -> bytes:
    """What a row holds in a column: never where in memory it stands."""
    if column.dtype == object:
        return repr(np.asarray(column[place], dtype=object).tolist()).encode("utf-8", "surrogatepass")
    return np.ascontiguousarray(column[place]).tobytes()


def take(table: Any, places: Integers) -> Any:
    """Some rows of a frame, an array, or lists."""
    if hasattr(table, "iloc"):
        return table.iloc[places]
    return table[places] if hasattr(table, "shape") else [table[i] for i in places.tolist()]
