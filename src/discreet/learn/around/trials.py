"""A trial of candidates: how often one is fitted and scored, at what cost, and which comes out.

Whatever is fitted and scored within a trial goes through mechanisms, each within a payment of its own, and nothing of it leaves
but the best run (``search`` has the theorems). A candidate that cannot be fitted ends the trial, and the error says nothing of
other runs: the theorem has it for a run whose score is above all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.curator.gate import Letting, Reservation
from discreet.exact import nearest
from discreet.learn.base import Model, State
from discreet.learn.payment import Payment, reserve
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.mechanisms.rows.lots import Lot, Turn
from discreet.mechanisms.rows.sums import Total, join_totals
from discreet.noise.bits import words
from discreet.noise.coins import uniform
from discreet.noise.repetitions import geometric, logarithmic, poisson
from discreet.plan.cost import Cost
from discreet.privacy import Privacy
from discreet.privacy.losses.base import tanh_rho
from discreet.privacy.repetition import Repetition
from discreet.schema.units import Unit

_DRAWS = {"geometric": geometric, "logarithmic": logarithmic, "poisson": poisson}


@dataclass(frozen=True)
class Plan:
    """What one run costs (or the whole contest), what all of it guarantees, and how often it is run."""

    cost: Cost
    privacy: Privacy
    often: Repetition | None


@dataclass(frozen=True, eq=False)
class Run:
    """What came out of one run."""

    index: int
    model: Model
    state: State
    score: float | None


@dataclass(frozen=True, eq=False)
class Trial:
    """Candidates, what may be spent, and how one of them is fitted on some units and scored on the others."""

    models: Sequence[Model]
    plan: Plan
    unit: Unit
    fit: Callable[[Model, Cost], tuple[Model, State]]
    score: Callable[[Model, Payment], Total]

    def run(self, method: str) -> Run:
        return self._repeat() if method == "repeat" else self._contest()

    def _repeat(self) -> Run:
        """The best of a random number of runs, and nothing of the others."""
        often, best = self.plan.often, None
        assert often is not None
        paid = reserve(self.plan.cost).under(self.unit.neighbours), self.plan.privacy.under(self.unit.neighbours)
        runs = Lot(f"runs by the {often.law} law of {often.parameter}")
        for _ in range(runs.draw(lambda: _DRAWS[often.law](often.parameter))):
            index = Turn(f"one of {len(self.models)}", *paid).draw(lambda: int(uniform(len(self.models), 1)[0]))
            fitted, state = self.fit(self.models[index], self.plan.cost)
            payment = pay(self.plan.cost, self.unit)
            score = float(payment.release(self.score(fitted, payment), Fraction(1))[0])
            if best is None or best.score is None or score > best.score:
                best = Run(index, fitted, state, score)
        assert best is not None
        Turn("the best", *paid, last=True).draw(lambda: None)
        return best

    def _contest(self) -> Run:
        """All candidates, and a private choice among them."""
        runs = [self.fit(model, self.plan.cost.part(Fraction(1, len(self.models)))) for model in self.models]
        payment = pay(self.plan.cost, self.unit)
        totals = [self.score(fitted, payment) for fitted, _ in runs]
        far, epsilon = totals[0].ball.sensitivity(payment.neighbours), self.plan.cost.contest(1)
        kind = PermuteAndFlip if payment.pure else Exponential
        mechanism = kind(sensitivity=far, epsilon=epsilon, neighbours=payment.neighbours)
        (index,) = payment.reserved.release(Letting(mechanism), join_totals(totals).value)
        return Run(index, *runs[index], None)


def pay(cost: Cost, unit: Unit) -> Payment:
    """A payment of its own for one part of a trial."""
    return Payment(cost, Reservation(reserve(cost).under(unit.neighbours), words(4).tobytes()), unit.neighbours)


def epsilon_of(rho: Fraction) -> Fraction:
    """The largest e for which e tanh(e/2) is no more than this, from below."""
    low, high = 0.0, max(1.0, 2 * nearest(rho) + 2)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tanh_rho(Fraction(middle)) <= rho else (low, middle)
    return Fraction(low)


@lru_cache(maxsize=64)
def run_rho(often: Repetition, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho of one run; a request is asked for its price several times."""
    return often.run_rho(epsilon, delta)
