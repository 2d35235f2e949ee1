"""Vocabularies: public, ordered, hashed; texts become rows of codes of one length, and no refusal quotes them."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.refusals import refused

from discreet.errors import ParameterError, ValueRefused
from discreet.texts import Tokenizer, Vocabulary
from discreet.texts.sources import brown_clusters, english_shares, english_words

SMALL = Vocabulary(["call", "me", "tonight", "it's"])


def test_items_are_nothing_the_marks_and_the_words_in_their_order() -> None:
    assert SMALL.items == ("<nothing>", "<other>", "<email>", "<url>", "<number>", "<digits>", "call", "me", "tonight", "it's")
    assert Vocabulary(["b", "a"], unknown="a").items[0] == "<nothing>"
    assert Vocabulary(["b", "a"], tokenizer=Tokenizer(classes=()), unknown="drop").items == ("<nothing>", "b", "a")


@pytest.mark.parametrize(
    ("unknown", "codes"), [("mark", ["call", "<other>", "me"]), ("drop", ["call", "me"]), ("me", ["call", "me", "me"])]
)
def test_unknown_words_have_their_declared_fate(unknown: str, codes: list[str]) -> None:
    vocabulary = Vocabulary(SMALL.words, unknown=unknown)
    assert [vocabulary.items[code] for code in vocabulary.encode("call Bob me")] == codes


def test_documents_are_cut_or_filled_to_the_public_length() -> None:
    rows = SMALL.documents(["", "call me call me", "tonight", "call me it’s 5"], 3)
    assert rows.tolist() == [[0, 0, 0], [6, 7, 6], [8, 0, 0], [6, 7, 9]]
    assert SMALL.documents([], 4).shape == (0, 4)
    assert SMALL.text(rows[3]) == "call me it's"
    assert SMALL.text(rows[0]) == ""


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 6))
@settings(max_examples=examples(80), deadline=None)
def test_many_texts_are_read_as_each_of_them(texts: list[str], length: int) -> None:
    """Any text at all has words that the tokenizer finds again in what is written of them, and codes of the vocabulary."""
    codes, ends = SMALL.encode_all(texts)
    pieces = np.split(codes, ends[:-1]) if ends.size else []
    assert [piece.tolist() for piece in pieces] == [SMALL.encode(text).tolist() for text in texts]
    rows = SMALL.documents(texts, length)
    assert rows.shape == (len(texts), length)
    for row, piece in zip(rows, pieces, strict=True):
        kept = piece[:length].tolist()
        assert row.tolist() == kept + [0] * (length - len(kept))
    assert ((codes >= 0) & (codes < SMALL.size)).all()
    for text in texts:
        words = [word for word in Tokenizer().tokens(text) if not word.startswith("<")]
        assert Tokenizer().tokens(" ".join(words)) == words


def test_columns_of_frames_and_arrays_are_lists_of_texts() -> None:
    import pandas

    for many in (np.array(["call", "me"]), np.array(["call", "me"], dtype=object), pandas.Series(["call", "me"]), ("call", "me")):
        assert SMALL.documents(many, 1).tolist() == [[6], [7]]


def test_everything_is_in_the_hash() -> None:
    same = Vocabulary(SMALL.words)
    assert same == SMALL
    assert same.hash == SMALL.hash == Vocabulary.from_facts(json.loads(json.dumps(SMALL.facts))).hash
    others = [
        Vocabulary(SMALL.words[::-1]),
        Vocabulary(SMALL.words, unknown="drop"),
        Vocabulary(SMALL.words, tokenizer=Tokenizer(classes=("number",))),
        Vocabulary(SMALL.words, tokenizer=Tokenizer(case="keep")),
        Vocabulary(SMALL.words, tokenizer=Tokenizer(form="NFC")),
    ]
    assert len({SMALL.hash, *(other.hash for other in others)}) == 6


def test_files(tmp_path: Path) -> None:
    SMALL.save(tmp_path / "words.txt")
    assert Vocabulary.load(tmp_path / "words.txt") == SMALL
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    refused(lambda: Vocabulary.load(tmp_path / "bytes.txt"), ParameterError, "not a text in UTF-8")
    refused(lambda: Vocabulary.load(tmp_path / "none.txt"), ParameterError, "cannot be read")
    refused(lambda: SMALL.save(tmp_path / "no" / "words.txt"), ParameterError, "cannot be written")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["one"], "2 to"),
        ("yes no", "ordered list"),
        ({"a", "b"}, "ordered list"),
        (["Call", "me"], "not one word"),
        (["call me", "now"], "not one word"),
        (["17", "now"], "not one word"),
        (["", "now"], "not one word"),
        ([3, "now"], "not one word"),
        (["<other>", "now"], "not one word"),
        (["now", "now"], "twice"),
        (["\ud800", "now"], "not one word"),
    ],
)
def test_lists_that_are_none(words: object, says: str) -> None:
    refused(lambda: Vocabulary(words), ParameterError, says)  # type: ignore[arg-type]


@pytest.mark.parametrize("document", [b"secret", bytearray(b"secret"), None, 3.5, ["secret"], "secret " * 200_000])
def test_what_is_no_document_is_refused_without_a_word_of_it(document: object) -> None:
    for ask in (SMALL.encode, lambda text: SMALL.documents([text], 3), Tokenizer().tokens):
        message = refused(lambda ask=ask: ask(document), ValueRefused, "document")  # type: ignore[misc]
        assert "secret" not in message
    refused(lambda: SMALL.documents("secret", 3), ValueRefused, "flat list")


def test_the_list_that_comes_with_discreet() -> None:
    vocabulary = Vocabulary.english()
    assert (len(vocabulary.words), vocabulary.words[:4]) == (20_000, ("the", "i", "to", "a"))
    assert vocabulary.words[:500] == Vocabulary.english(500).words == english_words(500)
    shares = english_shares()
    assert set(shares) == set(vocabulary.words)
    assert abs(sum(shares.values()) - 1) < 1e-9
    assert sorted(shares.values(), reverse=True) == list(shares.values())
    assert set(brown_clusters()) >= set(vocabulary.words)
    refused(lambda: Vocabulary.english(20_001), ParameterError, "20,000 words")


def test_a_package_that_ships_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it lists beyond our tokenizer's words is left out; without the package, the extra is named."""
    listed = ["the", "The", "17", "don't", "a b", "und", "x"]
    stand_in = types.ModuleType("wordfreq")
    stand_in.top_n_list = lambda language, n: listed[:n] if language == "en" else [][0]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wordfreq", stand_in)
    assert Vocabulary.common(4).words == ("the", "don't", "und", "x")
    refused(lambda: Vocabulary.common(5), ParameterError, "4 words of that language")
    refused(lambda: Vocabulary.common(4, language="xx"), ParameterError, "no list for the language")
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    refused(lambda: Vocabulary.common(4), ParameterError, "discreet[text]")


def test_reading_costs_what_the_texts_are_long() -> None:
    """A million characters that any backtracking pattern would stumble over: each is read in a moment, or this never ends."""
    for text in (
        "a" * 10**6,
        "1." * 500_000,
        "a@" * 500_000,
        "1" * 999_999 + "a",
        "'a" * 500_000,
        "@." * 500_000,
        "www." * 250_000,
    ):
        Tokenizer().tokens(text)
