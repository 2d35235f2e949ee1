"""``audit``: look for a difference between two inputs that a claim does not allow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from discreet.auditor.claims import Claim, level, low_bits, read_claim
from discreet.auditor.finding import Finding
from discreet.auditor.isolation import Hand
from discreet.auditor.sampling.betting import Wealth, gains
from discreet.auditor.sampling.events import Event, clearest
from discreet.auditor.sampling.features import Table
from discreet.auditor.sampling.hints import hints
from discreet.auditor.sampling.learning import Guesses, Tally
from discreet.auditor.sampling.memory import Memory
from discreet.auditor.sampling.runs import Sampler
from discreet.auditor.sampling.state import find_state, silence
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, whole

__all__ = ["audit"]

_FIRST = 100
_GROWTH = 0.15
_SILENCE = 4_000  # runs that say nothing, all of them: it is not worth while to go on
_GRID = np.concatenate([[0.0], np.geomspace(1e-3, 60, 400)])  # where epsilon is bounded from below
_NEAR = np.linspace(0.8, 1.2, 81)  # of the claim: there too
_CLAIM = 0.9  # of the capital at every smaller epsilon bets as against the claim, so that a violation certifies it


@called_as("function, a, b, epsilon=1")
def audit(
    function: Callable[[object], object],
    a: object,
    b: object,
    *,
    epsilon: object = None,
    delta: object = 0,
    privacy: object = None,
    draws: int = 100_000,
    error: object = 0.05,
    seconds: object = None,
    floats: object = "check",
) -> Finding:
    """Try to refute that ``function`` is private on the two neighbouring inputs ``a`` and ``b``.

    The claim is ``epsilon`` (with ``delta``), or any curve ``privacy``. Every draw is a fresh run on a or b, about ``draws`` on
    each side at most, or for ``seconds``; it stops as soon as the claim is refuted. A true claim is refuted with probability at
    most ``error``, and ``Finding.epsilon`` exceeds the true epsilon at ``delta`` with probability at most ``error``; the proof
    is in ``discreet.auditor.sampling.betting``. ``floats="ignore"`` leaves out the low bits of floating-point numbers, in which
    naive noise gives its input away: what is still found is something else, such as a wrong sensitivity. Runs must be
    independent: a function that is seen to keep state is reported so.
    Whatever a run raises is its output; Ctrl-C stops the audit, and what is known by then is returned.

    >>> import discreet as dp
    >>> finding = dp.audit(lambda rows: len(rows), [1, 2], [1], epsilon=1, draws=1000)
    >>> finding.violated, finding.claim
    (True, 'epsilon=1')
    """
    claim, most, limit = read_claim(epsilon, delta, privacy), whole("draws", draws), level(error)
    if not callable(function):
        raise ParameterError("An audit runs a function of one input; write audit(lambda rows: ..., a, b, epsilon=1).")
    started = time.monotonic()
    patience = math.inf if seconds is None else float(positive("seconds", seconds, "how long to try, such as 60"))
    memory = Memory(function)
    with Hand() as hand:
        sampler = Sampler(function, a, b, started + patience, hand)
        table, guesses, book = Table(low_bits=low_bits(floats)), Guesses(), _Book(claim, limit)
        size = _FIRST
        while table.size < 2 * most and not sampler.over and not book.refuted:
            batch = sampler.take(min(size, 2 * most - table.size))
            if not batch.outcomes:
                break
            with np.errstate(all="ignore"):
                block = table.add(batch.outcomes, batch.on_a)
                book.settle(guesses.tally(block))
                if not book.refuted:
                    guesses.learn(table)
            if table.size >= _SILENCE and silence(table, sampler):
                break
            size = max(_FIRST // 2, int(_GROWTH * table.size))
        with np.errstate(all="ignore"):
            obstacle = find_state(table, sampler, memory, refuted=book.refuted)
            event = clearest(table, guesses, claim) if table.size else Event("")
    on_a, violated = int(table.on_a.sum()), book.refuted and not obstacle
    return Finding(
        violated=violated,
        epsilon=0.0 if obstacle else book.least,
        delta=claim.delta,
        claim=claim.text,
        draws=(table.size + 1) // 2,
        error=limit,
        event=event.text,
        hits=event.hits,
        runs=(on_a, table.size - on_a),
        seconds=time.monotonic() - started,
        obstacle=obstacle,
        stopped=sampler.interrupted,
        hint=" ".join(hints(a, b, claim, book.least, event.text)) if violated else "",
    )


class _Book:
    """The wealth against the claim and against every epsilon of a grid, and the most it ever was."""

    def __init__(self, claim: Claim, error: float) -> None:
        self._points = len(claim.points)
        self._single = self._points == 1
        grid = np.unique([*_GRID, claim.points[0][0], *(claim.points[0][0] * _NEAR)]) if self._single else _GRID
        here = np.array(claim.points)
        self._wealth = Wealth(np.append(here[:, 0], grid), np.append(here[:, 1], np.full(grid.size, claim.delta)))
        self._grid = grid
        self._rejected = np.zeros(grid.size, dtype=bool)
        self._price = -math.log(error) + 1e-9  # what rounding could have added
        self._claimed = claim.points[0][0]
        self.refuted = False

    def settle(self, tallies: dict[str, Tally]) -> None:
        """Bet one batch, for every guess."""
        wealth = self._wealth
        points = wealth.epsilon, wealth.delta
        earned = {name: gains(*now, *points) for name, (now, _, _) in tallies.items()}
        hoped = {name: gains(*one, *points) + gains(*two, *points) for name, (_, one, two) in tallies.items()}
        wealth.bet(earned, hoped)
        claims, bound = wealth.log[: self._points], wealth.log[self._points :]
        against = float(np.logaddexp.reduce(claims)) - math.log(self._points)
        if self._single:  # the claim implies every larger epsilon, so a bet against it is one against every smaller one
            below = self._grid < self._claimed
            against += math.log(_CLAIM)
            bound = np.where(below, np.logaddexp(against, bound + math.log(1 - _CLAIM)), bound)
            bound = np.where(self._grid == self._claimed, against, bound)
        self._rejected |= bound >= self._price
        self.refuted = self.refuted or against >= self._price

    @property
    def least(self) -> float:
        """The largest epsilon of the grid such that it and all smaller ones are refuted; 0 if none is."""
        survivors = np.flatnonzero(~self._rejected)
        first = int(survivors[0]) if survivors.size else self._grid.size
        return float(self._grid[first - 1]) if first else 0.0
