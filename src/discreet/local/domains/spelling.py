"""A spelling: words as rows of so many symbols: bytes of UTF-8, or places in a public alphabet; 0 fills up behind the end.

A word that is longer is cut. What cannot be spelled is no word, and gets the fate that the task declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Integers
from discreet.errors import ParameterError, ValueRefused
from discreet.noise.coins import uniform

_FOREIGN = (
    "An answer cannot be spelled in this task and the task refuses such answers: send nothing, or declare missing= as a word or "
    "as 'random'."
)
_FATES = ("refuse", "random")


@dataclass(frozen=True)
class Spelling:
    """How words are spelled: ``length`` symbols a word; ``alphabet`` lists its characters, None means any text by its bytes.

    >>> Spelling(4, "abc").symbols(["ab", "cabba"]).tolist()
    [[1, 2, 0, 0], [3, 1, 2, 2]]
    """

    length: int
    alphabet: str | None = None
    missing: str = "refuse"

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= 64:
            raise ParameterError(f"Words have 1 to 64 symbols here, not {self.length}; longer ones are cut.")
        if self.alphabet is not None and (
            not isinstance(self.alphabet, str)
            or not 2 <= len(self.alphabet) <= 1000
            or len(set(self.alphabet)) < len(self.alphabet)
            or any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in self.alphabet)
        ):
            raise ParameterError("alphabet= is a text of 2 to 1,000 characters, each once; leave it out for any text.")
        if self.missing not in _FATES and (not isinstance(self.missing, str) or self._spell(self.missing) is None):
            raise ParameterError("missing= must be 'refuse', 'random' or a word of the task's alphabet.")

    @property
    def count(self) -> int:
        """Symbols, the end among them."""
        return 256 if self.alphabet is None else len(self.alphabet) + 1

    @cached_property
    def _places(self) -> dict[str, int]:
        return {sign: place for place, sign in enumerate(self.alphabet or "", start=1)}

    def _spell(self, word: object) -> list[int] | None:
        if not isinstance(word, str) or not word or "\0" in word:
            return None
        if self.alphabet is not None:
            kept = word[: self.length]
            return [self._places[sign] for sign in kept] if all(sign in self._places for sign in kept) else None
        try:
            raw = word.encode()
        except UnicodeEncodeError:  # lone surrogates have no bytes
            return None
        return list(raw[: self.length].decode("utf-8", "ignore").encode()) or None  # cut between characters

    def symbols(self, words: Sequence[object] | np.ndarray) -> Integers:
        """One row a word, those that cannot be spelled replaced by their fate."""
        found = [self._spell(word) for word in (words.tolist() if isinstance(words, np.ndarray) else words)]
        outside = np.array([word is None for word in found], dtype=np.bool_)
        if self.missing == "refuse" and outside.any():
            raise ValueRefused(_FOREIGN)
        fate = self._spell(self.missing) if self.missing not in _FATES else [0]
        flat = [(word or fate or [0]) + [0] * self.length for word in found]
        rows = np.array([row[: self.length] for row in flat], dtype=np.int64).reshape(len(found), self.length)
        if self.missing == "random":  # drawn for everybody, so that the work does not tell who was outside
            drawn = uniform(self.count - 1, rows.size).reshape(rows.shape) + 1
            return np.where(outside[:, None], drawn, rows)
        return rows

    def text(self, symbols: Integers) -> str:
        """The word of one row."""
        kept = [int(symbol) for symbol in symbols if symbol]
        if self.alphabet is not None:
            return "".join(self.alphabet[symbol - 1] for symbol in kept)
        return bytes(kept).decode("utf-8", "replace")

    @property
    def width(self) -> int:
        """Bits of a symbol."""
        return (self.count - 1).bit_length()

    @property
    def bits(self) -> int:
        """Bits of a whole word, the first symbol's highest one first."""
        return self.length * self.width

    def cut(self, symbols: Integers, bits: int) -> Integers:
        """The words with all but their first ``bits`` bits cleared."""
        kept = np.clip(bits - self.width * np.arange(self.length), 0, self.width)
        return symbols >> (self.width - kept) << (self.width - kept)

    def extend(self, prefixes: Integers, before: int, after: int) -> Integers:
        """Every prefix of ``before`` bits with all that may follow up to ``after`` bits; behind the end, only the end."""
        following = np.arange(2 ** (after - before))
        added = np.zeros((following.size, self.length), dtype=np.int64)
        for bit in range(before, after):
            place, lower = divmod(bit, self.width)
            added[:, place] |= (following >> (after - 1 - bit) & 1) << (self.width - 1 - lower)
        grown = (prefixes[:, None, :] | added[None, :, :]).reshape(-1, self.length)
        spelled = (grown < self.count).all(axis=1)
        known = after // self.width  # whole symbols; no word is empty, and nothing stands behind the end
        if known:
            spelled &= grown[:, 0] > 0
        for place in range(min(known, self.length - 1)):
            spelled &= (grown[:, place] > 0) | (grown[:, place + 1] == 0)
        return grown[spelled]

    def is_word(self, symbols: Integers) -> bool:
        """Whether anybody's word is spelled like this: bytes must be UTF-8."""
        try:
            return self.alphabet is not None or bool(bytes(symbols.tolist()).rstrip(b"\0").decode())
        except UnicodeDecodeError:
            return False
