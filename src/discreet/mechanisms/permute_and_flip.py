"""Permute-and-flip.

**Theorem** (McKenna and Sheldon 2020; Ding et al. 2021). The position of the largest weight * score + Exp(1) noise, with weight
epsilon / (2 sensitivity) (twice that if all scores move the same way), is epsilon-differentially private for the neighbours
under which no score moves by more than ``sensitivity``. Its expected score is never below the exponential mechanism's, and its
error never likelier to exceed any bound, at the same pure epsilon. Under zero-concentrated accounting the exponential mechanism
usually wins.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.arrays import Number
from discreet.balls import arb, ball, precision, upper
from discreet.mechanisms.selection import Selection, read_contest
from discreet.noise.selection import Noise

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, init=False)
class PermuteAndFlip(Selection):
    """Chooses among candidates, never worse than the exponential mechanism at the same pure epsilon.

    >>> PermuteAndFlip(sensitivity=1, epsilon=1, monotonic=True).release([0, 1000])
    1
    """

    noise = Noise.EXPONENTIAL

    def _upset(self, lead: arb) -> arb:
        return (-lead).exp() / 2

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """The exponential mechanism's bound, which holds here too: ln(candidates / (1 - confidence)) / weight."""
        miss, count = read_contest(confidence, candidates)
        with precision(160):
            return upper((ball(count / miss)).log() / ball(self.weight))
