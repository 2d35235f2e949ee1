"""The verbs ``word_counts`` and ``cooccurrences``: how many people use each word of a public vocabulary, and each two together.

One release each: counts of units by word, or by pair of words, of which one unit moves no more than its words, or its pairs.
Everything else follows for free: shares with intervals, weights of words in documents (tf-idf), and vectors of words, from what
is positive in the pointwise mutual information of pairs (Levy and Goldberg 2014), which noise is first taken out of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.arrays import Number, Reals
from discreet.calls import called_as
from discreet.curator.gate import Letting, Reservation
from discreet.curator.question import Question
from discreet.display import figure, text_table
from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.mechanisms import Linear
from discreet.mechanisms.rows.block import Block, Reader
from discreet.mechanisms.rows.sets import Owned, count_items, count_pairs
from discreet.plan.cost import Cost
from discreet.texts.curated.request import Asked, Documents, Offer, Paid, State, counting, settle
from discreet.texts.vocabulary import Vocabulary, check_vocabulary

_MOST_PAIRS = 2**20
_ROWS = 12  # of a table that is printed
_LONGEST = 5  # words of a phrase


@dataclass(frozen=True, eq=False)
class WordCounts:
    """How many people use each word, noisy. ``total`` is how many there are, noisy too."""

    vocabulary: Vocabulary
    phrases: tuple[str, ...]
    counts: Reals  # of words, and then of phrases
    total: float
    standard_error: float
    paid: Paid

    @property
    def items(self) -> tuple[str, ...]:
        """Words, and then phrases."""
        return (*self.vocabulary.words, *self.phrases)

    def __getitem__(self, word: str) -> float:
        return float(self.counts[self._place(word)])

    def _place(self, word: str) -> int:
        if word not in self._places:
            raise ParameterError("This word or phrase was not counted; see .items.")
        return self._places[word]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item: place for place, item in enumerate(self.items)}

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Of every count, by itself; normal noise, which Laplace noise of a pure budget does not exceed at 95 %."""
        wanted = float(probability("confidence", confidence, zero=False, hint="a number such as 0.95"))
        reach = max(NormalDist().inv_cdf((1 + wanted) / 2), -math.log(1 - wanted) / math.sqrt(2)) * self.standard_error
        return np.maximum(self.counts - reach, 0.0), np.maximum(self.counts + reach, 0.0)

    @cached_property
    def idf(self) -> Reals:
        """The inverse document frequency of every word: ln of how many people there are for one who uses it; counts that noise
        explains are taken to be as large as noise."""
        most = max(self.total, 1.0)
        return np.log(most / np.clip(self.counts, min(2 * self.standard_error, most), most))

    def weights(self, texts: Sequence[str]) -> Reals:
        """tf-idf: how often each word stands in each text, by how rare it is; lines of length 1."""
        first = self.vocabulary.size - len(self.vocabulary.words)
        lines = np.zeros((len(texts), len(self.vocabulary.words)))
        for line, text in zip(lines, texts, strict=True):
            codes = self.vocabulary.encode(text) - first
            np.add.at(line, codes[codes >= 0], 1.0)
        lines *= self.idf[: len(self.vocabulary.words)]
        sizes = np.sqrt((lines**2).sum(axis=1, keepdims=True))
        return lines / np.where(sizes > 0, sizes, 1.0)

    def to_pandas(self) -> Any:
        """word, n, n_lower, n_upper."""
        import pandas as pd

        low, high = self.interval()
        return pd.DataFrame({"word": self.items, "n": self.counts, "n_lower": low, "n_upper": high})

    def __str__(self) -> str:
        order = np.argsort(-self.counts, kind="stable")[:_ROWS]
        low, high = self.interval()
        items = self.items
        lines = [[items[i], figure(self.counts[i]), f"{low[i]:,.0f} to {high[i]:,.0f}"] for i in order]
        rest = len(self.counts) - len(order)
        table = text_table(["word", "people", "95 %"], lines, "<>>")
        more = f"\n... and {rest:,} more" if rest > 0 else ""
        return f"{table}{more}\nabout {self.total:,.0f} people in all; paid {self.paid.cost}. {self.paid.left}".rstrip()

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Cooccurrences:
    """How many people use two words both, noisy: ``counts`` is symmetric, with nothing on its diagonal."""

    vocabulary: Vocabulary
    counts: Reals
    standard_error: float
    paid: Paid

    def vectors(self, dimensions: int = 50) -> Reals:
        """A vector for every word: the leading directions of its positive pointwise mutual information with all others. Counts
        within two standard deviations of noise count as none."""
        size = len(self.counts)
        if whole("dimensions", dimensions) > size:
            raise ParameterError(f"{size:,} words have vectors of at most {size:,} numbers; write fewer dimensions.")
        clear = np.where(self.counts > 2 * self.standard_error, self.counts, 0.0)
        rows, whole_sum = clear.sum(axis=1), max(clear.sum(), 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            information = np.log(clear * whole_sum / np.outer(rows, rows))
        values, directions = np.linalg.eigh(np.where(np.isfinite(information), np.maximum(information, 0.0), 0.0))
        chosen = np.argsort(-np.abs(values), kind="stable")[:dimensions]
        return np.asarray(directions[:, chosen] * np.sqrt(np.abs(values[chosen])))

    def nearest(self, word: str, count: int = 5, dimensions: int = 50) -> list[str]:
        """The words whose vectors point most alike."""
        if word not in self.vocabulary.words:
            raise ParameterError("This word is not in the vocabulary that was counted; see .vocabulary.words.")
        vectors = self.vectors(min(dimensions, len(self.counts)))
        sizes = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
        units = vectors / np.where(sizes > 0, sizes, 1.0)
        alike = units @ units[self.vocabulary.words.index(word)]
        order = [i for i in np.argsort(-alike, kind="stable") if self.vocabulary.words[i] != word]
        return [self.vocabulary.words[i] for i in order[: whole("count", count)]]

    def __str__(self) -> str:
        clear = int((self.counts > 2 * self.standard_error).sum() // 2)
        pairs = len(self.counts) * (len(self.counts) - 1) // 2
        return f"{pairs:,} pairs of words, {clear:,} of them clear of noise; paid {self.paid.cost}. {self.paid.left}".rstrip()

    __repr__ = __str__


@called_as('"notes", ["fever", "cough"], epsilon=0.5')
def word_counts(
    rows: Question,
    column: str,
    vocabulary: object,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    words: int = 20,
    phrases: Sequence[str] = (),
) -> WordCounts | Offer[WordCounts]:
    """How many people use each word of a public vocabulary (a list, a ``Vocabulary``, or one that was bought), and each of these
    ``phrases``, which are runs of words; at most ``words`` of both together of each person count."""
    listed = check_vocabulary(vocabulary)
    runs = _check_phrases(phrases, listed)
    return settle(_Words(Documents.of(rows, column, words, listed.tokenizer), listed, runs), epsilon, rho, None)


def _check_phrases(phrases: object, listed: Vocabulary) -> tuple[str, ...]:
    """Runs of at least two words, each once."""
    given = [None] if isinstance(phrases, str | bytes) or not isinstance(phrases, Sequence) else list(phrases)
    for one in given:
        if not isinstance(one, str) or not 2 <= len(one.split(" ")) <= _LONGEST or "" in one.split(" "):
            raise ParameterError(f'phrases= is a list of runs of 2 to {_LONGEST} words; write phrases=["sore throat"].')
    if len({*given}) < len(given) or len(given) + len(listed.words) > _MOST_PAIRS:
        raise ParameterError("A phrase is listed twice, or there are too many; list each once.")
    return tuple(str(one) for one in given)


@called_as('"notes", ["fever", "cough"], epsilon=0.5')
def cooccurrences(
    rows: Question,
    column: str,
    vocabulary: object,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    words: int = 20,
) -> Cooccurrences | Offer[Cooccurrences]:
    """How many people use each two words of a public vocabulary both; all pairs of ``words`` words of each person count."""
    listed = check_vocabulary(vocabulary)
    size = len(listed.words)
    if size < 2 or size * (size - 1) // 2 > _MOST_PAIRS:
        raise ParameterError(f"{size:,} words have {size * (size - 1) // 2:,} pairs, and at most {_MOST_PAIRS:,} are counted.")
    return settle(_Pairs(Documents.of(rows, column, words, listed.tokenizer), listed), epsilon, rho, None)


@dataclass(frozen=True, eq=False)
class _Words(Asked[WordCounts]):
    documents: Documents
    vocabulary: Vocabulary
    phrases: tuple[str, ...]
    kind = "word counts"

    @property
    def facts(self) -> Mapping[str, object]:
        return {"vocabulary": self.vocabulary.hash, "phrases": list(self.phrases)}

    def noise(self, share: Cost) -> Linear:
        size = len(self.vocabulary.words) + len(self.phrases)
        places = min(self.documents.words, size) + 1  # and the number of all
        return counting(size + 1, places, share, replaced=self.documents.replaced)

    def measure(self, read: Reader, reserved: Reservation, share: Cost) -> State:
        listed, key = (*self.vocabulary.words, *self.phrases), reserved.salt.encode()
        counts = count_items(read(), self._owned, listed, self.documents.words, key)
        noisy = reserved.release(Letting(self.noise(share)), counts)
        return {"counts": noisy, "error": math.sqrt(self.noise(share).variance)}

    def _owned(self, block: Block) -> Owned:
        """The words of every row, and its runs of as many words as phrases have."""
        lengths = sorted({one.count(" ") + 1 for one in self.phrases})
        if not lengths:
            return self.documents.owned(block)
        items: list[str] = []
        rows: list[int] = []
        for row, tokens in enumerate(self.documents.tokens(block)):
            runs = [" ".join(tokens[i : i + n]) for n in lengths for i in range(len(tokens) - n + 1)]
            items += [*tokens, *runs]
            rows += [row] * (len(tokens) + len(runs))
        return items, np.array(rows, dtype=np.int64)

    def conclude(self, state: State, paid: Paid) -> WordCounts:
        noisy = np.array(state["counts"], dtype=np.float64)
        return WordCounts(self.vocabulary, self.phrases, noisy[:-1], float(noisy[-1]), float(state["error"]), paid)

    def foresee(self, share: Cost) -> list[str]:
        return [f"Every count is off by about {self.noise(share).error():,.0f} or less, 95 times of 100."]


@dataclass(frozen=True, eq=False)
class _Pairs(Asked[Cooccurrences]):
    documents: Documents
    vocabulary: Vocabulary
    kind = "words used together"

    @property
    def facts(self) -> Mapping[str, object]:
        return {"vocabulary": self.vocabulary.hash}

    def noise(self, share: Cost) -> Linear:
        size, most = len(self.vocabulary.words), min(self.documents.words, len(self.vocabulary.words))
        return counting(size * (size - 1) // 2, max(1, most * (most - 1) // 2), share, replaced=self.documents.replaced)

    def measure(self, read: Reader, reserved: Reservation, share: Cost) -> State:
        listed, key = self.vocabulary.words, reserved.salt.encode()
        counts = count_pairs(read(), self.documents.owned, listed, self.documents.words, key)
        noisy = reserved.release(Letting(self.noise(share)), counts)
        return {"counts": noisy, "error": math.sqrt(self.noise(share).variance)}

    def conclude(self, state: State, paid: Paid) -> Cooccurrences:
        size = len(self.vocabulary.words)
        counts = np.zeros((size, size))
        counts[np.triu_indices(size, 1)] = np.array(state["counts"], dtype=np.float64)
        return Cooccurrences(self.vocabulary, counts + counts.T, float(state["error"]), paid)

    def foresee(self, share: Cost) -> list[str]:
        return [f"Every count of a pair is off by about {self.noise(share).error():,.0f} or less, 95 times of 100."]
