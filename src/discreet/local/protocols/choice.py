"""Which protocol: by name, or the one with the least error whose reports are short enough.

Subset selection with the best w has the least error that any protocol can have (k-ary is its w = 1), but its reports grow with
the domain; projective and affine geometries come within a few percent with reports of a few dozen bits, at any size. (Hashing
has the error of an affine geometry and a far slower collector, unary encoding longer reports: both are for asking by name.) So
the rule is: the least average variance among those within ``max_bits``; of those within 2 % of it, the shortest report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.local.protocols.affine import MOST_POINTS, MOST_WEIGHT, Affine
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.protocols.hashing import Hashing, best_buckets
from discreet.local.protocols.k_ary import KAry
from discreet.local.protocols.projective import MOST_CELLS, Projective
from discreet.local.protocols.randomized_response import RandomizedResponse
from discreet.local.protocols.subset import Subset
from discreet.local.protocols.unary import Unary

__all__ = ["MAKERS", "PROTOCOLS", "choose", "named", "rebuilt"]

Maker = Callable[[Fraction, int], list[FrequencyProtocol]]

_TIE = 1.02
_ENOUGH = 0.8  # a field of so many times e^epsilon elements has 1.3 % more variance than the best one


def _subsets(epsilon: Fraction, size: int) -> list[FrequencyProtocol]:
    best = size / (math.exp(min(float(epsilon), 700.0)) + 1)
    weights = {min(max(1, whole), size - 1) for whole in (math.floor(best), math.ceil(best))}
    return [Subset(epsilon, size, weight) for weight in sorted(weights)]


def _geometries(epsilon: Fraction, size: int) -> list[FrequencyProtocol]:
    """For every prime, the smallest geometry with enough points; dimension 2 would be k-ary with more values than needed."""
    found: list[FrequencyProtocol] = []
    for prime in _primes(256):
        dimension = 3
        while (prime**dimension - 1) // (prime - 1) < size:
            dimension += 1
        if prime**dimension <= MOST_CELLS:
            found.append(Projective(epsilon, size, prime, dimension))
    return found


def _designs(epsilon: Fraction, size: int) -> list[FrequencyProtocol]:
    """For every dimension, the smallest field with enough points, and the smallest that is large enough beside e^epsilon."""
    e = math.exp(min(float(epsilon), 40.0))
    found: dict[tuple[int, int, int], FrequencyProtocol] = {}
    for dimension in range(1, 26):
        least = 2
        while least**dimension < size:
            least = max(least + 1, math.floor(size ** (1 / dimension)))
        for prime in {_prime_from(least), _prime_from(max(least, min(math.ceil(_ENOUGH * e) + 1, 2 * MOST_POINTS)))}:
            for weight in {max(1, part) for part in (math.floor(prime / (e + 1)), math.ceil(prime / (e + 1)))}:
                if prime**dimension <= MOST_POINTS and weight <= min(prime - 1, MOST_WEIGHT):
                    found[prime, dimension, weight] = Affine(epsilon, size, prime, dimension, weight)
    return list(found.values())


def _prime_from(number: int) -> int:
    while any(number % divisor == 0 for divisor in range(2, math.isqrt(number) + 1)):
        number += 1
    return number


def _primes(below: int) -> list[int]:
    return [n for n in range(2, below) if all(n % divisor for divisor in range(2, math.isqrt(n) + 1))]


# A protocol's file is registered here: its class, and the members worth considering for an epsilon and a number of values.
PROTOCOLS: dict[str, type[FrequencyProtocol]] = {
    protocol.name: protocol for protocol in (RandomizedResponse, KAry, Subset, Projective, Affine, Unary, Hashing)
}
MAKERS: dict[str, Maker] = {
    "randomized response": lambda epsilon, size: [RandomizedResponse(epsilon, size)],
    "k-ary": lambda epsilon, size: [KAry(epsilon, size)],
    "subset": _subsets,
    "projective": _geometries,
    "affine": _designs,
    "unary": lambda epsilon, size: [Unary(epsilon, size)],
    "hashing": lambda epsilon, size: [Hashing(epsilon, size, best_buckets(epsilon))],
}
_AUTOMATIC = ("k-ary", "subset", "projective", "affine")


def choose(epsilon: Fraction, size: int, max_bits: int) -> FrequencyProtocol:
    """The best protocol for a closed domain.

    >>> choose(Fraction(1), 10_000, 1024).parameters, choose(Fraction(1), 3, 1024).name
    ({'prime': 7, 'dimension': 5, 'weight': 2}, 'k-ary')
    """
    offers = [offer for name in _AUTOMATIC for offer in MAKERS[name](epsilon, size) if offer.bits <= max_bits]
    if not offers:
        raise ParameterError(
            f"No protocol for {size:,} values has reports within max_bits={max_bits}; allow {math.ceil(math.log2(size))} or more."
        )
    least = min(offer.variance for offer in offers)
    close = [offer for offer in offers if offer.variance <= _TIE * least]
    return min(close, key=lambda offer: (math.ceil(offer.bits), offer.variance, _AUTOMATIC.index(offer.name)))


def named(name: str, epsilon: Fraction, size: int) -> FrequencyProtocol:
    """The protocol of this name with its best parameters."""
    if name not in MAKERS:
        raise ParameterError(f"There is no protocol called {shown(name)}; write one of {', '.join(MAKERS)}.")
    offers = MAKERS[name](epsilon, size)
    if not offers:
        raise ParameterError(f"The protocol {name} cannot hold {size:,} values; leave the choice to discreet.")
    return min(offers, key=lambda offer: offer.variance) if len(offers) > 1 else offers[0]


def rebuilt(name: object, epsilon: Fraction, size: int, parameters: Mapping[str, int]) -> FrequencyProtocol:
    """The protocol that a task's JSON names."""
    if not isinstance(name, str) or name not in PROTOCOLS or not all(type(number) is int for number in parameters.values()):
        raise ParameterError(f"There is no protocol called {shown(name)} with such parameters; is the task newer than discreet?")
    try:
        return PROTOCOLS[name](epsilon, size, **parameters)  # type: ignore[call-arg]
    except TypeError:
        raise ParameterError(f"The protocol {name} has other parameters; is the task newer than discreet?") from None
