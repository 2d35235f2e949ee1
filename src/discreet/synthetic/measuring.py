"""What synthetic data costs and how it is measured: every marginal with the noise of its share, and the choices between.

Under a budget of rho, or of epsilon and delta, noise is Gaussian and choices are made by the exponential mechanism; under a pure
epsilon noise is Laplace's and choices are made by permute-and-flip. Whichever it is, costs of what depends on earlier answers
add up (``curator.gate.Reservation``), and all arithmetic here is exact.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.curator.gate import Reservation
from discreet.errors import ParameterError
from discreet.exact import root
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.mechanisms.secret import Secret
from discreet.plan.cost import Cost
from discreet.plan.measures import Norms
from discreet.privacy import Privacy, pure, zcdp
from discreet.synthetic.inference.fit import Noisy
from discreet.synthetic.inference.tree import Columns

_LEAST = 1e-3  # rows
_DIGITS = 32  # binary ones of an epsilon that is the root of a rho


@dataclass(frozen=True)
class Letting:
    """A mechanism as a reservation lets it out."""

    mechanism: Gaussian | Laplace | Exponential | PermuteAndFlip

    @property
    def privacy(self) -> Privacy:
        return self.mechanism.privacy

    def let_out(self, secret: Secret[Integers]) -> Any:
        return self.mechanism.release(secret)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Payment:
    """A cost that is spent bit by bit on marginals that one unit moves by ``norms``."""

    cost: Cost
    norms: Norms

    @property
    def privacy(self) -> Privacy:
        """What is reserved: all of it."""
        return pure(self.cost.amount) if self.cost.epsilon is not None else zcdp(self.cost.amount)

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
    """A marginal that was released: counts in ``2**-bits`` rows, what they cost, and the standard deviation of each, in rows."""

    columns: Columns
    counts: tuple[int, ...]
    cost: Fraction
    deviation: float
    bits: int

    def real(self, shape: Sequence[int]) -> Reals:
        found: Reals = (np.array(self.counts, dtype=np.float64) / 2**self.bits).reshape(tuple(shape))
        return found

    def noisy(self, sizes: Sequence[int]) -> Noisy:
        """As the fit takes it."""
        return Noisy(self.columns, self.real([sizes[column] for column in self.columns]), self.deviation)


def measure(columns: Columns, counts: Secret[Integers], share: Fraction, payment: Payment, reserved: Reservation) -> Measurement:
    """Release a marginal for a share."""
    released = np.ravel(np.asarray(reserved.release(Letting(payment.noise(share)), counts)))
    return Measurement(columns, tuple(int(one) for one in released), share, payment.deviation(share), payment.bits)


def choose(mechanism: Exponential | PermuteAndFlip, scores: Secret[Integers], reserved: Reservation) -> int:
    """Release the place of a score that is nearly the largest."""
    return int(reserved.release(Letting(mechanism), scores))


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that was released for one model: every column's own counts, how its cells were joined then, and what was measured
    later, of joined cells. ``choices`` is what the choices between cost."""

    own: tuple[Measurement, ...]
    places: tuple[Integers, ...]
    later: tuple[Measurement, ...]
    choices: tuple[Fraction, ...]
    cost: Cost  # an exact epsilon or rho
    paid: str  # the same as it was asked for
    complete: bool
    remarks: tuple[str, ...] = ()

    @property
    def spent(self) -> Fraction:
        """The sum of the costs of everything that was released."""
        return sum((one.cost for one in (*self.own, *self.later)), Fraction(0)) + sum(self.choices, Fraction(0))

    def write(self, remarks: tuple[str, ...] = ()) -> str:
        """As text, for a ledger or a file."""
        cost = self.cost
        facts = {
            "discreet": "synthesis",
            "version": 1,
            "own": [_write(one) for one in self.own],
            "places": [places.tolist() for places in self.places],
            "later": [_write(one) for one in self.later],
            "choices": [str(one) for one in self.choices],
            "cost": [cost.currency, str(cost.amount), self.paid],
            "complete": self.complete,
            "remarks": [*self.remarks, *remarks],
        }
        return json.dumps(facts, allow_nan=False)

    @classmethod
    def read(cls, text: str) -> Measurements:
        """The same from text."""
        facts = json.loads(text)
        if (facts.get("discreet"), facts.get("version")) != ("synthesis", 1):
            raise ParameterError("This was measured by another version of discreet, in another way; ask for more, for a new one.")
        own, later = (tuple(_read(one) for one in facts[name]) for name in ("own", "later"))
        currency, amount, paid = facts["cost"]
        return cls(
            own,
            tuple(np.array(places, dtype=np.int64) for places in facts["places"]),
            later,
            tuple(map(Fraction, facts["choices"])),
            Cost(currency, Fraction(amount)),
            str(paid),
            bool(facts["complete"]),
            tuple(map(str, facts["remarks"])),
        )


def _write(one: Measurement) -> list[object]:
    return [list(one.columns), list(one.counts), str(one.cost), one.deviation, one.bits]


def _read(written: Sequence[Any]) -> Measurement:
    columns, counts, cost, deviation, bits = written
    return Measurement(tuple(map(int, columns)), tuple(map(int, counts)), Fraction(cost), float(deviation), int(bits))
