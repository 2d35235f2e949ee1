"""Lots: what a program draws by a public law, without a look at data, such as how often it is run; so that an audit can follow.

A lot costs nothing: it has one law on all data. A replay of two runs gives the second one the lots of the first, and compares
what is left: values before noise, given the lots.

Coins of units are lots as well, one a unit. Given the coins a guarantee must hold, for the mixture over them has no larger ratios
of probabilities, nor Renyi divergences, than the largest of its parts. But whose coin is whose in two neighbours, a replay could
tell by nothing. So it conditions on an event that has a chance on all data: that all coins fall on one side, which is itself
a lot. A search whose units are all learnt from, or all scored on, must move no further than any other.

Where a program is run several times and one run comes out (``privacy.repetition``), no run may lose more than the theorem has for
one, and all of them lose together what it has for all. ``Turn`` says where a run begins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from discreet.arrays import Booleans
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, let_out, recorder
from discreet.noise.coins import Chance, bernoulli
from discreet.privacy import Privacy

T = TypeVar("T")


@dataclass(frozen=True)
class Lot(Mechanism):
    """A draw by a public law, which words say, with all of its parameters.

    >>> Lot("one of 3").draw(lambda: 2)
    2
    """

    law: str

    label = "a lot"

    @property
    def privacy(self) -> Privacy:
        return FREE

    def draw(self, how: Callable[[], T]) -> T:
        """What ``how`` draws; in a replay what another run drew."""
        return let_out(self, None, how)

    def moved(self, before: Recording, after: Recording) -> Moved:  # noqa: ARG002 - no value is let out
        return Moved(FREE)


@dataclass(frozen=True)
class Turn(Lot):
    """A lot with which one of several runs begins, or, the last one, with which all have ended: what one of them may lose, and
    what all together do, of which one comes out."""

    each: Privacy
    whole: Privacy
    last: bool = False


def toss(share: Fraction, units: int, side: bool | None) -> Booleans:
    """A coin for every unit, with this chance of heads; or all on one side."""
    return bernoulli(Chance(share), units) if side is None else np.full(units, side)


def choose_side(share: Fraction) -> bool | None:
    """On which side all coins fall where a run is watched; None where nobody watches."""
    if recorder() is None:
        return None
    return Lot(f"coins of units, heads with {share}").draw(lambda: bool(bernoulli(Chance(share), 1)[0]))
