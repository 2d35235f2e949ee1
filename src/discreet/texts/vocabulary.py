"""A vocabulary: the public, ordered list of words that texts are read in, with the fate of all other words.

It is fixed before anybody's text is seen: a list, a file, the list that comes with discreet, or a package. (One that is read off
private texts is private, and has to be bought.) It stands in every task and in its hash, so nobody can exchange it unseen.

``items`` are what a word of a document can be: ``<nothing>``, which fills a document up to its public length; ``<other>`` for
words that are not listed; a mark for each class of the tokenizer; then the words in their order. Codes are places in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from discreet.arrays import Integers
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import shown, whole
from discreet.local.task import canonical
from discreet.texts.tokens import Tokenizer

NOTHING, OTHER = "<nothing>", "<other>"
MOST_WORDS = 2**20
_FATES = ("mark", "drop")
_LISTED = 'Vocabulary(["yes", "no", "maybe"]), Vocabulary.load("words.txt") or Vocabulary.english(20_000)'


@called_as('["yes", "no", "maybe"]')
@dataclass(frozen=True, init=False)
class Vocabulary:
    """Public words in a public order. ``unknown`` is the fate of others: ``"mark"`` as <other>, ``"drop"``, or a listed word.

    >>> small = Vocabulary(["call", "me", "tonight"])
    >>> small.encode("CALL me, Bob!").tolist(), small.items[1]
    ([6, 7, 1], '<other>')
    >>> small.text(small.documents(["Call me at 8"], length=5)[0])
    'call me <other> <number>'
    """

    words: tuple[str, ...]
    tokenizer: Tokenizer
    unknown: str

    def __init__(self, words: Iterable[str], *, tokenizer: Tokenizer | None = None, unknown: str = "mark") -> None:
        if isinstance(words, (str, bytes, set, frozenset, dict)) or not isinstance(words, Iterable):
            raise ParameterError(f"A vocabulary is an ordered list of words; write {_LISTED}.")
        rules = Tokenizer() if tokenizer is None else tokenizer
        if not isinstance(rules, Tokenizer):
            raise ParameterError("tokenizer= is a Tokenizer; write tokenizer=Tokenizer(case='keep').")
        listed = tuple(str(word) if isinstance(word, np.str_) else word for word in words)
        _check_words(listed, rules)
        if not isinstance(unknown, str) or (unknown not in _FATES and unknown not in listed):
            raise ParameterError("unknown= must be 'mark' (they become <other>), 'drop', or one of the words.")
        for name, value in (("words", listed), ("tokenizer", rules), ("unknown", unknown)):
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, path: str | Path, *, tokenizer: Tokenizer | None = None, unknown: str = "mark") -> Vocabulary:
        """The words of a file in UTF-8, one a line, as ``save`` wrote it or anybody else."""
        try:
            lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise ParameterError(f"{path} is not a text in UTF-8; give another file.") from None
        except (OSError, TypeError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "it is no path"
            raise ParameterError(f"The words in {shown(path)} cannot be read ({reason}); check its name.") from None
        return cls([word for line in lines if (word := line.strip())], tokenizer=tokenizer, unknown=unknown)

    def save(self, path: str | Path) -> None:
        """Write the words, one a line."""
        try:
            Path(path).write_text("".join(f"{word}\n" for word in self.words), encoding="utf-8")
        except (OSError, TypeError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "it is no path"
            raise ParameterError(f"{shown(path)} cannot be written ({reason}); choose another place.") from None

    @classmethod
    def english(cls, count: int = 20_000, *, unknown: str = "mark") -> Vocabulary:
        """The most common English words of the list that comes with discreet, at most 20,000."""
        from discreet.texts.sources import english_words

        return cls(english_words(whole("count", count, least=2)), unknown=unknown)

    @classmethod
    def common(cls, count: int = 20_000, *, language: str = "en", unknown: str = "mark") -> Vocabulary:
        """The most common words of a language, from the package wordfreq (``pip install "discreet[text]"``)."""
        from discreet.texts.sources import common_words

        return cls(common_words(whole("count", count, least=2), language), unknown=unknown)

    @cached_property
    def items(self) -> tuple[str, ...]:
        """All that a word of a document can be, in the order of codes."""
        marked = (OTHER,) if self.unknown == "mark" else ()
        return (NOTHING, *marked, *self.tokenizer.marks, *self.words)

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self.items)

    def __len__(self) -> int:
        return self.size

    def __contains__(self, word: object) -> bool:
        return word in self.codes

    @cached_property
    def codes(self) -> dict[str, int]:
        """Item to code."""
        return {item: code for code, item in enumerate(self.items)}

    @cached_property
    def _fate(self) -> int | None:
        """The code of an unknown word; None where it is dropped."""
        return None if self.unknown == "drop" else self.codes[OTHER if self.unknown == "mark" else self.unknown]

    def encode(self, text: str) -> Integers:
        """The codes of a text's words, in order, unknown ones by their fate; as many as there are."""
        return np.array(self._codes_of(text), dtype=np.int64)

    def _codes_of(self, text: str) -> list[int]:
        known, fate = self.codes, self._fate
        found = self.tokenizer.tokens(text)
        if fate is None:
            return [known[token] for token in found if token in known]
        return [known.get(token, fate) for token in found]

    def encode_all(self, texts: Sequence[str] | np.ndarray) -> tuple[Integers, Integers]:
        """The codes of many texts one behind the other, and where each text ends: text i is codes[ends[i - 1]:ends[i]].

        >>> codes, ends = Vocabulary(["a", "b"]).encode_all(["a b", "", "b"])
        >>> codes.tolist(), ends.tolist()
        ([6, 7, 7], [2, 2, 3])
        """
        flat: list[int] = []
        ends: list[int] = []
        for text in check_texts(texts):
            flat += self._codes_of(text)
            ends.append(len(flat))
        return np.array(flat, dtype=np.int64), np.array(ends, dtype=np.int64)

    def documents(self, texts: Sequence[str] | np.ndarray, length: int) -> Integers:
        """One row of ``length`` codes a text: cut behind so many words, or filled up with <nothing>, for length leaks."""
        width = whole("length", length)
        codes, ends = self.encode_all(texts)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64) if ends.size else ends
        kept = np.minimum(ends - starts, width)
        rows = np.zeros((ends.size, width), dtype=np.int64)  # <nothing> is 0
        inside = np.arange(width) < kept[:, None]
        rows[inside] = codes[(starts[:, None] + np.arange(width))[inside]]
        return rows

    def text(self, codes: Sequence[int] | Integers) -> str:
        """The items of these codes as one line, without what only fills up."""
        return " ".join(self.items[int(code)] for code in codes if code)

    @property
    def facts(self) -> dict[str, object]:
        """The vocabulary as JSON."""
        return {"words": list(self.words), "tokenizer": self.tokenizer.facts, "unknown": self.unknown}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Vocabulary:
        """The vocabulary that ``facts`` described."""
        rules = Tokenizer.from_facts(facts["tokenizer"])  # type: ignore[arg-type]
        return cls(facts["words"], tokenizer=rules, unknown=facts["unknown"])  # type: ignore[arg-type]

    @cached_property
    def hash(self) -> str:
        """SHA-256 of its canonical JSON, as 64 hexadecimal digits."""
        return hashlib.sha256(canonical(self.facts).encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.words):,} words, unknown={self.unknown!r}, {self.hash[:12]})"


def check_vocabulary(value: object) -> Vocabulary:
    """A vocabulary, or a list of words that makes one."""
    if isinstance(value, Vocabulary):
        return value
    return Vocabulary(value)  # type: ignore[arg-type]


def check_texts(texts: object) -> list[str]:
    """The documents of many people."""
    if isinstance(texts, np.ndarray) and texts.ndim == 1:
        return list(texts.tolist())
    if isinstance(texts, (list, tuple)):
        return list(texts)
    if hasattr(texts, "__array__") and not isinstance(texts, (np.ndarray, np.generic)):  # columns of data frames
        return check_texts(np.asarray(texts))
    raise ValueRefused("Documents are a flat list of texts, one for each person; write ['...', '...'].")


def _check_words(words: tuple[object, ...], rules: Tokenizer) -> None:
    """Words that the tokenizer itself can find, each once."""
    if not 2 <= len(words) <= MOST_WORDS:
        raise ParameterError(f"A vocabulary has 2 to {MOST_WORDS:,} words, not {len(words):,}; write {_LISTED}.")
    for word in words:
        if not isinstance(word, str) or len(word) > 200 or rules.tokens(word) != [word] or word in rules.marks:
            said = f"{word!r}" if isinstance(word, str) and len(word) <= 60 else type(word).__name__
            raise ParameterError(
                f"The vocabulary lists {said}, which is not one word by its tokenizer's rules, so no text has it: leave it "
                "out, or change Tokenizer(case=..., classes=...)."
            )
    if len(set(words)) < len(words):
        raise ParameterError("The vocabulary lists a word twice; list each once.")
