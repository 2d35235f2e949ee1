"""A categorical domain: what a person may answer, and what becomes of any other answer before it is randomised.

A closed domain is a public list of words, whole numbers or truth values, or a range of whole numbers; an open one is any text.
Values are coded as whole numbers: a place in the list, or the first 64 bits of a text's SHA-256.

An answer outside the domain is refused on the client (``missing="refuse"``, nothing is drawn and nothing may be sent), becomes a
uniformly drawn value of the domain (``missing="random"``), or a value of the domain that was declared for it. So a client never
sends what a person inside the domain could not have sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Integers
from discreet.errors import ParameterError, ValueRefused
from discreet.noise.bits import words
from discreet.noise.coins import uniform
from discreet.schema.columns import Boolean, Category, Text

Item = str | int | bool

_LISTED = 'Frequencies(["dark", "blond"], epsilon=1), a range of whole numbers, or text() for any text'
_FOREIGN = (
    "An answer is outside the task's domain and the task refuses such answers: send nothing, or declare "
    "missing= as one of the domain's values or as 'random'."
)
_FATES = ("refuse", "random")

MOST_VALUES = 2**24
"""As many counters as a collector is asked to hold."""


@dataclass(frozen=True)
class Domain:
    """The public answers: listed, a range, or (None) any text; and the fate of all others.

    >>> Domain(("dark", "blond", "red"), "refuse").codes(["red", "dark"])
    array([2, 0])
    """

    items: tuple[Item, ...] | range | None
    missing: Item = "refuse"

    def __post_init__(self) -> None:
        if self.items is not None:
            if isinstance(self.items, tuple) and not all(_is_item(item) for item in self.items):
                raise ParameterError(f"A domain lists words, whole numbers or truth values; write {_LISTED}.")
            if isinstance(self.items, range) and not all(_is_item(end) for end in _ends(self.items)):
                raise ParameterError("A range of whole numbers stays below 2^53, as its values do; choose another unit.")
            if len(self.items) > MOST_VALUES:
                raise ParameterError(f"A domain has at most {MOST_VALUES:,} values here; ask for coarser ones, or for text().")
            if len(self.items) < 2 or (isinstance(self.items, tuple) and len(set(self.items)) < len(self.items)):
                raise ParameterError(f"A domain needs at least two values, each listed once; write {_LISTED}.")
        if self.missing in _FATES and isinstance(self.missing, str):
            return
        if self.items is not None and self.missing not in self.items:
            raise ParameterError("missing= must be 'refuse', 'random' or one of the domain's values; add it to the list.")
        if self.items is None and not (isinstance(self.missing, str) and _is_item(self.missing)):
            raise ParameterError("missing= must be 'refuse', 'random' or a text.")

    @property
    def size(self) -> int | None:
        """How many values there are; None for any text."""
        return None if self.items is None else len(self.items)

    @cached_property
    def _places(self) -> dict[object, int]:
        return {item: place for place, item in enumerate(self.items or ())} if isinstance(self.items, tuple) else {}

    def code(self, value: object) -> int | None:
        """The number of one value, None where it is outside."""
        if self.items is None:
            return hash_text(value) if isinstance(value, str) and _is_item(value) else None
        try:
            if isinstance(self.items, range):
                return self.items.index(value) if value in self.items else None  # type: ignore[arg-type]
            return self._places.get(value)
        except TypeError:  # not even hashable
            return None

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """The numbers of many values, those outside replaced by their fate."""
        if isinstance(values, np.ndarray):
            if values.ndim != 1:
                raise ValueRefused("Answers must be a flat list or array, one for each person.")
            if isinstance(self.items, range) and self.items.step == 1 and values.dtype.kind in "iu":
                inside = (values >= self.items.start) & (values < self.items.stop)
                return self._apply_fate(np.where(inside, values.astype(np.int64) - self.items.start, 0), ~inside)
            values = values.tolist()
        found = [self.code(value) for value in values]
        outside = np.array([code is None for code in found], dtype=np.bool_)
        return self._apply_fate(np.array([code or 0 for code in found], dtype=np.int64), outside)

    def _apply_fate(self, codes: Integers, outside: np.ndarray) -> Integers:
        if self.missing == "refuse":
            if outside.any():
                raise ValueRefused(_FOREIGN)
            return codes
        if self.missing == "random":  # drawn for everybody, so that the work does not tell who was outside
            drawn = words(codes.size).view(np.int64) if self.size is None else uniform(self.size, codes.size)
            return np.where(outside, drawn, codes)
        return np.where(outside, np.int64(self.code(self.missing) or 0), codes)

    @property
    def facts(self) -> dict[str, object]:
        """The domain as JSON."""
        missing: object = self.missing if self.missing in _FATES and isinstance(self.missing, str) else {"value": self.missing}
        if self.items is None:
            return {"text": True, "missing": missing}
        if isinstance(self.items, range):
            return {"range": list(_ends(self.items)), "missing": missing}
        return {"values": list(self.items), "missing": missing}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Domain:
        """The domain that ``facts`` described."""
        missing = facts["missing"]
        fate = missing["value"] if isinstance(missing, dict) else missing
        if "text" in facts:
            return cls(None, fate)  # type: ignore[arg-type]
        if "range" in facts:
            return cls(range(*facts["range"]), fate)  # type: ignore[misc,arg-type]
        return cls(tuple(facts["values"]), fate)  # type: ignore[arg-type]


def read_domain(values: object, missing: object) -> Domain:
    """A domain from what a user wrote: a list, a range, or a public fact about a column."""
    declared = getattr(values, "missing", None) if isinstance(values, (Category, Boolean, Text)) else None
    fate = missing if missing is not None else "refuse" if declared is None else declared
    if not _is_item(fate):
        raise ParameterError("missing= must be 'refuse', 'random' or one of the domain's values.")
    if isinstance(values, Text):
        return Domain(None, fate)  # type: ignore[arg-type]
    if isinstance(values, Boolean):
        return Domain((True, False), fate)  # type: ignore[arg-type]
    if isinstance(values, Category):
        return Domain(values.values, fate)  # type: ignore[arg-type]
    if isinstance(values, range):
        return Domain(values, fate)  # type: ignore[arg-type]
    if isinstance(values, (str, bytes, set, frozenset, dict)) or not isinstance(values, Iterable):
        raise ParameterError(f"A domain is an ordered list of values; write {_LISTED}.")
    plain = (item.item() if isinstance(item, np.generic) else item for item in values)
    return Domain(tuple(plain), fate)  # type: ignore[arg-type]


def hash_text(text: str) -> int:
    """The first 64 bits of a text's SHA-256, as a signed number."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def _ends(values: range) -> tuple[int, int, int]:
    return values.start, values.stop, values.step


def _is_item(item: object) -> bool:
    if isinstance(item, str):
        return not any("\ud800" <= sign <= "\udfff" for sign in item)  # no UTF-8 for those
    return type(item) in (int, bool) and abs(item) < 2**53  # type: ignore[arg-type]
