"""Substitute: whole documents, released word by word under plausible deniability, with what that promises and what it costs.

The guarantee is for a *word*; a document has the sum over its public length, and that is what a client's ledger pays. For metric
privacy a word's guarantee is epsilon times a distance, and what is paid is the worst of them, epsilon times the diameter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, NoReturn

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.display import html_table, text_table
from discreet.errors import ParameterError
from discreet.exact import up, whole
from discreet.local.task import Task, read_epsilon
from discreet.texts.distances import DISTANCES, Distance, Tree
from discreet.texts.priors import read_prior
from discreet.texts.tasks.substitution import Substitution
from discreet.texts.vocabulary import Vocabulary, check_texts, check_vocabulary

_LONGEST = 10_000
_NOT_COUNTED = (
    "Substituted documents are there to be read; nothing is estimated from them. Ask WordShares(...) for the shares of words."
)
_SHOWN = 5


@dataclass(frozen=True)
class Terms:
    """What a substitution promises, and what it leaves: for a word, for a document; what is kept, what is guessed. Print it."""

    law: str
    epsilon: float
    """Of a word; of a unit of distance, for the metric law."""
    length: int
    word: str
    """The guarantee of one word, in a sentence."""
    document: float
    """The epsilon of a whole document: the sum over its length (of the worst words, for the metric law)."""
    worst_word: float
    """The largest pure epsilon between any two words."""
    kept: float
    """With which probability a word stays, on average over the prior."""
    kept_least: float
    kept_most: float
    guessed: float
    """How often the best guess at a word is right, by the prior and the substitute (Bayes)."""
    blind: float
    """How often it is right by the prior alone."""

    def _rows(self) -> list[list[str]]:
        spread = f" ({100 * self.kept_least:.2g} to {100 * self.kept_most:.2g} %)" if self.kept_least < self.kept_most else ""
        return [
            ["law", self.law],
            ["a word", self.word],
            ["a document", f"of {self.length:,} words: epsilon {self.document:.6g}, the sum over its words"],
            ["order", "as it is: each place of a document shows the substitute of its own word"],
            ["kept", f"a word stays with probability {100 * self.kept:.3g} %{spread}"],
            [
                "guessed",
                f"by the best attacker with the prior: {100 * self.guessed:.3g} % of words (blindly {100 * self.blind:.3g} %)",
            ],
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name:<14} {text}" for name, text in self._rows())

    def _repr_html_(self) -> str:
        return html_table(["", ""], self._rows())


@dataclass(frozen=True)
class Substituted:
    """Released documents, with their terms. Public, and all that leaves."""

    documents: tuple[str, ...]
    terms: Terms
    task: str
    """The hash of the task that they belong to."""

    def to_json(self) -> str:
        """Documents, terms and the task's hash."""
        facts = {"discreet": "substituted documents", "version": 1, "task": self.task, "terms": asdict(self.terms)}
        return json.dumps({**facts, "documents": list(self.documents)}, ensure_ascii=False)

    def __str__(self) -> str:
        some = text_table(["document"], [[text] for text in self.documents[:_SHOWN]])
        more = [f"and {len(self.documents) - _SHOWN:,} more"] if len(self.documents) > _SHOWN else []
        return "\n".join([some, *more, "", str(self.terms)])


@called_as('["yes", "no", "maybe"], 2, length=10')
@dataclass(frozen=True, init=False)
class Substitute(Task):
    """Documents whose words are each replaced by chance, by one of three laws.

    ``epsilon`` is for every word. Without a tree or a distance the law is k-ary: all other words are alike. With ``tree=`` it is
    the exponential mechanism over the steps of a tree of word classes. Both are local privacy of epsilon a word. With
    ``distance=`` it is metric privacy: two words may be told apart by epsilon times their distance, at worst epsilon times the
    diameter, which is no local privacy of epsilon. Documents are cut or filled up to ``length`` words, and cost the sum over all
    of them.

    >>> chat = Substitute(["yes", "no", "maybe"], epsilon=4, length=3)
    >>> float(chat.epsilon), len(chat.release("yes, no!").documents[0].split()) <= 3
    (12.0, True)
    """

    vocabulary: Vocabulary
    protocol: Substitution
    question: str
    period: str
    kind: ClassVar[str] = "substitution"
    takes_texts: ClassVar[bool] = True

    def __init__(
        self,
        vocabulary: Vocabulary,
        epsilon: Number,
        *,
        length: int,
        tree: Tree | None = None,
        distance: Distance | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        words, price, law = check_vocabulary(vocabulary), read_epsilon(epsilon), "k-ary"
        used: Distance = Tree.flat(words)
        if tree is not None and distance is not None:
            raise ParameterError("tree= is the exponential mechanism over a tree, distance= metric privacy; give one of them.")
        if tree is not None or distance is not None:
            law, used = ("tree", tree) if tree is not None else ("metric", distance)  # type: ignore[assignment]
            if not isinstance(used, Tree if law == "tree" else Distance):
                raise ParameterError(
                    "tree= is a Tree, and distance= a Tree, Vectors or Distances; write tree=Tree.brown(vocabulary)."
                )
            if used.vocabulary != words:
                raise ParameterError(f"{law}= is about another vocabulary; make both of the same one.")
        self._fill(question, period, vocabulary=words, protocol=Substitution.of(law, used, price, _read_length(length)))

    @property
    def facts(self) -> dict[str, object]:
        made = self.protocol
        drawn = {"name": made.name, "law": made.law, "each": str(made.each), "length": made.length, "rate": str(made.rate)}
        return {"vocabulary": self.vocabulary.facts, "distance": made.distance.facts, "protocol": drawn}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Substitute:
        vocabulary = Vocabulary.from_facts(facts["vocabulary"])  # type: ignore[arg-type]
        described: dict[str, object] = facts["distance"]  # type: ignore[assignment]
        distance = DISTANCES[str(described["kind"])].from_facts(vocabulary, described)
        protocol: dict[str, object] = facts["protocol"]  # type: ignore[assignment]
        law, each, length = str(protocol["law"]), read_epsilon(Fraction(str(protocol["each"]))), protocol["length"]
        flat = isinstance(distance, Tree) and distance == Tree.flat(vocabulary)
        if law not in ("tree", "metric") and not (law == "k-ary" and flat):
            raise ParameterError("Words are substituted by the laws k-ary, tree and metric; is the task newer than discreet?")
        made = cls.__new__(cls)
        drawn = Substitution.of(law, distance, each, _read_length(length))
        made._fill(facts["question"], facts["period"], vocabulary=vocabulary, protocol=drawn)
        return made

    @property
    def length(self) -> int:
        """How many words a document has, whatever was written."""
        return self.protocol.length

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """One row a document."""
        return self.vocabulary.documents(values, self.length)  # type: ignore[arg-type]

    def release(self, text: str | Sequence[str]) -> Substituted:
        """The substituted document, or one for each of a list. Every call costs each document its whole epsilon again."""
        rows = self.protocol.randomize(self.codes([text] if isinstance(text, str) else check_texts(text)))
        return Substituted(tuple(self.vocabulary.text(row) for row in rows.tolist()), self.terms, self.hash)

    @cached_property
    def terms(self) -> Terms:
        """What it promises and leaves, for an attacker with the public prior of English words."""
        return self.terms_for(None)

    def terms_for(self, prior: object) -> Terms:
        """The same for another prior: a share for every item, or a dict from word to share."""
        shares, made = read_prior(self.vocabulary, prior), self.protocol
        each, diameter = up(made.each), made.distance.diameter
        worst = made.each * diameter if made.law == "metric" else made.each
        local = f"local privacy of epsilon {each:.6g}: any two words are as likely up to a factor of e^{each:.6g}"
        metric = (
            f"metric privacy of {each:.6g} a unit of distance (not local privacy of {each:.6g}): words at distance d "
            f"are as likely up to e^({each:.6g} d), at worst (distance {float(diameter):.6g}) a pure epsilon of {up(worst):.6g}"
        )
        return Terms(
            law=made.law,
            epsilon=each,
            length=made.length,
            word=metric if made.law == "metric" else local,
            document=up(made.epsilon),
            worst_word=up(worst),
            kept=float(made.kept @ shares),
            kept_least=float(made.kept.min()),
            kept_most=float(made.kept.max()),
            guessed=made.guessed(shares),
            blind=float(shares.max()),
        )

    def collector(self, candidates: Sequence[str] | None = None) -> NoReturn:  # noqa: ARG002
        raise ParameterError(_NOT_COUNTED)

    def plan(self, n: int) -> NoReturn:  # noqa: ARG002
        raise ParameterError("Nothing is estimated from substituted documents; what is left of them stands in the task's terms.")

    def __str__(self) -> str:
        return str(self.terms)

    def _repr_html_(self) -> str:
        return self.terms._repr_html_()


def _read_length(length: object) -> int:
    number = whole("length", length)
    if number > _LONGEST:
        raise ParameterError(
            f"length must be at most {_LONGEST:,} words, not {number:,}: a document costs the sum over all of them."
        )
    return number
