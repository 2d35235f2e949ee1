"""The verb ``classify``: which class a text speaks like, by naive Bayes on one noisy table of classes and words.

A document is the set of its words in a public vocabulary; what is added up of it, and what the table says, is
``analysis.naive_bayes``, as for models of counts. One release pays for all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.analysis.naive_bayes import Speech, divide_norm, scale
from discreet.arrays import Number, Reals
from discreet.calls import called_as
from discreet.curator.gate import Letting, Reservation
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.exact import nearest, shown, whole
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.rows.block import MISSING, Block, Reader
from discreet.mechanisms.rows.sums import Ball, Sparse, add_up
from discreet.plan.cost import Cost
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.statistics import Axis
from discreet.privacy import Privacy
from discreet.texts.curated.request import Asked, Documents, Offer, Paid, State, settle
from discreet.texts.vocabulary import Vocabulary, check_vocabulary

_LABEL = "y"
_MOST = 2**22  # numbers of the table


@dataclass(frozen=True, eq=False)
class TextClassifier:
    """What was learnt: how much each word speaks for each class."""

    vocabulary: Vocabulary
    classes: tuple[object, ...]
    speech: Speech
    norm: int
    paid: Paid

    @property
    def privacy(self) -> Privacy:
        return self.paid.privacy

    @property
    def priors(self) -> Reals:
        """The share of every class."""
        return self.speech.priors

    @property
    def weights(self) -> Reals:
        """How much each word speaks for each class: classes x words."""
        return self.speech.weights

    def scores(self, texts: Sequence[str]) -> Reals:
        """Log-likelihoods of every class, a line a text."""
        lines = np.zeros((len(texts), len(self.vocabulary.words)))
        first = self.vocabulary.size - len(self.vocabulary.words)
        for line, text in zip(lines, texts, strict=True):
            codes = self.vocabulary.encode(text) - first
            line[codes[codes >= 0]] = 1.0
        return self.speech.scores(scale(lines, self.norm))

    def predict_proba(self, texts: Sequence[str]) -> Reals:
        """Chances of every class, a line a text."""
        scores = self.scores(texts)
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def predict(self, texts: Sequence[str]) -> list[object]:
        """The likeliest class of each text."""
        return [self.classes[i] for i in self.scores(texts).argmax(axis=1)]

    def speaking(self, of: object, count: int = 10) -> list[str]:
        """The words that speak most for a class."""
        if of not in self.classes:
            raise ParameterError(f"{shown(of)} is none of the classes; they are {', '.join(map(str, self.classes))}.")
        order = np.argsort(-self.speech.weights[self.classes.index(of)], kind="stable")
        return [self.vocabulary.words[i] for i in order[: whole("count", count)]]

    def __str__(self) -> str:
        lines = [f"{of}: {', '.join(self.speaking(of, 6))}" for of in self.classes]
        return "\n".join([*lines, f"paid {self.paid.cost}. {self.paid.left}".rstrip()])

    __repr__ = __str__


@called_as('"notes", "ward", dp.texts.Vocabulary.english(2000), epsilon=1')
def classify(
    rows: Question,
    column: str,
    target: str,
    vocabulary: object,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
) -> TextClassifier | Offer[TextClassifier]:
    """A classifier of texts: which value of ``target``, a declared category or truth value, a text speaks like."""
    listed = check_vocabulary(vocabulary)
    of = rows.read(target)
    facts = {name: facts_of_column(one) for name, one in rows.facts.columns.items()}
    known = infer(of, facts)
    values: tuple[Any, ...] = (False, True) if known.kind == "boolean" else tuple(known.values or ())
    if len(values) < 2:
        raise ParameterError(f"{shown(target)} has no list of classes; declare it as dp.category(...) or dp.boolean().")
    if len(values) * (1 + len(listed.words)) > _MOST:
        raise ParameterError(f"{len(values):,} classes of {len(listed.words):,} words are too many; use fewer words.")
    beside = {_LABEL: Axis(of, len(values), values=values)}
    documents = Documents.of(rows, column, 1, listed.tokenizer, beside)
    return settle(_Bayes(documents, listed, str(of), values), epsilon, rho, None)


@dataclass(frozen=True, eq=False)
class _Bayes(Asked[TextClassifier]):
    documents: Documents
    vocabulary: Vocabulary
    target: str
    values: tuple[Any, ...]
    kind = "classifier of texts"

    @property
    def facts(self) -> Mapping[str, object]:
        return {"vocabulary": self.vocabulary.hash, "target": self.target, "classes": [str(one) for one in self.values]}

    def _noise(self, share: Cost, ball: Ball) -> Gaussian | Laplace:
        neighbours = self.documents.reading.plan.schema.unit.neighbours
        far = ball.sensitivity(neighbours)
        if share.epsilon is not None:
            return Laplace(sensitivity=far, epsilon=share.amount, neighbours=neighbours)
        return Gaussian(sensitivity=far, rho=share.amount, neighbours=neighbours)

    def _parts(self, share: Cost) -> tuple[float, float, Ball]:
        """What a document and its words have of the norm, and the ball."""
        ball = Ball.of(1, 2 if share.epsilon is None else 1)
        return (*divide_norm(ball.order), ball)

    def measure(self, read: Reader, reserved: Reservation, share: Cost) -> State:
        document, words, ball = self._parts(share)
        width = 1 + len(self.vocabulary.words)
        places = {word: place + 1 for place, word in enumerate(self.vocabulary.words)}

        def of(block: Block) -> Sparse:
            labels = np.asarray(block[_LABEL], dtype=np.int64)
            rows, cells, values = [], [], []
            for row, tokens in enumerate(self.documents.tokens(block)):
                if labels[row] == MISSING:
                    continue
                found = sorted({places[token] for token in tokens if token in places})
                size = max(1.0, len(found) if ball.order == 1 else math.sqrt(len(found)))
                start = int(labels[row]) * width
                cells += [start, *(start + place for place in found)]
                values += [document, *[words / size] * len(found)]
                rows += [row] * (1 + len(found))
            where = np.array(cells, dtype=np.int64)
            return Sparse(np.array(rows, dtype=np.int64), where, np.array(values), len(self.values) * width, block.height)

        total = add_up(read(), of, ball, len(self.values) * width)
        noise = self._noise(share, ball)
        noisy = reserved.release(Letting(noise), total.value)
        return {"sums": noisy, "norm": ball.order, "error": math.sqrt(noise.variance) * nearest(ball.step)}

    def conclude(self, state: State, paid: Paid) -> TextClassifier:
        norm, spread = int(state["norm"]), float(state["error"])
        table = np.array(state["sums"], dtype=np.float64).reshape(len(self.values), -1) * nearest(Ball.of(1).step)
        return TextClassifier(self.vocabulary, self.values, Speech.of(table, norm, spread), norm, paid)

    def foresee(self, share: Cost) -> list[str]:
        document, _, ball = self._parts(share)
        spread = math.sqrt(self._noise(share, ball).variance) * nearest(ball.step) / document
        return [f"The number of documents of a class is off by about {2 * spread:,.0f} or less, 95 times of 100."]
