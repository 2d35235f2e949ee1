"""Protocols for numbers between public bounds: their mean, and their distribution. Those for means are registered here."""

from discreet.local.protocols.numbers.base import MeanProtocol
from discreet.local.protocols.numbers.duchi import Duchi
from discreet.local.protocols.numbers.hybrid import Hybrid
from discreet.local.protocols.numbers.laplace import Laplace

__all__ = ["MEAN_PROTOCOLS", "MeanProtocol"]

MEAN_PROTOCOLS: dict[str, type[MeanProtocol]] = {protocol.name: protocol for protocol in (Duchi, Hybrid, Laplace)}
