"""The protocol behind heavy hitters: every client tells about one prefix of its word, of a length that a coin chooses.

**The guarantee**: the length does not depend on the word, and given the length the prefix is hashed into a closed domain and
randomised by a frequency protocol. So for any two words of one person every report is at most e^epsilon times likelier for one
than for the other (Bassily, Nissim, Stemmer, Thakurta 2017; Wang, Li, Jha 2021, prefix extending). Nothing is split: the whole
epsilon goes into the one prefix.

The hash of a prefix is sum(a_i x_i) + c modulo 2^64, its upper 32 bits cut into equal cells: strongly universal (Thorup 2015)
over the words a_i, c, which are public and come from SHA-256, others for every length.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocol import NUMBER, Form, FrequencyProtocol, Protocol, Rows, bits_of
from discreet.noise.bits import Words
from discreet.noise.coins import Booleans, uniform
from discreet.noise.lazy import Integers

__all__ = ["Prefixes", "hashed"]

_HALF = np.uint64(32)


@dataclass(frozen=True)
class Prefixes(Protocol):
    """The report is level * (reports of a level) + report, one number. Values come as one hashed cell for every level."""

    inner: FrequencyProtocol  # over the hashed cells
    levels: int
    name: ClassVar[str] = "prefixes"

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= 64 or self.inner.form != NUMBER or self.cells > 2**26:
            raise ParameterError("Prefixes need 1 to 64 levels, and reports that are numbers; write a smaller length= or cells=.")

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        return self.inner.epsilon

    @property
    def parameters(self) -> dict[str, int]:
        return {"levels": self.levels, **self.inner.parameters}

    @property
    def form(self) -> Form:
        return NUMBER

    @property
    def bits(self) -> float:
        return bits_of(self.cells)

    def randomize(self, codes: Integers) -> Rows:
        chosen = uniform(self.levels, len(codes))
        reports = self.inner.randomize(codes[np.arange(len(codes)), chosen])
        return chosen * self.inner.cells + reports.astype(np.int64)

    def _draw(self, codes: Integers) -> Rows:
        return self.randomize(codes)

    def likelihood(self, row: Rows, code: int) -> arb:
        """Of a report for a word whose prefixes all hash to this cell; words that share some cells are closer still."""
        level, report = divmod(int(row.item()), self.inner.cells)
        return self.inner.likelihood(np.array(report), code) / self.levels if level < self.levels else arb(0)

    def valid(self, rows: Rows) -> Booleans:
        numbers = rows.astype(np.int64)
        return (numbers >= 0) & (numbers < self.cells)

    @property
    def cells(self) -> int:
        return self.levels * self.inner.cells

    def tally(self, rows: Rows) -> Integers:
        return np.bincount(rows.astype(np.int64, copy=False), minlength=self.cells)

    @cached_property
    def size(self) -> int:
        """Hashed cells of a level."""
        return self.inner.size


def hashed(symbols: Integers, level: int, cells: int) -> Integers:
    """The cells of these prefixes (one a row, all of the level's length) under the level's hash.

    >>> hashed(np.array([[104, 105], [104, 106]]), 2, 1000).tolist()
    [349, 26]
    """
    *multipliers, shift = _public_words(level, symbols.shape[1])
    with np.errstate(over="ignore"):  # modulo 2^64 is what is wanted
        total = np.full(len(symbols), shift, dtype=np.uint64)
        for place, multiplier in enumerate(multipliers):
            total += symbols[:, place].astype(np.uint64) * multiplier
    return (((total >> _HALF) * np.uint64(cells)) >> _HALF).view(np.int64)


@lru_cache(maxsize=256)
def _public_words(level: int, length: int) -> Words:
    digests = (hashlib.sha256(f"discreet prefix {level} {place}".encode()).digest() for place in range(length + 1))
    return np.array([int.from_bytes(digest[:8], "big") for digest in digests], dtype=np.uint64)
