"""One of several protocols, drawn by a coin that does not look at the values; the report says which.

Reports of different protocols differ in form, so a row is bytes: two for the protocol's number, then its report, then zeros. What
is long or short depends on the coin alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, cast

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import Form, Plain, Protocol, Rows
from discreet.noise.coins import uniform

_HEAD = 2  # bytes


@dataclass(frozen=True)
class OneOf(Protocol):
    """A mixture of protocols, each as likely. In JSON, ``[number of the protocol, its report]``."""

    members: tuple[Protocol, ...]
    name: ClassVar[str] = "one of"

    def __post_init__(self) -> None:
        if not 1 <= len(self.members) < 2 ** (8 * _HEAD):
            raise ParameterError("There can be 1 to 65,535 attributes.")

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        return max(member.epsilon for member in self.members)

    @cached_property
    def _sizes(self) -> list[int]:
        return [member.form.empty(1).nbytes for member in self.members]

    @property
    def form(self) -> Form:
        return Form("u1", _HEAD + max(self._sizes))

    @property
    def bits(self) -> float:
        return math.log2(len(self.members)) + max(member.bits for member in self.members)

    def choose(self, codes: Sequence[Integers]) -> Rows:
        """One report for every person, whose values for all members are given."""
        chosen = uniform(len(self.members), len(codes[0]))
        rows = self.form.empty(chosen.size)
        for number, (member, code) in enumerate(zip(self.members, codes, strict=True)):
            reports = self._pack(number, member.randomize(code))
            rows = np.where((chosen == number)[:, None], reports, rows)
        return rows

    def _pack(self, number: int, reports: Rows) -> Rows:
        rows = self.form.empty(len(reports))
        rows[:, :_HEAD] = np.frombuffer(number.to_bytes(_HEAD, "little"), dtype=np.uint8)
        size = self._sizes[number]
        rows[:, _HEAD : _HEAD + size] = np.ascontiguousarray(reports).view(np.uint8).reshape(len(reports), size)
        return rows

    def _unpack(self, number: int, rows: Rows) -> Rows:
        form, size = self.members[number].form, self._sizes[number]
        raw = np.ascontiguousarray(rows[:, _HEAD : _HEAD + size]).view(form.dtype)
        return raw.reshape(len(rows), form.width) if form.width else raw.reshape(len(rows))

    def _numbers(self, rows: Rows) -> Integers:
        return np.ascontiguousarray(rows[:, :_HEAD]).view("<u2").reshape(len(rows)).astype(np.int64)

    def _draw(self, codes: Integers) -> Rows:
        return self.choose([codes] * len(self.members))

    def likelihood(self, row: Rows, code: int) -> arb:
        """Of a report for a person who has this code for the drawn member."""
        number = int(self._numbers(row[None])[0])
        return self.members[number].likelihood(self._unpack(number, row[None])[0], code) / len(self.members)

    def total_variation(self) -> arb:
        """The mean of the members' distances: which one was drawn does not depend on the values."""
        return sum((member.total_variation() for member in self.members), arb(0)) / len(self.members)

    def valid(self, rows: Rows) -> Booleans:
        numbers = self._numbers(rows)
        good = np.zeros(len(rows), dtype=np.bool_)
        for number, member in enumerate(self.members):
            here = numbers == number
            filled = ~rows[here, _HEAD + self._sizes[number] :].any(axis=1)
            good[here] = filled & member.valid(self._unpack(number, rows[here]))
        return good

    @property
    def cells(self) -> int:
        return sum(1 + member.cells for member in self.members)

    def tally(self, rows: Rows) -> Integers:
        """For every member, how many reported to it, then its own state."""
        numbers, parts = self._numbers(rows), []
        for number, member in enumerate(self.members):
            here = rows[numbers == number]
            parts += [np.array([len(here)]), member.tally(self._unpack(number, here))]
        return np.concatenate(parts).astype(np.int64)

    def possible(self, tally: Integers, count: int) -> bool:
        parts = list(self.parts(tally))
        inside = all(
            0 <= people <= count and member.possible(part, people)
            for member, (people, part) in zip(self.members, parts, strict=True)
        )
        return inside and sum(people for people, _ in parts) == count

    def parts(self, tally: Integers) -> Iterator[tuple[int, Integers]]:
        """Every member's number of reports and state."""
        start = 0
        for member in self.members:
            yield int(tally[start]), tally[start + 1 : start + 1 + member.cells]
            start += 1 + member.cells

    def plain(self, row: Rows) -> Plain:
        number = int(self._numbers(row[None])[0])
        return cast("Plain", [number, self.members[number].plain(self._unpack(number, row[None])[0])])

    def row(self, plain: object) -> Rows | None:
        if not isinstance(plain, list) or len(plain) != 2 or type(plain[0]) is not int or not 0 <= plain[0] < len(self.members):
            return None
        inner = self.members[plain[0]].row(plain[1])
        return None if inner is None else self._pack(plain[0], np.asarray(inner)[None])[0]
