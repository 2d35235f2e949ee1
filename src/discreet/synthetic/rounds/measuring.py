"""What synthetic data costs and how it is measured: every marginal with the noise of its share, and the choices between.

Under a budget of rho, or of epsilon and delta, noise is Gaussian and choices are made by the exponential mechanism; under a pure
epsilon noise is Laplace's and choices are made by permute-and-flip. Whichever it is, costs of what depends on earlier answers
add up (``curator.gate.Reservation``), and all arithmetic here is exact.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.exact import read_fraction, root
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import Records, add_up, join_cells
from discreet.plan.cost import Cost
from discreet.plan.measures import Norms
from discreet.privacy import Privacy, pure, zcdp
from discreet.privacy.filters import as_concentrated
from discreet.synthetic.domain import Coding, Domain
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.rounds.levels import Levels, Seen

_LEAST = 1e-3  # rows
_MOST_BITS, _MOST_COUNT = 128, 512  # of numbers in a file
_DIGITS = 32  # binary ones of an epsilon that is the root of a rho


@dataclass(frozen=True)
class Payment:
    """A cost that is spent bit by bit on marginals that one unit moves by ``norms``. ``keys`` is what the choice of open keys
    costs, which has a guarantee of its own; ``bought``, what all cells that are bought cost, these keys among them."""

    cost: Cost
    norms: Norms
    keys: Privacy = field(default_factory=Privacy)
    bought: tuple[Fraction, ...] = ()

    @property
    def privacy(self) -> Privacy:
        """What is reserved: all of it."""
        rest = self.cost.amount - price_of(self.keys)
        return self.keys + (pure(rest) if self.cost.epsilon is not None else zcdp(rest))

    @property
    def left(self) -> Fraction:
        """What marginals may cost."""
        return self.cost.amount - sum(self.bought, Fraction(0))

    @property
    def bits(self) -> int:
        """Noise is added in ``2**-bits`` rows, or weights of them."""
        return self.norms.bits + (0 if self.cost.epsilon is not None else self.norms.finer)

    @property
    def finer(self) -> int:
        """The bits beyond those in which an engine counts."""
        return self.bits - self.norms.bits

    def noise(self, share: Fraction) -> Laplace | Gaussian:
        """What is added to the counts of one marginal for a share."""
        if self.cost.epsilon is not None:
            return Laplace(sensitivity=self.norms.l1, epsilon=share)
        return Gaussian(sensitivity=self.norms.l2, rho=share)

    def deviation(self, share: Fraction) -> float:
        """Its standard deviation, in rows; not below what matters to nobody, for noise of a small scale is rounded to none."""
        return max(float(math.sqrt(self.noise(share).variance) / 2**self.bits), _LEAST)

    def choice(self, share: Fraction, weight: int, bits: int) -> tuple[Exponential | PermuteAndFlip, Fraction]:
        """What chooses among scores of this largest weight, counted in ``2**-bits`` of an engine's units; and what it
        costs, which is no more than the share."""
        far = (self.norms.l1 << bits) * weight
        if self.cost.epsilon is not None:
            return PermuteAndFlip(sensitivity=far, epsilon=share), share
        most = root(8 * share)
        places = _DIGITS + max(0, -math.floor(math.log2(most)))
        epsilon = Fraction(math.floor(most * 2**places), 2**places)
        return Exponential(sensitivity=far, epsilon=epsilon), epsilon**2 / 8


@dataclass(frozen=True, eq=False)
class Measurement:
    """A marginal that was released: counts in ``2**-bits`` rows, what they cost, and the standard deviation of each, in rows.
    ``missed``: how far the model before it was off, where it was one of several columns (``against``). ``coarse``: the columns
    that were counted by runs."""

    columns: Columns
    counts: tuple[int, ...]
    cost: Fraction
    deviation: float
    bits: int
    missed: tuple[float, float, float] | None = None
    coarse: Columns = ()

    @property
    def is_finite(self) -> bool:
        """Whether all of it is numbers that noise can leave."""
        most = max(map(abs, self.counts), default=0)
        noise = 0 < self.deviation < math.inf and 0 <= self.bits <= _MOST_BITS and self.cost >= 0
        return noise and most < 2**_MOST_COUNT and all(0 <= one < math.inf for one in self.missed or ())

    def against(self, guess: Reals) -> Measurement:
        """The same, with how far a model was off that did not know it: the sum of squares of what was off, and the sums of
        guesses, to the power of 3/2 and as they are."""
        away, rows = float(((self.real(guess.shape) - guess) ** 2).sum()), np.maximum(guess, 0.0)
        return replace(self, missed=(away, float((rows**1.5).sum()), float(rows.sum())))

    def real(self, shape: Sequence[int]) -> Reals:
        found: Reals = (np.array(self.counts, dtype=np.float64) / 2**self.bits).reshape(tuple(shape))
        return found

    def seen(self, levels: Levels) -> Seen:
        """In rows."""
        return Seen(self.columns, self.coarse, self.real(levels.shape_of(self.columns, self.coarse)), self.deviation)


def price_of(privacy: Privacy) -> Fraction:
    """What a guarantee costs in rho, exactly, as filters add it up."""
    return sum((count * (as_concentrated(loss) or (Fraction(0),))[0] for loss, count in privacy.parts), Fraction(0))


@dataclass(frozen=True)
class Scans:
    """What the engine counted, and which columns each scan has."""

    of: Sequence[tuple[Columns, Secret[Records]]]

    def marginal(self, columns: Columns, bits: int = 0, runs: Mapping[int, Integers] | None = None) -> Secret[Integers]:
        """The counts of some columns; ``runs``: of those that are counted by runs, that of every cell."""
        own, records = next(one for one in self.of if {*columns} <= {*one[0]})
        by_axis = {own.index(column): to for column, to in (runs or {}).items()}
        return add_up(records, [own.index(column) for column in columns], bits, by_axis)

    def joined(self, places: Sequence[Integers]) -> Scans:
        """The same by joined cells."""
        return Scans([(own, join_cells(records, [places[column] for column in own])) for own, records in self.of])


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that was released for one model: every column's own counts, how its cells were joined then, the ``runs`` of wide
    columns, and what was measured later, of joined cells or of runs. ``choices`` is what the choices between cost, ``bought``
    what ``cells`` cost that were bought before, and ``lost`` what was paid for and is not known, because somebody interrupted
    or a process died."""

    own: tuple[Measurement, ...]
    places: tuple[Integers, ...]
    later: tuple[Measurement, ...]
    choices: tuple[Fraction, ...]
    cost: Cost  # an exact epsilon or rho
    paid: str  # the same as it was asked for
    complete: bool
    remarks: tuple[str, ...] = ()
    lost: tuple[Fraction, ...] = ()
    bought: tuple[Fraction, ...] = ()
    cells: tuple[Coding, ...] = ()
    runs: tuple[Integers | None, ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many joined cells every column has."""
        return tuple(int(where.max()) + 1 for where in self.places)

    @cached_property
    def levels(self) -> Levels:
        """How columns stand in the model."""
        return Levels(self.sizes, self.runs or (None,) * len(self.sizes))

    @property
    def is_whole(self) -> bool:
        """Whether all numbers are there that belong to these columns, and none that cannot be."""
        sizes, own = self.sizes, [len(where) for where in self.places]
        if self.runs and (len(self.runs) != len(sizes) or not all(map(_is_cut, self.runs, sizes))):
            return False
        named = [one.columns for one in self.own] == [(i,) for i in range(len(own))]
        right = [len(one.counts) == many for one, many in zip(self.own, own, strict=True)]
        for one in self.later:
            within = list(one.columns) == sorted({*one.columns}) and {*one.columns} <= {*range(len(sizes))} and bool(one.columns)
            within = within and {*one.coarse} <= {*self.levels.coarse(one.columns)}
            right.append(within and len(one.counts) == self.levels.size(one.columns, one.coarse))
        return named and all(right) and all(one.is_finite for one in (*self.own, *self.later))

    @property
    def spent(self) -> Fraction:
        """The sum of the costs of everything that was released."""
        measured = sum((one.cost for one in (*self.own, *self.later)), Fraction(0))
        return measured + sum((*self.choices, *self.lost, *self.bought), Fraction(0))

    def domain(self, asked: Domain) -> Domain:
        """The cells of all columns: those that were asked for, unless some were bought."""
        return Domain(self.cells) if self.cells else asked

    def write(self, remarks: tuple[str, ...] = ()) -> str:
        """As text, for a ledger or a file."""
        cost = self.cost
        facts = {
            "discreet": "synthesis",
            "version": 2 if self.runs else 1,
            "own": [_write(one) for one in self.own],
            "places": [places.tolist() for places in self.places],
            "later": [_write(one) for one in self.later],
            "choices": [str(one) for one in self.choices],
            "cost": [cost.currency, str(cost.amount), self.paid],
            "complete": self.complete,
            "remarks": [*self.remarks, *remarks],
            "lost": [str(one) for one in self.lost],
            "bought": [str(one) for one in self.bought],
            "cells": [one.facts for one in self.cells],
        }
        if self.runs:
            facts["runs"] = [None if one is None else one.tolist() for one in self.runs]
        return json.dumps(facts, allow_nan=False)

    @classmethod
    def read(cls, text: str) -> Measurements:
        """The same from text."""
        facts = json.loads(text)
        if facts.get("discreet") != "synthesis" or facts.get("version") not in (1, 2):
            raise ParameterError("This was measured by another version of discreet, in another way; ask for more, for a new one.")
        own, later = (tuple(_read(one) for one in facts[name]) for name in ("own", "later"))
        currency, amount, paid = facts["cost"]
        return cls(
            own,
            tuple(np.array(places, dtype=np.int64) for places in facts["places"]),
            later,
            tuple(map(read_fraction, facts["choices"])),
            Cost(currency, read_fraction(amount)),
            str(paid),
            bool(facts["complete"]),
            tuple(map(str, facts["remarks"])),
            tuple(map(read_fraction, facts.get("lost", ()))),
            tuple(map(read_fraction, facts.get("bought", ()))),
            tuple(map(Coding.read, facts.get("cells", ()))),
            tuple(None if one is None else np.array(one, dtype=np.int64) for one in facts.get("runs", ())),
        )


def _write(one: Measurement) -> list[object]:
    known = [list(one.columns), list(one.counts), str(one.cost), one.deviation, one.bits]
    if one.coarse:
        return [*known, one.missed, list(one.coarse)]
    return [*known, *([one.missed] if one.missed else [])]


def _read(written: Sequence[Any]) -> Measurement:
    columns, counts, cost, deviation, bits, missed, coarse = [*written, None, ()][:7] if len(written) < 7 else written
    known = (tuple(map(int, columns)), tuple(map(int, counts)), read_fraction(cost), float(deviation), int(bits))
    away = None if missed is None else (float(missed[0]), float(missed[1]), float(missed[2]))
    return Measurement(*known, away, tuple(map(int, coarse or ())))


def _is_cut(runs: Integers | None, size: int) -> bool:
    """Whether these are runs of so many joined cells, one after the other."""
    return runs is None or (len(runs) == size and runs[0] == 0 and bool(np.isin(np.diff(runs), (0, 1)).all()))
