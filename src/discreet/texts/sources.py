"""Public words, their shares and their classes: the list that comes with discreet, and packages that ship more.

- ``data/english.tsv.gz``: 20,000 English words, their shares and Brown clusters, of spacy-lookups-data (MIT; see beside it).
- wordfreq: word lists of some 40 languages; code Apache-2.0, data CC BY-SA 4.0: read where it is installed, never copied.
- spacy-lookups-data: Brown clusters of a million English, German and Spanish words each; MIT.

The last two are the extra ``text``. Vectors that packages make of large language models (wordllama's of Llama's) stand under
those models' licences and are not used; ``Vectors.load`` reads whatever vectors a user may use.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module, resources

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.exact import shown
from discreet.texts.tokens import Tokenizer

_EXTRA = 'is an extra: run pip install "discreet[text]", or'


@lru_cache(maxsize=1)
def _english() -> tuple[tuple[str, ...], Reals, tuple[int, ...]]:
    """Words, shares and Brown clusters of the list that comes with discreet, the most common first."""
    packed = (resources.files("discreet.texts") / "data" / "english.tsv.gz").read_bytes()
    rows = [line.split("\t") for line in gzip.decompress(packed).decode().splitlines()]
    shares = np.exp(-np.array([float(row[1]) for row in rows]))
    return tuple(row[0] for row in rows), shares / shares.sum(), tuple(int(row[2]) for row in rows)


def english_words(count: int) -> tuple[str, ...]:
    """So many of the most common English words.

    >>> english_words(3)
    ('the', 'i', 'to')
    """
    words, _, _ = _english()
    if count > len(words):
        raise ParameterError(
            f"The list that comes with discreet has {len(words):,} words, not {count:,}; ask Vocabulary.common(...)."
        )
    return words[:count]


def common_words(count: int, language: str) -> tuple[str, ...]:
    """So many of the most common words of a language that are one word by our tokenizer's rules, from wordfreq."""
    try:
        wordfreq = import_module("wordfreq")
    except ImportError:
        raise ParameterError(f"wordfreq, which has word lists, {_EXTRA} ask Vocabulary.english({min(count, 20_000)}).") from None
    rules, found = Tokenizer(), dict[str, None]()
    try:
        listed = wordfreq.top_n_list(language, 2 * count + 1000)
    except (LookupError, ValueError, TypeError, AttributeError):
        raise ParameterError(f"wordfreq has no list for the language {shown(language)}; write language='en'.") from None
    for word in listed:
        if len(found) < count and rules.tokens(word) == [word]:
            found[word] = None
    if len(found) < count:
        raise ParameterError(f"wordfreq has {len(found):,} words of that language, not {count:,}; ask for fewer.")
    return tuple(found)


def brown_clusters(language: str = "en") -> Mapping[str, int]:
    """Word to Brown cluster: of the list that comes with discreet, or of spacy-lookups-data where it is installed."""
    try:
        folder = resources.files(import_module("spacy_lookups_data")) / "data"
        packed = (folder / f"{language}_lexeme_cluster.json.gz").read_bytes()
        clusters = {word: int(path) for word, path in json.loads(gzip.decompress(packed)).items()}
    except (ImportError, OSError):
        if language != "en":
            raise ParameterError(f"spacy-lookups-data, which has classes of words, {_EXTRA} take 'en'.") from None
        words, _, paths = _english()
        return dict(zip(words, paths, strict=True))
    lower: dict[str, int] = {}
    for word, path in clusters.items():  # the most common spelling comes first
        if path and not lower.get(word.lower()):
            lower[word.lower()] = path
    return lower


def english_shares() -> dict[str, float]:
    """Word to its share among all English words, of the list that comes with discreet."""
    words, shares, _ = _english()
    return dict(zip(words, shares.tolist(), strict=True))
