"""Phrases: the most common words, or runs of words, when nobody has a list: one phrase a person, found by heavy hitters.

**Guarantee.** For the whole *person*: any two texts give the same report up to e^epsilon. One phrase of the text is drawn
uniformly and spelled; ``local/tasks/heavy_hitters.py`` has the theorems about the rest: a phrase that nobody has is reported in
at most 5 % of all surveys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.tasks.heavy_hitters import HeavyHitters
from discreet.texts.tasks.shares import draw_one
from discreet.texts.tokens import Tokenizer
from discreet.texts.vocabulary import check_texts

LETTERS = "abcdefghijklmnopqrstuvwxyz' "
_MOST_WORDS = 8


@called_as("4")
@dataclass(frozen=True, init=False)
class Phrases(HeavyHitters):
    """The most common words (or runs of ``words`` words) of people's texts, from reports that are epsilon-private for the person.

    Phrases are cut to ``length`` characters of the ``alphabet`` (None: to bytes of any text). A text without such a phrase, or
    with one that cannot be spelled, tells about a random one.

    >>> said = Phrases(epsilon=4, words=2, length=8)
    >>> said.phrases("Free call! Call NOW")
    ['free call', 'call call', 'call now']
    """

    words: int
    tokenizer: Tokenizer
    kind: ClassVar[str] = "phrases"
    takes_texts: ClassVar[bool] = True
    version: ClassVar[int] = 1

    def __init__(
        self,
        epsilon: Number,
        *,
        words: int = 1,
        length: int = 10,
        alphabet: str | None = LETTERS,
        most: int = 100,
        tokenizer: Tokenizer | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        super().__init__(epsilon, length=length, alphabet=alphabet, most=most, missing="random", question=question, period=period)
        self._add(words, Tokenizer() if tokenizer is None else tokenizer)

    def _add(self, words: object, tokenizer: object) -> None:
        number = whole("words", words)
        if number > _MOST_WORDS:
            raise ParameterError(f"A phrase has at most {_MOST_WORDS} words, not {number}.")
        if not isinstance(tokenizer, Tokenizer):
            raise ParameterError("tokenizer= is a Tokenizer; write tokenizer=Tokenizer(case='keep').")
        object.__setattr__(self, "words", number)
        object.__setattr__(self, "tokenizer", tokenizer)

    @property
    def facts(self) -> dict[str, object]:
        facts = super().facts
        return {**facts, "phrase": {"words": self.words, "tokenizer": self.tokenizer.facts}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Phrases:
        made = super().from_facts(facts)
        assert isinstance(made, Phrases)
        if made.spelling.missing != "random":
            raise ParameterError("A text without a phrase tells about a random one; this task says otherwise.")
        phrase: dict[str, object] = facts["phrase"]  # type: ignore[assignment]
        made._add(phrase["words"], Tokenizer.from_facts(phrase["tokenizer"]))  # type: ignore[arg-type]
        return made

    def phrases(self, text: str) -> list[str]:
        """All phrases of a text, in order."""
        found = self.tokenizer.tokens(text)
        return [" ".join(found[start : start + self.words]) for start in range(len(found) - self.words + 1)]

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """One phrase of each text, drawn uniformly, as the keys of its prefixes."""
        listed = [self.phrases(text) for text in check_texts(values)]
        ends = np.cumsum([len(phrases) for phrases in listed], dtype=np.int64)
        flat = [phrase for phrases in listed for phrase in phrases]
        chosen = draw_one(np.arange(len(flat)), ends, len(flat))
        return super().codes([*map([*flat, ""].__getitem__, chosen.tolist())])
