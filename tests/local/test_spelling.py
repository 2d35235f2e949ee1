"""Words as rows of symbols: what can be spelled, the fate of what cannot, and prefixes that grow bit by bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.errors import ValueRefused
from discreet.local.domains.spelling import Spelling


def test_spelling_and_fates() -> None:
    plain = Spelling(4)
    assert plain.text(plain.symbols(["añb"])[0]) == "añb"
    assert plain.text(plain.symbols(["abcñ"])[0]) == "abc"  # cut between characters, never inside one
    for bad in (None, 7, "", "a\0b", "\ud800", float("nan"), ["a"]):
        with pytest.raises(ValueRefused, match="spelled"):
            plain.symbols(["ok", bad])
        assert Spelling(4, missing="none").symbols([bad]).tolist() == Spelling(4).symbols(["none"]).tolist()
        assert Spelling(4, missing="random").symbols([bad]).all()
    with pytest.raises(ValueRefused):
        Spelling(4, "abc").symbols(["abd"])


@pytest.mark.parametrize("spelling", [Spelling(3, "ab"), Spelling(2, "abcdefg"), Spelling(3, "abcde")], ids=["2", "7", "5"])
def test_every_prefix_of_every_word_is_a_candidate_and_nothing_else_is(spelling: Spelling) -> None:
    """However the bits are cut into steps: all words of short alphabets, against listing them."""
    assert spelling.alphabet is not None
    lengths = range(1, spelling.length + 1)
    words = ["".join(letters) for length in lengths for letters in itertools.product(spelling.alphabet, repeat=length)]
    symbols = spelling.symbols(words)
    for steps in ([1] * spelling.bits, [spelling.bits], [spelling.bits - 2, 2], [2, spelling.bits - 2]):
        found, before = np.zeros((1, spelling.length), dtype=np.int64), 0
        for step in steps:
            found, before = spelling.extend(found, before, before + step), before + step
            assert {tuple(row) for row in found} == {tuple(row) for row in spelling.cut(symbols, before)}
        assert len(found) == len(words)


def test_only_text_is_a_candidate() -> None:
    spelling = Spelling(3)
    good, bad = np.array([0xC3, 0xA9, 0]), np.array([0xC3, 0x41, 0])
    assert spelling.is_word(good)
    assert not spelling.is_word(bad)
