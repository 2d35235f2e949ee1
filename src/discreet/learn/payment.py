"""What a fit costs and how it is spent: an exact amount of epsilon or rho, in shares, each a noisy sum that is let out.

Under a pure epsilon noise is Laplace's and sums are clipped in L1 norm; under a rho, or an epsilon with a delta, it is Gaussian
and sums are clipped in L2 norm. Everything a model learns goes through ``Payment.release``: within a reservation, and through a
mechanism, so that an audit sees it.

**Cost.** Of an epsilon and a delta a fit of its own spends mu^2, the largest for which Gaussian noise of that mu is (epsilon,
delta)-private (Balle and Wang 2018): sums of which each depends on the noisy ones before, with shares s of mu^2 that add up to 1,
are together as private as one with all of it (Dong, Roth and Su 2019, corollary 2: Gaussian guarantees compose to the root of
the sum of squares, adaptively; Smith and Thakurta 2022, also where the shares depend on what came out before, as long as they
add up to 1). Rhos and pure epsilons add up. At a curator the budget says what an epsilon buys.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.curator.gate import Letting, Reservation
from discreet.errors import ParameterError
from discreet.exact import nearest, positive, probability
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.gaussian import analytic_sigma
from discreet.mechanisms.rows.block import Reader
from discreet.mechanisms.rows.minimum import Losses, Minimum
from discreet.mechanisms.rows.sums import Ball, Dense, Order, Total, add_up, outer_ball
from discreet.mechanisms.secret import Secret
from discreet.noise.bits import words
from discreet.plan.cost import Cost
from discreet.privacy import Privacy, pure, zcdp
from discreet.privacy.losses import Gaussian as GaussianLoss
from discreet.schema.sensitivity import Neighbours
from discreet.schema.units import Unit

_HOW = "write epsilon=1 for pure privacy, or epsilon=1, delta=1e-5"
_MOST = 10**6


class Payment:
    """A cost that is spent in shares; ``left`` of it, 1 at first."""

    def __init__(self, cost: Cost, reserved: Reservation, neighbours: Neighbours) -> None:
        self.cost, self.reserved, self.neighbours = cost, reserved, neighbours
        self.left = Fraction(1)

    @classmethod
    def own(cls, epsilon: object, delta: object, unit: Unit) -> tuple[Payment, Privacy]:
        """That of a fit by itself, and its guarantee."""
        cost, privacy = price(epsilon, delta)
        stated = privacy.under(unit.neighbours)
        return cls(cost, Reservation(stated, words(4).tobytes()), unit.neighbours), stated

    @property
    def pure(self) -> bool:
        return self.cost.epsilon is not None

    @property
    def order(self) -> Order:
        """The norm in which sums are clipped."""
        return 1 if self.pure else 2

    def ball(self, norm: float | Fraction) -> Ball:
        """The ball of what one unit adds, on its grid."""
        return Ball.of(norm, self.order)

    def outer_ball(self, norm: float | Fraction) -> Ball:
        """The same for products of two vectors."""
        return outer_ball(norm, self.order)

    def noise(self, ball: Ball, share: Fraction) -> Gaussian | Laplace:
        """What is added to a sum for a share."""
        far, amount = ball.sensitivity(self.neighbours), self.cost.amount * share
        if self.pure:
            return Laplace(sensitivity=far, epsilon=amount, neighbours=self.neighbours)
        return Gaussian(sensitivity=far, rho=amount, neighbours=self.neighbours)

    def deviation(self, ball: Ball, share: Fraction) -> float:
        """The standard deviation of one number of a noisy sum."""
        return math.sqrt(self.noise(ball, share).variance) * nearest(ball.step)

    def noise_ratio(self, numbers: int, size: float) -> float:
        """nu: the noise in so many numbers, if the whole cost bought them at once, against what so many units could add."""
        far = 1 if self.neighbours == "add-remove" else 2
        if self.pure:
            return far * numbers / (size * float(self.cost.amount))
        return far * math.sqrt(numbers) / (size * math.sqrt(2 * float(self.cost.amount)))

    def release(self, total: Total, share: Fraction) -> Reals:
        """A sum with the noise of a share of the cost."""
        assert total.ball.order == self.order, "the norm of the noise"
        self._spend(share)
        noisy = self.reserved.release(Letting(self.noise(total.ball, share)), total.value)
        return np.asarray(noisy, dtype=np.float64) * nearest(total.ball.step)

    def minimise(self, losses: Losses, share: Fraction, *, persons: bool) -> Reals:
        """The weights of perturbed losses, for a share of a pure epsilon."""
        assert self.pure, "objective perturbation is pure here"
        self._spend(share)
        mechanism = Minimum(
            epsilon=self.cost.amount * share,
            lines=losses.lines,
            width=losses.width,
            persons=persons,
            neighbours=self.neighbours,
        )
        return np.array([nearest(one * mechanism.step) for one in self.reserved.release(Letting(mechanism), Secret(losses))])

    def _spend(self, share: Fraction) -> None:
        if not 0 < share <= self.left:
            raise ParameterError("This fit was about to spend more than its cost; its shares must add up to 1.")
        self.left -= share


def learn_size(declared: int | None, read: Reader, payment: Payment, share: Fraction) -> float:
    """How many units there are: as declared, which is free, or else counted for a share; at least 1."""
    if declared is not None:
        return float(declared)
    counted = add_up(read(), lambda block: Dense(np.ones((block.height, 1))), payment.ball(1), 1)
    return max(1.0, float(payment.release(counted, share)[0]))


def price(epsilon: object, delta: object) -> tuple[Cost, Privacy]:
    """What a fit by itself costs: a pure epsilon, or the rho of the Gaussian noise that is exactly (epsilon, delta)-private."""
    if epsilon is None:
        raise ParameterError(f"What may this fit cost? {_HOW[0].upper()}{_HOW[1:]}.")
    amount = positive("epsilon", epsilon, "a number such as 1")
    if amount > _MOST:
        raise ParameterError(f"An epsilon above 10^6 promises nothing to anybody; {_HOW}.")
    if delta is None or delta == 0:
        return Cost("epsilon", amount, words=str(epsilon)), pure(amount)
    chance = probability("delta", delta, zero=False, hint="a small chance such as 1e-5")
    square = 1 / analytic_sigma(amount, chance) ** 2
    return Cost("rho", square / 2), Privacy.of(GaussianLoss(square))


def reserve(cost: Cost) -> Privacy:
    """What a curator's ledger is charged."""
    return pure(cost.amount) if cost.epsilon is not None else zcdp(cost.amount)
