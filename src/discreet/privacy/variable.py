"""The privacy loss as a random variable: L = ln P/Q under P, the lectures' picture of what a release can give away.

One use has its law in closed form (``law.py``). For a composition mean and variance are sums, atoms are sums of atoms, and the
rest of the law is numerical (``total.py``). Nothing here is certified; the certified numbers are those of ``Privacy``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.privacy.accountant.composition import Parts, canonical
from discreet.privacy.law import Law, law_of
from discreet.privacy.names import name_of
from discreet.privacy.total import total_law

__all__ = ["LossVariable"]


@dataclass(frozen=True, repr=False)
class LossVariable:
    """The privacy loss of these uses together, over their worst pair of neighbours; for sampled uses, with a record removed.

    >>> from fractions import Fraction
    >>> from discreet.privacy.losses import Laplace
    >>> loss = LossVariable(((Laplace(Fraction(1)), 1),))
    >>> loss
    LossVariable(Laplace ε = 1: from -1 to 1, mean 0.3679, standard deviation 0.8108, 2 atoms)
    >>> [(at, round(chance, 4)) for at, chance in loss.atoms]
    [(-1.0, 0.1839), (1.0, 0.5)]
    >>> float(loss.mass(1)), round(float(loss.density(0)), 4), round(float(loss.cdf(0)), 4)
    (0.5, 0.1516, 0.3033)
    """

    parts: Parts

    def __post_init__(self) -> None:
        for loss, _ in self.parts:
            law_of(loss)  # refuses a guarantee that names no law

    @property
    def reverse(self) -> LossVariable:
        """The loss with the neighbours exchanged: a record added instead of removed. It differs for sampled uses only."""
        return LossVariable(canonical(tuple((loss.reverse, count) for loss, count in self.parts)))

    @cached_property
    def law(self) -> Law:
        """Atoms, density, and mass at infinity."""
        laws = [(law_of(loss), count) for loss, count in self.parts]
        return laws[0][0] if len(laws) == 1 and laws[0][1] == 1 else total_law(laws)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest loss there can be; infinity where everything may be disclosed."""
        low, high = self.law.support
        return low, math.inf if self.law.infinity else high

    @property
    def mean(self) -> float:
        """The mean loss, which is the Kullback-Leibler divergence; infinity where everything may be disclosed."""
        return math.inf if self.law.infinity else self.law.mean

    @property
    def variance(self) -> float:
        """The variance of the loss; infinity where everything may be disclosed."""
        return math.inf if self.law.infinity else self.law.variance

    @property
    def atoms(self) -> list[tuple[float, float]]:
        """Every loss that has a probability of its own, and that probability; total disclosure, if any, comes last."""
        self._listed()
        pairs = zip(self.law.losses.tolist(), self.law.masses.tolist(), strict=True)
        return [*pairs, (math.inf, self.law.infinity)] if self.law.infinity else [*pairs]

    def mass(self, x: ArrayLike) -> Reals:
        """The probability of exactly this loss."""
        self._listed()
        values = np.asarray(x, dtype=np.float64)
        inside = self._steps(values + self._near) - self._steps(values - self._near)
        result: Reals = np.where(values == math.inf, self.law.infinity, inside)
        return result

    def density(self, x: ArrayLike) -> Reals:
        """The density of the loss, atoms apart; zero where there is none."""
        values, dense = np.asarray(x, dtype=np.float64), np.zeros(np.shape(x))
        if spread := self.law.spread:
            inside = (values > spread.low) & (values < spread.high)
            dense[inside] = spread.density(values[inside])
        return dense

    def cdf(self, x: ArrayLike) -> Reals:
        """P[L <= x]."""
        values = np.asarray(x, dtype=np.float64)
        total = self._steps(values + self._near)
        if spread := self.law.spread:
            inside = (values > spread.low) & (values < spread.high)
            total[inside] += spread.below(values[inside])
            total[values >= spread.high] += self._dense
        result: Reals = np.where(values == math.inf, 1.0, np.minimum(total, 1 - self.law.infinity))
        return result

    def tail(self, x: float) -> float:
        """P[L > x], the lectures' reading of delta. Never below delta(x) = E[(1 - e^(x - L))+], the definition's."""
        law = self.law
        rest = math.fsum(law.masses[law.losses > x + self._near].tolist()) + law.infinity
        if law.spread and x < law.spread.high:
            rest += float(law.spread.above(np.array([x]))[0]) if x > law.spread.low else self._dense
        return min(rest, 1.0)

    @property
    def _dense(self) -> float:
        """The probability of all that is not an atom."""
        return max(0.0, 1 - self.law.infinity - math.fsum(self.law.masses.tolist()))

    @property
    def _near(self) -> float:
        """Losses closer than this are the same."""
        return 1e-11 * float(np.abs(self.law.losses).max(initial=0.0))

    def _steps(self, x: Reals) -> Reals:
        """The atoms' share of P[L <= x]."""
        totals = np.append(0.0, np.cumsum(self.law.masses))
        return np.asarray(totals[np.searchsorted(self.law.losses, x, side="right")])

    def _listed(self) -> None:
        if self.law.blurred:
            raise ParameterError(
                "This composition has too many atoms to list; ask cdf(x) or density(x), which spread them over a fine lattice."
            )

    def _facts(self) -> dict[str, str]:
        low, high = self.law.support
        facts = {
            "support": f"from {_number(low)} to {_number(high)}",
            "mean": _number(self.law.mean),
            "standard deviation": _number(math.sqrt(self.law.variance)),
        }
        if self.law.losses.size:
            facts["atoms"] = f"{self.law.losses.size:,}"
        if self.law.infinity:
            facts["total disclosure"] = _number(self.law.infinity)
        return facts

    def __repr__(self) -> str:
        words = self._facts()
        said = [words.pop("support"), *(f"{name} {value}" for name, value in words.items() if name != "atoms")]
        if "atoms" in words:
            said.insert(3, f"{words['atoms']} atom{'s' if self.law.losses.size > 1 else ''}")
        return f"LossVariable({name_of(self.parts)}: {', '.join(said)})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._facts().items())
        return f"<table><caption>Privacy loss of {escape(name_of(self.parts))}</caption>{rows}</table>"


def _number(value: float) -> str:
    return f"{value:.4g}".replace("inf", "infinity")
