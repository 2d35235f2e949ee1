"""Protocols: how one coded value becomes a private report, and what a collector counts of it.

Those for frequencies are registered here, and chosen: by name, or the one with the least error whose reports are short enough.

Subset selection with the best w has the least error that any protocol can have (k-ary is its w = 1), but its reports grow with
the domain; projective and affine geometries come within a few percent with reports of a few dozen bits, at any size. (Hashing
has the error of an affine geometry and a far slower collector, unary encoding longer reports: both are for asking by name.) So
the rule is: the least average variance among those within ``max_bits``; of those within 2 % of it, the shortest report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.local.protocols.affine import Affine
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.protocols.hashing import Hashing
from discreet.local.protocols.k_ary import KAry, RandomizedResponse
from discreet.local.protocols.projective import Projective
from discreet.local.protocols.subset import Subset
from discreet.local.protocols.unary import Unary

__all__ = ["PROTOCOLS", "choose_protocol", "make_protocol", "rebuild_protocol"]

# A protocol for frequencies is registered here.
PROTOCOLS: dict[str, type[FrequencyProtocol]] = {
    protocol.name: protocol for protocol in (RandomizedResponse, KAry, Subset, Projective, Affine, Unary, Hashing)
}
_AUTOMATIC = ("k-ary", "subset", "projective", "affine")
_TIE = 1.02


def choose_protocol(epsilon: Fraction, size: int, max_bits: int) -> FrequencyProtocol:
    """The best protocol for a closed domain.

    >>> choose_protocol(Fraction(1), 10_000, 1024).parameters, choose_protocol(Fraction(1), 3, 1024).name
    ({'prime': 7, 'dimension': 5, 'weight': 2}, 'k-ary')
    """
    offers = [offer for name in _AUTOMATIC for offer in PROTOCOLS[name].offers(epsilon, size) if offer.bits <= max_bits]
    if not offers:
        raise ParameterError(
            f"No protocol for {size:,} values has reports within max_bits={max_bits}; allow {math.ceil(math.log2(size))} or more."
        )
    least = min(offer.variance for offer in offers)
    close = [offer for offer in offers if offer.variance <= _TIE * least]
    return min(close, key=lambda offer: (math.ceil(offer.bits), offer.variance, _AUTOMATIC.index(offer.name)))


def make_protocol(name: str, epsilon: Fraction, size: int) -> FrequencyProtocol:
    """The protocol of this name with its best parameters."""
    if name not in PROTOCOLS:
        raise ParameterError(f"There is no protocol called {shown(name)}; write one of {', '.join(PROTOCOLS)}.")
    offers = PROTOCOLS[name].offers(epsilon, size)
    if not offers:
        raise ParameterError(f"The protocol {name} cannot hold {size:,} values; leave the choice to discreet.")
    return min(offers, key=lambda offer: offer.variance) if len(offers) > 1 else offers[0]


def rebuild_protocol(name: object, epsilon: Fraction, size: int, parameters: Mapping[str, int]) -> FrequencyProtocol:
    """The protocol that a task's JSON names."""
    if not isinstance(name, str) or name not in PROTOCOLS or not all(type(number) is int for number in parameters.values()):
        raise ParameterError(f"There is no protocol called {shown(name)} with such parameters; is the task newer than discreet?")
    try:
        return PROTOCOLS[name](epsilon, size, **parameters)  # type: ignore[call-arg]
    except TypeError:
        raise ParameterError(f"The protocol {name} has other parameters; is the task newer than discreet?") from None
