"""A prior: what anybody may guess of a word before they see anything. Public, and an attacker's to choose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.texts.sources import english_shares
from discreet.texts.vocabulary import Vocabulary

_MARK_SHARE = 0.01  # of all words, each class of them and the unknown ones: a guess like any other
_WRONG = "prior= gives a share of at least 0 to words of the vocabulary, some above 0; write {'free': 0.02, 'call': 0.01}."


def read_prior(vocabulary: Vocabulary, given: object = None) -> Reals:
    """A share for every item; their sum is 1. None stands for English: words by their shares in the list of discreet.

    In that one, a word that is not in the list is as rare as its rarest, <other> and each class have a hundredth, and <nothing>
    has 0.

    >>> read_prior(Vocabulary(["yes", "no"]), {"yes": 3, "no": 1}).tolist()[-2:]
    [0.75, 0.25]
    """
    if given is None:
        return _english_prior(vocabulary)
    if isinstance(given, Mapping):
        shares = np.zeros(vocabulary.size)
        for item, share in given.items():
            if item not in vocabulary.codes or not isinstance(share, (int, float, np.number)):
                raise ParameterError(_WRONG)
            shares[vocabulary.codes[item]] = float(share)
    else:
        try:
            shares = np.array(given, dtype=np.float64)
        except (ValueError, TypeError):
            raise ParameterError(_WRONG) from None
    if shares.shape != (vocabulary.size,) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
        raise ParameterError(_WRONG)
    return np.asarray(shares / shares.sum())


def _english_prior(vocabulary: Vocabulary) -> Reals:
    known = english_shares()
    rarest = min(known.values())
    listed = np.array([known.get(word, rarest) for word in vocabulary.words])
    marks = vocabulary.size - len(vocabulary.words) - 1
    return np.concatenate([[0.0], np.full(marks, _MARK_SHARE), listed / listed.sum() * (1 - marks * _MARK_SHARE)])
