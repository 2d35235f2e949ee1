"""The protocol behind heavy hitters: every client tells about one prefix of its word, of a length that a coin chooses.

**The guarantee**: the length and the number of a public hash are drawn without looking at the word; given both, the prefix is
hashed into a bucket, and the bucket is randomised by k-ary randomized response. So for any two words of one person every report
is at most e^epsilon times likelier for one than for the other (Bassily, Nissim, Stemmer, Thakurta 2017; Wang, Li, Jha 2021,
prefix extending). Nothing is split: the whole epsilon goes into the one prefix.

The last length is the whole word: twice as many clients tell about it as about any other. Their reports measure what the reports
about shorter prefixes have found, so they decide on words which they had no part in choosing.

A prefix is known by a key of 64 bits: sum(a_i x_i) + c modulo 2^64 over its symbols x_i, with public words a_i, c that come from
SHA-256, others for every length. Hash number j takes the key to a bucket as ``hashing.py`` does under the seed j. One hash alone
would let a word that nobody has pass for a common one, for ever, with a chance of one in the number of buckets; many of them,
drawn by the clients' coins, agree about no two words.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import Protocol, Rates, Rows, float_precision
from discreet.local.protocols.hashing import hash_to_bucket
from discreet.local.protocols.k_ary import KAry
from discreet.noise.bits import Words
from discreet.noise.coins import uniform


@dataclass(frozen=True)
class Prefixes(Protocol):
    """Hashed prefixes. The report is (length * hashes + hash) * buckets + bucket; values come as one key for every length."""

    epsilon: Fraction
    levels: int
    hashes: int
    buckets: int
    name: ClassVar[str] = "prefixes"
    parameter_names: ClassVar[tuple[str, ...]] = ("hashes", "buckets")

    def __post_init__(self) -> None:
        numbers = (self.levels, self.hashes, self.buckets)
        if not all(type(n) is int for n in numbers) or not (1 <= self.levels <= 512 and self.hashes >= 1 and self.buckets >= 2):
            raise ParameterError("Prefixes need 1 to 512 lengths, a hash and two buckets; leave the choice to discreet.")
        if self.cells > 2**26:
            raise ParameterError("Prefixes of so many lengths need more than 2^26 counters; write a smaller length=.")

    @cached_property
    def inner(self) -> KAry:
        """What randomises a bucket."""
        return KAry(self.epsilon, self.buckets)

    def randomize(self, codes: Integers) -> Rows:
        people = len(codes)
        level = np.minimum(uniform(self.levels + 1, people), self.levels - 1)
        number = uniform(self.hashes, people)
        own = hash_to_bucket(number.view(np.uint64), codes[np.arange(people), level], self.buckets)
        return (level * self.hashes + number) * self.buckets + self.inner.randomize(own).astype(np.int64)

    def _draw(self, codes: Integers) -> Rows:
        return self.randomize(codes)

    def likelihood(self, row: Rows, code: int) -> arb:
        """Of a report for a word whose prefixes all have this key."""
        rest, reported = divmod(int(row.item()), self.buckets)
        level, number = divmod(rest, self.hashes)
        own = hash_to_bucket(np.array([number], dtype=np.uint64), np.array([code]), self.buckets)[0]
        tickets = 2 if level == self.levels - 1 else 1
        return self.inner.likelihood(np.array(reported), int(own)) * tickets / ((self.levels + 1) * self.hashes)

    def total_variation(self) -> arb:
        """Of a length and a hash that tell two words apart; others do not tell them apart at all."""
        return self.inner.total_variation()

    @property
    def cells(self) -> int:
        return self.levels * self.hashes * self.buckets

    def counts(self, tally: Integers) -> Integers:
        """The counters by length, hash and bucket."""
        return tally.reshape(self.levels, self.hashes, self.buckets)

    @cached_property
    def rates(self) -> Rates:
        """How often a report about whole words supports the own word, and how often any other, over all hashes."""
        with float_precision(self.epsilon):
            truth, lie = self.inner.supporting()[0], arb(1) / self.buckets
            return Rates(float(truth), float(lie), float(truth - lie))

    @property
    def last_share(self) -> float:
        """Of all people, those who tell about whole words."""
        return 2 / (self.levels + 1)


def hash_prefixes(prefixes: Integers, bits: int) -> Integers:
    """The keys of these prefixes (one a row, symbols behind the first ``bits`` bits cleared).

    >>> hash_prefixes(np.array([[104, 105], [104, 106]]), 16).tolist()
    [-6584402346907598847, 2189215006375138996]
    """
    *multipliers, shift = _public_words(bits, prefixes.shape[1])
    with np.errstate(over="ignore"):  # modulo 2^64 is what is wanted
        total = np.full(len(prefixes), shift, dtype=np.uint64)
        for place, multiplier in enumerate(multipliers):
            total += prefixes[:, place].astype(np.uint64) * multiplier
    return total.view(np.int64)


@lru_cache(maxsize=256)
def _public_words(bits: int, length: int) -> Words:
    digests = (hashlib.sha256(f"discreet prefix {bits} {place}".encode()).digest() for place in range(length + 1))
    return np.array([int.from_bytes(digest[:8], "big") for digest in digests], dtype=np.uint64)
