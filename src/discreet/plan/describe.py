"""Mechanisms and their noise in words, for previews and answers."""

from __future__ import annotations

from discreet.mechanisms import Exponential, Gaussian, Laplace, Threshold
from discreet.mechanisms.quantile import Quantile
from discreet.plan.noise_law import spread_of
from discreet.plan.parts import Part

__all__ = ["described", "named"]


def named(part: Part) -> str:
    """The mechanism of a part."""
    mechanism = part.mechanism
    if mechanism is None:
        return "public"
    if isinstance(mechanism, (Laplace, Gaussian)):
        return f"{type(mechanism).__name__} noise"
    if isinstance(mechanism, Threshold):
        return "private key selection"
    law = mechanism.selection if isinstance(mechanism, Quantile) else mechanism
    return "exponential mechanism" if isinstance(law, Exponential) else "permute-and-flip"


def described(part: Part) -> tuple[str, str]:
    """What a part is of, and how it is released."""
    mechanism, what = part.mechanism, str(part.statistic)
    if isinstance(mechanism, Laplace):
        return what, f"Laplace noise of scale {spread_of(part).scale:,.4g}"
    if isinstance(mechanism, Gaussian):
        return what, f"Gaussian noise of standard deviation {spread_of(part).scale:,.4g}"
    if isinstance(mechanism, Threshold):
        return what, f"shown when about {mechanism.cut:,} or more share them (delta {float(part.times * mechanism.delta):.2g})"
    if mechanism is None:
        return what, "public: it is the same for all neighbours"
    end = {-1: ", lower end", 1: ", upper end"}.get(part.side, "")
    law = mechanism.selection if isinstance(mechanism, Quantile) else mechanism
    return what + end, f"{named(part)}, epsilon {float(law.epsilon):.4g} for every group"
