"""An attack on substituted words: what somebody with public knowledge gets back, and whether a document was the one released.

Nothing here breaks a promise: it is what the promise leaves. Three attackers, each the best of their kind:

- *word by word*: the most likely word given its substitute and a prior (Bayes); their success is a sum over the law.
- *in context*: the most likely word given all substitutes of the document, for a prior of words in pairs (forward and backward
  over the hidden words of the document); their success is counted on released documents.
- *membership*: whether a released document was made of a certain one, or of words of the prior; the likelihood ratio of both,
  which no test beats (Neyman, Pearson), counted on documents as the area under its curve: 0.5 is a coin, 1 certainty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.canvas import BLUE, GREEN, GREY, ORANGE, RED, finish, new_axes
from discreet.display import html_table, text_table
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.texts.priors import read_prior
from discreet.texts.tasks.substitute import Substitute
from discreet.texts.vocabulary import Vocabulary, check_texts, check_vocabulary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OWN_SHARE = 0.5  # how much a bigram model trusts its pairs, where it has seen the first word
_TINY = 1e-300
_COLOURS = (BLUE, ORANGE, GREEN, RED, GREY)


@called_as('["see you at home"], ["see", "you", "home"]')
@dataclass(frozen=True, eq=False)
class Bigrams:
    """A public model of which word follows which: pairs that were counted, half of the trust, and single words the other half."""

    vocabulary: Vocabulary
    first: Integers
    second: Integers
    chance: Reals
    """P(second | first) of every pair that was seen."""
    prior: Reals

    @classmethod
    def of(cls, texts: Sequence[str], vocabulary: Vocabulary) -> Bigrams:
        """The model of public texts. (One of the texts to be protected would be no attacker's knowledge, but the secret itself.)

        >>> model = Bigrams.of(["see you", "see you", "see it"], ["see", "you", "it"])
        >>> model.chance.tolist()
        [0.6666666666666666, 0.3333333333333333]
        """
        words = check_vocabulary(vocabulary)
        codes, ends = words.encode_all(check_texts(texts))
        same = np.ones(codes.size, dtype=np.bool_)
        same[ends[ends < codes.size]] = False  # the first word of a text follows none
        counts = np.bincount(codes, minlength=words.size)
        pairs = codes[:-1][same[1:]] * words.size + codes[1:][same[1:]]
        different, times = np.unique(pairs, return_counts=True)
        return cls._counted(words, different, times, counts + read_prior(words) + 1e-12)

    @classmethod
    def load(cls, path: str | Path, vocabulary: Vocabulary) -> Bigrams:
        """The model of a file of counts, two words and a number a line, as symspellpy has one of 243,342 English pairs."""
        words = check_vocabulary(vocabulary)
        found: dict[int, int] = {}
        try:
            with Path(path).open(encoding="utf-8-sig") as file:
                for line in file:
                    one, other, count = line.split()
                    if one in words.codes and other in words.codes:
                        found[words.codes[one] * words.size + words.codes[other]] = int(count)
        except (OSError, ValueError, TypeError) as problem:
            reason = getattr(problem, "strerror", None) or "not two words and a number a line"
            raise ParameterError(f"The pairs in {shown(path)} cannot be read ({reason}); check it.") from None
        pairs = np.array(sorted(found), dtype=np.int64)
        counts = np.array([found[int(pair)] for pair in pairs], dtype=np.float64)
        return cls._counted(words, pairs, counts, read_prior(words) + 1e-12)

    @classmethod
    def _counted(cls, words: Vocabulary, pairs: Integers, counts: Integers | Reals, single: Reals) -> Bigrams:
        first, second = np.divmod(pairs, words.size)
        total = np.bincount(first, weights=counts, minlength=words.size)
        return cls(words, first, second, counts / total[first], single / single.sum())

    def follow(self, chances: Reals) -> Reals:
        """The law of the next word, when this is the law of a word."""
        pairs = np.bincount(self.second, weights=chances[self.first] * self.chance, minlength=self.prior.size)
        return np.asarray(_OWN_SHARE * pairs + (chances.sum() - _OWN_SHARE * chances[self.first_seen].sum()) * self.prior)

    def precede(self, chances: Reals) -> Reals:
        """The likelihood of a word, when this is the likelihood of the next one."""
        pairs = np.bincount(self.first, weights=chances[self.second] * self.chance, minlength=self.prior.size)
        trust = np.zeros(self.prior.size)
        trust[self.first_seen] = _OWN_SHARE
        return np.asarray(_OWN_SHARE * pairs + (1 - trust) * (chances @ self.prior))

    @property
    def first_seen(self) -> Integers:
        """Words after which a pair was seen."""
        return np.unique(self.first)


@dataclass(frozen=True)
class Attack:
    """What attackers got, as shares of words (membership: the area under the curve); None where it was not tried. Print it."""

    law: str
    epsilon: float
    document: float
    blind: float
    """Right by the prior alone, without any report."""
    word: float
    """Right by the prior and the substitute, by the law itself."""
    kept: float
    """Right by taking the substitute for the word, by the law itself."""
    context: float | None = None
    alone: float | None = None
    """As ``word``, counted on the same released documents as ``context``."""
    membership: float | None = None

    def _rows(self) -> list[list[str]]:
        def percent(share: float | None) -> str:
            return "" if share is None else f"{100 * share:.1f} %"

        rows = [
            ["blind guess", percent(self.blind)],
            ["the substitute itself", percent(self.kept)],
            ["prior and substitute", percent(self.word)],
        ]
        if self.context is not None:
            rows.append(["the same, on these documents", percent(self.alone)])
            rows.append(["and in context (pairs)", percent(self.context)])
        if self.membership is not None:
            rows.append(["membership (area under the curve)", f"{self.membership:.3f}"])
        return rows

    def __str__(self) -> str:
        head = f"{self.law}, epsilon {self.epsilon:.6g} a word, {self.document:.6g} a document: words guessed right"
        return "\n".join([head, text_table(["attacker", "right"], self._rows(), "<>")])

    def _repr_html_(self) -> str:
        return html_table(["attacker", "right"], self._rows(), "<>")


@called_as("substitute")
def attack(
    substitute: Substitute,
    texts: Sequence[str] | None = None,
    *,
    prior: Mapping[str, Number] | None = None,
    bigrams: Bigrams | None = None,
) -> Attack:
    """What attackers get of words substituted like this.

    Without texts, what follows from the law. With public texts that stand for what people write, they are released once and
    attacked: in context if there are ``bigrams``, and for membership if there are two texts or more.

    >>> result = attack(Substitute(["yes", "no"], epsilon=3, length=2), prior={"yes": 0.5, "no": 0.5})
    >>> round(result.word, 3), result.blind
    (0.852, 0.5)
    """
    if not isinstance(substitute, Substitute):
        raise ParameterError("An attack is on a substitution of words; write attack(Substitute(words, epsilon=4, length=20)).")
    if bigrams is not None and (not isinstance(bigrams, Bigrams) or bigrams.vocabulary != substitute.vocabulary):
        raise ParameterError("bigrams= is a model of the same vocabulary; write Bigrams.of(texts, vocabulary).")
    shares = read_prior(substitute.vocabulary, prior)
    law = substitute.protocol
    terms = substitute.terms_for(shares)
    found = Attack(terms.law, terms.epsilon, terms.document, terms.blind, terms.guessed, float(law.kept @ shares))
    if texts is None:
        return found
    codes = substitute.codes(check_texts(texts))
    released = law.randomize(codes).astype(np.int64)
    likely = _Emissions(substitute)
    alone, context = _reconstruct(likely, codes, released, shares, bigrams)
    member = _membership(likely, codes, released, shares) if len(codes) > 1 else None
    return replace(found, alone=alone, context=context, membership=member)


class _Emissions:
    """P(y | x) for all x, of the substitutes y that were seen; rows are kept while they are few."""

    def __init__(self, substitute: Substitute) -> None:
        self._law = substitute.protocol
        self._rows: dict[int, Reals] = {}

    def of(self, out: int) -> Reals:
        found = self._rows.get(out)
        if found is None:
            levels = self._law.distance.rows(np.array([out]))[0]  # distances are the same both ways
            found = self._law.weights[levels] * self._law.kept
            if len(self._rows) * found.size < 2**24:
                self._rows[out] = found
        return found


def _reconstruct(
    likely: _Emissions, codes: Integers, released: Integers, prior: Reals, bigrams: Bigrams | None
) -> tuple[float, float | None]:
    """The share of words (those that fill up left out) guessed right: one by one, and in context."""
    right, right_in_context, words = 0, 0, 0
    for own, seen in zip(codes, released, strict=True):
        count = int(np.count_nonzero(own))
        words += count
        masses = [likely.of(int(out)) for out in seen[:count]]
        right += sum(int(np.argmax(mass * prior)) == code for mass, code in zip(masses, own, strict=False))
        if bigrams is not None and count:
            guesses = [int(np.argmax(one)) for one in _posteriors(masses, bigrams)]
            right_in_context += sum(guess == code for guess, code in zip(guesses, own, strict=False))
    total = max(words, 1)
    return right / total, None if bigrams is None else right_in_context / total


def _posteriors(masses: list[Reals], bigrams: Bigrams) -> list[Reals]:
    """What is known of each word of a document after all its substitutes were seen: forward and backward."""
    forward: list[Reals] = []
    law = bigrams.prior
    for mass in masses:
        now = law * mass
        forward.append(now / now.sum())
        law = bigrams.follow(forward[-1])
    behind, found = np.ones(bigrams.prior.size), []
    for now, mass in zip(reversed(forward), reversed(masses), strict=True):
        found.append(now * behind)
        behind = bigrams.precede(behind * mass)
        behind /= behind.max()
    return found[::-1]


def _membership(likely: _Emissions, codes: Integers, released: Integers, prior: Reals) -> float:
    """The area under the curve of the ratio: each document against its own release, and against the next document's."""

    def ratio(document: Integers, seen: Integers) -> float:
        masses = [likely.of(int(out)) for out in seen]
        own = np.array([mass[code] for mass, code in zip(masses, document, strict=True)])
        mixed = np.array([mass @ prior for mass in masses])
        return float(np.log(np.maximum(own, _TINY)).sum() - np.log(np.maximum(mixed, _TINY)).sum())

    own = np.array([ratio(document, seen) for document, seen in zip(codes, released, strict=True)])
    other = np.sort([ratio(document, seen) for document, seen in zip(codes, np.roll(released, 1, axis=0), strict=True)])
    ranks = np.searchsorted(other, own, side="left") + np.searchsorted(other, own, side="right")
    return float(ranks.sum() / (2 * own.size * other.size))


@called_as("{'k-ary': substitutes}")
def plot_attacks(attacks: Mapping[str, Sequence[Attack]], ax: Axes | None = None) -> Axes:
    """The attackers' success against epsilon, a line for each series: the honest price list."""
    if (
        not isinstance(attacks, Mapping)
        or not attacks
        or not all(isinstance(one, (list, tuple)) and one for one in attacks.values())
    ):
        raise ParameterError(
            "Give attacks by the name of their series; write plot_attacks({'k-ary': [attack(one), attack(other)]})."
        )
    if not all(isinstance(one, Attack) for series in attacks.values() for one in series):
        raise ParameterError("A series is a list of what attack(...) returned.")
    ax = new_axes(ax)
    for number, (name, series) in enumerate(attacks.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        epsilons = [one.epsilon for one in series]
        ax.plot(epsilons, [100 * one.word for one in series], color=colour, marker="o", label=name)
        if all(one.context is not None for one in series):
            ax.plot(
                epsilons, [100 * (one.context or 0) for one in series], color=colour, linestyle="--", label=f"{name}, in context"
            )
    blind = next(iter(attacks.values()))[0].blind
    ax.axhline(100 * blind, color=GREY, linewidth=1, label="without any report")
    ax.set_xlabel("epsilon (a word; a unit of distance where the law is metric)")
    ax.set_ylabel("words guessed right, %")
    ax.set_ylim(0, 100)
    return finish(ax, "What an attacker gets", legend="best")
