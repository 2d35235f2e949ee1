"""Betting against a claim: wealth that cannot be expected to grow while the claim holds.

**Setting.** Before every draw a fair coin chooses one of the inputs a and b; Z is the output of a fresh, independent run on it.
P and Q are the laws of the output on a and on b. The claim (epsilon, delta): P(S) <= e^epsilon Q(S) + delta and
Q(S) <= e^epsilon P(S) + delta for every event S.

**Theorem.** Let stakes s: outputs -> [0, l] and u: outputs -> [0, m] be chosen from earlier draws only. If the claim holds,

    F = 1 + s(Z) (A - e^epsilon B) - l delta / 2 + u(Z) (B - e^epsilon A) - m delta / 2

has expectation at most 1 given the past, where A = 1 if the coin chose a, and B = 1 - A. If F >= 0 always, the product of all F
is a non-negative supermartingale that starts at 1, so that it ever reaches 1 / error with probability at most error.

*Proof.* The coin is fair and independent of the past, so E[s(Z) A | past] = (1/2) int s dP, and likewise for b. By layers,
int s dP - e^epsilon int s dQ = int_0^l (P(s > t) - e^epsilon Q(s > t)) dt <= l delta, because {s > t} is one event for each t and
empty for t >= l. Half of it is paid for by l delta / 2. The same with P and Q exchanged bounds the term in u. The last part is
Ville's inequality: for a non-negative supermartingale W with W_0 = 1, P(sup W >= 1 / error) <= error. QED

So events, directions and stakes may be learned from all earlier draws, one may look after every batch and stop whenever
one likes, and no draw is set aside. A convex combination of such factors, with weights chosen from the past, is one again:
capital is spread over several guesses, and over several points of a curve.

**The stake.** If r(z) is our guess of the chance that the coin chose a when the output is z, the logarithm of F has the largest
expectation for s = (1 - c) max(0, r (1 + e^-epsilon) - 1), cut at l, where c = (l + m) delta / 2; for u the same with 1 - r.
Then F is positive: at most one of s, u is not 0, and e^epsilon s <= (1 - c) (1 - (1 - r) (1 + e^epsilon)) < 1 - c.
At delta = 0 this is the likelihood-ratio test of r against the nearest chance that the claim allows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Wealth", "gains"]

Floats = NDArray[np.float64]

_CUTS = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)  # of the largest stake: candidates for l
_SHARE = 0.1  # of what was earned that is shared by all guesses after each batch
_DOUBT = 0.1  # a guess that earns nothing is taken for one that earns so much: hopes are estimates


def gains(chance: Floats, past: Floats, seen: Floats, epsilon: Floats, delta: Floats) -> Floats:
    """The logarithm of the product of F over a batch, for every point (epsilon, delta).

    Outputs fall into cells: ``chance`` is r of each cell, ``past`` how many earlier draws fell into it, ``seen`` (2 x cells) how
    many draws of the batch, by side. Only ``seen`` belongs to the batch: stakes depend on the others alone.
    """
    odds = np.exp(epsilon)[:, None] * (1 + 1e-12)  # from above: rounding must not favour the bet
    toward_a = np.maximum(0.0, chance * (1 + 1 / odds) - 1)
    toward_b = np.maximum(0.0, (1 - chance) * (1 + 1 / odds) - 1)
    fee = np.zeros_like(odds)
    if delta.any():
        most_a = _cut(toward_a, odds, delta[:, None], chance * past, (1 - chance) * past)
        most_b = _cut(toward_b, odds, delta[:, None], (1 - chance) * past, chance * past)
        fee = (most_a + most_b) * delta[:, None] / 2 * (1 + 1e-12)
        toward_a = np.minimum((1 - fee) * toward_a, most_a)
        toward_b = np.minimum((1 - fee) * toward_b, most_b)
    if_a = np.log(1 - fee + toward_a - odds * toward_b)
    if_b = np.log(1 - fee - odds * toward_a + toward_b)
    return np.asarray(if_a @ seen[0] + if_b @ seen[1])


def _cut(stake: Floats, odds: Floats, delta: Floats, wins: Floats, losses: Floats) -> Floats:
    """For every point, the largest stake that past draws recommend: a high one earns more in few cells, but pays for delta."""
    top = stake.max(axis=1, keepdims=True)
    best, growth = np.zeros_like(top), np.zeros_like(top)
    for share in _CUTS:
        most = top * share
        fee = most * delta / 2
        cut = np.minimum((1 - fee) * stake, most)
        grown = (np.log(1 - fee + cut) @ wins + np.log(1 - fee - odds * cut) @ losses)[:, None]
        better = grown > growth
        best, growth = np.where(better, most, best), np.where(better, grown, growth)
    return np.asarray(best)


class Wealth:
    """The wealth of a bettor against every point (epsilon, delta), as logarithms; its capital follows the guesses that earn."""

    def __init__(self, epsilon: Floats, delta: Floats) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.log = np.zeros(epsilon.size)
        self._record: dict[str, Floats] = {}  # by guess, what it earned: as shares, in logarithms

    def bet(self, earned: dict[str, Floats], hoped: dict[str, Floats]) -> None:
        """Settle one batch: for every guess its gain at every point, and the gain that past draws made one hope for.

        The capital was spread by what each guess earned so far, times what it may hope for: both are known before the batch, so
        the theorem holds. What a guess would have earned on the draws that it was learned from is no measure of hope: those that
        fit most, and mean least, would take the capital. It is what each half of the past draws would have earned on the other.
        """
        if not earned:
            return
        fresh = np.full(self.log.size, -np.log(len(earned)))
        record = np.array([self._record.get(name, fresh) for name in earned])
        gained, hopes = np.array(list(earned.values())), np.array([hoped[name] for name in earned])
        weights = record + np.log(np.maximum(hopes, 0.0) + _DOUBT)
        weights -= np.logaddexp.reduce(weights, axis=0)
        self.log = self.log + np.logaddexp.reduce(weights + gained, axis=0)
        record = record + gained
        record -= np.logaddexp.reduce(record, axis=0)
        record = np.logaddexp(record + np.log(1 - _SHARE), np.log(_SHARE / len(earned)))  # who lost early may still come back
        self._record = dict(zip(earned, record, strict=True))
