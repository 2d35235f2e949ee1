"""Every refusal discreet can utter.

    DiscreetError
    ├── ParameterError      a public parameter (epsilon, scale, candidates ...) is outside what the theorem covers
    ├── ValueRefused        the private value cannot be handled (NaN, wrong type, too large for the grid)
    ├── Exhausted           a mechanism has given all the answers it was paid for
    └── EntropyError        the system's generator failed, or recorded words ran out

A message is a sentence: what was asked, what holds, what to write instead. A ``ValueRefused`` never
quotes the value, because that value is somebody's data.
"""

from __future__ import annotations

__all__ = ["DiscreetError", "EntropyError", "Exhausted", "ParameterError", "ValueRefused"]


class DiscreetError(Exception):
    """The root of the tree: catch this to catch every refusal of discreet."""


class ParameterError(DiscreetError, ValueError):
    """A public parameter is missing, malformed, or outside what the theorem covers."""


class ValueRefused(DiscreetError, ValueError):
    """A private value cannot be handled; the message never contains it."""


class Exhausted(DiscreetError):
    """A mechanism has already given all the answers that its privacy cost covers."""


class EntropyError(DiscreetError, RuntimeError):
    """Randomness could not be had, or cannot be what it claims to be."""
