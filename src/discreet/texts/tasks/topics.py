"""Topics: what a whole document is about, by randomized response or subset selection.

**Guarantee.** For the whole *document*: any two texts, of any length and content, give the same report up to e^epsilon. That is
the strongest honest release of a text: it costs epsilon once, where word by word substitution costs epsilon for every word.

The topic of a text is found on the person's own device by a public rule: the topic with the most words of its list in the text,
the first of several, or ``otherwise`` where there are none. (Whose labels come from people or from a public classifier asks
``dp.local.Frequencies(labels, epsilon=...)``, which is the same without the rule.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.local.tasks.frequencies import Frequencies
from discreet.texts.tokens import Tokenizer
from discreet.texts.vocabulary import check_texts

_LISTS = 'Topics({"money": ["cash", "prize"], "love": ["miss", "kiss"]}, epsilon=1)'


@called_as('{"money": ["cash", "prize"], "love": ["miss", "kiss"]}, 1')
@dataclass(frozen=True, init=False)
class Topics(Frequencies):
    """How common each topic is among people's documents, from reports that are each epsilon-private for the whole document.

    ``topics`` maps a topic's name to its public words; one word may belong to several.

    >>> about = Topics({"money": ["cash", "prize"], "love": ["miss", "kiss"]}, epsilon=2)
    >>> about.topic("Win a PRIZE, cash!"), about.topic("see you at 5"), about.protocol.name
    ('money', 'other', 'k-ary')
    """

    lists: tuple[tuple[str, tuple[str, ...]], ...]
    tokenizer: Tokenizer
    kind: ClassVar[str] = "topics"
    takes_texts: ClassVar[bool] = True

    def __init__(
        self,
        topics: Mapping[str, Sequence[str]],
        epsilon: Number,
        *,
        otherwise: str = "other",
        protocol: str | None = None,
        max_bits: int = 1024,
        tokenizer: Tokenizer | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        rules = Tokenizer() if tokenizer is None else tokenizer
        lists = _read_lists(topics, rules)
        if not isinstance(otherwise, str) or otherwise in dict(lists):
            raise ParameterError("otherwise= names the topic of texts without any listed word; it is none of the others.")
        names = [name for name, _ in lists]
        super().__init__(
            [*names, otherwise],
            epsilon,
            protocol=protocol,
            max_bits=max_bits,
            missing=otherwise,
            question=question,
            period=period,
        )
        self._add(lists, rules)

    def _add(self, lists: tuple[tuple[str, tuple[str, ...]], ...], rules: Tokenizer) -> None:
        object.__setattr__(self, "lists", lists)
        object.__setattr__(self, "tokenizer", rules)

    @property
    def facts(self) -> dict[str, object]:
        rule = {"lists": [[name, list(words)] for name, words in self.lists], "tokenizer": self.tokenizer.facts}
        return {**super().facts, "rule": rule}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Topics:
        made = super().from_facts(facts)
        assert isinstance(made, Topics)
        rule: dict[str, object] = facts["rule"]  # type: ignore[assignment]
        rules = Tokenizer.from_facts(rule["tokenizer"])  # type: ignore[arg-type]
        pairs: list[list[object]] = rule["lists"]  # type: ignore[assignment]
        lists = _read_lists({str(name): words for name, words in pairs}, rules)
        names = [name for name, _ in lists]
        if made.domain.items is None or list(made.domain.items[:-1]) != names or made.domain.missing != made.domain.items[-1]:
            raise ParameterError("The topics of this task are not those that its lists name.")
        made._add(lists, rules)
        return made

    @cached_property
    def _by_word(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, (_, words) in enumerate(self.lists):
            for word in words:
                found.setdefault(word, []).append(number)
        return found

    def topic(self, text: str) -> str:
        """What one text is about, by the rule. Private: it is what the report hides."""
        items = self.domain.items
        assert items is not None
        return str(items[self._number(text)])

    def _number(self, text: str) -> int:
        hits = [0] * len(self.lists)
        for word in self.tokenizer.tokens(text):
            for number in self._by_word.get(word, ()):
                hits[number] += 1
        most = max(hits)
        return hits.index(most) if most else len(hits)

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """The topic of each text."""
        return np.array([self._number(text) for text in check_texts(values)], dtype=np.int64)


def _read_lists(topics: object, rules: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names and words of the topics, each word one that the tokenizer can find."""
    if not isinstance(rules, Tokenizer):
        raise ParameterError("tokenizer= is a Tokenizer; write tokenizer=Tokenizer(case='keep').")
    if not isinstance(topics, Mapping) or not topics:
        raise ParameterError(f"Topics have names and public words; write {_LISTS}.")
    for name, words in topics.items():
        named = isinstance(name, str) and isinstance(words, (list, tuple)) and words
        if not named or not all(isinstance(word, str) and rules.tokens(word) == [word] for word in words):
            raise ParameterError(
                f"Every topic has a name and at least one word, each a word by the tokenizer's rules; write {_LISTS}."
            )
    return tuple((name, tuple(words)) for name, words in topics.items())
