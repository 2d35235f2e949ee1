"""A claim that can be refuted: one pair (epsilon, delta), or several points of a privacy curve."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ParameterError
from discreet.exact import probability, rational, up
from discreet.privacy import Privacy

_MOST = 300  # e^epsilon must stay a float
_SHARES = (1.0, 0.6, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # of delta at epsilon = 0: where a curve is tried


@dataclass(frozen=True)
class Claim:
    """What is tested: every point (epsilon, delta) must hold, in both directions. ``delta`` is where epsilon is estimated."""

    text: str
    points: tuple[tuple[float, float], ...]
    delta: float


def read_claim(epsilon: object, delta: object, privacy: object) -> Claim:
    """A claim from the arguments of an audit; floats are rounded so that the claim tested is never stronger than the one made.

    >>> read_claim(1, 0.001, None)
    Claim(text='epsilon=1, delta=0.001', points=((1.0, 0.001),), delta=0.001)
    """
    at = probability("delta", delta, zero=True, hint="0, or a small chance such as 1e-6")
    if privacy is None and epsilon is not None:
        exact = rational("epsilon", epsilon, "the claim to test, such as 1")
        if not 0 <= exact <= _MOST:
            raise ParameterError(f"epsilon must lie between 0 and {_MOST} to be audited; write the claim to test, such as 1.")
        text = f"epsilon={float(exact):g}" + (f", delta={float(at):g}" if at else "")
        return Claim(text, ((up(exact), up(at)),), up(at))
    if epsilon is None and isinstance(privacy, Privacy):
        return Claim(str(privacy), _choose_points(privacy), up(at))
    raise ParameterError("An audit tests one claim: write epsilon=1 (and delta=1e-6), or privacy=dp.zcdp(0.5).")


def read_floats(floats: object) -> bool:
    """Whether the low bits of floats are looked at: naive noise leaks there, which one may want to leave out."""
    if not isinstance(floats, str) or floats not in ("check", "ignore"):
        raise ParameterError('The low bits of floats are looked at or left out; write floats="check" or floats="ignore".')
    return floats == "check"


def _choose_points(privacy: Privacy) -> tuple[tuple[float, float], ...]:
    """Points of the curve, from above: where the loss is pure, and where delta is a share of what it is at epsilon = 0."""
    start = privacy.delta(0)
    if start >= 1:
        raise ParameterError("This guarantee promises nothing (delta is 1 even at epsilon 0), so nothing can refute it.")
    epsilons = {privacy.epsilon(start * share) for share in _SHARES} if start else {0.0}
    epsilons |= {0.0, privacy.epsilon(0)}
    usable = sorted(epsilon for epsilon in epsilons if math.isfinite(epsilon) and epsilon <= _MOST)
    return tuple((epsilon, privacy.delta(epsilon)) for epsilon in usable)


def read_error(error: object) -> float:
    """The error probability of an audit."""
    return float(probability("error", error, zero=False, hint="a small chance such as 0.05"))
