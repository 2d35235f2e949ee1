"""Every protocol, small enough that all of its reports can be listed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from discreet.local.protocols.affine import Affine
from discreet.local.protocols.base import FrequencyProtocol, Rows
from discreet.local.protocols.choice import make_protocol
from discreet.local.protocols.hashing import Hashing
from discreet.local.protocols.k_ary import KAry, RandomizedResponse
from discreet.local.protocols.projective import Projective
from discreet.local.protocols.subset import Subset
from discreet.local.protocols.unary import Unary

EPSILONS = [Fraction(1, 1000), Fraction(1, 2), Fraction(1), Fraction(4)]
NAMES = ["randomized response", "k-ary", "subset", "projective", "unary", "hashing", "affine"]
SEED = 0x0123456789ABCDEF


def small(epsilon: Fraction) -> list[FrequencyProtocol]:
    """Members whose reports can be enumerated (for hashing: given a seed)."""
    return [
        RandomizedResponse(epsilon, 2),
        KAry(epsilon, 5),
        Subset(epsilon, 6, 1),
        Subset(epsilon, 7, 3),
        Subset(epsilon, 20, 2),
        Projective(epsilon, 6, 2, 3),
        Projective(epsilon, 13, 3, 3),
        Projective(epsilon, 9, 11, 2),
        Projective(epsilon, 20, 3, 4),
        Affine(epsilon, 8, 11, 1, 4),
        Affine(epsilon, 9, 3, 2, 1),
        Affine(epsilon, 20, 5, 2, 2),
        Affine(epsilon, 8, 2, 3, 1),
        Affine(epsilon, 27, 3, 3, 2),
        Unary(epsilon, 6),
        Hashing(epsilon, 12, 5),
    ]


def label(protocol: FrequencyProtocol) -> str:
    numbers = "-".join(str(number) for number in (protocol.size, *protocol.parameters.values()))
    return f"{protocol.name}-{numbers}-epsilon-{float(protocol.epsilon):g}"


SMALL = [protocol for epsilon in EPSILONS for protocol in small(epsilon)]


def every_report(protocol: FrequencyProtocol) -> Iterator[Rows]:
    """All reports, by listing what the form allows."""
    if isinstance(protocol, Hashing):
        yield from (np.array([SEED, bucket], dtype=np.uint64) for bucket in range(protocol.buckets))
    elif isinstance(protocol, Subset) and protocol.listed:
        yield from (np.array(s, dtype=np.uint32) for s in itertools.combinations(range(protocol.size), protocol.weight))
    elif isinstance(protocol, (Subset, Unary)):
        for number in range(2**protocol.size):
            bits = np.array([number >> place & 1 for place in range(protocol.size)], dtype=np.uint8)
            if isinstance(protocol, Unary) or bits.sum() == protocol.weight:
                yield np.packbits(bits, bitorder="little")
    else:
        yield from (np.array(number) for number in range(getattr(protocol, "reports", protocol.cells)))


def large(name: str, epsilon: Fraction) -> FrequencyProtocol:
    """The member for 64 values that a task would name (two for randomized response)."""
    return make_protocol(name, epsilon, 2 if name == "randomized response" else 64)
