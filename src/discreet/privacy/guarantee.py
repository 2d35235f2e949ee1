"""A guarantee: an immutable value that says what a release can cost whoever is in the data.

The neighbour relation is that of whoever states it: a mechanism's guarantee holds for the neighbours under which its
sensitivity was computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.exact import positive, probability, rational, up
from discreet.privacy.losses import Approximate, Concentrated, Gaussian, Loss, Pure

__all__ = ["Privacy", "approximate", "gdp", "pure", "zcdp"]

_DELTA = "a small chance such as 1e-6"


@dataclass(frozen=True)
class Privacy:
    """What one release costs. Every number it gives is an upper bound, never below the truth.

    >>> pure(1).epsilon(delta=0)
    1.0
    >>> round(gdp(1).epsilon(delta=1e-6), 6)
    4.886554
    """

    loss: Loss

    def epsilon(self, delta: object = 0) -> float:
        """The smallest epsilon known to hold with this delta (infinity where none does)."""
        return self.loss.epsilon(probability("delta", delta, zero=True, hint=_DELTA))

    def delta(self, epsilon: object) -> float:
        """The smallest delta known to hold with this epsilon."""
        exact = rational("epsilon", epsilon)
        if exact < 0:
            raise ParameterError(f"epsilon must be at least 0, not {epsilon}; write a number such as 1.")
        return self.loss.delta(exact)

    @property
    def rho(self) -> float:
        """The zero-concentrated cost (infinity where there is none)."""
        return math.inf if self.loss.rho is None else up(self.loss.rho)


def pure(epsilon: object) -> Privacy:
    """Pure differential privacy: P[M(D) in S] <= e^epsilon P[M(D') in S] (Dwork and Roth, definition 2.4)."""
    return Privacy(Pure(positive("epsilon", epsilon)))


def approximate(epsilon: object, delta: object) -> Privacy:
    """Approximate differential privacy: P[M(D) in S] <= e^epsilon P[M(D') in S] + delta (Dwork and Roth, definition 2.4)."""
    return Privacy(Approximate(positive("epsilon", epsilon), probability("delta", delta, zero=True, hint=_DELTA)))


def zcdp(rho: object) -> Privacy:
    """Zero-concentrated privacy: Renyi divergence at most rho * alpha at every order alpha > 1 (Bun and Steinke 2016)."""
    return Privacy(Concentrated(positive("rho", rho)))


def gdp(mu: object) -> Privacy:
    """Gaussian differential privacy: no easier to tell neighbours apart than N(0, 1) from N(mu, 1) (Dong, Roth, Su 2019)."""
    return Privacy(Gaussian(positive("mu", mu) ** 2))
