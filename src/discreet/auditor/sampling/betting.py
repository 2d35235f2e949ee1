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

import math

import numpy as np

from discreet.arrays import Booleans, Reals
from discreet.auditor.claims import Claim

Trial = tuple[Reals, Reals, Reals]  # chance of a in every cell, draws it was learned from, draws it is tried on (2 x cells)
Trials = tuple[Trial, Trial, Trial]  # of one guess: on a new batch, and on each half of past draws what the other half taught

_CUTS = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)  # of the largest stake: candidates for l
_SHARE = 0.1  # of what was earned that is shared by all guesses after each batch
_DOUBT = 0.1  # a guess that earns nothing is taken for one that earns so much: hopes are estimates
_GRID = np.concatenate([[0.0], np.geomspace(1e-3, 60, 400)])  # where epsilon is bounded from below
_NEAR = np.linspace(0.8, 1.2, 81)  # of the claim: there too
_CLAIM = 0.9  # of the capital at every smaller epsilon bets as against the claim, so that a violation certifies it


def log_growth(chance: Reals, past: Reals, seen: Reals, epsilon: Reals, delta: Reals) -> Reals:
    """The logarithm of the product of F over a batch, for every point (epsilon, delta).

    Outputs fall into cells: ``chance`` is r of each cell, ``past`` how many earlier draws fell into it, ``seen`` (2 x cells) how
    many draws of the batch, by side. Only ``seen`` belongs to the batch: stakes depend on the others alone.
    """
    sure = max(float(chance.max()), 1 - float(chance.min()))
    staked = epsilon < math.log(sure / (1 - sure)) if sure < 1 else np.ones(epsilon.size, dtype=bool)  # elsewhere F is 1
    grown = np.zeros(epsilon.size)
    if not staked.any():
        return grown
    odds = np.exp(epsilon[staked])[:, None] * (1 + 1e-12)  # from above: rounding must not favour the bet
    toward_a = np.maximum(0.0, chance * (1 + 1 / odds) - 1)
    toward_b = np.maximum(0.0, (1 - chance) * (1 + 1 / odds) - 1)
    fee = np.zeros_like(odds)
    if delta.any():
        most_a = _choose_cut(toward_a, odds, delta[staked, None], chance * past, (1 - chance) * past)
        most_b = _choose_cut(toward_b, odds, delta[staked, None], (1 - chance) * past, chance * past)
        fee = (most_a + most_b) * delta[staked, None] / 2 * (1 + 1e-12)
        toward_a = np.minimum((1 - fee) * toward_a, most_a)
        toward_b = np.minimum((1 - fee) * toward_b, most_b)
    on_a, on_b = np.flatnonzero(seen[0]), np.flatnonzero(seen[1])
    if_a = np.log(1 - fee + toward_a[:, on_a] - odds * toward_b[:, on_a])
    if_b = np.log(1 - fee - odds * toward_a[:, on_b] + toward_b[:, on_b])
    grown[staked] = if_a @ seen[0, on_a] + if_b @ seen[1, on_b]
    return grown


def _choose_cut(stake: Reals, odds: Reals, delta: Reals, wins: Reals, losses: Reals) -> Reals:
    """For every point, the largest stake that past draws recommend: a high one earns more in few cells, but pays for delta."""
    top = stake.max(axis=1, keepdims=True)
    best, growth = np.zeros_like(top), np.zeros_like(top)
    used = np.flatnonzero(stake.any(axis=0))
    stake, rest = stake[:, used], float(wins.sum() + losses.sum() - wins[used].sum() - losses[used].sum())  # rest: pays only
    wins, losses = wins[used], losses[used]
    for share in _CUTS:
        most = top * share
        fee = most * delta / 2
        cut = np.minimum((1 - fee) * stake, most)
        grown = (np.log(1 - fee + cut) @ wins + np.log(1 - fee - odds * cut) @ losses)[:, None] + rest * np.log1p(-fee)
        better = grown > growth
        best, growth = np.where(better, most, best), np.where(better, grown, growth)
    return np.asarray(best)


class Wealth:
    """The wealth of a bettor against every point (epsilon, delta), as logarithms; its capital follows the guesses that earn."""

    def __init__(self, epsilon: Reals, delta: Reals) -> None:
        self.epsilon, self.delta = epsilon, delta
        self.log = np.zeros(epsilon.size)
        self._record: dict[str, Reals] = {}  # by guess, what it earned: as shares, in logarithms

    def bet(self, guesses: dict[str, Trials]) -> None:
        """Settle one batch.

        The capital was spread by what each guess earned so far, times what it may hope for: both are known before the batch, so
        the theorem holds. What a guess would have earned on the draws that it was learned from is no measure of hope: those that
        fit most, and mean least, would take the capital. It is what each half of the past draws would have earned on the other.
        """
        if not guesses:
            return
        points = self.epsilon, self.delta
        gained = np.array([log_growth(*now, *points) for now, _, _ in guesses.values()])
        hopes = np.array([log_growth(*one, *points) + log_growth(*two, *points) for _, one, two in guesses.values()])
        fresh = np.full(self.log.size, -np.log(len(guesses)))
        record = np.array([self._record.get(name, fresh) for name in guesses])
        weights = record + np.log(np.maximum(hopes, 0.0) + _DOUBT)
        weights -= np.logaddexp.reduce(weights, axis=0)
        self.log = self.log + np.logaddexp.reduce(weights + gained, axis=0)
        record = record + gained
        record -= np.logaddexp.reduce(record, axis=0)
        record = np.logaddexp(record + np.log(1 - _SHARE), np.log(_SHARE / len(guesses)))  # who lost early may still come back
        self._record = dict(zip(guesses, record, strict=True))

    def keep(self, points: Booleans) -> None:
        """Bet on against these points only; the others are decided."""
        self.epsilon, self.delta, self.log = self.epsilon[points], self.delta[points], self.log[points]
        self._record = {name: record[points] for name, record in self._record.items()}


class ClaimTest:
    """A sequential test of a claim, by the wealth against it; and against every epsilon of a grid, for a lower bound."""

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

    def settle(self, guesses: dict[str, Trials]) -> None:
        """Bet one batch, for every guess. What is rejected stays so: it needs no more bets."""
        wealth, open_points = self._wealth, ~self._rejected
        wealth.bet(guesses)
        claims, bound, grid = wealth.log[: self._points], wealth.log[self._points :], self._grid[open_points]
        against = float(np.logaddexp.reduce(claims)) - math.log(self._points)
        if self._single:  # the claim implies every larger epsilon, so a bet against it is one against every smaller one
            against += math.log(_CLAIM)
            bound = np.where(grid < self._claimed, np.logaddexp(against, bound + math.log(1 - _CLAIM)), bound)
            bound = np.where(grid == self._claimed, against, bound)
        rejected = bound >= self._price
        self._rejected[open_points] = rejected
        wealth.keep(np.append(np.ones(self._points, dtype=bool), ~rejected))
        self.refuted = self.refuted or against >= self._price

    @property
    def lower_bound(self) -> float:
        """The largest epsilon of the grid such that it and all smaller ones are refuted; 0 if none is."""
        survivors = np.flatnonzero(~self._rejected)
        first = int(survivors[0]) if survivors.size else self._grid.size
        return float(self._grid[first - 1]) if first else 0.0
