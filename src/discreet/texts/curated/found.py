"""The verb ``vocabulary``: which words, and which runs of words, enough people share; bought by private set union.

Words come first, and runs of n words are looked for among those whose first and last n - 1 words were found before, which costs
nothing to know. Every length has the same share of the cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.gate import Reservation
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.mechanisms.rows.block import Block, Reader
from discreet.mechanisms.rows.sets import Owned
from discreet.mechanisms.set_union import SetUnion, weigh
from discreet.plan.cost import Cost
from discreet.privacy import Privacy, approximate, zcdp
from discreet.schema.sensitivity import Neighbours
from discreet.texts.curated.request import Asked, Documents, Offer, Paid, State, settle
from discreet.texts.tokens import Tokenizer
from discreet.texts.vocabulary import Vocabulary

_LONGEST = 5


@dataclass(frozen=True)
class FoundWords:
    """Words that enough people share, and runs of them (``phrases``), each in the order of the alphabet."""

    words: tuple[str, ...]
    phrases: tuple[str, ...]
    tokenizer: Tokenizer
    paid: Paid

    @property
    def privacy(self) -> Privacy:
        """What was spent on them: for one person, or row, with all of their words."""
        return self.paid.privacy

    def vocabulary(self, unknown: str = "mark") -> Vocabulary:
        """The words as a public vocabulary."""
        listed = [word for word in self.words if word not in self.tokenizer.marks]
        if len(listed) < 2:
            raise ParameterError("Fewer than two words were found, which make no vocabulary; pay more, or use a public one.")
        return Vocabulary(listed, tokenizer=self.tokenizer, unknown=unknown)

    def __len__(self) -> int:
        return len(self.words) + len(self.phrases)

    def __str__(self) -> str:
        said = f"{len(self.words):,} words" + (f" and {len(self.phrases):,} phrases" if self.phrases else "")
        some = ", ".join([*self.words[:8], *self.phrases[:4]])
        again = " Asked before: free." if self.paid.repeated else ""
        return f"{said} that enough people share ({some}, ...); paid {self.paid.cost}.{again} {self.paid.left}".strip()


@called_as('"notes", epsilon=1')
def vocabulary(
    rows: Question,
    column: str,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    delta: Number | None = None,
    words: int = 20,
    ngrams: int = 1,
    tokenizer: Tokenizer | None = None,
) -> FoundWords | Offer[FoundWords]:
    """Words of a column of texts that enough people share; with ``ngrams=2`` pairs of words that follow each other, too.

    At most ``words`` distinct ones of each person count, at every length. It needs a budget with a delta, of which it takes a
    share (``delta=``): with that chance somebody's own word is shown.
    """
    longest = whole("ngrams", ngrams)
    if longest > _LONGEST:
        raise ParameterError(f"Runs of at most {_LONGEST} words are looked for; write ngrams=2.")
    if rows.desk.budget.kind == "pure" or (
        rows.desk.budget.kind == "concentrated" and not rows.desk.budget.leaks and delta is None
    ):
        raise ParameterError(
            "Which words people have can be shown only at a delta, and this budget has none; open a Budget(epsilon=..., "
            "delta=...), or count the words of a public vocabulary: word_counts(column, dp.texts.Vocabulary.english(5000))."
        )
    return settle(_Union(Documents.of(rows, column, words, tokenizer), longest), epsilon, rho, delta)


@dataclass(frozen=True, eq=False)
class _Union(Asked[FoundWords]):
    documents: Documents
    longest: int
    kind = "words that people share"

    @property
    def facts(self) -> Mapping[str, object]:
        return {"ngrams": self.longest}

    def reserve(self, share: Cost) -> Privacy:
        return zcdp(share.amount) + approximate(0, share.delta)

    def told(self, share: Cost) -> Mapping[str, object]:
        return {"delta": str(share.named)}

    def _union(self, share: Cost) -> SetUnion:
        part = Fraction(1, self.longest)
        neighbours: Neighbours = "replace" if self.documents.replaced else "add-remove"
        return SetUnion(rho=share.amount * part, delta=share.delta * part, items=self.documents.words, neighbours=neighbours)

    def measure(self, read: Reader, reserved: Reservation, share: Cost) -> State:
        union, key = self._union(share), reserved.salt.encode()
        found: list[list[str]] = []
        for length in range(1, self.longest + 1):
            known: list[str] = []
            within = frozenset(found[-1]) if found else None
            for one in union.rounds:
                weights = weigh(read(), _Runs(self.documents, length, within), union.items, known, key)
                known += reserved.release(one, weights)
            found.append(sorted(known))
        return {"found": found}

    def conclude(self, state: State, paid: Paid) -> FoundWords:
        words, *phrases = state["found"]
        return FoundWords(tuple(words), tuple(one for each in phrases for one in each), self.documents.tokenizer, paid)

    def foresee(self, share: Cost) -> list[str]:
        union = self._union(share)
        return [
            f"At most {self.documents.words} distinct words of a person count; a word is {union.describe()}.",
            f"Somebody's own word is shown with a chance of at most {float(share.delta):.2g}.",
        ]


@dataclass(frozen=True)
class _Runs:
    """Runs of so many words, of which both shorter runs are among those that are known (``within``)."""

    documents: Documents
    length: int
    within: frozenset[str] | None

    def __call__(self, block: Block) -> Owned:
        if self.within is None:
            return self.documents.owned(block)
        items: list[str] = []
        rows: list[int] = []
        for row, tokens in enumerate(self.documents.tokens(block)):
            runs = [" ".join(tokens[i : i + self.length - 1]) for i in range(len(tokens) - self.length + 2)]
            last = [tokens[i + self.length - 1] for i in range(len(runs) - 1)]
            joined = [f"{runs[i]} {last[i]}" for i in range(len(last)) if runs[i] in self.within and runs[i + 1] in self.within]
            items += joined
            rows += [row] * len(joined)
        return items, np.array(rows, dtype=np.int64)
