"""Memoised randomized response: a permanent lie about every value, and a fresh one about the permanent one in every report.

**Theorem** (Erlingsson, Pihur, Korolova 2014; Arcolezi et al. 2022 for k values). A value x is turned once into z by k-ary
randomized response at epsilon ``permanent``, and every report is k-ary randomized response about z. Then, for any two values of
one person:

* one report costs ``epsilon``: x to report is again k-ary, with P(y | x) <= e^epsilon P(y | x');
* any number of reports about one unchanged value cost at most ``permanent``, for they only tell about z;
* reports about v different values cost at most v ``permanent``, among histories that change at the same times. *When* a value
  changes is not hidden by memory: against any other history, T reports cost up to T times the epsilon of the fresh step alone.

The permanent step is not stored: it comes from HMAC-SHA256 under a secret of the client, so it is as good as random to anybody
without the secret. Its probability is a fraction of 2^256, rounded towards privacy.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.balls import arb, ball, precision, upper
from discreet.errors import ParameterError
from discreet.local.k_ary import KAry
from discreet.local.protocol import likely
from discreet.noise.coins import Chance, bernoulli, uniform
from discreet.noise.lazy import Integers

__all__ = ["Memoised"]

_DIGITS = 256


@dataclass(frozen=True)
class Memoised(KAry):
    """The report is a value's number, 0 .. size - 1.

    >>> twice = Memoised(Fraction(1), 4, Fraction(2))
    >>> twice.permanent_code(b"a secret of the client", "a task", 3) in range(4)
    True
    """

    permanent: Fraction
    name: ClassVar[str] = "memoised"

    def __post_init__(self) -> None:
        if not self.epsilon < self.permanent:
            raise ParameterError("One report must cost less than all together: write a permanent epsilon above epsilon.")

    @cached_property
    def kept(self) -> Fraction:
        """The chance that the permanent response is the value itself."""
        top, _ = Chance(likely(1, self.size - 1, self.permanent)).digits(_DIGITS)
        return Fraction(top, 2**_DIGITS)

    def fresh(self) -> arb:
        """The chance that a report is the permanent response, so that both steps together cost epsilon."""
        first, both = likely(1, self.size - 1, self.permanent)(), likely(1, self.size - 1, self.epsilon)()
        miss = (1 - first) / (self.size - 1)
        return (both - miss) / (first - miss)

    @property
    def fresh_epsilon(self) -> float:
        """What one report tells about the permanent response; rounded up."""
        with precision(256 + 4 * self.epsilon.denominator.bit_length()):
            return upper((self.fresh() * (self.size - 1) / (1 - self.fresh())).log())

    def permanent_code(self, secret: bytes, task: str, code: int) -> int:
        """The permanent response to a value: always the same for one secret and task, and stored nowhere."""
        if self._digits(secret, task, code, "keep", 0) < self.kept * 2**_DIGITS:
            return code
        others, round_ = self.size - 1, 0
        fitting = 2**_DIGITS - 2**_DIGITS % others
        while (drawn := self._digits(secret, task, code, "other", round_)) >= fitting:  # so that all are equally likely
            round_ += 1
        other = drawn % others
        return other + (other >= code)

    @staticmethod
    def _digits(secret: bytes, task: str, code: int, purpose: str, round_: int) -> int:
        message = f"discreet permanent|{task}|{code}|{purpose}|{round_}".encode()
        return int.from_bytes(hmac.new(secret, message, hashlib.sha256).digest(), "big")

    def again(self, permanent: Integers) -> Integers:
        """One fresh report about every permanent response."""
        return self._respond(permanent, Chance(self.fresh))

    def _draw(self, codes: Integers) -> Integers:
        return self.again(self._respond(codes, Chance(self.kept)))

    def _respond(self, codes: Integers, chance: Chance) -> Integers:
        honest = bernoulli(chance, codes.size)
        other = uniform(self.size - 1, codes.size)
        other += other >= codes
        return np.where(honest, codes, other)

    def history_likelihood(self, reports: Sequence[int], code: int) -> arb:
        """Of these reports, one after the other, from one person whose value never changed."""
        total = arb(0)
        for permanent in range(self.size):
            chance = ball(self.kept if permanent == code else (1 - self.kept) / (self.size - 1))
            for report in reports:
                chance *= self.fresh() if report == permanent else (1 - self.fresh()) / (self.size - 1)
            total += chance
        return total

    def supporting(self) -> tuple[arb, arb]:
        truth = ball(self.kept) * self.fresh() + ball((1 - self.kept) / (self.size - 1)) * (1 - self.fresh())
        return truth, (1 - truth) / (self.size - 1)
