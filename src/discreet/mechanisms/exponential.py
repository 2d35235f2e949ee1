"""The exponential mechanism.

**Theorem** (McSherry and Talwar 2007). Choosing candidate r with probability proportional to exp(epsilon s / (2 sensitivity)),
s its score, is epsilon-differentially private for the neighbours under which no score moves by more than ``sensitivity``; if
all scores move the same way, exp(epsilon s / sensitivity) is enough. Drawn as the largest of score + Gumbel noise: the same law.

**Utility** (same paper; Dwork and Roth, theorem 3.11). With probability at least 1 - beta the winner's score is within
(2 sensitivity / epsilon) ln(candidates / (beta best)) of the top score, when ``best`` candidates share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Number, Reals
from discreet.balls import arb, ball, precision, upper
from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.mechanisms.selection import Scores, Selection, distances, read_contest
from discreet.mechanisms.values import nearest
from discreet.noise.selection import Noise
from discreet.privacy import Privacy
from discreet.privacy.losses import BoundedRange

__all__ = ["Exponential"]


@dataclass(frozen=True, init=False)
class Exponential(Selection):
    """Chooses among candidates, exponentially more often the better they score.

    >>> hair = Exponential(sensitivity=1, epsilon=0.1)
    >>> hair.choose(["dark", "blond", "brown", "red"], [500, 50, 399, 51]) in {"dark", "blond", "brown", "red"}
    True
    >>> round(hair.utility_bound(beta=0.027, candidates=4))
    100
    """

    noise = Noise.GUMBEL

    @property
    def privacy(self) -> Privacy:
        """Bounded range: better than pure at ``epsilon`` when composed."""
        return Privacy.of(BoundedRange(self.epsilon), self.neighbours)

    def _upset(self, lead: arb) -> arb:
        return 1 / (1 + lead.exp())

    def probabilities(self, scores: Scores) -> Reals:
        """The chance of each candidate. It is a function of the private scores: for study, not for release."""
        away, _ = distances(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.where(away == 0, 1.0, np.exp(away * nearest(self.weight)))
        chances: Reals = weights / weights.sum()
        return chances

    def utility_bound(self, beta: Number, candidates: int, best: int = 1) -> float:
        """With probability at least 1 - beta the winner's score is no farther below the best one."""
        miss = probability("beta", beta, zero=False, hint="a small chance such as 0.05")
        count, tied = whole("candidates", candidates), whole("best", best)
        if tied > count:
            raise ParameterError(
                f"best = {tied} candidates cannot share the top score among {count}; write a number up to {count}."
            )
        with precision(160):
            return upper((ball(Fraction(count, tied) / miss)).log() / ball(self.weight))

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """``utility_bound`` at beta = 1 - confidence."""
        miss, count = read_contest(confidence, candidates)
        return self.utility_bound(miss, count)
