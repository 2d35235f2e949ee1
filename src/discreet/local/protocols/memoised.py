"""Memoised randomized response: a permanent lie about every value, and a fresh one about the permanent one in every report.

A value x is turned once into z by k-ary randomized response at epsilon ``permanent``; every report is k-ary randomized response
about z at ``fresh_epsilon``. At most ``values`` different values of one person are answered for: a further one is answered with
the response to one of those, so that a report always leaves. Which one is told by keyed marks, which know nothing of responses.

**Theorem** (Erlingsson, Pihur, Korolova 2014; Arcolezi et al. 2022 for k values). Between histories of values of one person:

* One report costs ``epsilon``, between any two: x to report is again k-ary, with P(y | x) <= e^epsilon P(y | x'), and so is a
  report about a value that was drawn by its mark.
* Any number of reports cost at most ``values`` times ``permanent``, between histories of *the same pattern*: one is the other
  with its values renamed, so both are equal at the same pairs of times. For then both are told by at most ``values`` independent
  responses at the same times, and each of these is at most e^permanent times likelier for one name than for another.
* T reports cost at most T times ``fresh_epsilon``, between any two: given all permanent responses, whatever they are, each report
  is fresh k-ary randomized response about one of them; and mixtures keep a ratio.

So memory protects *which* values a person had, and not the pattern: a, b, a is told from c, d, e at the last price alone, though
both change at the same times.

The permanent step is not stored: it comes from HMAC-SHA256 under a secret of the client, so it is as good as random to anybody
without the secret. Its digits are compared with those of its probability until they differ, so it is exact.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.arrays import Integers
from discreet.balls import arb, ball, upper
from discreet.errors import LedgerRefused, ParameterError
from discreet.exact import whole
from discreet.local.protocols.base import chance_inside, float_precision
from discreet.local.protocols.k_ary import KAry
from discreet.mechanisms.randomized_response import respond
from discreet.noise.coins import Chance

_DIGITS = 256
_MOST_VALUES = 2**16


@dataclass(frozen=True)
class Memoised(KAry):
    """Memoised randomized response. The report is a value's number, 0 .. size - 1.

    >>> twice = Memoised(Fraction(1), 4, Fraction(2), values=3)
    >>> twice.respond_permanently(b"a secret of the client", "a task", 3) in range(4)
    True
    """

    permanent: Fraction
    values: int
    name: ClassVar[str] = "memoised"
    parameter_names: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        if not self.epsilon < self.permanent:
            raise ParameterError("One report must cost less than all together: write a permanent epsilon above epsilon.")
        if self.size > _MOST_VALUES:
            raise ParameterError(
                f"A repeated question has at most {_MOST_VALUES:,} values, for a client works through all of them for every "
                "report; ask for coarser ones."
            )
        if whole("values", self.values) > self.size:
            raise ParameterError(
                f"A person can have at most {self.size:,} different values here; write values=1 to values={self.size}."
            )

    def keep_chance(self) -> arb:
        """The chance that the permanent response is the value itself."""
        return chance_inside(1, self.size - 1, self.permanent)()

    def fresh_chance(self) -> arb:
        """The chance that a report is the permanent response, so that both steps together cost epsilon."""
        odds = self._fresh_odds()
        return odds / (odds + self.size - 1)

    def _fresh_odds(self) -> arb:
        """How much likelier a report is the permanent response than any other value: what solves for epsilon in both steps."""
        once, always, others = ball(self.epsilon).exp(), ball(self.permanent).exp(), self.size - 1
        return (once * (always + others - 1) - others) / (always - once)

    @property
    def fresh_epsilon(self) -> float:
        """What one report tells about the permanent response; rounded up."""
        with float_precision(self.permanent - self.epsilon):  # of which it is a matter
            return upper(self._fresh_odds().log())

    def choose_answered(self, secret: bytes, task: str, code: int, seen: Sequence[str]) -> tuple[int, tuple[str, ...]]:
        """Which value is answered for, and the marks of all that have been: the value itself while there is room for it.

        ``seen`` are the marks before. Where there is no room, it is the value with the smallest mark. The marks of all values
        are computed whatever the value is, so that the work does not tell it (but for microseconds: Python's own operations take
        times that depend on what they work on).
        """
        marks = [_hash_keyed(secret, f"discreet seen|{task}|{other}").hex()[:32] for other in range(self.size)]
        if len(seen) > self.values or not set(seen) <= set(marks):
            raise LedgerRefused("The client's ledger has marks that are not of this task; nothing is reported without it.")
        room = marks[code] in seen or len(seen) < self.values
        first = marks.index(min(seen, default=marks[code]))
        with_it = tuple(sorted({*seen, marks[code]}))  # in an order that tells no history
        return (code, with_it) if room else (first, tuple(seen))

    def respond_permanently(self, secret: bytes, task: str, code: int) -> int:
        """The permanent response to a value: always the same for one secret and task, and stored nowhere."""

        def digits(purpose: str, round_: int) -> int:
            return int.from_bytes(_hash_keyed(secret, f"discreet permanent|{task}|{code}|{purpose}|{round_}"), "big")

        others, round_ = self.size - 1, 0
        fitting = 2**_DIGITS - 2**_DIGITS % others
        while (drawn := digits("other", round_)) >= fitting:  # so that all are equally likely
            round_ += 1
        other = drawn % others
        return code if self._keeps(digits) else other + (other >= code)

    def _keeps(self, digits: Callable[[str, int], int]) -> bool:
        """A coin of chance ``keep_chance``."""
        chance, drawn, round_ = Chance(self.keep_chance), digits("keep", 0), 0
        while drawn == (bound := chance.digits(_DIGITS * (round_ + 1))[0]):
            round_ += 1
            drawn = drawn << _DIGITS | digits("keep", round_)
        return drawn < bound

    def respond_again(self, permanent: Integers) -> Integers:
        """One fresh report about every permanent response."""
        return respond(permanent, self.size, Chance(self.fresh_chance))

    def _draw(self, codes: Integers) -> Integers:
        return self.respond_again(respond(codes, self.size, Chance(self.keep_chance)))


def _hash_keyed(secret: bytes, message: str) -> bytes:
    return hmac.digest(secret, message.encode(), "sha256")
