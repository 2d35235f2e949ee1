"""Spark: what needs none, and what one counts and a curator meets in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.in_spark import check

from discreet.engine.spark.literals import name_of, quoted, text_literal
from discreet.engine.spark.patterns import java_pattern
from discreet.errors import ParameterError

CHECKS = Path(__file__).parents[1] / "spark"


def test_all_that_needs_spark() -> None:
    """Such tests stand in a folder of their own and are called ``check_``, so that one Spark runs them, one after another."""
    names = sorted(f"spark.{file.stem}" for file in CHECKS.glob("check_*.py"))
    assert {"spark.check_cells", "spark.check_counting", "spark.check_curators", "spark.check_session"} < {*names}
    check(*names)


@pytest.mark.parametrize("text", ["it's", "a\\n", "${spark.app.name}", "é", "\0", "'; DROP TABLE x; --", '"', "\n"])
def test_texts_that_a_parser_could_read_are_written_as_bytes(text: str) -> None:
    written = text_literal(text)
    assert written == f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def test_names_are_told_apart_whatever_they_are_made_of() -> None:
    names = ["a", "A", "age", "Age 2", "a`b", "a.b", "${x}", "é", "discreet x61", "", " x", "\ud800"]
    assert len({name_of(name).lower() for name in names}) == len(names)
    assert all(re.fullmatch(r"`[A-Za-z0-9_ ]+`", quoted(name)) for name in names)


REFUSED = [
    "(a|aa)+",
    "(?:a+)+b",
    "(?:a*b|a)+",
    "(?:x+x+)+y",
    "(?:a|ab|b){1,20}",
    "(?:[a-z]+ ?)+$",
    "(?:[0-9]+,)*[0-9]+",
    r"(?:ab|c)+\b",
]


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_whose_work_is_not_bounded_are_refused(pattern: str) -> None:
    with pytest.raises(ParameterError, match="could cost Spark any amount of work"):
        java_pattern(pattern)


WRITTEN = {
    "^(?:a|b)+[0-9]$": "^(?:a|b)++[0-9]\\z",
    "(?:ab|a)c?": "(?:ab|a)c?",
    "[0-9]{1,3}(?:[.][0-9]{1,3}){3}": "[0-9]{1,3}(?:\\x{2e}[0-9]{1,3}){3,3}",
    "[&&x[z]": "[\\x{26}\\x{5b}xz]",
    "[^\\n]": "[\\x{0}-\\x{9}\\x{b}-\\x{10ffff}]",
    "[\\s\\S]*%": "[\\s\\S]*\\x{25}",
}


@pytest.mark.parametrize("pattern", WRITTEN)
def test_patterns_are_written_for_java(pattern: str) -> None:
    assert java_pattern(pattern) == WRITTEN[pattern]
