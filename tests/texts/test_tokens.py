"""The tokenizer's declared rules, one by one."""

from __future__ import annotations

import unicodedata

import pytest
from support.refusals import refused

from discreet.errors import ParameterError
from discreet.texts import Tokenizer

RULES = [
    ("It’s 12:30, call 4U", ["it's", "<number>", "call", "4u"]),
    ("a_b-c/d", ["a", "b", "c", "d"]),
    ("'tis rock'n'roll '", ["tis", "rock'n'roll"]),
    ("mail (me@x.org), <a.b+c@d.co.uk>; a@b @c", ["mail", "<email>", "<email>", "a", "b", "c"]),
    ("see https://x.org/?q=1, WWW.X.ORG! http:// www.", ["see", "<url>", "<url>", "http", "www"]),
    ("3 3.14 1,000 99999 0171-123456 3rd", ["<number>", "<number>", "<number>", "<digits>", "<number>", "<digits>", "3rd"]),
    ("１２３ ﬁne Straße ٣", ["<number>", "fine", "straße", "<number>"]),
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("cafe\u0301 CAFÉ", ["café", "café"]),
    ("日本語 😀 \x00 \ud800", ["日本語"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "words"), RULES)
def test_rules(text: str, words: list[str]) -> None:
    assert Tokenizer().tokens(text) == words


def test_every_rule_can_be_declared_otherwise() -> None:
    plain = Tokenizer(form="NFC", case="keep", classes=())
    assert plain.tokens("ﬁne A 3.14 99999 me@x.org") == ["ﬁne", "A", "3.14", "99999", "me", "x", "org"]
    assert Tokenizer(classes=("digits",)).tokens("3 99999") == ["3", "<digits>"]
    assert Tokenizer(classes=("number",)).tokens("3 99999") == ["<number>", "<number>"]
    assert Tokenizer(classes=["url", "email"]).classes == ("email", "url")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [{"form": "NFD"}, {"case": "upper"}, {"classes": ("word",)}, {"classes": "url"}, {"form": None}]
)
def test_rules_that_there_are_not(wrong: dict[str, object]) -> None:
    refused(lambda: Tokenizer(**wrong), ParameterError, "write Tokenizer(")  # type: ignore[arg-type]


def test_words_are_letters_marks_and_numbers_of_unicode() -> None:
    """Every character that there is: a word of its own if it is one of these, and none if not (lower case may be several)."""
    rules = Tokenizer(form="NFC", case="keep", classes=())
    for start in range(0, 0x110000, 0x800):
        signs = [sign for place in range(start, start + 0x800) if unicodedata.is_normalized("NFC", sign := chr(place))]
        assert rules.tokens(" ".join(signs)) == [sign for sign in signs if unicodedata.category(sign)[0] in "LMN"], hex(start)
