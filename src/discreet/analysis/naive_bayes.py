"""Naive Bayes for counts: how much each word speaks for each class, by one noisy table of classes and words.

A document is a line of numbers, one for every word, that is scaled to norm 1, so that a long one weighs no more than a short one.
It is added to its class with a number that counts the document itself: the vector (a, b u) with a^2 + b^2 = 1, or a + b = 1 in
L1, whose norm is at most 1. Where persons are protected their documents are added up first and brought to norm 1
(``mechanisms.rows.sums``). Models of counts and classifiers of texts add such vectors up, let the table out once, and ask here
what it says, which is free.

A word's rate in a class is compared with its rate in all, both raised by the standard deviation of noise: what noise explains
weighs nothing. Negative rates are 0, and a class of which noise may be all is taken for twice that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Reals

_DOCUMENT = 0.2  # the share of the norm, or of its square, that counts documents; the rest is for words


def divide_norm(order: int) -> tuple[float, float]:
    """What the document itself and its words have of a norm of 1, L1 or L2.

    >>> divide_norm(1)
    (0.2, 0.8)
    """
    return (_DOCUMENT, 1 - _DOCUMENT) if order == 1 else (math.sqrt(_DOCUMENT), math.sqrt(1 - _DOCUMENT))


def scale(lines: Reals, order: int) -> Reals:
    """Lines of norm 1, but for empty ones."""
    sizes = np.linalg.norm(lines, ord=order, axis=1)
    found: Reals = lines / np.where(sizes > 0, sizes, 1.0)[:, None]
    return found


@dataclass(frozen=True, eq=False)
class Speech:
    """How classes speak: documents of each, none of them without any, and the weight of every word for each."""

    counts: Reals
    weights: Reals  # classes x words

    @classmethod
    def of(cls, table: Reals, order: int, deviation: float) -> Speech:
        """By a noisy table of sums, a line a class, the document first; ``deviation`` is the noise of each number."""
        document, words = divide_norm(order)
        counts = np.maximum(table[:, 0] / document, max(1.0, 2 * deviation / document))
        sums = table[:, 1:] / words
        noise = max(deviation / words / float(counts.min()), 1e-9)  # of a rate in the rarest class
        rates = np.maximum(sums / counts[:, None], 0) + noise
        every = np.maximum(sums.sum(axis=0) / counts.sum(), 0) + noise
        return cls(counts, np.log(rates / every))

    @property
    def priors(self) -> Reals:
        """The share of every class."""
        found: Reals = self.counts / self.counts.sum()
        return found

    def scores(self, lines: Reals) -> Reals:
        """Log-likelihoods of every class, up to a constant, of lines that are scaled."""
        found: Reals = lines @ self.weights.T + np.log(self.priors)
        return found
